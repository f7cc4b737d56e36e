"""Places to keep state in, and the real Terraform in folders that use them."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from backend_places import MAKERS, Make, Place
from declarations import write_stacks
from engines import Terraform, quiet_environment, run_command, start_process
from opsconsole.emulator import Emulator
from patience import PATIENCE


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
) -> Iterator[Callable[[str], Place]]:
    """Make an empty place of one of KINDS; what it needs of the environment is set."""
    places: list[Place] = []

    def make(kind: str) -> Place:
        for name in [name for name in os.environ if name.startswith(("TF_", "AWS_", "ARM_"))]:
            monkeypatch.delenv(name)
        kind, *how = kind.split("-")
        place = _makers(kind)(*how)
        for name, value in place.environment.items():
            monkeypatch.setenv(name, value)
        places.append(place)
        return place

    yield make
    for storage in [storage for place in places for storage in place.opened]:
        storage.close()


@pytest.fixture
def place(kind: str, make_place: Callable[[str], Place]) -> Place:
    """An empty place of each kind that the test is `on`, in turn."""
    return make_place(kind)


@pytest.fixture
def terraform_at(
    terraform_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Terraform]:
    """Make an initialised Terraform folder on a place; its resources are `terraform_data`."""

    def make(place: Place, **inputs: str) -> Terraform:
        folder = tmp_path_factory.mktemp("terraform")
        environment = quiet_environment(folder, Path(os.devnull))
        made = Terraform(terraform_binary, folder, {**environment, **place.environment})
        data = {name: {"input": text} for name, text in inputs.items()}
        program: Mapping[str, Any] = {
            "terraform": {"backend": {place.kind: place.block}},
            "resource": {"terraform_data": data},
            "output": {name: {"value": text} for name, text in inputs.items()},
        }
        if not inputs:
            program = {"terraform": program["terraform"]}
        (folder / "main.tf.json").write_text(json.dumps(program))
        made.run("init", "-input=false")
        return made

    return make


@dataclass
class App:
    """What synthesis wrote for several stacks, in a folder of its own, and the native commands."""

    folder: Path
    console: Emulator
    stacks: dict[str, Any] = field(default_factory=dict)

    def write(self, stack: str, place: Place | Path, **blocks: Any) -> None:
        """Write a stack whose state lies at `place`, or in a local file."""
        local = isinstance(place, Path)
        block = {"local": {"path": str(place)}} if local else {place.kind: place.block}
        required = {"required_providers": {"opsconsole": {"source": "opsconsole/opsconsole"}}}
        provider = {"opsconsole": [dict(self.console.profile.provider_settings)]}
        terraform = {**required, "backend": block}
        self.stacks[stack] = {"terraform": terraform, "provider": provider, **blocks}
        write_stacks(self.folder, self.stacks)

    def run(self, *words: str, expect: int | None = 0) -> str:
        """Run `opsconsole`; return everything it wrote."""
        environment = self.console.environment
        ended = run_command(*words, folder=self.folder, environment=environment, together=True)
        assert expect in (None, ended.code), ended.out
        return ended.out

    @contextlib.contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run `opsconsole` as a process of its own; `said` is what it wrote so far."""
        with (self.folder / "output.txt").open("wb") as out:
            command = (sys.executable, "-m", "opsconsole.cli.main", *words)
            environment = {**os.environ, **self.console.environment}
            outputs = {"stdout": out, "stderr": subprocess.STDOUT}
            process = start_process(*command, cwd=self.folder, env=environment, **outputs)
            try:
                yield process
            finally:
                process.kill()
                process.wait(PATIENCE)

    @property
    def said(self) -> str:
        """What the last started process wrote."""
        return (self.folder / "output.txt").read_text()


@pytest.fixture
def app_on(
    console_of: Callable[[str], Emulator], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., App]:
    """Make a folder for an app on the console of a profile."""

    def make(profile: str = "default") -> App:
        return App(tmp_path_factory.mktemp("app"), console_of(profile))

    return make


@pytest.fixture
def app(app_on: Callable[..., App]) -> App:
    """A folder for an app on a sensible console."""
    return app_on()
