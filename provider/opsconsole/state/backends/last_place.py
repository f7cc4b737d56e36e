"""Where the state of a working directory lay when it was last written, as this program notes it.

A program whose backend changed, or whose new backend is empty while a state lies here, would be
planned as if nothing existed. Terraform's own note, where there is one, outranks this one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.journal_files import data_directory
from opsconsole.phrases import plural
from opsconsole.state.local import local_path, replace_durably
from opsconsole.state.model import State

_FILE: Final = "opsconsole-backend.json"
_VERSION: Final = 1


class LastPlace:
    """The note of one workspace in one working directory.

    Args:
        name: What to call the place in messages.
        identity: What tells the place from all others; only its digest is noted.
    """

    def __init__(
        self, directory: Path, workspace: str, kind: str, name: str = "", identity: str = ""
    ) -> None:
        self._directory = directory
        self._file = data_directory(directory) / _FILE
        self._workspace = workspace
        digest = hashlib.sha256(identity.encode()).hexdigest()
        self._now = {"type": kind, "name": name, "digest": digest}
        self._noted = False

    def check(self) -> None:
        """Do nothing where the state lay at this place, or nothing is noted.

        Raises:
            UserError: It lay elsewhere.
        """
        before = self._places().get(self._workspace)
        if not before or all(before.get(key) == self._now[key] for key in ("type", "digest")):
            return
        now = self._now["name"] or f"the {self._now['type']} backend"
        raise UserError(
            f"The backend of {self._directory} changed since the last run: the state was written to"
            f" {before.get('name')} ({before.get('type')}), and the program names {now}"
            f" ({self._now['type']}).",
            "Name the earlier place again, or move the state with `opsconsole-terraform init"
            f" -migrate-state`. If it lies at the new place already, remove {self._file}.",
        )

    def note(self) -> None:
        """Note this place, after the first write of a run."""
        if self._noted:
            return
        self._noted = True
        places = {**self._places(), self._workspace: self._now}
        content = json.dumps({"version": _VERSION, "places": places}, indent=2).encode()
        # The state is written. A run does not fail because its place cannot be noted.
        with contextlib.suppress(UserError, OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(self._file, content)

    def check_nothing_here(self) -> None:
        """Do nothing where no state with resources lies here; for a place that is empty.

        Raises:
            UserError: There is one: the program would be planned as if nothing existed.
        """
        for path in self._local_states():
            if not path.is_file():
                continue
            found = State.parse(path.read_bytes(), str(path))
            if not found.empty:
                own = self._directory / "terraform.tfstate"
                first = "" if path == own else f"copy it to {own}, then "
                raise UserError(
                    f"There is no state in {self._now['name']}, and a state with"
                    f" {plural(len(found), 'object')} lies in {path}.",
                    f"To go on with it, {first}run `opsconsole-terraform init -migrate-state` in"
                    f" {self._directory}. If it is of another program, move it away.",
                )

    def _local_states(self) -> Iterator[Path]:
        """Return where the default backends of Terraform and of cdktf keep a state."""
        yield local_path(self._directory, {}, self._workspace)
        where = self._directory.absolute()
        if where.parent.name == "stacks":
            yield where.parents[2] / f"terraform.{where.name}.tfstate"

    def _places(self) -> dict[str, Any]:
        try:
            found = json.loads(self._file.read_bytes())["places"]
        except (OSError, ValueError, LookupError, TypeError):
            return {}
        return {key: item for key, item in dict(found).items() if isinstance(item, dict)}
