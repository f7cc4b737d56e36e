"""Creates whose answer was lost: settled where the API can tell, never sent twice where not."""

from collections.abc import Callable
from typing import Any

import pytest

from declarations import agent_on, foresee, held, program
from engines import ON_TERRAFORM, Terraform
from opsconsole.emulator import Emulator

ADDRESS = "opsconsole_agent.lost"
SETTINGS = {"max_retries": 0}


def declared() -> dict[str, Any]:
    base = agent_on("web")
    return program(
        host={"web": {"name": "web"}},
        agent={"lost": base | {"name": "lost"}, "fine": base | {"name": "fine"}},
    )


@pytest.fixture
def lost(project: Callable[..., Terraform], console: Emulator) -> Terraform:
    """A project whose agent was created by the console without Terraform's learning of it."""
    console.fault(method="POST", path="/agents$", holds='"lost"', cut="after")
    engine = project(declared(), console, SETTINGS)
    [error] = engine.apply(expect={1}).errors
    assert error["address"] == ADDRESS
    assert "state rm" in error["detail"] and "import" in error["detail"]
    assert instance(engine)["status"] == "tainted"
    assert instance(engine)["attributes"]["id"].startswith("outcome-unknown/")
    assert agents(console) == ["fine", "lost"]
    return engine


def instance(engine: Terraform) -> dict[str, Any]:
    [found] = [
        resource["instances"][0]
        for resource in engine.state()["resources"]
        if f"{resource['type']}.{resource['name']}" == ADDRESS
    ]
    return found


def agents(console: Emulator) -> list[str]:
    return sorted(row["name"] for row in console.rows("agents"))


@ON_TERRAFORM
def test_its_replacement_is_refused_and_nothing_else(lost, console):
    program = declared()
    program["resource"]["opsconsole_host"]["more"] = {"name": "more"}
    lost.write(program)
    plan = foresee(lost)
    assert plan.actions == {ADDRESS: ["delete", "create"], "opsconsole_host.more": ["create"]}
    assert any("It is not known whether the agent" in item["summary"] for item in plan.run.warnings)

    [error] = lost.apply(expect={1}).errors
    assert "may exist already" in error["summary"]
    assert agents(console) == ["fine", "lost"]
    assert "opsconsole_host.more" in held(lost)
    assert instance(lost)["attributes"]["id"].startswith("outcome-unknown/")


def test_a_true_destroy_forgets_it(lost, console):
    lost.destroy()
    assert held(lost) == {}
    assert console.rows("hosts") == []


@pytest.mark.parametrize("created", [True, False])
def test_the_user_says_what_became_of_it(lost, console, created):
    [made] = [row["id"] for row in console.rows("agents") if row["name"] == "lost"]
    lost.run("state", "rm", ADDRESS)
    if created:
        lost.import_(ADDRESS, made)
    else:
        console.delete("agents", made)
    lost.apply()
    lost.plan_run(expect={0})
    assert agents(console) == ["fine", "lost"]


@ON_TERRAFORM
def test_a_host_that_no_dry_run_finds_is_left_to_the_user(project, console_of):
    console = console_of("blind")
    console.fault(method="POST", path="/hosts/batch", holds='"dry_run":false', cut="after")
    hosts = program(host={"web": {"name": "web"}})
    engine = project(hosts, console, SETTINGS)
    run = engine.apply(expect={1})
    assert "It is not known whether the host" in run.errors[0]["summary"]

    run = engine.apply(expect={1})
    assert "may exist already" in run.errors[0]["summary"]
    assert len(console.rows("hosts")) == 1


def carried() -> dict[str, Any]:
    return program(
        specialty={"linux": {"key": "linux-server", "deletion_policy": "delete"}},
        host={"web": {"name": "web", "depends_on": ["opsconsole_specialty.linux"]}},
        agent={"a": agent_on("web", "a", specialty_id="${opsconsole_specialty.linux.id}")},
    )


@pytest.mark.parametrize("seen", [True, False])
def test_a_lost_answer_to_the_deletion_of_a_specialty_ends_in_a_destroy(applied, console, seen):
    """A search settles it; where that fails too, the next destroy does."""
    engine = applied(carried(), console, {"max_retries": 0})
    console.fault(kind="reset_after", operation="specialty_delete")
    if not seen:
        # The refresh and its plan search once.
        console.fault(kind="internal_error", operation="specialty_search", skip=1)
    engine.destroy(expect={0 if seen else 1})
    engine.destroy()
    assert held(engine) == {}
    assert console.row("specialties", "spc_linux") is None
    assert console.rows("hosts") == []
