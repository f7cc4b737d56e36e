"""What a reader of the README types: `make` and the scripts behind it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import sequence

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300
    )


def test_make_alone_lists_every_target() -> None:
    shown = run("make", "--no-print-directory").stdout
    (phony,) = re.findall(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)
    listed = re.findall(r"^  make (\w+)", shown, re.MULTILINE)
    assert sorted(listed) == sorted(phony.split())


def test_continuous_integration_runs_make_test_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["exec make test"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("version", ["missing", "3.10"])
def test_setup_without_a_python_that_serves_says_what_is_needed(
    version: str, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    if version != "missing":
        python.write_text("#!/bin/sh\nexit 1\n")
        python.chmod(0o755)
    seen = run(ROOT / "scripts" / "setup", PYTHON=str(python))
    assert seen.returncode == 1
    assert "no Python 3.11 or newer" in seen.stderr


@pytest.mark.parametrize("target", ["demo", "bench"])
def test_what_a_target_runs_is_there(target: str) -> None:
    shown = run("make", "--dry-run", target).stdout
    ((module, script),) = re.findall(r"^\S+/python (?:-m (\w+)|(\S+))$", shown, re.MULTILINE)
    assert (ROOT / (script or f"{module}/__main__.py")).is_file()


def test_the_files_that_are_begun_first_are_there() -> None:
    assert [name for name in sequence.LONGEST if not (sequence.TESTS / name).exists()] == []
