"""What a release is made of: built once, or taken from the folder that OPSCONSOLE_RELEASE names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opsconsole
from extent import EVERYTHING

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


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole release."""
    if RELEASE:
        return Path(RELEASE).resolve()
    dist = tmp_path_factory.mktemp("release") / "dist"
    command = [sys.executable, "-m", "scripts.release", str(dist)]
    subprocess.run(command, check=True, cwd=ROOT)
    return dist


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and sdist."""
    if RELEASE:
        return Path(RELEASE).resolve()
    folder = tmp_path_factory.mktemp("packages")
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(build, check=True, cwd=ROOT, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def wheel(packages: Path) -> Path:
    """The wheel."""
    return packages / f"opsconsole-{opsconsole.__version__}-py3-none-any.whl"
