"""What a release is made of: built once, or taken from the folder that OPSCONSOLE_RELEASE names."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

import opsconsole
from sampling import EVERYTHING

ROOT = Path(__file__).resolve().parents[2]
RELEASE = os.environ.get("OPSCONSOLE_RELEASE", "")
WHOLE = bool(RELEASE or EVERYTHING)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests of a whole release to `make release` and OPSCONSOLE_TEST_EVERYTHING."""
    if WHOLE:
        return
    left_out = pytest.mark.skip(reason="run by `make release` and OPSCONSOLE_TEST_EVERYTHING=1")
    for item in items:
        if item.get_closest_marker("release") is not None:
            item.add_marker(left_out)


def built(temporary: pytest.TempPathFactory, name: str, *module: str) -> Path:
    """Return a folder that a module of this Python fills: once for all workers of a test run."""
    if RELEASE:
        return Path(RELEASE).resolve()
    shared = temporary.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            command = [sys.executable, "-m", *module, f"{folder}.partial"]
            subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            Path(f"{folder}.partial").rename(folder)
    return folder


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole release."""
    return built(tmp_path_factory, "release", "scripts.release")


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and sdist."""
    return built(tmp_path_factory, "packages", "hatchling", "build", "--directory")


@pytest.fixture(scope="session")
def wheel(packages: Path) -> Path:
    """The wheel."""
    return packages / f"opsconsole-{opsconsole.__version__}-py3-none-any.whl"
