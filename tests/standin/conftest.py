"""The stand-in in a folder of its own, on a PATH without Terraform."""

import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from engines import Cdktf, Terraform
from forked_runs import Forks
from opsconsole.emulator import Emulator

STANDIN = "opsconsole-terraform"


class ForkedStandin(Terraform):
    """The stand-in: what runs to its end is a fork, and what is started is the command itself."""

    forks: Forks

    def _ended(self, *words: str, **variables: str) -> tuple[int, str, str]:
        environment = self.environment | variables
        ended = self.forks.run(STANDIN, *words, folder=self.folder, environment=environment)
        return ended.code, ended.out, ended.err


@pytest.fixture(scope="session")
def standin_binary() -> Path:
    """Where the stand-in stands."""
    return Path(sys.executable).parent / STANDIN


@pytest.fixture(scope="session")
def plain_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with Node and this Python's commands, and no Terraform."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("node", "sh", "env", "uname"):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return f"{Path(sys.executable).parent}:{folder}"


@pytest.fixture
def standin(
    standin_binary: Path,
    forked_commands: Forks,
    plain_path: str,
    cli_environment: Callable[..., dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Terraform]:
    """Make a folder in which the stand-in runs: `(program, console=None, init=True, …)`."""

    def make(
        program: Mapping[str, Any], console: Any = None, *, init: bool = True, **variables: str
    ) -> Terraform:
        folder = tmp_path_factory.mktemp("standin")
        environment = cli_environment(console, **variables) | {"PATH": plain_path}
        made = ForkedStandin(standin_binary, folder, environment)
        made.forks = forked_commands
        made.settings = console.profile.provider_settings if console else {}
        made.write(program)
        if init:
            made.init()
        return made

    return make


@pytest.fixture
def fake_terraform(tmp_path: Path) -> Path:
    """A program that writes the words it is called with, also those of the environment."""
    path = tmp_path / "fake" / "terraform"
    path.parent.mkdir()
    path.write_text(
        '#!/bin/sh\necho "called: $*${TF_CLI_ARGS_plan:+ and $TF_CLI_ARGS_plan}"\nexit 7\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture(
    params=[pytest.param(fork, marks=getattr(pytest.mark, fork)) for fork in ("cdktf", "cdktn")]
)
def fork(request: pytest.FixtureRequest) -> str:
    """Each of the two frameworks, whose command is called by its name."""
    name: str = request.param
    return name


@pytest.fixture
def deployer(fork: str, request: pytest.FixtureRequest, plain_path: str) -> Callable[..., Cdktf]:
    """Make a folder for the command of a fork, which finds the stand-in in place of Terraform."""
    make = request.getfixturevalue(f"{fork}_cli")

    def deployer(console: Emulator, **variables: str) -> Cdktf:
        made: Cdktf = make(console, TERRAFORM_BINARY_NAME="opsconsole-terraform", **variables)
        # Node comes first, where the fork asks for a newer one.
        node = made.environment["PATH"].partition(":")[0] if fork == "cdktn" else ""
        made.environment["PATH"] = f"{node}:{plain_path}".lstrip(":")
        return made

    return deployer


@pytest.fixture
def real_terraform(
    terraform_binary: Path, cli_environment: Callable[..., dict[str, str]]
) -> Callable[..., Terraform]:
    """Initialise the real Terraform in a folder that the stand-in worked in."""

    def make(folder: Path, console: Emulator) -> Terraform:
        made = Terraform(terraform_binary, folder, cli_environment(console))
        made.init()
        return made

    return make
