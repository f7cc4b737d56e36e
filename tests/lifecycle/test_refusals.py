"""What one refusal means for the resource that meets it, and for its neighbours."""

import pytest

from opsconsole.lifecycle.interface import PlanCreation, ReadRequest, Seen
from outcomes import errors


@pytest.mark.parametrize(
    ("type_name", "import_id"), [("opsconsole_agent", "agt_x"), ("opsconsole_agent_plugin", "a/p")]
)
async def test_what_a_key_may_not_read_is_not_imported(type_name, import_id, console, one_run):
    console.fault(operation="plugin_list", status=403, code="FORBIDDEN", times=None)
    lifecycle = one_run().resources[type_name]
    taken = await lifecycle.import_state(import_id)

    [read] = await lifecycle.read([ReadRequest(taken.state, taken.private)])

    assert read.failed
    assert read.seen is Seen.UNCHECKED


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("FORBIDDEN", "is not allowed to do this"),
        ("ORG_ACCESS_DENIED", "has no access to this org"),
        ("LICENSE_CAP_REACHED", "a cap of its license"),
        ("LICENSE_EXPIRED", "license has expired"),
        ("SOMETHING_ELSE", ""),
    ],
)
async def test_each_documented_403_has_its_own_sentence(steps_of, console, code, said):
    rows = steps_of("blacklisted_command")
    adopted = await rows.create(id="blk_format")
    console.fault(operation="blacklist_update", status=403, code=code)
    refused = await rows.change(adopted, id="blk_format", pattern="other")
    text = refused.diagnostics[0].summary + refused.diagnostics[0].text
    assert code in text
    assert said in text
    assert ("may not write its scope" in text) is (code in ("FORBIDDEN", "ORG_ACCESS_DENIED"))


async def test_one_401_is_explained_once_though_it_answers_for_several(console, one_run):
    console.fault(operation="specialty_search", kind="unauthorized", times=None)
    lifecycle = one_run().resources["opsconsole_specialty"]
    config = lifecycle.definition.empty()
    keys = ("identity", "linux-server")

    plans = await lifecycle.plan([PlanCreation(config | {"key": key}) for key in keys])

    told = [item.text for plan in plans for item in plan.diagnostics]
    assert sum("API Keys settings" in text for text in told) == 1
    assert sum(text.startswith("The console refused the credentials") for text in told) == 1


async def test_details_of_an_error_are_shown_and_the_agent_they_name_too(
    steps_of, console, one_run
):
    provider = one_run()
    specialties, agents = steps_of("specialty"), steps_of("agent")
    specialties.provider = agents.provider = provider
    host = console.create("hosts", name="web")
    agent = await agents.create(name="carrier", host_id=host["id"], specialty_id="spc_network")
    kept = await specialties.create(key="network", deletion_policy="delete")
    details = {"agent_id": agent.state["id"], "more": None}
    console.fault(operation="specialty_delete", status=409, code="CONFLICT", details=details)
    refused = await specialties.delete(kept)
    assert '"more": null' in refused.diagnostics[0].text
    assert f'"carrier" ({agent.state["id"]})' in refused.diagnostics[0].text


@pytest.mark.parametrize("field", ["tags", "hosts[0].tags", "hosts/0/tags"])
async def test_an_error_is_shown_at_the_attribute_that_it_names(steps_of, console, field):
    hosts = steps_of("host")
    web = await hosts.create(name="web")
    console.fault(operation="host_update", status=400, code="VALIDATION_FAILED", field=field)
    refused = await hosts.change(web, name="web", tags=["role:web"])
    assert refused.diagnostics[0].path == ("tags",)


async def test_a_refused_plugin_fails_the_update_of_its_agent(steps_of, console):
    agents, host = steps_of("agent"), console.create("hosts", name="web")
    declared = {"name": "edge", "host_id": host["id"], "specialty_id": "spc_linux"}
    agent = await agents.create(**declared, plugin_ids=[])
    console.fault(operation="plugin_attach", status=403, code="FORBIDDEN")
    refused = await agents.change(agent, **declared, plugin_ids=["plg_disk", "plg_logs"])
    [said] = errors(refused)
    assert said.startswith('Cannot attach the plugin plg_disk of the agent "edge"')
    assert refused.state["plugin_ids"] == ["plg_logs"]


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_a_call_that_the_key_may_not_make_is_named(steps_of, console):
    agents, host = steps_of("agent"), console.create("hosts", name="web")
    agent = await agents.create(name="edge", host_id=host["id"], specialty_id="spc_linux")
    console.fault(operation="agent_get", status=403, code="FORBIDDEN")
    read = await agents.read(agent)
    assert "agent_get of extra_endpoints; use a key that may make it" in read.reason


async def test_a_replacement_names_the_host(steps_of):
    hosts = steps_of("host")
    web = await hosts.create(name="web", external_id="one")
    plan = await hosts.plan(web, hosts.config(name="web", external_id="two"))
    [told] = plan.diagnostics
    assert f'Replacing the host "web" ({web.state["id"]}) archives every agent' in told.summary


async def test_plans_of_specialties_name_them(steps_of, console):
    specialties = steps_of("specialty")
    adopted = await specialties.create(key="identity", deletion_policy="delete")
    [told] = (await specialties.plan(adopted, None)).diagnostics
    assert told.summary.startswith('Once deleted, the specialty "identity"')

    console.fault(operation="specialty_search", status=403, code="FORBIDDEN")
    [refused] = errors(await specialties.plan(None, specialties.config(key="network")))
    assert refused.startswith('Cannot plan the specialty "network"')
