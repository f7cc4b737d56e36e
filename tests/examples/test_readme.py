"""The program of the README does what the README says."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engines import Engine, Terraform
from opsconsole.emulator.running import serve

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.terraform
def test_the_program_is_deployed(
    installed_terraform: Callable[..., Terraform],
    cli_environment: Callable[..., dict[str, str]],
    tmp_path: Path,
) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "main.py").write_text(source)
    Engine(Path(sys.executable), tmp_path, cli_environment()).run("main.py")
    program = (tmp_path / "cdktf.out" / "stacks" / "web" / "cdk.tf.json").read_text()

    with serve() as console:
        engine = installed_terraform({}, console)
        (engine.folder / "main.tf.json").write_text(program)
        engine.init()
        engine.apply()
        assert engine.plan().code == 0
        (host,) = console.rows("hosts")
        assert engine.outputs() == {"host_id": host["id"]}
        engine.destroy()
        assert console.rows("hosts") == []


def test_every_command_of_make_is_there() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"make (\w+)", README)) <= set(targets)
