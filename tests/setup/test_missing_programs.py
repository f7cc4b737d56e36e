"""Tests of the real programs are skipped where those are missing, and fail with CI=true."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


def run(folder: Path, ci: str) -> subprocess.CompletedProcess[str]:
    """Run the suite's own conftest on a test of each program, with nothing on PATH."""
    probe = folder / "test_probe.py"
    probe.write_text(PROBE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    options = ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "conftest", probe]
    environment = {
        **os.environ,
        "PATH": str(folder),
        "PYTHONPATH": str(ROOT / "tests"),
        "TERRAFORM_BINARY_NAME": "no-such-terraform",
        "CI": ci,
        "PYTEST_ADDOPTS": "",
    }
    return subprocess.run(
        [*command, *options], capture_output=True, text=True, env=environment, timeout=300
    )


@pytest.mark.parametrize("ci", ["", "false"])
def test_skipped_with_a_line_that_says_so(ci, tmp_path):
    seen = run(tmp_path, ci)
    assert seen.returncode == 0, seen.stdout
    assert "2 tests were skipped: the terraform program is not on PATH" in seen.stdout


def test_failed_in_continuous_integration(tmp_path):
    seen = run(tmp_path, "true")
    assert seen.returncode == 1
    assert "2 errors" in seen.stdout
    assert "the terraform program is not on PATH, and CI=true asks for every test" in seen.stdout
    assert "RuntimeError" not in seen.stdout
