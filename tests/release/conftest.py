"""What a release is made of: built once, or taken from the folder that OPSCONSOLE_RELEASE names."""

import os
import sys
from pathlib import Path

import pytest

import opsconsole
from engines import ROOT, run_program
from real_programs import SharedFolder
from sampling import EVERYTHING

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


def built(shared_folder: SharedFolder, name: str, *module: str) -> Path:
    """Return the folder of the release that is named, or one that a module of this Python fills."""
    if RELEASE:
        return Path(RELEASE).resolve()
    words = (sys.executable, "-m", *module)
    return shared_folder(name, lambda folder: run_program(*words, folder, folder=ROOT))


@pytest.fixture(scope="session")
def released(shared_folder: SharedFolder) -> Path:
    """The folder of a whole release."""
    return built(shared_folder, "release", "scripts.release")


@pytest.fixture(scope="session")
def packages(shared_folder: SharedFolder) -> Path:
    """A folder with wheel and sdist."""
    return built(shared_folder, "packages", "hatchling", "build", "--directory")


@pytest.fixture(scope="session")
def wheel(packages: Path) -> Path:
    """The wheel."""
    return packages / f"opsconsole-{opsconsole.__version__}-py3-none-any.whl"
