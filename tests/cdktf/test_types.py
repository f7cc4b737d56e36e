"""What a type checker says of programs that use the constructs."""

from pathlib import Path

import pytest

from pyright_runs import strict_pyright
from type_checking import REFUSED, assert_refused_lines, check_types

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("typed_program.py")


@pytest.mark.real_client
def test_a_strict_type_checker_accepts_and_refuses(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert_refused_lines(PROGRAM.relative_to(ROOT))


@pytest.mark.real_client
def test_pyright_refuses_the_same_lines():
    lines = PROGRAM.read_text("utf-8").splitlines()
    expected = {number for number, line in enumerate(lines) if REFUSED.search(line)}
    report = strict_pyright(PROGRAM)
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
