"""A diff on a change and a deployment after the merge, by the commands of cdktf and CDK Terrain."""

from itertools import product

import pytest

from loopback import HELD
from pipeline_jobs import assert_ends
from sampling import EVERYTHING

NATIVE, TERRAFORM = "opsconsole-terraform", "terraform"
SAMPLE = {("github", "cdktf", NATIVE), ("gitlab", "cdktf", TERRAFORM), ("shell", "cdktn", NATIVE)}
"""Each file once, and each framework and engine."""
WHOLE = product(("github", "gitlab", "shell"), ("cdktf", "cdktn"), (NATIVE, TERRAFORM))


@pytest.mark.real_client
@pytest.mark.parametrize(
    ("name", "framework", "engine"),
    [
        pytest.param(*case, marks=getattr(pytest.mark, case[1]))
        for case in WHOLE
        if EVERYTHING or case in SAMPLE
    ],
)
def test_a_change_is_shown_and_then_deployed(name, framework, engine, service, console):
    jobs = service(name, framework, engine)
    shown = jobs.do("diff")
    assert shown.code == 0, shown.text
    assert "4 to add, 0 to change, 0 to destroy" in shown.text
    assert not console.rows("hosts")
    deployed = jobs.do("deploy")
    assert deployed.code == 0, deployed.text
    assert {row["name"] for row in console.rows("hosts")} == {"web-1", "web-2"}
    assert len(console.rows("agents")) == 2
    assert console.api_key not in shown.text + deployed.text
    if name == "shell":
        # The native jobs go on with the same program and state.
        idle = jobs.do("plan")
        assert (idle.code, "No changes." in idle.text) == (0, True), idle.text
        healthy = jobs.do("drift")
        assert (healthy.code, "No drift." in healthy.text) == (0, True), healthy.text


@pytest.mark.real_client
@pytest.mark.cdktf
@pytest.mark.parametrize("engine", [NATIVE, TERRAFORM] if EVERYTHING else [NATIVE])
def test_a_diff_that_cannot_be_made_says_what_helps(engine, service, state):
    jobs = service("github", "cdktf", engine)
    state.lock = HELD
    assert_ends(jobs.do("diff"), 1, "locked", "7f3")
    state.lock = b""
    jobs.settings["OPSCONSOLE_API_KEY"] = "svc_ak_of_somebody_else"
    assert_ends(jobs.do("diff"), 1, "the key is invalid", "Check the API key")
