"""What a type checker says of programs that use the constructs."""

import json
import shutil
import sys
from pathlib import Path

import pyright
import pytest

from engines import ROOT, run_program
from opsconsole.language import find_node
from type_checking import REFUSED, assert_refused_lines, check_types

PROGRAM = Path(__file__).with_name("typed_program.py")


@pytest.mark.real_client
def test_a_strict_type_checker_accepts_and_refuses(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert_refused_lines(PROGRAM.relative_to(ROOT))


# The command beside it would look for a newer one on the network.
PYRIGHT = Path(pyright.__file__).with_name("dist") / "index.js"


@pytest.mark.real_client
def test_pyright_refuses_the_same_lines(tmp_path):
    lines = PROGRAM.read_text("utf-8").splitlines()
    expected = {number for number, line in enumerate(lines) if REFUSED.search(line)}
    # The framework's own annotations are not strict.
    loose = ("UnknownMemberType", "UnknownArgumentType", "UnknownVariableType", "MissingTypeStubs")
    settings = {
        "include": [PROGRAM.name],
        "extraPaths": [str(ROOT / "provider"), str(ROOT / "constructs")],
        "typeCheckingMode": "strict",
        **{f"report{name}": "none" for name in loose},
    }
    shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    node, _ = find_node()
    words = ("--outputjson", "--pythonpath", sys.executable, "--project", tmp_path)
    said = run_program(node, PYRIGHT, *words, expect={0, 1}).out
    report = json.loads(said)["generalDiagnostics"]
    found = {item["range"]["start"]["line"] for item in report if item["severity"] == "error"}
    assert found == expected, report


@pytest.mark.real_client
def test_the_examples_are_strictly_typed(monkeypatch):
    monkeypatch.chdir(ROOT)
    programs = sorted((ROOT / "examples" / "reference").rglob("main.py"))
    programs.append(ROOT / "examples" / "fleet" / "main.py")
    for program in programs:
        output, _, status = check_types("--strict", str(program.relative_to(ROOT)))
        assert status == 0, output
