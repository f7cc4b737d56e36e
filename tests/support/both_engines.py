"""One body of behaviour on two engines: a folder with a program.

Terraform attaches to the provider, and `terraform init` is never run: what init does is tested with
the command line.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from engines import TERRAFORM_MARKS, Standin, Terraform
from opsconsole.emulator import Emulator

Project = Callable[..., Terraform]


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
        if engine_name == "native":
            folder = tmp_path_factory.mktemp("project")
            environment = attached_environment(console, **variables)
            made: Terraform = Standin(folder, environment)
        else:
            made = request.getfixturevalue("terraform")({}, console, **variables)
        return made.begin(program, console, settings)

    return make


@pytest.fixture
def applied(project: Project) -> Project:
    """Make a folder as `project` does, and apply its program."""

    def make(*args: Any, **variables: str) -> Terraform:
        made = project(*args, **variables)
        made.apply()
        return made

    return make
