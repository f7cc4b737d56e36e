"""The record, in a working directory, of where the state of each workspace was last written.

If `terraform init` has noted no backend, this record shows that a program names another place than
before.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.journal_files import cdktf_states, data_directory
from opsconsole.state.backend import local_path
from opsconsole.state.files import replace_durably
from opsconsole.state.model import State
from opsconsole.text import plural

_NOTE_FILE: Final = "opsconsole-backend.json"


class LastPlace:
    """The record, in the working directory, of where a workspace's state was last written.

    Args:
        name: The name of the place in messages.
        identity: Distinguishes the place from all others. Only its digest is stored.
    """

    def __init__(
        self, directory: Path, workspace: str, kind: str, name: str = "", identity: str = ""
    ) -> None:
        self._directory = directory
        self._file = data_directory(directory) / _NOTE_FILE
        self._workspace = workspace
        digest = hashlib.sha256(identity.encode()).hexdigest()
        self._here = {"type": kind, "name": name, "digest": digest}
        self._noted = False

    def check(self) -> None:
        """Check that the state is where the last run wrote it, if a place is noted.

        Raises:
            UserError: The last run wrote the state elsewhere.
        """
        before = self._places().get(self._workspace)
        if not before or all(before.get(key) == self._here[key] for key in ("type", "digest")):
            return
        now = self._here["name"] or f"the {self._here['type']} backend"
        raise UserError(
            f"The backend of {self._directory} changed since the last run: the state was written to"
            f" {before.get('name')} ({before.get('type')}), and the program names {now}"
            f" ({self._here['type']}).",
            "Name the earlier place again, or move the state with `opsconsole-terraform init"
            f" -migrate-state`. If it is at the new place already, remove {self._file}.",
        )

    def note(self) -> None:
        """Note this place, after the first write of a run."""
        if self._noted:
            return
        self._noted = True
        places = {**self._places(), self._workspace: self._here}
        content = json.dumps({"places": places}, indent=2).encode()
        # The state is already written: a run does not fail because its place cannot be noted.
        with contextlib.suppress(UserError, OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(self._file, content)

    def check_nothing_here(self) -> None:
        """For an empty place, check that no local backend here keeps a state with resources.

        Raises:
            UserError: There is one, so the program would be planned as if nothing existed.
        """
        here = local_path(self._directory, {}, self._workspace)
        for path in (here, *cdktf_states(self._directory.absolute())):
            if not path.is_file():
                continue
            state = State.parse(path.read_bytes(), str(path))
            if not state.empty:
                first = "" if path == here else f"copy it to {here}, then "
                raise UserError(
                    f"There is no state in {self._here['name']}, and a state with"
                    f" {plural(len(state), 'object')} is in {path}.",
                    f"To go on with it, {first}run `opsconsole-terraform init -migrate-state` in"
                    f" {self._directory}. If it is of another program, move it away.",
                )

    def _places(self) -> dict[str, Any]:
        try:
            places = dict(json.loads(self._file.read_bytes())["places"])
        except (OSError, ValueError, LookupError, TypeError):
            return {}
        return {key: item for key, item in places.items() if isinstance(item, dict)}
