"""Real Terraform against an emulated console: a folder with a program, and consoles to share.

Terraform attaches to the provider, and `terraform init` is never run: what init does is tested with
the command line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from attached_provider import AttachedProviders, AttachedTerraform
from consoles import CONSOLES
from engines import Terraform
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


@pytest.fixture
def project(
    terraform_binary: Path,
    providers: AttachedProviders,
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
        made = AttachedTerraform(terraform_binary, folder, environment, providers)
        profile: Profile | None = getattr(console, "profile", None)
        made.settings = {**(profile.provider_settings if profile else {}), **(settings or {})}
        made.write(program)
        return made

    return make
