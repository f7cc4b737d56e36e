"""Stacks that refer to each other, by the real clients without Terraform, on each profile.

Only where everything is wanted: each takes 20 s of CPU time.
"""

import json
import sys
from pathlib import Path

import pytest

from consoles import CONSOLES
from opsconsole.emulator import serve
from sampling import EVERYTHING

APP = Path(__file__).parents[1] / "support" / "two_stacks.py"
BOTH = ("ground", "above")


@pytest.mark.skipif(not EVERYTHING, reason="OPSCONSOLE_TEST_EVERYTHING is not set")
@pytest.mark.parametrize("profile", CONSOLES)
def test_deploy_diff_destroy(fork, profile, deployer, real_terraform):
    with serve(CONSOLES[profile]) as console:
        settings = json.dumps(console.profile.provider_settings)
        told = {"TWO_STACKS_FORK": fork, "TWO_STACKS_SETTINGS": settings}
        engine = deployer(console, **told)
        engine.configure(f"{sys.executable} {APP}")

        deploy(engine, console)
        assert {row["name"] for row in console.rows("hosts")} == {"jump", "web"}
        assert "No changes." in engine.diff("--skip-synth", "above").text
        for stack in BOTH:
            assert real_terraform(engine.stack_folder(stack), console).plan().actions == {}

        refused = console.profile.archived_agents_block
        destroyed = engine.destroy("--skip-synth", *BOTH, expect=[1] if refused else [0]).text
        assert "req_" in destroyed or not refused
        assert console.rows("hosts") == []


def deploy(engine, console) -> None:
    """Deploy; a console that imports on a dry run takes one request of hosts in each run."""
    runs = 1
    while engine.deploy(*BOTH, expect=None if not console.profile.honours_dry_run else [0]).code:
        runs += 1
        assert runs <= 4
