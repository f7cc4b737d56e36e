"""Plugins of agents: attachments, and the full set that an agent declares."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from declarations import host_with_agent
from engines import Standin
from lifecycle_steps import created, errors
from opsconsole.diagnostics import Severity
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.interface import (
    CreateRequest,
    Outcome,
    ReadOutcome,
    ReadRequest,
    ReadStatus,
    UnsettledCreate,
    UpdateRequest,
)
from opsconsole.resources import AGENT
from opsconsole.resources.agent.known import KnownAgents
from patience import PATIENCE, until


@pytest.fixture
async def attachment(steps_of: Callable[..., Any]) -> Outcome:
    """An attachment to an agent of a host that was declared."""
    host = await steps_of("host").create(name="web")
    agent = await steps_of("agent").create(
        host_id=host.state["id"], specialty_id="spc_linux", name="web"
    )
    ids = {"agent_id": agent.state["id"], "plugin_id": "plg_disk"}
    return await steps_of("agent_plugin").create(**ids)


def delete_host(console: Emulator) -> str:
    """Delete the host as the console does: its agents are archived, and keep their plugins."""
    [host] = console.rows("hosts")
    for agent in console.rows("agents"):
        console.change("agents", agent["id"], status="archived")
    console.delete("hosts", host["id"])
    return str(host["id"])


@pytest.mark.parametrize("profile", ["fickle"], indirect=True)
async def test_attachment_is_gone_with_its_deleted_host(steps_of, one_run, console, attachment):
    [agent] = console.rows("agents")
    attachments = steps_of("agent_plugin")
    attachments.provider = one_run()
    attachments.provider.session.singleton(KnownAgents).note_agent(agent)
    # No answer about an import names the host, and the agent does. A refresh changes nothing.
    imported = await attachments.read(attachment._replace(private=b""))
    assert "host_id" not in json.loads(imported.private)
    plan = await attachments.plan(imported, None)
    attachments.provider = None
    # The old attachment is deleted with the bytes of the plan that creates the new one.
    replacement = attachments.config(agent_id="agt_new", plugin_id="plg_disk")
    creation = await attachments.plan(Outcome(None, attachment.private), replacement)

    host_id = delete_host(console)
    for private in (attachment.private, plan.private, creation.private):
        made = attachment._replace(private=private)
        deleted = await attachments.delete(made)
        assert (deleted.state, deleted.diagnostics) == (None, ())
        assert json.loads(made.private)["host_id"] == host_id

    # A run that found the host gone asks nothing.
    attachments.provider = one_run()
    attachments.provider.session.gone_ids["opsconsole_host"].add(host_id)
    console.reset_log()
    assert await attachments.read(attachment) == ReadOutcome(None, status=ReadStatus.ARCHIVED)
    assert console.traffic()["total"] == 0


@pytest.mark.parametrize("profile", ["fickle"], indirect=True)
@pytest.mark.parametrize("why", ["the host is there", "hosts are not read", "the read fails"])
async def test_attachment_is_kept_unless_its_host_is_read_as_deleted(
    steps_of, console, attachment, why
):
    settings = {}
    if why == "the host is there":
        [agent] = console.rows("agents")
        console.change("agents", agent["id"], status="archived")
    else:
        delete_host(console)
    if why == "hosts are not read":
        settings["host_read"] = "none"
    if why == "the read fails":
        console.fault(operation="host_update", status=500, times=None)

    refused = await steps_of("agent_plugin", **settings).delete(attachment)

    assert refused[:2] == attachment[:2]
    assert "archived" in refused.diagnostics[0].text, "the problem is the detachment's"


async def test_an_attach_that_shows_another_agent_is_an_error_and_state_follows(
    steps_of, console, agent_values
):
    agents = steps_of("agent")
    created = await agents.create(**agent_values, plugin_ids=[])
    console.change("agents", created.state["id"], name="renamed")

    updated = await agents.change(created, **agent_values, plugin_ids=["plg_disk"])

    [told] = updated.diagnostics
    assert told.severity is Severity.ERROR
    assert "kept another value for name" in told.summary
    assert updated.state["name"] == "renamed"
    assert updated.state["plugin_ids"] == ["plg_disk"]


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
async def test_plugins_that_may_stay_attached_are_reported(steps_of, console, agent_values):
    agents = steps_of("agent")
    agent = await agents.create(**agent_values)
    for name in ("disk", "logs", "metrics", "packages", "backup", "legacy"):
        console.create("attachments", agent_id=agent.state["id"], plugin_id=f"plg_{name}")

    updated = await agents.change(agent, **agent_values, plugin_ids=["plg_disk"])

    [told] = updated.diagnostics
    assert told.severity is Severity.WARNING
    assert "Not every plugin" in told.summary


async def test_an_agent_that_a_write_showed_archived_is_gone(steps_of, console, agent_values):
    agents = steps_of("agent")
    created = await agents.create(**agent_values)
    text = json.dumps(created.state | {"status": "archived", "plugin_ids": None})
    console.fault(method="POST", path="/plugins$", status=200, text=text)

    updated = await agents.change(created, **agent_values, plugin_ids=["plg_disk"])
    read = await agents.read(updated)

    assert updated.failed
    assert updated.diagnostics[0].summary.endswith("is archived")
    assert read == ReadOutcome(None, status=ReadStatus.ARCHIVED)


async def test_an_attachment_that_the_list_lacks_is_an_error(steps_of, console, agent_values):
    """State holds nothing then."""
    agent = await steps_of("agent").create(**agent_values)
    text = json.dumps({"id": agent.state["id"], "status": "idle"})
    console.fault(method="POST", path="/plugins$", status=200, text=text)
    attachments = steps_of("agent_plugin")

    lost = await attachments.create(agent_id=agent.state["id"], plugin_id="plg_disk")

    assert lost.state is None
    assert [item.severity for item in lost.diagnostics] == [Severity.ERROR]
    assert "is not attached" in lost.diagnostics[0].summary

    # Only a list that was read says so.
    console.fault(operation="plugin_list", status=500)
    made = await attachments.create(agent_id=agent.state["id"], plugin_id="plg_disk")
    name = f'"{agent.state["id"]}/plg_disk"'
    [told] = made.diagnostics
    assert (told.severity, told.path) == (Severity.WARNING, ())
    assert told.summary == f"Cannot read back the plugin attachment {name}"
    assert f'"{made.state["id"]}"' == name


@pytest.mark.parametrize("profile", ["truncated"], indirect=True)
async def test_on_missing_decides_on_a_404_beside_an_incomplete_list(
    steps_of, console, agent_values
):
    """A detach answered 404 follows `on_missing` if the list may lack the attachment."""
    agent = await steps_of("agent").create(**agent_values)
    for name in ("disk", "logs", "metrics", "packages", "backup"):
        console.create("attachments", agent_id=agent.state["id"], plugin_id=f"plg_{name}")
    strict, lenient = steps_of("agent_plugin", on_missing="error"), steps_of("agent_plugin")
    made = await lenient.create(agent_id=agent.state["id"], plugin_id="plg_legacy")
    shown_id = f"{agent.state['id']}/plg_disk"
    shown = made._replace(state={**made.state, "id": shown_id, "plugin_id": "plg_disk"})
    console.fault(method="DELETE", path="/plugins/", times=None, status=404, code="NOT_FOUND")

    kept, left = await strict.delete(made), await lenient.delete(made)
    # What the list shows is there, whatever the answer.
    refused = await lenient.delete(shown)

    keep = {**agent_values, "plugin_ids": ["plg_disk"]}
    whole = agent._replace(state={**agent.state, "plugin_ids": ["plg_disk", "plg_legacy"]})
    for policy, plugins in (("error", whole.state["plugin_ids"]), ("remove", ["plg_disk"])):
        changed = await steps_of("agent", on_missing=policy).change(whole, **keep)
        assert changed.state["plugin_ids"] == plugins
        assert (bool(errors(changed)), policy) in ((True, "error"), (False, "remove"))
        assert "plg_legacy of the agent" in changed.diagnostics[0].summary

    name = f'The plugin attachment "{made.state["id"]}"'
    assert (kept.state, left.state, refused.state) == (made.state, None, shown.state)
    assert errors(kept) == [f"{name} was deleted already, or is not visible to this key"]
    assert errors(refused) == [f'Cannot delete the plugin attachment "{shown_id}"']
    [told] = left.diagnostics
    assert (told.severity, told.summary) == (Severity.WARNING, errors(kept)[0])
    assert told.detail.endswith("and it cannot be read. It is removed from state.")


async def test_nothing_is_detached_from_an_agent_that_is_gone(
    steps_of, one_run, console, agent_values
):
    agents, attachments = steps_of("agent"), steps_of("agent_plugin")
    agent = await agents.create(**agent_values)
    made = await attachments.create(agent_id=agent.state["id"], plugin_id="plg_disk")
    console.delete("agents", agent.state["id"])
    agents.provider = attachments.provider = one_run()
    assert (await agents.read(agent)).state is None
    console.reset_log()

    assert await attachments.read(made) == ReadOutcome(None, status=ReadStatus.ARCHIVED)
    removed = await attachments.delete(made)

    assert (removed.state, removed.diagnostics) == (None, ())
    assert console.traffic()["total"] == 0

    # A run that does not know of it asks the list, which answers 404 too.
    attachments.provider = None
    again = await attachments.delete(made)
    assert (again.state, again.diagnostics) == (None, ())
    refused = await attachments.create(agent_id=agent.state["id"], plugin_id="plg_disk")
    assert errors(refused) == [f'Cannot create the plugin attachment "{made.state["id"]}"']


@pytest.mark.parametrize("profile", ["default", "strict", "sparse"], indirect=True)
async def test_attach_twice_and_detach_of_a_missing_plugin_succeed(steps_of, console, agent_values):
    agent = await steps_of("agent").create(**agent_values)
    attachments = steps_of("agent_plugin")
    ids = {"agent_id": agent.state["id"], "plugin_id": "plg_disk"}
    first = await attachments.create(**ids)

    again = await attachments.create(**ids)
    lost = UnsettledCreate(ids, "opsconsole_agent_plugin.lost")
    [settled] = await attachments._run(lambda lifecycle: lifecycle.settle_creates([lost], []))
    [row] = console.rows("attachments")
    console.delete("attachments", row["id"])
    gone = await attachments.delete(first)

    assert first.state["id"] == f"{agent.state['id']}/plg_disk"
    assert errors(again) == errors(gone) == []
    assert settled.state == again.state == first.state
    assert gone.state is None


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_a_rename_that_is_stopped_before_its_plugins_goes_into_state(
    steps_of, one_run, console, agent_values
):
    agents, run = steps_of("agent"), one_run()
    created = await agents.create(**agent_values, plugin_ids=[])
    config = agents.config(**agent_values | {"name": "renamed"}, plugin_ids=["plg_disk"])
    plan = await agents.plan(created, config)
    request = UpdateRequest(created.state, config, plan.planned, plan.private)
    console.fault(operation="agent_update", hold="after")

    changing = asyncio.create_task(run.lifecycles[AGENT.type_name].update(request))
    await asyncio.to_thread(until, lambda: not console.waiting_faults())
    run.stop()
    console.clear_faults()
    in_part = await changing

    assert errors(in_part) == [f'The agent "keeper" ({created.state["id"]}) was updated in part']
    assert in_part.state == created.state | {"name": "renamed"}


async def test_a_change_of_plugins_that_is_stopped_says_what_was_done(
    steps_of, one_run, console, agent_values
):
    agents = steps_of("agent")
    created = await agents.create(**agent_values, plugin_ids=[])
    config = agents.config(**agent_values, plugin_ids=["plg_disk", "plg_logs"])
    plan = await agents.plan(created, config)
    request = UpdateRequest(created.state, config, plan.planned, plan.private)
    run = one_run()
    console.fault(operation="plugin_attach", hold="after", times=2)
    attachments = steps_of("agent_plugin")
    attachments.provider = run
    other = (await agents.create(**agent_values)).state["id"]

    changing = asyncio.create_task(run.lifecycles[AGENT.type_name].update(request))
    attaching = asyncio.create_task(attachments.create(agent_id=other, plugin_id="plg_disk"))
    await asyncio.to_thread(until, lambda: not console.waiting_faults())
    run.stop()
    console.clear_faults()
    in_part = await changing
    # What was never seen of an agent is no call where no operation updates agents.
    unseen = request._replace(prior=created.state | {"main_engine": None})
    not_begun = await run.lifecycles[AGENT.type_name].update(unseen)
    [unread] = await run.lifecycles[AGENT.type_name].read([ReadRequest(created.state)])

    assert errors(in_part) == [f'The agent "keeper" ({created.state["id"]}) was updated in part']
    assert in_part.state["plugin_ids"] == ["plg_disk"]
    assert in_part.begun
    assert (not_begun.state, not_begun.begun) == (unseen.prior, False)
    assert (unread.state, unread.begun) == (created.state, False)
    assert unread.status is ReadStatus.UNCHECKED
    # It was attached, and is not read any more.
    attached = await attaching
    assert (attached.state["id"], attached.diagnostics) == (f"{other}/plg_disk", ())


async def test_an_attach_that_is_cancelled_before_its_turn_holds_up_no_other(
    steps_of, one_run, console, agent_values
):
    agent_id = (await steps_of("agent").create(**agent_values)).state["id"]
    attachments = steps_of("agent_plugin")
    lifecycle = one_run().lifecycles[attachments.type_name]
    console.fault(operation="plugin_attach", hold="after")
    tasks = []
    for plugin_id in ("plg_disk", "plg_logs"):
        config = attachments.config(agent_id=agent_id, plugin_id=plugin_id)
        plan = await attachments.plan(None, config)
        request = CreateRequest(config, plan.planned, plan.private)
        tasks.append(asyncio.create_task(created(lifecycle, [request])))
    await asyncio.to_thread(until, lambda: not console.waiting_faults())
    tasks[1].cancel()
    console.clear_faults()
    async with asyncio.timeout(PATIENCE / 4):
        [first] = await tasks[0]
    assert (first.state["id"], first.diagnostics) == (f"{agent_id}/plg_disk", ())
    assert tasks[1].cancelled()


async def test_a_refused_plugin_fails_the_update_of_its_agent(steps_of, console, agent_values):
    agents = steps_of("agent")
    agent = await agents.create(**agent_values, plugin_ids=[])
    console.fault(operation="plugin_attach", status=403, code="FORBIDDEN")
    refused = await agents.change(agent, **agent_values, plugin_ids=["plg_disk", "plg_logs"])
    [said] = errors(refused)
    assert said.startswith('Cannot attach the plugin plg_disk of the agent "keeper"')
    assert refused.state["plugin_ids"] == ["plg_logs"]


@pytest.mark.parametrize("first", ["destroyed", "created"])
def test_an_attachment_that_gets_another_address_stays_attached(applied, console, first):
    """An index or a name may change without a moved block, and a detach may be slow."""

    def attached(*plugins: str, name: str = "p") -> dict[str, Any]:
        declared = {
            "count": len(plugins),
            "agent_id": "${opsconsole_agent.a.id}",
            "plugin_id": f"${{{json.dumps(plugins)}[count.index]}}",
            "lifecycle": {"create_before_destroy": first == "created"},
        }
        return host_with_agent() | {"opsconsole_agent_plugin": {name: declared}}

    engine = applied({"resource": attached("plg_disk", "plg_logs", "plg_backup")}, console)
    console.fault(operation="plugin_detach", path="plg_(logs|backup)", delay=0.3, times=None)
    changes = [
        attached("plg_logs", "plg_disk", "plg_backup"),
        attached("plg_disk", "plg_backup"),
        attached("plg_disk", "plg_backup", name="q"),
    ]
    for changed in changes:
        console.reset_log()
        engine.apply(program={"resource": changed})
        if isinstance(engine, Standin) and first == "destroyed":
            # A run that is killed in between leaves no id at two addresses.
            ended, begun = dict[str, float](), dict[str, float]()
            for item in console.requests():
                if item["operation"] == "plugin_detach":
                    ended[item["path"].rpartition("/")[2]] = item["ended"]
                elif item["operation"] == "plugin_attach":
                    begun[item["body"]["plugin_id"]] = item["started"]
            assert all(ended[plugin] <= at for plugin, at in begun.items())
        assert engine.plan_run(expect={0}).errors == []
        [declared] = changed["opsconsole_agent_plugin"].values()
        assert len(console.rows("attachments")) == declared["count"]


@pytest.mark.parametrize("profile", ["default", "extended"])
def test_plugins_that_a_key_may_not_list_stop_nothing_else(profile, native_on):
    """The agent of `full` declares its set of plugins, that of `open` has an attachment."""
    native = native_on(profile)
    host = {"name": "web"}
    ids = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    agents = {"full": {**ids, "plugin_ids": ["plg_disk"]}, "open": ids}
    attachment = {"agent_id": "${opsconsole_agent.open.id}", "plugin_id": "plg_logs"}
    program = {
        "opsconsole_host": {"web": host},
        "opsconsole_agent": {name: {**item, "name": name} for name, item in agents.items()},
        "opsconsole_agent_plugin": {"logs": attachment},
    }
    native.apply(program)
    held = native.attributes("opsconsole_agent.full")
    native.console.fault(operation="plugin_list", status=403, code="FORBIDDEN", times=None)
    host["knowledge"] = "new"
    applied = native.apply(program).text
    assert "Apply complete! Resources: 0 added, 1 changed, 0 destroyed." in applied
    assert "was not checked" in applied and "use a key that may read it" in applied
    assert native.attributes("opsconsole_agent.full") == held
    native.run("drift", expect=1)
    report = json.loads(native.run("drift", "--format", "json", expect=1).out)
    unchecked = {item["address"] for item in report["findings"] if item["bucket"] == "unchecked"}
    assert {"opsconsole_agent.full", "opsconsole_agent_plugin.logs"} <= unchecked

    del program["opsconsole_agent_plugin"]
    program["opsconsole_agent"]["open"]["plugin_ids"] = ["plg_logs"]
    host["knowledge"] = "newer"
    refused = native.apply(program, "-force", expect=1).text
    assert 'Cannot update the agent "open"' in refused
    assert native.console.rows("hosts")[0]["knowledge"] == "newer"


def test_an_update_is_newer_than_the_answer_to_a_detach_before_it(native_on):
    native = native_on("extended")
    rest = host_with_agent()
    attached = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    native.apply(rest | {"opsconsole_agent_plugin": {"disk": attached}})
    rest["opsconsole_agent"]["a"]["name"] = "b"
    # Without a time, the answer does not tell that it is older.
    answer = {**native.console.rows("agents")[0], "updated_at": None}
    native.console.fault(operation="plugin_detach", text=json.dumps(answer), delay=0.2)
    native.apply(rest, "-force")
    assert native.attributes("opsconsole_agent.a")["name"] == "b"


@pytest.mark.parametrize(
    ("updated_at", "answered_at", "taken"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.500Z", True),
        ("2026-01-01T00:00:00.500Z", "2026-01-01T00:00:00Z", False),
        ("2026-01-01T00:00:00Z", "2026-01-01T02:00:00+03:00", False),
        ("2026-01-01T00:00:00Z", "2025-12-31T23:00:00-03:00", True),
        # What cannot be compared says nothing about the order.
        ("2026-01-01T00:00:00Z", "2025-01-01T00:00:00", True),
        ("2026-01-01T00:00:00Z", "1 January 2025", True),
        (None, "2025-01-01T00:00:00Z", True),
    ],
)
async def test_an_answer_is_older_by_its_moment(
    steps_of, one_run, agent_values, updated_at, answered_at, taken
):
    agents = steps_of("agent")
    agent = await agents.create(**agent_values)
    prior = agent.state | {"updated_at": updated_at}
    shown = agent.state | {"updated_at": answered_at, "name": "new"}
    lifecycle = one_run().lifecycles[AGENT.type_name]
    outcome = lifecycle.update_from_answer(ReadRequest(prior, agent.private), shown)
    assert outcome.state["name"] == ("new" if taken else prior["name"])


def test_agent_in_the_answer_to_an_attach_is_kept(native):
    resources = host_with_agent()
    native.apply(resources)
    [row] = native.console.rows("agents")
    native.console.change("agents", row["id"], secondary_engine="engine-z")
    attached = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    native.apply(resources | {"opsconsole_agent_plugin": {"disk": attached}})
    assert native.attributes("opsconsole_agent.a")["secondary_engine"] == "engine-z"
    assert native.actions() == {}

    # What is no whole agent, or an older one, changes nothing.
    held, more = native.attributes("opsconsole_agent.a"), {"disk": attached}
    older = {"updated_at": "2000-01-01T00:00:00Z", "name": "older"}
    spoilt = {"logs": {"name": 5}, "metrics": {"host_id": None, "name": "none"}, "backup": older}
    for name, shown in spoilt.items():
        text = json.dumps({**native.console.row("agents", row["id"]), **shown})
        native.console.fault(operation="plugin_attach", text=text)
        more[name] = attached | {"plugin_id": f"plg_{name}"}
        native.apply(resources | {"opsconsole_agent_plugin": more})
        assert native.attributes("opsconsole_agent.a") == held

    # One of the same second is taken.
    answer = {**held, "status": "archived", "plugin_ids": None}
    native.console.fault(operation="plugin_detach", text=json.dumps(answer), times=None)
    assert "is archived" in native.apply(resources, "-force").text
    assert native.attributes("opsconsole_agent.a")["status"] == "archived"
    assert native.actions() == {"opsconsole_agent.a": ["create"]}


def test_a_plugin_that_its_agent_declares_outlives_its_attachment(native):
    attachment = {"agent_id": "${opsconsole_agent.a.id}", "plugin_id": "plg_disk"}
    native.apply(host_with_agent() | {"opsconsole_agent_plugin": {"p": attachment}})
    result = native.apply(host_with_agent(plugin_ids=["plg_disk", "plg_logs"]), "-force")

    assert "The plugin plg_disk stays attached" in result.text
    attached = {row["plugin_id"] for row in native.console.rows("attachments")}
    assert attached == {"plg_disk", "plg_logs"}
    assert native.actions() == {}
    assert native.console.request_counts().get("plugin_detach", 0) == 0
