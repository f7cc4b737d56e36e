"""Runs pyright, strict, on a program that uses the constructs."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyright

from opsconsole.language import find_node

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(pyright.__file__).with_name("dist") / "index.js"
"""The program itself: the command beside it would look for a newer one on the network."""


def strict_pyright(program: Path) -> list[dict[str, Any]]:
    """Return what pyright says of `program` in its strict mode, as its JSON has it."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "include": [program.name],
            "extraPaths": [str(ROOT / "provider"), str(ROOT / "constructs")],
            "typeCheckingMode": "strict",
            # The framework's own annotations are not strict.
            "reportUnknownMemberType": "none",
            "reportUnknownArgumentType": "none",
            "reportUnknownVariableType": "none",
            "reportMissingTypeStubs": "none",
        }
        shutil.copy(program, folder)
        project = Path(folder, "pyrightconfig.json")
        project.write_text(json.dumps(settings), "utf-8")
        node, _ = find_node()
        command = [node, str(PROGRAM), "--outputjson", "--pythonpath", sys.executable]
        done = subprocess.run(
            [*command, "--project", str(project)],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads(done.stdout)["generalDiagnostics"]
