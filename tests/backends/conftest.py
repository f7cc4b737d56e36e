"""Places to keep state in, and the real Terraform in folders that use them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from backend_places import KINDS, MAKERS, Make, Place
from engines import Terraform, quiet_environment


@pytest.fixture(scope="session")
def _makers() -> Iterator[Callable[[str], Make]]:
    """Servers by kind, started when first asked for and kept."""
    with ExitStack() as stack:
        made: dict[str, Make] = {}

        def maker(kind: str) -> Make:
            if kind not in made:
                made[kind] = stack.enter_context(MAKERS[kind]())
            return made[kind]

        yield maker


@pytest.fixture
def make_place(
    _makers: Callable[[str], Make], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Place]:
    """Make an empty place of one of KINDS; what it needs of the environment is set."""

    def make(kind: str) -> Place:
        for name in [name for name in os.environ if name.startswith(("TF_", "AWS_", "ARM_"))]:
            monkeypatch.delenv(name)
        kind, *how = kind.split("-")
        place = _makers(kind)(*how)
        for name, value in place.environment.items():
            monkeypatch.setenv(name, value)
        return place

    return make


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    """An empty place of every kind in turn."""
    return make_place(request.param)


@pytest.fixture
def terraform_at(
    terraform_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Terraform]:
    """Make an initialised Terraform folder on a place; its resources are `terraform_data`."""

    def make(place: Place, **inputs: str) -> Terraform:
        folder = tmp_path_factory.mktemp("terraform")
        environment = quiet_environment(folder, Path(os.devnull), Path(os.devnull))
        made = Terraform(terraform_binary, folder, {**environment, **place.environment})
        program: Mapping[str, Any] = {
            "terraform": {"backend": {place.kind: place.block}},
            "resource": {
                "terraform_data": {name: {"input": text} for name, text in inputs.items()}
            },
            "output": {name: {"value": text} for name, text in inputs.items()},
        }
        if not inputs:
            program = {"terraform": program["terraform"]}
        (folder / "main.tf.json").write_text(json.dumps(program))
        made.run("init", "-input=false")
        return made

    return make
