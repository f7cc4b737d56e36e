"""What every test may use: the real programs, the installed provider, and what stands in for them.

A test marked `terraform` or `cdktf` runs the real program. Where that is missing the test is
skipped, and a line at the end says so; with CI=true it fails.
"""

import contextlib
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from attached_provider import AttachedProviders, AttachedTerraform, attached_providers
from consoles import CONSOLES
from engines import Cdktf, Terraform, quiet_environment
from forked_runs import COMMANDS, Forks, forks_of
from opsconsole.emulator import Emulator, serve
from opsconsole.errors import UserError
from opsconsole.language import jsii_environment
from opsconsole.language.synthesis import packaged_node
from sampling import EVERYTHING, SEED, sample

pytest_plugins = ("behaviour", "lifecycle_steps", "native_project")
"""Modules of `tests/support` with fixtures."""

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = 20
"""One in so many of the tests marked `real_client` runs, with and without cdktf or cdktn."""
SECONDS = 300
"""A test of a real program that takes longer hangs; for others `timeout` of pyproject says so."""

# Before cdktf is imported by any test: jsii looks at these when it starts Node. Without a Node only
# the tests that synthesise fail.
with contextlib.suppress(UserError):
    os.environ.update(jsii_environment())
# Where jsii unpacks packages. Its own place is in the home, and many tests have an empty one:
# unpacking is half of what a synthesis costs.
os.environ.setdefault("JSII_RUNTIME_PACKAGE_CACHE_ROOT", str(ROOT / "build" / "jsii"))
# A user's Python buffers what it prints, and so do the processes that tests start.
os.environ.pop("PYTHONUNBUFFERED", None)


# No test asserts on seconds: hypothesis would, of each example and of making them.
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=500 if EVERYTHING else 30,
)
settings.load_profile("tests")


CLIS = ("cdktf", "cdktn")
MISSING = {
    "terraform": "the terraform program is not on PATH",
    **{cli: f"the {cli} command is not installed (`make setup` does it with npm)" for cli in CLIS},
}
"""Program, which is also the marker of its tests: what is said where it is missing."""


def find(program: str) -> Path | None:
    """Find a program that `make setup` installed, or that is on PATH.

    As for cdktf, a variable names another program than `terraform`. cdktn needs a newer Node.
    """
    name = os.environ.get("TERRAFORM_BINARY_NAME", program) if program == "terraform" else program
    path = f"{ROOT / 'node_modules' / '.bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which(name, path=path)
    return Path(found) if found and (program != "cdktn" or packaged_node()) else None


def pytest_configure(config: pytest.Config) -> None:
    """Measure workers, but not what they start: tracing doubles the CPU time of a process."""
    if hasattr(config, "workerinput"):
        for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS_")]:
            del os.environ[name]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give real programs more time, and leave most of the long ones out: on every worker alike."""
    clients = [item for item in items if item.get_closest_marker("real_client")]
    left_out: set[pytest.Item] = set()
    # A synthesis by a CLI takes ten times longer: a plain sample has none of them, or four.
    for by_cli in (True, False):
        kind = [item for item in clients if by_cli is any(map(item.get_closest_marker, CLIS))]
        left_out |= {*kind} - {*sample(kind, math.ceil(len(kind) / CLIENTS))}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])
    for item in items:
        marked = any(map(item.get_closest_marker, (*MISSING, "real_client")))
        if marked or item.path.parent.name in ("pipelines", "release"):
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or with CI=true fail, a test whose program is missing, before its fixtures are made."""
    for program in filter(item.get_closest_marker, (*CLIS, "terraform")):
        require(program)
        require("terraform")


def require(program: str) -> Path:
    """Return where a program of MISSING stands; skip or fail the running test without it."""
    if found := find(program):
        return found
    if os.environ.get("CI") == "true":
        pytest.fail(f"{MISSING[program]}, and CI=true asks for every test", pytrace=False)
    pytest.skip(MISSING[program])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say once for each reason how many tests were skipped, and which seed chose the samples."""
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} tests were skipped: {reason}", yellow=True)
    terminalreporter.write_line(f"samples were chosen by OPSCONSOLE_SEED={SEED}")


@pytest.fixture(scope="session")
def _running() -> Iterator[Callable[[str], Emulator]]:
    """Consoles by profile, started when first asked for and kept: starting is not free."""
    with contextlib.ExitStack() as stack:
        consoles: dict[str, Emulator] = {}

        def running(profile: str) -> Emulator:
            if profile not in consoles:
                consoles[profile] = stack.enter_context(serve(CONSOLES[profile]))
            return consoles[profile]

        yield running


@pytest.fixture
def console_of(_running: Callable[[str], Emulator]) -> Callable[[str], Emulator]:
    """A console of a profile, which holds the starter rows and nothing else."""

    def fresh(profile: str) -> Emulator:
        console = _running(profile)
        console.reset()
        return console

    return fresh


@pytest.fixture(scope="session")
def terraform_binary() -> Path:
    """Where Terraform stands."""
    return require("terraform")


@pytest.fixture(scope="session")
def cdktf_binary() -> Path:
    """Where the cdktf command stands."""
    return require("cdktf")


@pytest.fixture(scope="session")
def forked_commands() -> Iterator[Forks]:
    """Runs of both commands, by name: `run("opsconsole", "plan", folder=…)`."""
    with forks_of(COMMANDS) as forks:
        yield forks


@pytest.fixture(scope="session")
def commands(forked_commands: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with both commands, for tests of what they do and not of their start."""
    folder = tmp_path_factory.mktemp("commands")
    forked_commands.install(folder, "opsconsole", "opsconsole-terraform")
    return folder


@pytest.fixture(scope="session")
def plugin_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filesystem mirror with the provider, made by the command that users run."""
    folder = tmp_path_factory.mktemp("plugins")
    command = [
        sys.executable,
        "-m",
        "opsconsole.cli.main",
        "provider",
        "install",
        "--plugin-dir",
        folder,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture
def cli_environment(
    plugin_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, str]]:
    """Make an environment in which Terraform finds the provider: `(console=None, **variables)`."""
    home = tmp_path_factory.mktemp("home")

    def make(console: Emulator | None = None, **variables: str) -> dict[str, str]:
        given = (console.environment if console else {}) | variables
        return quiet_environment(home, plugin_dir / "opsconsole.tfrc", **given)

    return make


@pytest.fixture(scope="session")
def providers() -> Iterator[AttachedProviders]:
    """Where Terraform attaches to the provider, instead of starting it."""
    with attached_providers() as serving:
        yield serving


@pytest.fixture
def attached_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """Make an environment for a Terraform that attaches: `(console=None, **variables)`."""
    home = tmp_path_factory.mktemp("home")
    configuration = home / "terraform.tfrc"
    configuration.write_text("")
    return lambda console=None, **variables: quiet_environment(
        home, configuration, **(console.environment if console else {}) | variables
    )


@pytest.fixture
def terraform(
    terraform_binary: Path,
    providers: AttachedProviders,
    attached_environment: Callable[..., dict[str, str]],
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
        made.settings = console.profile.provider_settings if console else {}
        made.write(program)
        return made

    return make


@pytest.fixture
def installed_terraform(
    terraform_binary: Path,
    cli_environment: Callable[..., dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
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
        made.settings = console.profile.provider_settings if console else {}
        made.write(program)
        made.init()
        return made

    return make


@pytest.fixture
def cdktf_cli(
    cli_environment: Callable[..., dict[str, str]], tmp_path_factory: pytest.TempPathFactory
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


@pytest.fixture(scope="session")
def newer_node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the Node of PyPI's package, and not the npm beside it."""
    node = packaged_node()
    assert node is not None
    folder = tmp_path_factory.mktemp("node")
    (folder / "node").symlink_to(node)
    return folder
