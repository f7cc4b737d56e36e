"""Every kind of resource through the real cdktf command, against every kind of console."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engines import Cdktf
from opsconsole.emulator.profiles import profiles
from opsconsole.emulator.running import serve

APP = Path(__file__).resolve().parents[1] / "support" / "small_stack.py"
EVERYTHING = os.environ.get("OPSCONSOLE_TEST_EVERYTHING", "") not in ("", "0")
NO_CHANGES = "No changes. Your infrastructure matches the configuration."


@pytest.mark.cdktf
@pytest.mark.parametrize("profile", list(profiles()) if EVERYTHING else ["sparse"])
def test_deploy_diff_and_destroy(profile: str, cdktf_cli: Callable[..., Cdktf]) -> None:
    with serve(profile) as console:
        settings = json.dumps(
            {
                name: value
                for name, value in console.provider_settings.items()
                if name not in ("base_url", "api_key")
            }
        )
        engine = cdktf_cli(console, SMALL_STACK_SETTINGS=settings)
        engine.configure(f"{sys.executable} {APP}")

        if not console.profile.honours_dry_run:
            # What was imported by the dry run is kept, and nothing more is sent in that run.
            assert "dry_run" in engine.deploy(expect=[1]).text
        while engine.deploy(expect=None).code and not console.profile.honours_dry_run:
            assert len(console.rows("hosts")) < 3
        assert {row["name"] for row in console.rows("hosts")} == {"jump", "web"}
        assert NO_CHANGES in engine.diff().text

        refused = console.profile.archived_agents_block
        engine.destroy(expect=[1] if refused else [0])
        assert console.rows("hosts") == []
        assert (console.row("specialties", "spc_linux") is not None) == refused
