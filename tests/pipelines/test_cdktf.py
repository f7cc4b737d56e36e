"""A diff on a change and a deployment after the merge, by the commands of cdktf and CDK Terrain."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from extent import EVERYTHING
from opsconsole.emulator.handle import Emulator
from pipeline_jobs import Service

NATIVE, TERRAFORM = "opsconsole-terraform", "terraform"
SAMPLE = {
    ("github", "cdktf", NATIVE),
    ("gitlab", "cdktf", TERRAFORM),
    ("shell", "cdktn", NATIVE),
}
"""Each file once, and each framework and engine."""
WHOLE = product(("github", "gitlab", "shell"), ("cdktf", "cdktn"), (NATIVE, TERRAFORM))


@pytest.mark.parametrize(
    ("name", "framework", "engine"),
    [
        pytest.param(*case, marks=getattr(pytest.mark, case[1]))
        for case in WHOLE
        if EVERYTHING or case in SAMPLE
    ],
)
def test_a_change_is_shown_and_then_deployed(
    name: str, framework: str, engine: str, service: Callable[..., Service], console: Emulator
) -> None:
    jobs = service(name, framework, engine)
    shown = jobs.diff()
    assert shown.code == 0, shown.text
    assert "4 to add, 0 to change, 0 to destroy" in shown.text
    assert not console.rows("hosts")
    deployed = jobs.deploy()
    assert deployed.code == 0, deployed.text
    assert {row["name"] for row in console.rows("hosts")} == {"web-1", "web-2"}
    assert len(console.rows("agents")) == 2
    assert console.api_key not in shown.text + deployed.text
    if name == "shell":
        # The native jobs go on with the same program and state.
        idle = jobs.plan()
        assert (idle.code, "No changes." in idle.text) == (0, True), idle.text
        healthy = jobs.drift()
        assert (healthy.code, "No drift." in healthy.text) == (0, True), healthy.text
