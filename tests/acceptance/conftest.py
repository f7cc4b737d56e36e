"""Real Terraform against an emulated console: a folder with a program, and consoles to share.

`terraform init` is never run: the provider is found where `provider install` put it, by Terraform's
`dev_overrides`. What init does is tested with the command line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engines import Terraform
from opsconsole.address import SOURCE
from opsconsole.emulator.handle import Emulator
from opsconsole.emulator.profile import Profile
from opsconsole.emulator.running import serve

Project = Callable[..., Terraform]


@pytest.fixture
def console(console_of: Callable[[str], Emulator]) -> Emulator:
    """A sensible console."""
    return console_of("default")


@pytest.fixture
def console_with() -> Iterator[Callable[..., Emulator]]:
    """Make a console of a profile of the test's own, or with another seed."""
    with contextlib.ExitStack() as stack:
        yield lambda profile, **facts: stack.enter_context(serve(profile, **facts))


@pytest.fixture(scope="session")
def _overrides(plugin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    [launcher] = (plugin_dir / "registry.terraform.io").rglob("terraform-provider-*")
    file = tmp_path_factory.mktemp("overrides") / "terraform.tfrc"
    file.write_text(
        "provider_installation {\n"
        f'  dev_overrides {{ "{SOURCE}" = "{launcher.parent}" }}\n'
        "  direct {}\n"
        "}\n"
    )
    return file


@pytest.fixture
def project(
    terraform_binary: Path,
    cli_environment: Callable[..., dict[str, str]],
    _overrides: Path,
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
        environment = cli_environment(console, TF_CLI_CONFIG_FILE=str(_overrides), **variables)
        # Coverage would add half to the time of hundreds of short runs; what they run is
        # measured in tests of its own.
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
        made = Terraform(terraform_binary, folder, environment)
        profile: Profile | None = getattr(console, "profile", None)
        made.settings = {**(profile.provider_settings if profile else {}), **(settings or {})}
        made.write(program)
        return made

    return make
