"""Creates whose answer was lost: settled where the API can tell, never sent twice where not."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from consoles import call_api
from declarations import agent_on, held, program
from engines import ON_TERRAFORM, Terraform
from lifecycle_steps import errors, warnings
from native_project import PROVIDER, intents_left, leave_intents
from opsconsole.clock import timestamp, utc_now
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.interface import (
    NEVER_CREATED,
    STILL_UNSETTLED,
    DeleteRequest,
    Outcome,
    ReadStatus,
    UnsettledCreate,
)
from opsconsole.lifecycle.private_state import new_sentinel
from opsconsole.reconcile.prior import may_hold_unsettled, read_prior
from opsconsole.resources import AGENT
from opsconsole.state import InstanceObject, Intent, State

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
def test_replacement_of_a_lost_agent_is_refused_alone(lost, console):
    program = declared()
    program["resource"]["opsconsole_host"]["more"] = {"name": "more"}
    plan = lost.plan(program=program)
    assert plan.actions == {ADDRESS: ["delete", "create"], "opsconsole_host.more": ["create"]}
    assert any("It is not known whether the agent" in item["summary"] for item in plan.run.warnings)
    [error] = lost.apply(expect={1}).errors
    assert "may exist already" in error["summary"]
    assert agents(console) == ["fine", "lost"]
    assert "opsconsole_host.more" in held(lost)
    assert instance(lost)["attributes"]["id"].startswith("outcome-unknown/")


def test_destroy_forgets_a_lost_agent(lost, console):
    lost.destroy()
    assert held(lost) == {}
    assert console.rows("hosts") == []


@pytest.mark.parametrize("created", [True, False])
def test_lost_agent_is_imported_or_created_again(lost, console, created):
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
@pytest.mark.parametrize("profile", ["blind"], indirect=True)
def test_a_host_that_no_dry_run_finds_is_left_to_the_user(project, console):
    console.fault(method="POST", path="/hosts/batch", holds='"dry_run":false', cut="after")
    hosts = program(host={"web": {"name": "web"}})
    engine = project(hosts, console, SETTINGS)
    run = engine.apply(expect={1})
    assert "It is not known whether the host" in run.errors[0]["summary"]
    run = engine.apply(expect={1})
    assert "may exist already" in run.errors[0]["summary"]
    assert len(console.rows("hosts")) == 1


async def test_a_lost_create_is_forgotten_by_a_planned_removal_only(
    steps_of, console, agent_values
):
    console.fault(kind="reset_after", operation="agent_create")
    steps = steps_of("agent")
    lost = await steps.create(**agent_values)
    assert errors(lost) == ['It is not known whether the agent "keeper" was created']
    console.reset_log()
    request = DeleteRequest(lost.state, lost.private, ADDRESS)
    refused = await steps._run(lambda lifecycle: lifecycle.delete(request))
    read = await steps.read(lost)
    assert (read.state, read.status) == (lost.state, ReadStatus.UNCHECKED)
    assert read.reason == warnings(read)[0]
    assert (refused.state, refused.private) == (lost.state, lost.private)
    [told] = refused.diagnostics
    assert told.summary.startswith(f'The agent "keeper" ({lost.state["id"]}) may exist')
    assert told.detail.endswith(
        f"If it was never created: `terraform state rm '{ADDRESS}'` and apply again. If it was: "
        f"`terraform state rm '{ADDRESS}'` and `terraform import '{ADDRESS}' agt_…`."
    )
    assert await steps.delete(lost) == Outcome(None)
    assert console.traffic()["total"] == 0


HOSTS = {"opsconsole_host": {"a": {"name": "a"}, "b": {"name": "b"}}}


def leave(
    native: Any,
    creates: Sequence[tuple[str, dict[str, Any]]],
    said: str = "",
    at: str = "2026-01-01",
    **more: Any,
) -> None:
    """Leave creates of unknown outcome beside the state, sent at this time."""
    calls = []
    for address, planned in creates:
        details = {"planned": planned, "dry_run_status": said, "provider": PROVIDER, **more}
        calls.append(Intent(address, address, "create", details, at))
    leave_intents(native.state_file, calls)


def left(native: Any) -> list[str]:
    return [intent.address for intent in intents_left(native.state_file)]


def test_lost_host_without_proof_is_kept_tainted(native):
    needs = {"agent_id": "${opsconsole_host.a.id}"}
    native.write(
        {**HOSTS, "opsconsole_agent": {"x": agent_on("a")}},
        data={"opsconsole_agent_plugins": {"d": needs}},
    )
    leave(native, [("opsconsole_host.a", {"name": "a"})], "created", at=timestamp(utc_now()))
    result = native.run("apply", "-auto-approve", expect=1)
    assert "It is not known whether opsconsole_host.a was created" in result.out
    for needy, name in (
        ("opsconsole_agent.x", "host"),
        ("data.opsconsole_agent_plugins.d", "agent"),
    ):
        assert f"{needy} needs values that are not known\n│\n│   at {name}_id\n" in result.out
        assert (
            f"{name}_id refers to a resource that was not applied, or whose outcome" in result.out
        )
    assert [row["name"] for row in native.console.rows("hosts")] == ["b"]
    native.run("plan", "-refresh-only", "-detailed-exitcode", expect=2)
    refreshed = native.run("apply", "-refresh-only", "-auto-approve", expect=1)
    assert "It is not known whether opsconsole_host.a was created" in refreshed.text
    assert native.attributes("opsconsole_host.a")["id"].startswith("outcome-unknown/")
    native.run("plan", "-out", "saved.plan")
    planned = json.loads(native.run("show", "-json", "saved.plan").out)["resource_changes"]
    actions = {change["address"]: change["change"]["actions"] for change in planned}
    assert actions["opsconsole_host.a"] == ["no-op"]
    [item] = [i for i in native.state["resources"] if i["name"] == "a"]
    assert item["instances"][0]["status"] == "tainted"
    assert left(native) == []


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
@pytest.mark.parametrize(("host_id", "total"), [("hst_1", 0), ("hst_1", 1), (None, 0)])
async def test_only_a_whole_list_shows_that_an_agent_was_never_created(
    console, one_run, host_id, total
):
    listed = {"object": "list", "data": [], "total_count": total}
    console.fault(operation="agent_list", status=200, text=json.dumps(listed), handled=False)
    lost = UnsettledCreate(AGENT.empty() | {"name": "lost", "host_id": host_id}, ADDRESS)
    [settled] = await one_run().lifecycles[AGENT.type_name].settle_creates([lost], [])
    assert settled is (NEVER_CREATED if host_id and not total else STILL_UNSETTLED)


def test_the_next_run_asks_for_a_create_whose_answer_was_lost(native_on):
    native = native_on("extended")
    host_id = native.console.create("hosts", name="a")["id"]
    agent = {"name": "a", "host_id": host_id, "specialty_id": "spc_linux"}
    native.write({"opsconsole_agent": {"a": agent}})
    native.console.fault(kind="reset_after", operation="agent_create")
    lost = native.run("apply", "-auto-approve", expect=1)
    assert "Run again: the console is asked first. If it is not known even then:" in lost.text
    assert "No changes" in native.run("apply", "-auto-approve").text


def test_where_agents_can_be_listed_the_list_says_which_were_created(native_on):
    native = native_on("extended")
    host_id = native.console.create("hosts", name="b")["id"]
    bound = {"host_id": host_id, "specialty_id": "spc_linux"}
    native.apply({"opsconsole_agent": {"again": {"name": "again", **bound}}})
    names = ("again", "came", "never", "twins")
    native.write({"opsconsole_agent": {name: {"name": name, **bound} for name in names}})
    old = native.attributes("opsconsole_agent.again")["id"]
    leave(native, [("opsconsole_agent.again", {"name": "again", **bound})], instead_of=old)
    for number, name in enumerate(("again", "came", "twins", "twins")):
        native.console.create("agents", id=f"agt_{number}", name=name, **bound)
    leave(native, [(f"opsconsole_agent.{name}", {"name": name, **bound}) for name in names[1:]])
    told = native.run("apply", "-auto-approve", expect=1).out
    assert "opsconsole_agent.came was created by the run that was interrupted" in told
    assert "opsconsole_agent.never was not created by the run that was interrupted" in told
    assert "It is not known whether opsconsole_agent.twins was created" in told
    assert native.attributes("opsconsole_agent.came")["id"] == "agt_1"
    assert native.attributes("opsconsole_agent.again")["id"] == "agt_0"
    names = sorted(row["name"] for row in native.console.rows("agents"))
    assert names == ["again", "came", "never", "twins", "twins"]


def test_one_host_settles_one_lost_create_under_two_configurations(native):
    """Both creates were sent for one name: the console made one host of them."""
    other = native.settings | {"alias": "other"}
    hosts = {"a": {"name": "a"}, "b": {"name": "a", "provider": "opsconsole.other"}}
    native.write({"opsconsole_host": hosts}, provider={"opsconsole": [native.settings, other]})
    leave(native, [("opsconsole_host.a", {"name": "a"})], "created")
    leave(native, [("opsconsole_host.b", {"name": "a"})], "created", provider=f"{PROVIDER}.other")
    host_id = native.console.create("hosts", name="a")["id"]
    told = native.run("plan").out
    assert "opsconsole_host.a was created by the run that was interrupted" in told
    assert "It is not known whether opsconsole_host.b was created" in told
    assert native.attributes("opsconsole_host.a")["id"] == host_id
    assert native.attributes("opsconsole_host.b")["id"].startswith("outcome-unknown/")


def test_refused_dry_run_settles_no_lost_create(native):
    native.write(HOSTS)
    leave(native, [("opsconsole_host.a", {"name": "a"})], "created")
    native.console.fault(path="/hosts/batch", status=403, times=None)
    refused = native.run("plan", expect=1)
    assert "may have created opsconsole_host.a" in refused.err
    assert "Run again once it answers." in refused.err
    assert left(native) == ["opsconsole_host.a"]
    row = native.console.create("hosts", name="a")
    native.run("import", "opsconsole_host.a", row["id"])
    assert left(native) == []
    leave(native, [("opsconsole_host.a", {"name": "a"})], "created")
    native.run("plan")
    assert left(native) == [], "state holds it, so nobody is asked"


def test_deletions_and_updates_of_an_interrupted_run_are_settled_by_reads(native, fleet):
    native.apply(fleet(4))
    rows = {row["name"]: row["id"] for row in native.console.rows("hosts")}
    for number, verb in enumerate(("delete", "delete", "delete", "update")):
        details = {"verb": verb, "id": rows[f"web-{number}"], "provider": PROVIDER}
        call = Intent(f"{number}", f"opsconsole_host.web[{number}]", verb, details, "2026-01-01")
        leave_intents(native.state_file, [call])
    call_api(native.console, "DELETE", f"/api/v1/hosts/{rows['web-0']}")
    native.console.fault(path=rows["web-2"], status=403, times=None)
    words = ("apply", "--json", "-auto-approve", "-target=opsconsole_specialty.linux")
    told = {item["summary"]: item["detail"] for item in native.run(*words).warnings}
    for of_targets in ("Resource targeting is in effect", "Applied changes may be incomplete"):
        assert "-target" in told.pop(of_targets)
    unread = told.pop("It is not known whether the interrupted run deleted 1 resource")
    assert unread.startswith("They cannot be read (the console does not allow this key the call")
    assert unread.endswith("), so they stay in state:\n  opsconsole_host.web[2]")
    assert told == {
        "The interrupted run deleted 1 resource and did not learn the outcome": "The console does "
        "not have them any more: they left the state, and 2 that went with them.\n"
        "  opsconsole_host.web[0]",
        "The interrupted run has not deleted 1 resource so far": "Their deletion was sent or about "
        "to be; the console still has them:\n  opsconsole_host.web[1]",
        "The interrupted run did not learn the outcome of 1 update": "Reading these resources "
        "shows what was changed:\n  opsconsole_host.web[3]",
    }
    assert (len(native.addresses()), left(native)) == (10, ["opsconsole_host.web[2]"])
    native.console.clear_faults()
    native.console.change(
        "agents", native.attributes("opsconsole_agent.a[2]")["id"], status="archived"
    )
    said = native.run("state", "fold").text
    assert "Warning: 2 resources left the state with what the interrupted run deleted\n" in said
    assert "the console still has them:\n│   opsconsole_host.web[2]\n" in said
    assert (len(native.addresses()), left(native)) == (8, [])


def test_no_run_is_complete_while_an_outcome_is_unknown(native):
    agent = agent_on("b", "x", specialty_id="${opsconsole_specialty.s.id}")
    specialty = {"s": {"key": "linux-server"}}
    native.write({**HOSTS, "opsconsole_specialty": specialty, "opsconsole_agent": {"x": agent}})
    native.console.fault(kind="request_timeout_after", operation="agent_create")
    native.run("apply", "-auto-approve", expect=1)
    for words in ([], ["-refresh=false"], ["-target=opsconsole_host.b"]):
        planned = native.run("plan", "-detailed-exitcode", *words, expect=2)
        assert "No changes" not in planned.out
        assert "The outcome of 1 creation is not known" in planned.out
        assert planned.out.count("It is not known whether") == 1
        again = native.run("apply", "-auto-approve", *words, expect=1)
        assert "Apply incomplete" in again.out
        assert "opsconsole state rm 'opsconsole_agent.x'" in again.out
        assert "terraform state rm" not in again.out
    assert "Enter a value" not in native.run("apply", expect=1).out
    [made] = native.console.rows("agents")
    native.run("state", "rm", "opsconsole_agent.x")
    native.run("import", "opsconsole_agent.x", made["id"])
    native.run("apply", "-auto-approve")
    assert native.run("plan", "-detailed-exitcode").code == 0


def test_agent_sent_just_now_is_unknown_though_no_list_shows_it(native_on):
    native = native_on("extended")
    host_id = native.console.create("hosts", name="b")["id"]
    late = {"name": "late", "host_id": host_id, "specialty_id": "spc_linux"}
    native.write({"opsconsole_agent": {"late": late}})
    leave(native, [("opsconsole_agent.late", late)], at=timestamp(utc_now()))
    for words, code in ((("state", "fold"), 0), (("apply", "-auto-approve"), 1)):
        told = native.run(*words, expect=code).text
        assert "It is not known whether opsconsole_agent.late was created" in told
    assert native.console.rows("agents") == []
    native.console.create("agents", id="agt_late", **late)
    settled = native.run("apply", "-auto-approve")
    assert "was created by an earlier run\n│\n│ It is agt_late, and in state" in settled.out
    assert native.attributes("opsconsole_agent.late")["id"] == "agt_late"


def test_lost_create_is_retried_after_900_seconds(native, caplog):
    native.settings |= {"max_retries": 0}
    native.apply({"opsconsole_host": {"b": {"name": "b"}}})
    native.write(HOSTS)
    held = '"dry_run":false'
    native.console.fault(kind="internal_error", operation="host_import", holds=held)
    native.run("apply", "-auto-approve", expect=1)
    native.run("apply", "-auto-approve", expect=1)
    assert native.attributes("opsconsole_host.a")["id"].startswith("outcome-unknown/")
    state = native.state
    [item] = [item for item in state["resources"] if item["name"] == "a"]
    private = json.loads(base64.b64decode(item["instances"][0]["private"]))
    private["sent_at"] = "2026-01-01T00:00:00Z"
    item["instances"][0]["private"] = base64.b64encode(json.dumps(private).encode()).decode()
    native.state_file.write_text(json.dumps(state))
    native.console.fault(operation="host_import", status=403)
    native.run("plan", "-detailed-exitcode", expect=2)
    assert "cannot settle what may have been created" in caplog.text
    created = native.run("plan", "-out=p")
    assert "was not created by an earlier run" in created.out
    assert "A dry run of the same row shows" in created.out
    native.run("apply", "p")
    assert sorted(row["name"] for row in native.console.rows("hosts")) == ["a", "b"]


def test_900_seconds_begin_when_the_create_was_sent(native):
    native.write(HOSTS)
    leave(native, [("opsconsole_host.a", {"name": "a"})], "created")
    native.run("apply", "-auto-approve", expect=1)
    assert native.attributes("opsconsole_host.a")["id"].startswith("outcome-unknown/")
    assert "was not created by an earlier run" in native.run("plan").out


@pytest.mark.parametrize("slash", ["/", "\\/"])
def test_an_unknown_outcome_is_found_in_a_state_however_json_writes_it(slash):
    state = State.new()
    state.put("opsconsole_host.known", InstanceObject(PROVIDER, {"id": "hst_1"}))
    assert not may_hold_unsettled(state)
    sentinel = new_sentinel()
    state.put("opsconsole_host.lost", InstanceObject(PROVIDER, {"id": sentinel}))
    text = state.to_bytes().decode()
    written = text.replace(sentinel, sentinel.replace("/", slash))
    assert written.count(f"outcome-unknown{slash}") == 1
    read = State.parse(written.encode(), "a state")
    assert may_hold_unsettled(read)
    assert read_prior(read)["opsconsole_host.lost"].unsettled
