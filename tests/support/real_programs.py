"""Terraform, cdktf, cdktn and the installed provider.

A test marked `terraform` or `cdktf` runs the real program. Where that is missing the test is
skipped, and a line at the end says so; with CI=true it fails.
"""

import contextlib
import fcntl
import itertools
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from attached_provider import AttachedProviders, AttachedTerraform
from engines import ROOT, Cdktf, Terraform, quiet_environment, run_program
from opsconsole.emulator import Emulator
from opsconsole.language.synthesis import packaged_node
from sampling import sample

CLIS = ("cdktf", "cdktn")
MISSING = {
    "terraform": "the terraform program is not on PATH",
    **{cli: f"the {cli} command is not installed (`make setup` does it with npm)" for cli in CLIS},
}
"""Program, which is also the marker of its tests: what is said where it is missing."""
CLIENTS = 20
"""One in so many of the tests marked `real_client` runs, with and without cdktf or cdktn."""
LONG = ("real_client", "parity", "long")
"""Markers of the tests that take longest."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave most of the long tests of real programs out, and begin with the others."""
    clients = [item for item in items if item.get_closest_marker("real_client")]
    left_out: set[pytest.Item] = set()
    # A synthesis by a CLI takes ten times longer: a plain sample has none of them, or four.
    for by_cli in (True, False):
        kind = [item for item in clients if by_cli is any(map(item.get_closest_marker, CLIS))]
        left_out |= {*kind} - {*sample(kind, math.ceil(len(kind) / CLIENTS))}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])
    begin_with_long_tests(items)


def begin_with_long_tests(items: list[pytest.Item]) -> None:
    """Have each worker begin with its share of the long tests.

    A long test that begins last leaves the other workers idle. With `--dist=worksteal`, each worker
    gets a part of the list, and others take tests from the end of its part.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for item in items if any(map(item.get_closest_marker, LONG))]
    short = iter([item for item in items if not any(map(item.get_closest_marker, LONG))])
    count, ordered = len(items), list[pytest.Item]()
    for worker in range(workers):
        size = (count - len(ordered)) // (workers - worker)
        first = long[worker::workers]
        ordered += [*first, *itertools.islice(short, max(0, size - len(first)))]
    items[:] = ordered


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or with CI=true fail, a test whose program is missing, before its fixtures are made."""
    for program in filter(item.get_closest_marker, (*CLIS, "terraform")):
        require(program)
        require("terraform")


def do_without(reason: str) -> NoReturn:
    """Skip the running test, or with CI=true fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, and CI=true asks for every test", pytrace=False)
    pytest.skip(reason)


def find(program: str) -> Path | None:
    """Find a program that `make setup` installed, or that is on PATH.

    As for cdktf, a variable names another program than `terraform`. cdktn needs a newer Node.
    """
    name = os.environ.get("TERRAFORM_BINARY_NAME", program) if program == "terraform" else program
    path = f"{ROOT / 'node_modules' / '.bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which(name, path=path)
    return Path(found) if found and (program != "cdktn" or packaged_node()) else None


def require(program: str) -> Path:
    """Return where a program of MISSING stands; skip or fail the running test without it."""
    return find(program) or do_without(MISSING[program])


@pytest.fixture(scope="session")
def terraform_binary() -> Path:
    """Where Terraform stands."""
    return require("terraform")


@pytest.fixture(scope="session")
def cdktf_binary() -> Path:
    """Where the cdktf command stands."""
    return require("cdktf")


@pytest.fixture(scope="session")
def newer_node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the Node of PyPI's package, and not the npm beside it."""
    node = packaged_node()
    folder = tmp_path_factory.mktemp("node")
    (folder / "node").symlink_to(node)
    return folder


SharedFolder = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """Return a folder that is filled once for all workers of a test run: `(name, fill)`."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent

    def shared(name: str, fill: Callable[[Path], object]) -> Path:
        folder = base / name
        with hold(folder):
            if not folder.exists():
                partial = folder.with_name(f"{name}.partial")
                shutil.rmtree(partial, ignore_errors=True)
                fill(partial)
                partial.rename(folder)
        return folder

    return shared


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other workers from a folder for the block."""
    with folder.with_name(f"{folder.name}.held").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def plugin_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filesystem mirror with the provider, made by the command that users run."""
    folder = tmp_path_factory.mktemp("plugins")
    words = ("-m", "opsconsole.cli.main", "provider", "install", "--plugin-dir", folder)
    run_program(sys.executable, *words)
    return folder


Environment = Callable[..., dict[str, str]]


@pytest.fixture
def cli_environment(plugin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Make an environment in which Terraform finds the provider: `(console=None, **variables)`."""
    return _environment(tmp_path_factory, plugin_dir / "opsconsole.tfrc")


@pytest.fixture
def attached_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Make an environment for a Terraform that attaches: `(console=None, **variables)`."""
    return _environment(tmp_path_factory, Path(os.devnull))


def _environment(temporary: pytest.TempPathFactory, configuration: Path) -> Environment:
    home = temporary.mktemp("home")
    return lambda console=None, **variables: quiet_environment(
        home, configuration, **(console.environment if console else {}) | variables
    )


@pytest.fixture(scope="session")
def providers() -> Iterator[AttachedProviders]:
    """Where Terraform attaches to the provider, instead of starting it."""
    with contextlib.closing(AttachedProviders()) as serving:
        yield serving


@pytest.fixture
def terraform(
    terraform_binary: Path,
    providers: AttachedProviders,
    attached_environment: Environment,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Terraform]:
    """Make a Terraform folder: `(program, console=None, **variables)`.

    Terraform attaches to a provider that runs already, and needs no `init`: what that is for is
    tested with `installed_terraform`. The provider's settings are those that the console's profile
    asks for, unless the program has a provider block of its own; address and key are in the
    environment.
    """

    def make(
        program: Mapping[str, Any], console: Emulator | None = None, **variables: str
    ) -> Terraform:
        folder = tmp_path_factory.mktemp("terraform")
        environment = attached_environment(console, **variables)
        made = AttachedTerraform(terraform_binary, folder, environment, providers)
        return made.begin(program, console)

    return make


@pytest.fixture
def installed_terraform(
    terraform_binary: Path, cli_environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Terraform]:
    """Make an initialised Terraform folder, where Terraform starts the installed provider.

    Each start costs as much as a whole run of `terraform`: for tests of the provider's process, of
    its installation, and of the ways into it. Arguments and settings are the same.
    """

    def make(
        program: Mapping[str, Any], console: Emulator | None = None, **variables: str
    ) -> Terraform:
        folder = tmp_path_factory.mktemp("terraform")
        made = Terraform(terraform_binary, folder, cli_environment(console, **variables))
        made.begin(program, console).init()
        return made

    return make


@pytest.fixture
def cdktf_cli(
    cli_environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Cdktf]:
    """Make an empty folder for the cdktf command: `(console=None, **variables)`."""

    def make(console: Emulator | None = None, cli: str = "cdktf", **variables: str) -> Cdktf:
        folder = tmp_path_factory.mktemp(cli)
        return Cdktf(require(cli), folder, cli_environment(console, **variables))

    return make


@pytest.fixture
def cdktn_cli(newer_node: Path, cdktf_cli: Callable[..., Cdktf]) -> Callable[..., Cdktf]:
    """Make an empty folder for the cdktn command, as `cdktf_cli` does for cdktf."""

    def make(console: Emulator | None = None, **variables: str) -> Cdktf:
        made = cdktf_cli(console, "cdktn", **variables)
        made.environment["PATH"] = f"{newer_node}{os.pathsep}{made.environment['PATH']}"
        return made

    return make
