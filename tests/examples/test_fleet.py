"""The example fleet, deployed with the real cdktf command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engines import Cdktf
from opsconsole.emulator.running import serve

APP = Path(__file__).resolve().parents[2] / "examples" / "fleet" / "main.py"
NO_CHANGES = "No changes. Your infrastructure matches the configuration."


@pytest.mark.cdktf
def test_the_fleet_is_deployed_repaired_and_destroyed(cdktf_cli: Callable[..., Cdktf]) -> None:
    with serve() as console:
        engine = cdktf_cli(console)
        engine.configure(f"{sys.executable} {APP}")
        program = engine.synth("fleet")
        hosts = program["resource"]["opsconsole_host"]

        engine.deploy()
        assert {host["name"] for host in hosts.values()} <= {
            row["name"] for row in console.rows("hosts")
        }
        assert NO_CHANGES in engine.diff().text

        changed = next(row for row in console.rows("hosts") if row["name"] == "web-north")
        console.change("hosts", changed["id"], tags=["site:elsewhere"])
        assert "0 to add, 1 to change, 0 to destroy" in engine.diff().text
        engine.deploy()
        assert NO_CHANGES in engine.diff().text

        engine.destroy()
        left = {row["name"] for row in console.rows("hosts")}
        assert not left.intersection(host["name"] for host in hosts.values())
