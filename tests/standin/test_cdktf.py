"""The real cdktf command, on a PATH without Terraform."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engines import Terraform
from opsconsole.emulator.running import serve

APP = Path(__file__).resolve().parents[2] / "examples" / "fleet" / "main.py"


@pytest.mark.cdktf
def test_the_fleet_without_terraform(
    cdktf_cli, plain_path, terraform_binary, cli_environment
) -> None:
    with serve() as console:
        engine = cdktf_cli(console, PATH=plain_path, TERRAFORM_BINARY_NAME="opsconsole-terraform")
        engine.configure(f"{sys.executable} {APP}")
        planned = engine.run("diff").text
        assert "23 to add, 0 to change, 0 to destroy" in planned
        assert "ERROR" not in planned
        hosts = {row["name"] for row in console.rows("hosts")}
        assert "web-north" not in hosts

        deployed = engine.run("deploy", "--auto-approve").text
        assert "Apply complete! Resources: 23 added" in deployed
        assert "ERROR" not in deployed
        assert "north_jump_host = hst_" in engine.run("output").text

        real = Terraform(terraform_binary, engine.stack_folder("fleet"), cli_environment(console))
        real.init()
        assert real.plan().actions == {}

        engine.run("destroy", "--auto-approve")
        assert "web-north" not in {row["name"] for row in console.rows("hosts")}
