"""Deploys a synthesised program by the native engine, in this process and a separate folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

from opsconsole.cli.main import main
from opsconsole.state import State

_NOT_PASSED_ON = ("TF_", "OPSCONSOLE_")
"""Variables of the caller's environment that a deployment must not follow."""


class Console(Protocol):
    """Where to deploy: a running emulator, or any other console."""

    base_url: str
    api_key: str


class DeploymentError(AssertionError):
    """A plan or an apply failed; the message is the output of the command."""


class Deployment:
    """One program on one console, with its state, which is deleted with this object.

    Commands print nothing; the error of a failed one has its output.

    Args:
        program: The synthesised JSON of a stack.
        console: Where to deploy.
        settings: Further provider settings, as variables of the environment.
    """

    def __init__(
        self,
        program: Mapping[str, Any],
        console: Console,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._environment = {
            "OPSCONSOLE_BASE_URL": console.base_url,
            "OPSCONSOLE_API_KEY": console.api_key,
            "NO_COLOR": "1",
            **(settings or {}),
        }
        self._path = Path(tempfile.mkdtemp(prefix="opsconsole-test-"))
        weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)
        self.change_to(program)

    def change_to(self, program: Mapping[str, Any]) -> Deployment:
        """Replace the program, and keep the state; return this deployment."""
        terraform = {**program.get("terraform", {})}
        terraform.pop("backend", None)  # the state belongs to the test
        document = {**program, "terraform": terraform}
        (self._path / "cdk.tf.json").write_text(json.dumps(document), "utf-8")
        return self

    @property
    def state(self) -> dict[str, Any]:
        """The attributes of each instance in state, by its address."""
        file = self._path / "terraform.tfstate"
        state = State.parse(file.read_bytes() if file.exists() else b"")
        instances = ((address, state.get(address)) for address in state.addresses())
        return {str(address): held.attributes for address, held in instances if held is not None}

    def plan(self) -> dict[str, list[str]]:
        """Return the planned actions by address; empty if the console matches the program.

        An import without other changes is the single action `import`.
        """
        changes = json.loads(self._run("plan", "-json", expect=(0, 2))).get("resource_changes", [])
        planned: dict[str, list[str]] = {}
        for item in changes:
            actions = [name for name in item["change"]["actions"] if name != "no-op"]
            if "importing" in item["change"]:
                actions.insert(0, "import")
            if actions and item["mode"] == "managed":
                planned[item["address"]] = actions
        return planned

    def apply(self) -> Deployment:
        """Apply the program; return this deployment."""
        self._run("apply", "-auto-approve")
        return self

    def destroy(self) -> Deployment:
        """Destroy everything in state; return this deployment."""
        # If a test has removed objects on the console, the guard would require force.
        self._run("destroy", "-auto-approve", "-force")
        return self

    def _run(self, *words: str, expect: Sequence[int] = (0,)) -> str:
        place = ("-dir", str(self._path), "-state", str(self._path / "terraform.tfstate"))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_PASSED_ON)}
        out, err = io.StringIO(), io.StringIO()
        with (
            # The command reads its settings from the environment of this process.
            mock.patch.dict(os.environ, kept | self._environment, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                code: Any = main([*words, *place])
            except SystemExit as exit:
                code = exit.code
        if code not in expect:
            raise DeploymentError(f"{words[0]} ended with {code}\n{out.getvalue()}{err.getvalue()}")
        return out.getvalue()
