"""The provider's `org_id`: of created hosts and agents that name none, and of nothing else."""

from typing import Any

import pytest

from opsconsole.emulator import Emulator


@pytest.fixture
def declared(console: Emulator) -> dict[str, dict[str, Any]]:
    """A host and an agent that name no org."""
    host = console.create("hosts", name="there", org_id="org_main")
    return {
        "host": {"name": "web"},
        "agent": {"name": "a", "host_id": host["id"], "specialty_id": "spc_linux"},
    }


@pytest.mark.parametrize("name", ["host", "agent"])
@pytest.mark.parametrize(("named", "kept"), [(None, "org_lab"), ("org_main", "org_main")])
async def test_host_or_agent_without_org_id_is_created_in_the_providers(
    steps_of, console, declared, name, named, kept
):
    config = declared[name] | {"org_id": named}

    created = await steps_of(name, org_id="org_lab").create(**config)

    assert created.diagnostics == ()
    assert created.state["org_id"] == kept
    assert console.row(f"{name}s", created.state["id"])["org_id"] == kept


@pytest.mark.parametrize("name", ["host", "agent"])
async def test_another_org_of_the_provider_is_no_difference(steps_of, declared, name):
    created = await steps_of(name, org_id="org_lab").create(**declared[name])
    elsewhere = steps_of(name, org_id="org_main")

    read = await elsewhere.read(created)
    plan = await elsewhere.plan(read, elsewhere.config(**declared[name]))

    assert plan.planned == read.state == created.state
    assert plan.requires_replace == ()
    assert plan.diagnostics == ()
