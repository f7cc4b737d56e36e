"""Real Terraform against an emulated console: a folder with a program, and consoles to share.

Terraform attaches to the provider, and `terraform init` is never run: what init does is tested with
the command line.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from attached_provider import AttachedTerraform
from consoles import CONSOLES
from engines import Native, Terraform
from opsconsole.emulator import Emulator, Profile, serve

Project = Callable[..., Terraform]


@pytest.fixture
def console(console_of: Callable[[str], Emulator]) -> Emulator:
    """A sensible console."""
    return console_of("default")


@pytest.fixture
def console_with() -> Iterator[Callable[..., Emulator]]:
    """Make a console of a profile of the test's own, or with another seed."""
    with contextlib.ExitStack() as stack:
        yield lambda profile, **facts: stack.enter_context(serve(CONSOLES[profile], **facts))


ENGINES = (
    "native",
    pytest.param("terraform", marks=[pytest.mark.terraform, pytest.mark.real_client]),
)


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    """The engine that a test runs on."""
    name: str = request.param
    return name


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
        folder = tmp_path_factory.mktemp("project")
        environment = attached_environment(console, **variables)
        made: Terraform
        if engine_name == "native":
            made = Native(Path("opsconsole-terraform"), folder, environment)
        else:
            binary = request.getfixturevalue("terraform_binary")
            providers = request.getfixturevalue("providers")
            made = AttachedTerraform(binary, folder, environment, providers)
        profile: Profile | None = getattr(console, "profile", None)
        made.settings = {**(profile.provider_settings if profile else {}), **(settings or {})}
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
