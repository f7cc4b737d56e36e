"""States, objects and a real Terraform for the tests of state."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engines import Terraform, quiet_environment, start_process
from opsconsole.state.backend import LocalBackend, RunOptions
from opsconsole.state.lock import Locking
from opsconsole.state.objects import InstanceObject
from opsconsole.state.opening import open_state
from opsconsole.state.session import StateSession

PROVIDER = 'provider["registry.terraform.io/opsconsole/opsconsole"]'


@pytest.fixture
def host() -> Callable[..., InstanceObject]:
    """Makes the object of a host: its number, and other attributes where given."""

    def make(number: int, **attributes: Any) -> InstanceObject:
        values = {"id": f"hst_{number:04d}", "name": f"host-{number}", "tags": ["env:<prod>"]}
        return InstanceObject(
            provider=PROVIDER,
            attributes={**values, "target_port": 22, "knowledge": None, **attributes},
            private=b'{"observed":["name"]}',
            dependencies=("opsconsole_specialty.linux", "opsconsole_host.jump"),
        )

    return make


@pytest.fixture(autouse=True)
def working_directory(tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any) -> Path:
    """A directory of the test's own, in which a run keeps what it cannot keep elsewhere."""
    made = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def state_path(tmp_path: Path) -> Path:
    return tmp_path / "terraform.tfstate"


@pytest.fixture
def session(state_path: Path) -> Callable[..., StateSession]:
    """Opens a session on the test's state; the test closes it."""

    def make(path: Path = state_path, command: str = "apply", **locking: Any) -> StateSession:
        options = RunOptions(command=command, locking=Locking(**locking))
        return open_state(LocalBackend(path, options))

    return make


@pytest.fixture
def open_files(tmp_path: Path) -> Callable[[], list[Path]]:
    """Tells what this process has open in the test's folder, and the folder itself."""

    def find() -> list[Path]:
        found = [path.resolve() for path in Path("/proc/self/fd").iterdir()]
        return [path for path in found if tmp_path in (path, *path.parents)]

    return find


class TerraformData(Terraform):
    """The real terraform in the test's folder, with a program that needs no provider."""

    def declare(self, **blocks: Any) -> None:
        """Write the program and initialise it."""
        (self.folder / "main.tf.json").write_text(json.dumps(blocks))
        self.init()


@pytest.fixture
def terraform(terraform_binary: Path, tmp_path: Path) -> TerraformData:
    environment = quiet_environment(tmp_path, Path(os.devnull))
    return TerraformData(terraform_binary, tmp_path, environment)


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts another Python with a program of the test's; its folder is the test's."""

    def start(program: str, *words: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        command = (*prefix, sys.executable, "-c", program, *words)
        return start_process(*command, cwd=tmp_path, stdin=subprocess.PIPE)

    return start
