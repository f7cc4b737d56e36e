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

@pytest.mark.{marker}
def test_probe(costly):
    pass
"""


def run(folder: Path, marker: str, ci: str) -> subprocess.CompletedProcess[str]:
    """Run the suite's own conftest on one marked test, with nothing on PATH."""
    probe = folder / "test_probe.py"
    probe.write_text(PROBE.format(marker=marker))
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
@pytest.mark.parametrize("marker", ["terraform", "cdktf"])
def test_skipped_with_a_line_that_says_so(marker, ci, tmp_path):
    seen = run(tmp_path, marker, ci)
    assert seen.returncode == 0, seen.stdout
    assert "1 tests were skipped: the " in seen.stdout
    assert "1 skipped" in seen.stdout


@pytest.mark.parametrize("marker", ["terraform", "cdktf"])
def test_failed_in_continuous_integration(marker, tmp_path):
    seen = run(tmp_path, marker, "true")
    assert seen.returncode == 1
    assert "CI=true asks for every test" in seen.stdout
    assert "RuntimeError" not in seen.stdout
