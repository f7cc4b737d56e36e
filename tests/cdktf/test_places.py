"""Synthesis says where each resource is declared, the same on every machine."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from engines import run_program

LIBRARY = """
from opsconsole_cdktf import Host


def web(scope, name):
    return Host(scope, name, name=name)
"""

APP = """
from cdktf import App, TerraformStack
from opsconsole_cdktf import Host, OpsconsoleProvider, Specialty
from stacks.parts import web

app = App()
stack = TerraformStack(app, "fleet")
OpsconsoleProvider(stack, "opsconsole")
web(stack, "library")
made = [
    Specialty(
        stack, "linux", key="linux-server"
    ),
    Host(stack, "own", name="own"),
]
app.synth()
"""


def synthesised(folder: Path, main: Path) -> dict[str, Any]:
    """Run the app of `main` in `folder`; return what its resources hold under `//`."""
    run_program(sys.executable, main, folder=folder)
    program = json.loads((folder / "cdktf.out" / "stacks" / "fleet" / "cdk.tf.json").read_text())
    return {
        name: resource["//"]
        for resources in program["resource"].values()
        for name, resource in resources.items()
    }


@pytest.fixture
def main(tmp_path: Path) -> Path:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "parts.py").write_text(LIBRARY)
    (tmp_path / "main.py").write_text(APP)
    return tmp_path / "main.py"


def test_the_innermost_caller_in_the_project_is_the_place(main):
    notes = synthesised(main.parent, main)
    assert {name: note["stackTrace"] for name, note in notes.items()} == {
        "library": ["stacks/parts.py:6"],
        "linux": ["main.py:11"],
        "own": ["main.py:14"],
    }
    assert notes["own"]["metadata"]["path"] == "fleet/own"


def test_a_program_from_elsewhere_has_no_places(main, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for note in synthesised(elsewhere, main).values():
        assert "stackTrace" not in note
