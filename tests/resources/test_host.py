"""Hosts: adopted, abandoned, deleted, replaced, reached through each other."""

import asyncio
import json
from typing import Any

import pytest

from declarations import agent_on, held, hosts, program
from engines import ON_TERRAFORM
from lifecycle_steps import errors, warnings
from opsconsole.emulator import Profile
from opsconsole.lifecycle.interface import DeleteRequest, Outcome
from opsconsole.resources.host.known import HostDeletions
from opsconsole.values import UNKNOWN


def test_a_host_that_is_there_fails_or_is_adopted(project, console):
    there = console.create("hosts", name="there", tags=["env:old"], external_id="ext-1")
    other = console.create("hosts", name="other", external_id="ext-2")
    there_too = {"tags": ["env:new"], "external_id": "ext-1"}
    declared = {"resource": hosts(there=there_too, other={"external_id": "ext-9"}, new={})}
    engine = project(declared, console)
    run = engine.apply(expect={1})
    told = {error["address"]: error["detail"] for error in run.errors}
    assert set(told) == {"opsconsole_host.there", "opsconsole_host.other"}
    assert there["id"] in told["opsconsole_host.there"]
    assert 'on_existing_host = "adopt"' in told["opsconsole_host.there"]
    assert "would not create" in str(run.errors)
    assert set(held(engine)) == {"opsconsole_host.new"}

    engine.settings = {"on_existing_host": "adopt"}
    run = engine.apply(program=declared, expect={1})
    [error] = run.errors
    assert error["address"] == "opsconsole_host.other"
    assert "'ext-2' on the console and 'ext-9' in the program" in error["detail"]
    [adopted] = run.warned("existed already and is adopted")
    assert "tags" in adopted
    assert held(engine)["opsconsole_host.there"]["id"] == there["id"]
    assert console.row("hosts", there["id"])["tags"] == ["env:new"]
    assert "tags" not in console.row("hosts", other["id"])

    declared["resource"]["opsconsole_host"]["other"]["external_id"] = "ext-2"
    engine.apply(program=declared)
    engine.plan_run(expect={0})
    assert len(console.rows("hosts")) == 3


def test_a_host_that_cannot_be_read_is_gone_once_its_update_is_answered_404(applied, console):
    engine = applied(program(host={"web": {"name": "web"}}), console)
    [gone] = console.rows("hosts")
    console.delete("hosts", gone["id"])
    changed = program(host={"web": {"name": "web", "knowledge": "new"}})
    changed["import"] = [{"to": "opsconsole_host.web", "id": gone["id"]}]
    engine.settings = {"host_read": "none", "on_missing": "error"}
    [refused] = engine.apply(program=changed, expect={1}).errors
    assert "status 404" in refused["detail"]
    [kept] = engine.plan_run(expect={1}).errors
    assert "The console answered 404 to its last update" in kept["detail"]
    assert 'on_missing is "error", so it stays in state' in kept["detail"]

    engine.settings = {"host_read": "none"}
    engine.apply(program=changed)
    [made] = console.rows("hosts")
    assert (made["knowledge"], held(engine)["opsconsole_host.web"]["id"]) == ("new", made["id"])
    engine.plan_run(expect={0})


async def test_a_host_that_is_shown_again_is_no_longer_missing(steps_of, console):
    unread, read = steps_of("host", host_read="none"), steps_of("host")
    made = await read.create(name="web")
    console.fault(kind="not_found", operation="host_update")
    refused = await unread.change(made, name="web", knowledge="new")
    assert warnings(await unread.read(refused)) == [
        f'The host "web" ({made.state["id"]}) is deleted, or not visible to this key'
    ]
    shown = await read.read(refused)
    assert (await unread.read(shown)).state == made.state
    changed = await unread.change(refused, name="web", knowledge="new")
    assert (await unread.read(changed)).state == changed.state


def test_an_abandoned_host_stays_on_the_console(applied, console):
    kept = {"deletion_policy": "abandon"}
    engine = applied(
        program(host={"web": {"name": "web"} | kept}, specialty={"s": {"key": "database"} | kept}),
        console,
    )
    console.reset_log()
    plan = engine.plan("-destroy")
    run = engine.apply(plan.saved)
    for part in (plan.run, run):
        assert len(part.warned("leaves management; it stays on the console")) == 2
    assert not {"host_delete", "specialty_delete"} & set(console.request_counts())
    assert held(engine) == {}
    assert len(console.rows("hosts")) == 1


def chain() -> dict[str, Any]:
    gate, inner = ("${opsconsole_host.gate.id}", "${opsconsole_host.inner.id}")
    both = {"gate": {}, "inner": {"jump_host_ids": [gate]}}
    jumps = {name: {"is_jump_host": True, **more} for name, more in both.items()}
    return {"resource": hosts(**jumps, web={"jump_host_ids": [inner, gate]})}


@pytest.mark.parametrize("profile", ["strict", "rerouting"], indirect=True)
def test_jump_hosts_keep_their_order_and_are_deleted_last(applied, console):
    engine = applied(chain(), console)
    state = held(engine)
    ids = {name: state[f"opsconsole_host.{name}"]["id"] for name in ("gate", "inner", "web")}
    # Not a set: the order of the ways is the user's.
    assert console.row("hosts", ids["web"])["jump_host_ids"] == [ids["inner"], ids["gate"]]

    turned = chain()
    turned["resource"]["opsconsole_host"]["web"]["jump_host_ids"].reverse()
    plan = engine.plan(program=turned)
    assert plan.actions == {"opsconsole_host.web": ["update"]}
    engine.apply(plan.saved)
    assert console.row("hosts", ids["web"])["jump_host_ids"] == [ids["gate"], ids["inner"]]

    engine.destroy()
    sent = [item["path"] for item in console.requests() if item["operation"] == "host_delete"]
    order = [path.rpartition("/")[2] for path in sent]
    assert order == [ids["web"], ids["inner"], ids["gate"]]


@ON_TERRAFORM
@pytest.mark.parametrize("profile", ["rerouting"], indirect=True)
def test_rerouted_hosts_are_named_and_seen_at_the_next_refresh(applied, console):
    engine = applied(chain(), console)
    state = held(engine)
    web = state["opsconsole_host.web"]["id"]
    engine.write(program(host={"web": {"name": "web"}}))

    run = engine.apply()

    assert any(web in told for told in run.warned("rerouted other hosts"))
    assert console.row("hosts", web)["jump_host_ids"] == []
    assert engine.plan("-refresh-only").drift == {"opsconsole_host.web": ["update"]}


@pytest.mark.parametrize("profile", ["tidying"], indirect=True)
def test_trimmed_value_is_reported(project, console):
    declared = program(host={"web": {"name": "web", "knowledge": " spaced ", "mac": "AA:BB"}})
    engine = project(declared, console)
    run = engine.apply()
    assert len(run.warned("The console kept another value for knowledge")) == 1
    assert len(run.warned("The console kept another value for mac")) == 1
    assert engine.state()["resources"][0]["instances"][0].get("status") != "tainted"

    plan = engine.plan()
    assert plan.actions == {"opsconsole_host.web": ["update"]}
    # It is told once: a field that only a creation sets is no difference from then on.
    assert not plan.run.warned("The console itself changed mac of the host")
    [error] = engine.apply(plan.saved, expect={1}).errors
    assert "The console kept another value for knowledge" in error["summary"]
    assert "' spaced '" in error["detail"] and "'spaced'" in error["detail"]


@pytest.mark.parametrize("profile", ["sparse", "fickle"], indirect=True)
def test_an_empty_array_may_be_shown_as_unset(applied, console):
    """It is no difference, and no reason to replace an agent."""
    console.create("hosts", id="hst_gate", name="gate")
    host: dict[str, Any] = {"name": "web", "tags": ["env:prod"], "jump_host_ids": ["hst_gate"]}
    engine = applied(program(host={"web": host}), console)
    host |= {"tags": [], "jump_host_ids": []}
    agent = agent_on("web", "a")
    attached = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    declared = program(host={"web": host}, agent={"a": agent}, agent_plugin={"disk": attached})
    for arrays in ({}, {"credential_config": [], "accessible_credential_ids": []}):
        agent |= arrays
        assert engine.apply(program=declared).errors == []
        engine.plan_run(expect={0})
    assert console.rows("hosts")[-1].get("tags", []) == []
    assert len(console.rows("agents")) == 1


def test_a_description_can_be_made_null_and_a_tag_may_have_no_value(applied, console):
    host = {"name": "web", "tags": ["retired:", "env:prod"]}
    row = {"id": "blk_format", "no_description": True}
    engine = applied(program(host={"web": host}, blacklisted_command={"f": row}), console)
    assert "description" not in (console.row("blacklists", "blk_format") or {})
    [kept] = console.rows("hosts")
    assert set(kept["tags"]) == {"retired:", "env:prod"}
    engine.plan_run(expect={0})

    engine.write(program(blacklisted_command={"f": row | {"description": "formats"}}))
    [error] = engine.plan_run(expect={1}).errors
    assert "no_description = true" in error["summary"]


@pytest.mark.parametrize("imported", [True, False])
async def test_host_that_the_declaration_followed_is_not_replaced(steps_of, console, imported):
    """The declaration followed the console once, or the host was imported."""
    hosts = steps_of("host")
    created = await hosts.create(name="web", external_id="one", target_port=22)
    console.change("hosts", created.state["id"], external_id="two")
    known = Outcome(created.state, b"" if imported else created.private)
    followed = await hosts.read(known)
    declared = hosts.config(name="web", external_id="two", target_port=22)
    assert (await hosts.plan(followed, declared)).planned == followed.state

    console.change("hosts", created.state["id"], external_id="three")
    moved = await hosts.read(followed)
    plan = await hosts.plan(moved, declared)
    changed = await hosts.plan(moved, hosts.config(name="web", external_id="four", target_port=22))

    assert plan.requires_replace == ()
    assert plan.planned == moved.state
    assert "The console itself changed" in warnings(plan)[0]
    assert changed.requires_replace == ("external_id",)
    replacing = f'Replacing the host "web" ({created.state["id"]}) archives every agent'
    assert any(item.startswith(replacing) for item in warnings(changed))


def test_ignored_changes_are_no_declarations_yet(applied, console):
    """An apply has the declarations that its plan ignored."""
    declared = {"name": "web", "external_id": "one"}

    def host(*ignored: str, **values: str) -> dict[str, Any]:
        return program(host={"web": declared | values | {"lifecycle": {"ignore_changes": ignored}}})

    engine = applied(host("external_id"), console)
    [row] = console.rows("hosts")
    console.change("hosts", row["id"], external_id="theirs")
    engine.apply(program=host("external_id", knowledge="of one change"))
    plan = engine.plan(program=host(knowledge="of one change"))
    assert plan.actions == {}
    assert plan.run.warned("The console itself changed external_id of the host")

    declared["external_id"] = "two"
    engine.apply(program=host("external_id", knowledge="of another change"))
    plan = engine.plan(program=host(knowledge="of another change"))
    assert plan.actions == {"opsconsole_host.web": ["delete", "create"]}


UNREADABLE = Profile(name="unreadable", summary="Refuses the empty update.", empty_update="refused")
BY_ADDRESS = Profile(
    name="by_address", summary="Knows hosts by their address.", match_by=("public_ip",)
)
SPARSE = Profile(name="silent", summary="Leaves out what is unset.", unset="absent")


@pytest.mark.parametrize(
    ("profile", "settings"),
    [(UNREADABLE, {}), (UNREADABLE, {"host_read": "none"}), ("default", {"host_read": "none"})],
    indirect=["profile"],
)
async def test_adopting_an_unreadable_host_sends_all_that_is_declared(steps_of, console, settings):
    there = console.create("hosts", name="old", knowledge="before", mac="00:00:5e:00:53:01")
    hosts = steps_of("host", on_existing_host="adopt", **settings)

    adopted = await hosts.create(name="old", knowledge="after", mac="00:00:5e:00:53:02")

    assert errors(adopted) == []
    assert (adopted.state["id"], adopted.state["knowledge"]) == (there["id"], "after")
    # The answer to the update is the host: it shows what no update changes.
    assert adopted.state["tenant_id"] is not None
    warned = warnings(adopted)
    # One refused empty update says nothing of other hosts.
    assert sum("Hosts cannot be read:" in item for item in warned) == 0
    assert sum("is adopted" in item for item in warned) == 1
    assert sum("kept another value for mac" in item for item in warned) == 1
    assert console.row("hosts", there["id"])["knowledge"] == "after"


@pytest.mark.parametrize("profile", [SPARSE], indirect=True)
async def test_unseen_attributes_of_an_adopted_host_are_reported(steps_of, console):
    console.create("hosts", name="old")

    adopted = await steps_of("host", on_existing_host="adopt").create(name="old", mac="00:00:5e")

    assert adopted.state["mac"] == "00:00:5e"
    assert any("Not verified: mac" in item for item in warnings(adopted))


@pytest.mark.parametrize("profile", [BY_ADDRESS], indirect=True)
async def test_rows_of_one_host_are_refused_and_an_id_that_the_run_holds_too(
    steps_of, one_run, console
):
    there = console.create("hosts", name="old", public_ip="192.0.2.1")
    hosts = steps_of("host", on_existing_host="adopt")
    same = {"public_ip": "192.0.2.1"}
    configs = [hosts.config(name="a", **same), hosts.config(name="b", **same)]

    one, two, other = await hosts.create_all(*configs, hosts.config(name="c"))

    for outcome in (one, two):
        assert outcome.state is None
        assert "not added to state again. Declare each" in outcome.diagnostics[0].detail
    assert errors(other) == []
    assert console.row("hosts", there["id"])["name"] == "old"

    # Nor is an id adopted that this run holds.
    console.delete("hosts", there["id"])
    hosts.provider = one_run(on_existing_host="adopt")
    held = await hosts.create(name="a", **same)
    second = await hosts.create(name="b", **same)
    deleted = await hosts.delete(held)
    console.create("hosts", **held.state | {"tenant_id": None})
    third = await hosts.create(name="b", **same)

    assert (
        'not added to state again. It is held by host "a" already.' in second.diagnostics[0].detail
    )
    assert deleted.state is None
    assert errors(third) == []


@pytest.mark.parametrize("profile", [BY_ADDRESS], indirect=True)
async def test_a_lost_import_that_made_one_host_of_two_rows_is_refused_for_both(steps_of, console):
    hosts = steps_of("host")
    same = {"public_ip": "192.0.2.1"}
    passed = {"object": "import_result", "dry_run": True, "counts": {"created": 2}}
    results = [{"index": number, "status": "created"} for number in range(2)]
    text = json.dumps(passed | {"results": results})
    console.fault(operation="host_import", status=200, text=text)
    console.fault(operation="host_import", cut="after")

    outcomes = await hosts.create_all(*(hosts.config(name=name, **same) for name in "ab"))

    assert len(console.rows("hosts")) == 1
    for outcome in outcomes:
        assert outcome.state is None
        assert "an id that another host holds" in errors(outcome)[0]


@pytest.mark.parametrize(
    ("knowledge", "fault", "ends", "said", "updates"),
    [
        # An empty update reads the host.
        ("before", None, "adopted", "Nothing changed.", 1),
        ("after", None, "adopted", "Changed to what is declared", 2),
        ("after", "reset_after", "adopted", "Changed to what is declared", 3),
        ("after", "forbidden", "refused", "status 403", 2),
    ],
)
async def test_an_adoption_says_what_it_changed_or_why_not(
    steps_of, console, knowledge, fault, ends, said, updates
):
    there = console.create("hosts", name="old", knowledge="before")
    if fault:
        console.fault(operation="host_update", skip=1, kind=fault)
    hosts = steps_of("host", on_existing_host="adopt")
    console.reset_log()

    adopted = await hosts.create(name="old", knowledge=knowledge)

    [told] = adopted.diagnostics
    assert said in told.text
    assert console.request_counts() == {"host_import": 1, "host_update": updates}
    if ends == "refused":
        assert told.summary == f'Cannot adopt the host "old" ({there["id"]})'
        assert adopted.state is None
    else:
        assert errors(adopted) == []
        assert (adopted.state["id"], adopted.state["knowledge"]) == (there["id"], knowledge)


@pytest.mark.parametrize("kinds", [("unavailable", "not_found"), ("unavailable", "forbidden")])
async def test_a_delete_that_was_sent_twice_is_not_said_to_have_failed(console, steps_of, kinds):
    hosts = steps_of("host", max_retries=1)
    made = await hosts.create(name="web")
    for kind in kinds:
        console.fault(kind=kind, operation="host_delete")
    kept = await hosts.delete(made)
    assert (kept.failed, kept.state) == (True, made.state)
    name = f'host "web" ({made.state["id"]})'
    assert errors(kept) == [f"It is not known whether the {name} is being deleted"]


@pytest.mark.parametrize(("run", "told"), [("1 of now", 0), ("1 of then", 1), ("", 1)])
async def test_a_warning_of_a_removal_is_given_once_by_a_command(steps_of, one_run, run, told):
    """Terraform's apply starts a process to plan and one to apply, and shows what both say."""
    hosts = steps_of("host")
    made = await hosts.create(name="web", deletion_policy="abandon")
    hosts.provider = one_run(on_existing_host="adopt")
    await hosts.read(made)
    hosts.provider.session.command_run = "1 of now"
    plan = await hosts.plan(made, None)
    hosts.provider.session.command_run = run
    request = DeleteRequest(made.state, plan.private)
    removed = await hosts._run(lambda lifecycle: lifecycle.delete(request))
    # Another address may take it now.
    assert (await hosts.create(name="web")).state["id"] == made.state["id"]
    assert removed.diagnostics == plan.diagnostics * told
    assert len(plan.diagnostics) == 1


async def test_a_delete_of_what_is_gone_is_confirmed_by_one_read(console, steps_of):
    hosts = steps_of("host")
    made = await hosts.create(name="web")
    console.delete("hosts", made.state["id"])
    console.reset_log()
    assert await hosts.delete(made) == Outcome(None)
    assert console.request_counts() == {"host_delete": 1, "host_update": 1}


async def test_a_host_that_seems_to_move_is_a_warning(one_run, steps_of):
    hosts = steps_of("host")
    web = await hosts.create(name="web")
    host_id, config = web.state["id"], hosts.config(name="web")
    seems = f'The host "web" ({host_id}) and a new one of this name look like one host that moved'
    for order in ((None, web), (web, None)):
        hosts.provider = one_run(on_existing_host="adopt")
        first, second = [await hosts.plan(it, None if it else config) for it in order]
        assert (warnings(first), warnings(second)) == ([], [seems])
        assert "declare a moved block" in second.diagnostics[0].detail


async def test_two_new_hosts_of_one_name_are_a_warning(one_run, steps_of):
    hosts = steps_of("host")
    hosts.provider = one_run()
    twins = [hosts.config(name=name) for name in (UNKNOWN, UNKNOWN, "twin", "twin")]
    told = [item for twin in twins for item in (await hosts.plan(None, twin)).diagnostics]
    assert [item.summary for item in told] == ['Two new hosts are named "twin"']


async def test_a_host_that_was_adopted_by_a_new_address_is_not_deleted(console, one_run, steps_of):
    hosts = steps_of("host")
    web = await hosts.create(name="web")
    host_id, config = web.state["id"], hosts.config(name="web")
    hosts.provider = one_run(on_existing_host="adopt")
    hosts.provider.session.sees_whole_plan = True
    assert warnings(await hosts.plan(None, config)) == warnings(await hosts.plan(web, None)) == []
    assert (await hosts.create(name="web")).state["id"] == host_id
    beside = one_run()
    beside.session.share(hosts.provider.session)
    hosts.provider = beside
    left = await hosts.delete(web)
    assert (left.state, warnings(left)) == (None, [f'The host "web" ({host_id}) is not deleted'])
    assert hosts.provider.session.singleton(HostDeletions).ended == {host_id}, "nobody waits for it"
    assert len(console.rows("hosts")) == 1


async def test_a_host_that_exists_is_named_and_may_be_one_that_the_run_deletes(one_run, steps_of):
    hosts = steps_of("host")
    made, other = [await hosts.create(name=name) for name in ("web", "other")]
    hosts.provider = one_run()
    await hosts.read(made)
    refused = await hosts.create(name="web")
    host_id = made.state["id"]
    holds = f'It exists already as {host_id}, which is host "web" ({host_id}). Declare each machine'
    assert holds in refused.diagnostics[0].detail
    await hosts.delete(other)
    [again] = (await hosts.create(name="web")).diagnostics
    gone = " If it is a host that this run deletes, apply again: it is gone by then."
    assert again.detail == refused.diagnostics[0].detail + gone


@pytest.mark.parametrize(
    ("fault", "read", "said"),
    [
        ({"kind": "reset_after"}, "forbidden", "it is not known whether it still runs"),
        ({"kind": "reset_before"}, None, "it is not known whether it still runs"),
        ({"status": 200}, None, "it is not known whether it still runs"),
        ({"kind": "conflict"}, None, "left management and still run"),
    ],
)
async def test_agents_of_a_host_that_may_be_left_are_named(
    console, one_run, steps_of, fault, read, said
):
    provider = one_run()
    hosts, agents = steps_of("host"), steps_of("agent")
    hosts.provider = agents.provider = provider
    made = await hosts.create(name="web")
    agent = await agents.create(name="a", host_id=made.state["id"], specialty_id="spc_linux")
    await agents.delete(agent)
    denial = {"text": json.dumps({"id": made.state["id"], "deleted": False})}
    console.fault(operation="host_delete", **fault, **(denial if "status" in fault else {}))
    if read:
        console.fault(kind=read, operation="host_update")
    ended = await hosts.delete(made)
    assert ended.failed
    assert ended.state == made.state
    [told] = [item for item in ended.diagnostics if "left management" in item.summary]
    assert said in told.summary
    assert f"terraform import opsconsole_agent.NAME {agent.state['id']}" in told.text
    assert ("was not deleted" in told.text) is (fault == {"kind": "conflict"})
    assert ended.unsettled is (bool(read) or "status" in fault)


async def test_agents_are_named_whose_host_has_an_id_that_cannot_be_sent(one_run, steps_of):
    hosts, agents = steps_of("host"), steps_of("agent")
    hosts.provider = agents.provider = one_run()
    made = await hosts.create(name="web")
    agent = await agents.create(name="a", host_id=made.state["id"], specialty_id="spc_linux")
    await agents.delete(agent._replace(state=agent.state | {"host_id": "."}))
    ended = await hosts.delete(made._replace(state=made.state | {"id": "."}))
    [refused, told] = ended.diagnostics
    assert "'.' cannot be an id" in refused.text
    assert f"terraform import opsconsole_agent.NAME {agent.state['id']}" in told.text


@pytest.mark.parametrize("rerouted", [3, "hst_2", {"hst_2": 1}, [3, "hst_2", None], None])
async def test_a_deleted_host_is_gone_whatever_else_the_answer_holds(
    steps_of, one_run, console, rerouted
):
    hosts = steps_of("host")
    hosts.provider = one_run()
    created = await hosts.create(name="web")
    told = {"id": created.state["id"], "deleted": True, "rerouted_hosts": rerouted}
    console.fault(method="DELETE", path="/hosts/", status=200, text=json.dumps(told))

    deleted = await hosts.delete(created)

    assert (deleted.state, errors(deleted)) == (None, [])
    assert hosts.provider.session.gone_ids["opsconsole_host"] == {created.state["id"]}
    assert deleted.rerouted == (("hst_2",) if isinstance(rerouted, list) else ())


def test_a_host_name_that_is_declared_twice(native):
    said = native.apply(hosts(a={"name": "web"}, b={"name": "web"}), expect=1).text
    assert 'Error: The console would not create the host "web"' in said
    why = "In a dry run, which changes nothing, the console gives its row the status 'updated'"
    assert why in said
    assert "opsconsole_host.a of this run has the same name. Declare each machine once." in said
    assert len([row for row in native.console.rows("hosts") if row["name"] == "web"]) == 1


async def test_a_create_waits_for_the_deletion_of_its_name(steps_of, one_run, monkeypatch):
    hosts = steps_of("host")
    old = await hosts.create(name="web")
    hosts.provider = one_run()
    monkeypatch.setattr("opsconsole.resources.host.known._PATIENCE", 3)
    new, gone = await asyncio.gather(hosts.create(name="web"), hosts.delete(old))
    assert (gone.state, errors(new), new.state["id"] == old.state["id"]) == (None, [], False)
