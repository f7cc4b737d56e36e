"""A console, a project that pipelines deploy to it, and the machine that its jobs run on."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engines import quiet_environment
from http_state import HttpState, serve_state
from opsconsole.emulator.running import Emulator, serve

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "examples" / "pipelines"
COMMANDS = Path(__file__).resolve().parent / "commands"
PYTHON = Path(sys.executable)


@pytest.fixture
def console() -> Iterator[Emulator]:
    """A console with the starter rows."""
    with serve() as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    """Skip where a runner's own programs are missing; with CI=true that is a failure."""
    missing = [name for name in ("bash", "git") if shutil.which(name) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(missing)} missing, and CI=true asks for every test")
    if missing:
        pytest.skip(f"not on PATH: {', '.join(missing)}")


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """What a runner's machine has in its environment: no console, no key, no package index."""
    environment = quiet_environment(tmp_path / "home", tmp_path / "none", PYTHON)
    del environment["TF_CLI_CONFIG_FILE"]
    (tmp_path / "home").mkdir()
    environment["PATH"] = f"{COMMANDS}{os.pathsep}{environment['PATH']}"
    return environment | {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@dataclass(frozen=True)
class Kept:
    """Where a project's state is kept."""

    settings: dict[str, str]
    remote: HttpState | None = None


@pytest.fixture(params=["file", pytest.param("http", marks=pytest.mark.terraform)])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    """A state in a file, or behind Terraform's `http` backend."""
    if request.param == "file":
        yield Kept(_settings(STATE_FILE=str(tmp_path / "fleet.tfstate")))
        return
    with serve_state() as remote:
        found = _settings(
            TF_HTTP_ADDRESS=remote.address,
            TF_HTTP_USERNAME=remote.username,
            TF_HTTP_PASSWORD=remote.password,
        )
        yield Kept(found, remote)


def _settings(**given: str) -> dict[str, str]:
    names = ("STATE_FILE", "TF_HTTP_ADDRESS", "TF_HTTP_USERNAME", "TF_HTTP_PASSWORD")
    return {name: given.get(name, "") for name in names}


@pytest.fixture(scope="session")
def app() -> dict[str, str]:
    """The files of the example project."""
    folder = PIPELINES / "project"
    return {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}
