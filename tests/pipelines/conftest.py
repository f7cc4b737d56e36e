"""A console, a project that pipelines deploy to it, and the services that run them."""

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripts.setup import cache

from engines import ROOT, run_program
from github_runs import GitHub
from gitlab_runs import GitLab
from loopback import HttpState, Posts, serve_posts, serve_state
from opsconsole.emulator import Emulator, serve
from package_index import serve_index
from pipeline_jobs import (
    PIPELINES,
    Machine,
    Repository,
    Shell,
    for_cdktn,
    plain_program,
    write_locks,
)
from real_programs import SharedFolder, do_without


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    """Skip where a runner's own programs are missing; with CI=true that is a failure."""
    missing = [name for name in ("bash", "git", "curl") if shutil.which(name) is None]
    if missing:
        do_without(f"not on PATH: {', '.join(missing)}")


@pytest.fixture
def console() -> Iterator[Emulator]:
    """A console with the starter rows."""
    with serve() as running:
        yield running


@pytest.fixture
def state() -> Iterator[HttpState]:
    """The state of the project, behind Terraform's `http` backend."""
    with serve_state() as served:
        yield served


@pytest.fixture(scope="session")
def index(shared_folder: SharedFolder) -> Iterator[str]:
    """A package index with a wheel of this tree, and the packages that the lock names."""

    def build(folder: Path) -> None:
        words = ("hatchling", "build", "-t", "wheel", "-d", folder)
        run_program(sys.executable, "-m", *words, folder=ROOT)

    with serve_index(cache() / "wheels", shared_folder("wheel", build)) as address:
        yield address


@pytest.fixture
def machine(shared_folder: SharedFolder, index: str, tmp_path: Path) -> Machine:
    """What runs the jobs."""
    return Machine(tmp_path, shared_folder("machine", Path.mkdir), index)


Project = Callable[..., Path]


@pytest.fixture
def project(shared_folder: SharedFolder, machine: Machine) -> Project:
    """Make a project with its locks: `(framework="")`; without one it is a plain `main.tf.json`."""

    def make(framework: str = "") -> Path:
        def fill(folder: Path) -> None:
            folder.mkdir()
            for file in (PIPELINES / "project").iterdir():
                if framework and file.is_file():
                    text = file.read_text()
                    renamed = text if framework == "cdktf" else for_cdktn(text)
                    (folder / file.name).write_text(renamed)
            if not framework:
                shutil.copy(PIPELINES / "container" / "requirements.txt", folder)
            write_locks(folder, machine)

        return shared_folder(f"project-{framework}", fill)

    return make


def backend_at(address: str) -> dict[str, dict[str, str]]:
    """Return the block of an `http` backend, as the example project writes it."""
    lock = f"{address}/lock"
    verbs = {"lock_method": "POST", "unlock_method": "DELETE"}
    return {"http": {"address": address, "lock_address": lock, "unlock_address": lock, **verbs}}


@pytest.fixture
def service(
    machine: Machine,
    project: Project,
    console: Emulator,
    state: HttpState,
    request: pytest.FixtureRequest,
) -> Callable[..., GitHub | GitLab | Shell]:
    """Make a service: `(name, framework="", engine="opsconsole-terraform")`.

    It does jobs: `diff` and `deploy` by cdktf, `review` (the plan of a change), `plan` and `drift`;
    `apply` carries out what was planned.
    """

    def make(name: str, framework: str = "", engine: str = "opsconsole-terraform") -> Any:
        settings = {
            **console.environment,
            "TERRAFORM_BINARY_NAME": engine,
            "LOCK_TIMEOUT": "1s",
            "PIP_INDEX_URL": f"{machine.index}/simple",
            "TF_HTTP_ADDRESS": state.address,
            "TF_HTTP_USERNAME": state.username,
            "TF_HTTP_PASSWORD": state.password,
        }
        origin = project(framework)
        files = {file.name: file.read_text() for file in origin.iterdir()}
        if not framework:
            files["main.tf.json"] = plain_program(backend_at(state.address), "web-1", "web-2")
        repository = Repository(machine.folder / "origin", files)
        if framework == "cdktn":
            node = request.getfixturevalue("newer_node")
            runner = replace(machine, node=node, read=lambda file: for_cdktn(file.read_text()))
        else:
            runner = machine
        if name == "shell":
            return Shell(runner, repository, settings, empty=bool(framework))
        return {"github": GitHub, "gitlab": GitLab}[name](runner, repository, settings)

    return make


@pytest.fixture
def posts() -> Iterator[Posts]:
    """A server that keeps notes and notifications."""
    with serve_posts() as served:
        yield served
