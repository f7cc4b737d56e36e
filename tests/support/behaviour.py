"""One body of behaviour on two engines: a console, and a folder with a program.

Terraform attaches to the provider, and `terraform init` is never run: what init does is tested with
the command line.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from console import in_process
from consoles import CONSOLES
from engines import TERRAFORM_MARKS, Native, Terraform
from opsconsole.emulator import Emulator, Profile

Project = Callable[..., Terraform]


@pytest.fixture
def profile(request: pytest.FixtureRequest) -> str | Profile:
    """The profile of the console; `indirect` names another one."""
    return getattr(request, "param", "default")


@pytest.fixture
def console(
    profile: str | Profile,
    request: pytest.FixtureRequest,
    console_of: Callable[[str], Emulator],
) -> Iterator[Emulator]:
    """A console with the starter rows: on a socket for Terraform, else in this process."""
    chosen = CONSOLES[profile] if isinstance(profile, str) else profile
    if "engine_name" in request.fixturenames and request.getfixturevalue("engine_name") != "native":
        yield console_of(chosen.name)
        return
    with in_process(chosen) as console:
        yield console


ENGINES = (
    "native",
    pytest.param("terraform", marks=[*TERRAFORM_MARKS, pytest.mark.real_client]),
)


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    """The engine that a test runs on."""
    return request.param


@pytest.fixture
def project(
    engine_name: str,
    request: pytest.FixtureRequest,
    attached_environment: Callable[..., dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Project:
    """Make a Terraform folder: `(program, console=None, settings={}, **variables)`.

    The provider's settings are those that the console's profile asks for, and `settings`; address
    and key are in the environment.
    """

    def make(
        program: Mapping[str, Any],
        console: Emulator | None = None,
        settings: Mapping[str, Any] | None = None,
        **variables: str,
    ) -> Terraform:
        made: Terraform
        if engine_name == "native":
            folder = tmp_path_factory.mktemp("project")
            environment = attached_environment(console, **variables)
            made = Native(Path("opsconsole-terraform"), folder, environment)
        else:
            made = request.getfixturevalue("terraform")({}, console, **variables)
        asked = console.profile.provider_settings if console else {}
        made.settings = {**asked, **(settings or {})}
        made.write(program)
        return made

    return make


@pytest.fixture
def applied(project: Project) -> Project:
    """Make a folder as `project` does, and apply its program."""

    def make(*args: Any, **variables: str) -> Terraform:
        made = project(*args, **variables)
        made.apply()
        return made

    return make
