"""The plan at a glance: short above what a screen holds, whole in a pipe, either one on demand."""

import os
import sys
from typing import Any

import pytest

from terminals import Session

ATTRIBUTE = "+ name "
COUNT = "30 opsconsole_host will be created"


@pytest.fixture
def many(native: Any, fleet: Any) -> Any:
    native.write(fleet(30, agents=False))
    return native


@pytest.mark.parametrize(
    ("words", "short"),
    [([], False), (["-compact"], True), (["--compact"], True), (["--full"], False)],
)
def test_in_a_pipe(words, short, many):
    said = many.run("plan", *words).out
    assert (COUNT in said, ATTRIBUTE in said) == (short, not short)
    assert "Plan: 30 to add" in said


@pytest.mark.parametrize(("words", "short"), [(["-refresh=false"], True), (["-full"], False)])
def test_on_a_terminal_that_is_too_small(words, short, many):
    said = on_terminal(many, *words)
    assert (COUNT in said, ATTRIBUTE in said) == (short, not short)
    assert "web[0] … web[29]" in said or not short


def test_a_saved_plan_is_shown_in_either_form(many):
    many.run("plan", "--out", "saved")
    assert COUNT in many.run("show", "--compact", "saved").out
    assert ATTRIBUTE in many.run("show", "saved").out
    assert "not allowed with" in many.run("show", "--compact", "--full", "saved", expect=1).err


def on_terminal(native: Any, *words: str) -> str:
    command = [sys.executable, "-m", "opsconsole.cli.main", "plan", *words]
    environment = {**os.environ, **native.console.environment}
    session = Session(command, native.folder, environment)
    session.wait_for("Checksum of this plan")
    session.process.wait(timeout=240)
    return session.text
