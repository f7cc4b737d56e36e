"""Tests of the real programs are skipped where those are missing, and fail with CI=true."""

import sys
from pathlib import Path

import pytest

from engines import ROOT, Run, run_program

PROBE = """\
import pytest

@pytest.fixture
def costly():
    raise RuntimeError("made for a test that does not run")

@pytest.mark.terraform
def test_terraform(costly):
    pass

@pytest.mark.cdktf
def test_cdktf(costly):
    pass
"""


def run(folder: Path, ci: str) -> Run:
    """Run the suite's own conftest on a test of each program, with nothing on PATH."""
    probe = folder / "test_probe.py"
    probe.write_text(PROBE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    options = ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "conftest", probe]
    variables = {"CI": ci, "PATH": str(folder), "PYTHONPATH": str(ROOT / "tests")}
    variables |= {"TERRAFORM_BINARY_NAME": "no-such-terraform", "PYTEST_ADDOPTS": ""}
    return run_program(*command, *options, expect=None, **variables)


@pytest.mark.parametrize("ci", ["", "false"])
def test_skipped_with_a_line_that_says_so(ci, tmp_path):
    seen = run(tmp_path, ci)
    assert seen.code == 0, seen.out
    assert "2 tests were skipped: the terraform program is not on PATH" in seen.out


def test_failed_in_continuous_integration(tmp_path):
    seen = run(tmp_path, "true")
    assert seen.code == 1
    assert "2 errors" in seen.out
    assert "the terraform program is not on PATH, and CI=true asks for every test" in seen.out
    assert "RuntimeError" not in seen.out
