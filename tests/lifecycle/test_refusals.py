"""What one refusal means for the resource that meets it, and for its neighbours."""

import pytest

from opsconsole.lifecycle.interface import ReadRequest, Seen


@pytest.mark.parametrize(
    ("type_name", "import_id"), [("opsconsole_agent", "agt_x"), ("opsconsole_agent_plugin", "a/p")]
)
async def test_what_a_key_may_not_read_is_not_imported(type_name, import_id, console, one_run):
    console.fault(operation="plugin_list", status=403, code="FORBIDDEN", times=None)
    steps = one_run().resources[type_name]
    taken = await steps.import_state(import_id)

    [read] = await steps.read([ReadRequest(taken.state, taken.private)])

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


async def test_details_of_an_error_are_shown_and_the_agent_they_name_too(
    steps_of, console, one_run
):
    lifecycle = one_run()
    specialties, agents = steps_of("specialty"), steps_of("agent")
    specialties.lifecycle = agents.lifecycle = lifecycle
    host = console.create("hosts", name="web")
    agent = await agents.create(name="carrier", host_id=host["id"], specialty_id="spc_network")
    kept = await specialties.create(key="network", deletion_policy="delete")
    details = {"agent_id": agent.state["id"], "more": None}
    console.fault(operation="specialty_delete", status=409, code="CONFLICT", details=details)
    refused = await specialties.delete(kept)
    assert '"more": null' in refused.diagnostics[0].text
    assert f'"carrier" ({agent.state["id"]})' in refused.diagnostics[0].text
