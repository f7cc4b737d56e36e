"""Commands of `opsconsole` in the process of the test, and the programs that they read."""

import contextlib
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engines import Run
from opsconsole.cli.main import main


def run_command(
    *words: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    answer: str = "",
    together: bool = False,
) -> Run:
    """Run a command to its end.

    Args:
        words: What stands after `opsconsole`.
        folder: Where it runs; the working directory unless it is named.
        environment: Additions to the environment.
        answer: What stands on stdin.
        together: Whether stderr goes where stdout goes, in the order of a terminal.
    """
    out = io.StringIO()
    err = out if together else io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        if folder is not None:
            patch.chdir(folder)
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO(answer))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
    return Run(("opsconsole", *words), code, out.getvalue(), "" if together else err.getvalue())


def write_stacks(folder: Path, stacks: Mapping[str, Mapping[str, Any]]) -> None:
    """Write what synthesis makes of stacks; the state of one without a backend lies beside them."""
    entries = {}
    for name, blocks in stacks.items():
        where = folder / "cdktf.out" / "stacks" / name
        where.mkdir(parents=True, exist_ok=True)
        backend = {"local": {"path": str(folder / f"terraform.{name}.tfstate")}}
        program = {"terraform": {"backend": backend}, **blocks}
        (where / "cdk.tf.json").write_text(json.dumps(program))
        entries[name] = {
            "name": name,
            "constructPath": name,
            "synthesizedStackPath": f"stacks/{name}/cdk.tf.json",
            "workingDirectory": f"stacks/{name}",
            "annotations": [],
            "dependencies": [],
        }
    manifest = {"version": "0.21.0", "stacks": entries}
    (folder / "cdktf.out" / "manifest.json").write_text(json.dumps(manifest))
