"""Any other backend, accessed through `terraform` or `tofu`: `state pull` and `state push`.

A push takes the backend's own lock. Under that lock, Terraform refuses a push if the stored state
has another lineage, a newer serial, or the same serial with other content. The serial of every
push here is one above the last serial seen, so a push never overwrites what someone else wrote in
between. But no command of Terraform holds a backend's lock for a whole run. Two native runs in one
working directory exclude each other by a lock file there. Native runs elsewhere, and Terraform
itself, are noticed only at the next push.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError
from opsconsole.local_terraform import cli_of, data_directory, real_terraform
from opsconsole.state.address import Address
from opsconsole.state.backend import Backend, RunOptions
from opsconsole.state.files import NOT_OPEN
from opsconsole.state.lock import lock_file, release_file
from opsconsole.state.model import State
from opsconsole.state.place import workspace_of
from opsconsole.user_files import file_errors

_KEPT = "The changes are kept in the journal: run again once the cause is fixed."


_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def find_binary(directory: Path) -> str:
    """Return the command that accesses a directory's backend: TERRAFORM_BINARY_NAME, or its CLI.

    Raises:
        UserError: No such command is installed.
    """
    named = os.environ.get("TERRAFORM_BINARY_NAME", "")
    binary = real_terraform(os.environ, named, cli=cli_of(directory))
    if binary is not None:
        return binary
    raise UserError(
        "This program keeps its state in a remote backend, and no terraform or tofu is installed.",
        "Install one of them, or use the local backend.",
    )


class TerraformBackend(Backend):
    """A state in a backend that `terraform init` has set up in a working directory.

    Args:
        kind: The backend's type, for messages.
        options: The lock and the timeout are also passed to every push.
    """

    def __init__(self, kind: str, options: RunOptions) -> None:
        self._directory = options.directory.absolute()
        self._notes = data_directory(self._directory)
        marker = self._directory / f"{kind}.{workspace_of(self._directory)}"
        super().__init__(f"the {kind} backend of {options.directory}", marker, options)
        self._marker = self._notes / f"{marker.name}.opsconsole-lock"
        self._descriptor = NOT_OPEN
        self._binary = find_binary(self._directory)
        # The lineage and the serial of the stored state.
        self._stored = ("", 0)

    def open(self) -> None:
        """Exclude other native runs in this directory.

        Raises:
            UserError: Another run is active, or the directory is not initialised or not writable.
        """
        if not (self._notes / "terraform.tfstate").is_file():
            raise UserError(
                f"{self._directory} is not initialised, and the program keeps its state in"
                f" {self.name}.",
                self._init(),
            )
        if self._locking.lock:
            self._descriptor = lock_file(
                self._marker, self._command, self._open_marker, self._locking
            )

    def read(self) -> bytes:
        data = self._run("pull", b"").strip()
        state = State.parse(data, self.name)
        self._stored = (state.lineage if data else "", state.serial)
        return data

    def write(self, data: bytes, journal: bytes = b"") -> tuple[str, int]:
        """Push the state; return the lineage and the serial under which Terraform stored it.

        Raises:
            UserError: Someone else wrote the state since it was read, or the push failed.
        """
        before = self._stored
        self.read()
        if self._stored != before:
            raise self._moved_error(*before)
        arguments = ["-lock=true" if self._locking.lock else "-lock=false"]
        if self._locking.timeout:
            arguments.append(f"-lock-timeout={int(self._locking.timeout * 1000)}ms")
        self._run("push", data, *arguments, "-")
        # Terraform raises the serial by one more if there was a state before, and chooses the
        # lineage if there was none. Only reading the state again returns both.
        stored = State.parse(self.read(), self.name)
        pushed = State.parse(data, "to push")
        is_next = stored.serial in (pushed.serial, pushed.serial + 1)
        if not is_next or not _same_objects(stored, pushed):
            raise self._moved_error(pushed.lineage, pushed.serial)
        return self._stored

    def close(self) -> None:
        if self._descriptor != NOT_OPEN:
            release_file(self._marker, self._descriptor)
            self._descriptor = NOT_OPEN

    def unlocked_reason(self) -> str:
        return f"{self.name} is reached through Terraform, which cannot hold its lock for a run."

    def check_force_unlock(self, lock_id: str) -> None:
        raise self._elsewhere(f"force-unlock {lock_id}")

    def workspaces(self) -> list[str]:
        raise self._elsewhere("workspace")

    def _elsewhere(self, verb: str) -> UserError:
        cli = cli_of(self._directory)
        return UserError(
            f"{self.name} is reached through {cli.name}.",
            f"Use `{cli.command} {verb}` there.",
        )

    def _open_marker(self) -> int:
        with file_errors("write", self._marker, "Nothing was changed."):
            return os.open(self._marker, os.O_RDWR | os.O_CREAT, 0o600)

    def _run(self, verb: str, stdin: bytes, *arguments: str) -> bytes:
        command = [self._binary, "state", verb, *arguments]
        # Terraform adds TF_CLI_ARGS to every command, also where it does not fit.
        environment = {**os.environ, "TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "TF_CLI_ARGS": ""}
        try:
            done = subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                cwd=self._directory,
                env=environment,
                # Ctrl-C is meant for this process; a push that has begun must finish.
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(f"Cannot run {self._binary}: {error.strerror}.") from error
        if done.returncode == 0:
            return done.stdout
        said = _plain_text(done.stderr or done.stdout)
        raise UserError(
            f"`{Path(self._binary).name} state {verb}` failed for {self.name}: {said}",
            self._init() if re.search(r"\binit\b", said) else _KEPT if verb == "push" else "",
        )

    def _init(self) -> str:
        return f"Run `{Path(self._binary).name} init` in {self._directory} first."

    def _moved_error(self, lineage: str, serial: int) -> UserError:
        now_lineage, now_serial = self._stored
        what = f"serial {now_serial}, not {serial}"
        if now_lineage != lineage:
            what = f"lineage {now_lineage or 'none'}, not {lineage or 'none'}"
        return UserError(
            f"The state in {self.name} was written by someone else meanwhile: it has {what}.",
            f"It is as they left it. {_KEPT}",
        )


def read_with_terraform(kind: str, config: Mapping[str, Any], workspace: str) -> tuple[str, State]:
    """Read the state of another program with Terraform, in a temporary folder.

    Raises:
        UserError: Terraform is not installed, or cannot read the state.
    """
    binary = find_binary(Path.cwd())
    with tempfile.TemporaryDirectory(prefix="opsconsole-") as folder:
        block = {key: value for key, value in config.items() if value is not None}
        program = {"terraform": {"backend": {kind: block}}}
        (Path(folder) / "main.tf.json").write_text(json.dumps(program))
        environment = {**os.environ, "TF_WORKSPACE": workspace, "TF_IN_AUTOMATION": "1"}
        # These variables are for another program, whose backend they would lead to.
        for name in os.environ:
            if name.startswith(("TF_CLI_ARGS", "TF_DATA_DIR")):
                del environment[name]
        for words in (["init", "-input=false", "-no-color"], ["state", "pull"]):
            done = subprocess.run(
                [binary, *words], capture_output=True, cwd=folder, env=environment
            )
            if done.returncode:
                raise UserError(f"{Path(binary).name} cannot read it: {_plain_text(done.stderr)}")
        name = f"the {kind} backend"
        return name, State.parse(done.stdout, name)


def _same_objects(stored: State, pushed: State) -> bool:
    """Return whether two states hold the same objects; Terraform may drop unknown fields."""
    if stored.digest() == pushed.digest():
        return True
    addresses = list(pushed.addresses())
    return addresses == list(stored.addresses()) and all(
        _attributes(stored, address) == _attributes(pushed, address) for address in addresses
    )


def _attributes(state: State, address: Address) -> object:
    instance = state.get(address)
    return instance and instance.attributes


def _plain_text(text: bytes) -> str:
    """Remove the frame, the colours and the line breaks from an error of Terraform."""
    plain = _COLOUR.sub("", text.decode(errors="replace"))
    lines = [line.strip(" │╷╵") for line in plain.splitlines()]
    return " ".join(line for line in lines if line)
