"""What is said and refused when an agent is removed or replaced, at plan and again at apply."""

from typing import Any

from opsconsole.emulator import Emulator
from opsconsole.lifecycle.interface import DeleteRequest, Outcome, PlanCreation
from opsconsole.resources import AGENT


async def made(console: Emulator, agents: Any, **facts: Any) -> Outcome:
    host = console.create("hosts", name="web")
    return await agents.create(
        name="keeper", host_id=host["id"], specialty_id="spc_linux", main_engine="e", **facts
    )


async def test_prevent_refuses_a_replacement_nobody_planned_with_it(console, steps_of, one_run):
    agents = steps_of("agent")
    prior = await made(console, agents, deletion_policy="prevent")
    assert prior.state is not None
    lifecycle = one_run().resources[AGENT.type_name]
    config = agents.config(
        **{name: prior.state[name] for name in ("name", "host_id", "specialty_id", "main_engine")},
        deletion_policy="prevent",
    )

    [plan] = await lifecycle.plan([PlanCreation(config, prior.private)])
    assert [item.summary for item in plan.diagnostics] == ['The agent "keeper" must not be removed']
    outcome = await lifecycle.delete(DeleteRequest(prior.state, prior.private))
    assert outcome.failed and outcome.state == prior.state

    [fresh] = await lifecycle.plan([PlanCreation(config)])
    assert fresh.diagnostics == ()


async def test_prevent_holds_where_the_policy_is_dropped_along_with_the_change(console, steps_of):
    agents = steps_of("agent")
    prior = await made(console, agents, deletion_policy="prevent")
    assert prior.state is not None
    changed = prior.state | {"main_engine": "other", "deletion_policy": "abandon"}
    plan = await agents.plan(prior, agents.config(**{n: changed[n] for n in AGENT.names}))
    assert [item.path for item in plan.diagnostics] == [("main_engine",)]
    assert plan.failed
