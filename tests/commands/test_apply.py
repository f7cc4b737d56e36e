"""`apply` and `destroy`: the whole way, questions, messages, counts, and what fails alone."""

import gc
import json
import math
import os
import re
from typing import Any

import pytest

from consoles import call_api
from declarations import agent_on, host_with_agent, hosts, write_stacks
from native_project import intents_left
from opsconsole import resources
from opsconsole.language import Evaluator, load_directory
from opsconsole.reconcile.providers import Providers
from opsconsole.resources.agent.lifecycle import AgentLifecycle
from text_groups import read_rows

ROWS = read_rows(__file__)


def test_plan_apply_and_destroy_of_a_fleet(native, fleet):
    native.write(fleet(), output={"first": {"value": "${opsconsole_host.web[0].id}"}})
    planned = native.run("plan", "-detailed-exitcode", expect=2)
    assert "# opsconsole_host.web[0] will be created" in planned.out
    assert "# opsconsole_specialty.linux will be adopted" in planned.out
    assert "Plan: 1 to adopt, 9 to add, 0 to change, 0 to destroy." in planned.out
    assert native.addresses() == []
    applied = native.run("apply", "-auto-approve")
    assert "Apply complete! Resources: 1 adopted, 9 added, 0 changed, 0 destroyed." in applied.out
    created = r"opsconsole_host\.web\[2\]: Creation complete after [\dm]+s \[id=hst_"
    assert re.search(created, applied.out)
    assert re.search(r'\nThe run ended in [\d.]+ s\.\n\nOutputs:\n\nfirst = "hst_', applied.out)
    assert len(native.console.rows("hosts")) == 3
    assert "No changes." in native.run("plan", "-detailed-exitcode").out
    destroyed = native.run("destroy", "-auto-approve")
    assert "Destroy complete! Resources: 10 destroyed." in destroyed.out
    assert "opsconsole_agent.a[0]: Archived with opsconsole_host.web[0]" in destroyed.out
    assert native.addresses() == []
    assert native.console.rows("hosts") == []


def test_an_app_needs_no_argument(native):
    write_stacks(native.folder, {"one": {"resource": {"opsconsole_host": {"a": {"name": "a"}}}}})
    (native.folder / "cdktf.out").rename(native.folder / "made")
    app = {"language": "python", "app": 'cp -r made/. "$CDKTF_OUTDIR"'}
    (native.folder / "cdktf.json").write_text(json.dumps(app))
    native.run("plan", "-detailed-exitcode", expect=2)
    native.run("apply", "-auto-approve")
    assert (native.folder / "terraform.one.tfstate").exists()
    assert native.run("state", "list").out.split() == ["opsconsole_host.a"]
    assert "There is no stack" in native.run("plan", "-stack=other", expect=1).err


@pytest.mark.parametrize("dashes", ["-", "--"])
def test_options_take_one_dash_or_two(native, dashes):
    native.write(
        {"opsconsole_host": {"a": {"name": "${var.name}"}}},
        variable={"name": {"type": "string"}, "other": {"default": "x"}},
    )
    (native.folder / "more.tfvars").write_text('other = "y"\n')
    words = "var=name=box var-file=more.tfvars refresh=false lock-timeout=1s input=false"
    native.run("plan", *(dashes + word for word in words.split()), f"{dashes}out", "p")
    native.run("apply", f"{dashes}no-color", "p")
    assert [row["name"] for row in native.console.rows("hosts")] == ["box"]


@pytest.mark.parametrize(*ROWS["test_apply_asks"])
def test_apply_asks(native, answer, words, code, said):
    native.write({"opsconsole_host": {"a": {"name": "a"}}})
    assert said in native.run("apply", *words, answer=answer, expect=code).text
    assert len(native.console.rows("hosts")) == (1 if code == 0 else 0)


def test_apply_as_json_is_a_stream_of_messages(native, fleet):
    native.write(fleet(2), output={"n": {"value": "${length(opsconsole_host.web)}"}})
    refused = native.run("apply", "--json", expect=1)
    assert "--auto-approve" in refused.messages[1]["diagnostic"]["detail"]
    # The import is refused as too large, and sent again in halves.
    native.console.fault(operation="host_import", holds='"dry_run":false', status=413)
    result = native.run("apply", "--json", "-auto-approve")
    assert intents_left(native.state_file) == []
    assert result.messages[0]["type"] == "version"
    summaries = result.of_type("change_summary")
    assert [item["changes"]["operation"] for item in summaries] == ["plan", "apply"]
    assert (summaries[1]["changes"]["add"], summaries[1]["changes"]["import"]) == (6, 1)
    assert len(result.of_type("apply_start")) == len(result.of_type("apply_complete")) == 7
    assert result.of_type("outputs")[-1]["outputs"]["n"]["value"] == 2


def test_objects_of_a_gone_host_leave_state_outside_of_target_too(native, fleet):
    native.apply(fleet(1))
    call_api(native.console, "DELETE", f"/api/v1/hosts/{native.console.rows('hosts')[0]['id']}")
    native.run("apply", "-auto-approve", "-target=opsconsole_host.web")
    assert native.addresses() == ["opsconsole_host.web[0]", "opsconsole_specialty.linux"]
    assert [*native.actions()] == ["opsconsole_agent.a[0]", "opsconsole_agent_plugin.p[0]"]


@pytest.mark.parametrize(("hosts", "chunk"), [(1, 500), (7, 3), (9, 3)])
def test_calls_are_counted(native, fleet, hosts, chunk):
    native.settings["import_chunk_size"] = chunk
    native.apply(fleet(hosts))
    counts = native.console.request_counts()
    assert counts["host_import"] == 2 * math.ceil(hosts / chunk)
    assert counts["host_update"] == hosts
    native.console.reset_log()
    native.run("destroy", "-auto-approve", "-refresh=false", "-target=opsconsole_host.web")
    assert native.console.request_counts() == {"host_delete": hosts}


def test_parallelism_bounds_what_is_in_flight(native, fleet):
    # On a slow machine, writes of the state that are due by time would be counted too.
    native.monkeypatch.setattr("opsconsole.state.session.Cadence.is_due", lambda *_: False)
    sync, synced = os.fdatasync, []
    native.monkeypatch.setattr(os, "fdatasync", lambda file: synced.append(file) or sync(file))
    native.apply(fleet(12, agents=False), "-parallelism=1")
    assert native.console.traffic()["most_in_flight"] == 1
    assert len(synced) < 12, "what is read back is written for many hosts at once"
    native.settings["import_chunk_size"] = 3
    native.console.fault(operation="host_import", delay=0.1, times=None)
    native.apply(fleet(32, agents=False))
    sent = [item for item in native.console.requests() if item["operation"] == "host_import"][8:]
    beside = (sum(o["started"] <= i["started"] < o["ended"] for o in sent) for i in sent)
    assert max(beside) <= 2, "so many imports are in flight, whatever the parallelism"
    assert "1 or more" in native.run("plan", "-parallelism=0", expect=1).err


def test_a_failed_host_fails_alone(native):
    agent = agent_on("b", "x", specialty_id="${opsconsole_specialty.linux.id}")
    both = {"name": "c", "jump_host_ids": [f"${{opsconsole_host.{name}.id}}" for name in "ab"]}
    b = {"name": "b", "jump_host_ids": ["hst_no"]}
    resources = {
        "opsconsole_host": {"a": {"name": "a"}, "b": b, "c": both},
        "opsconsole_specialty": {"linux": {"key": "linux-server"}},
        "opsconsole_agent": {"on_b": agent},
    }
    a_id = "opsconsole_host.a.id"
    outputs = {"late": "opsconsole_host.b.id", "a_wrong": f"tonumber({a_id})", "right": a_id}
    output = {name: {"value": f"${{{value}}}"} for name, value in outputs.items()}
    output["literal"] = {"value": "x"}
    result = native.apply(resources, expect=1, output=output)
    assert native.state["outputs"].keys() == {"literal", "right"}
    assert "Apply incomplete. Resources: 1 adopted, 1 added" in result.out
    for address in ("opsconsole_agent.on_b", "opsconsole_host.c"):
        assert f"{address} (waited for opsconsole_host.b)" in result.out
    assert result.out.count("Error:") == 1
    assert re.search(r"(?m)^opsconsole_host\.b: Creation errored after [\dm]+s$", result.out)
    assert native.addresses() == ["opsconsole_host.a", "opsconsole_specialty.linux"]
    told = native.apply(resources, "--json", expect=1)
    assert [m["changes"]["operation"] for m in told.of_type("change_summary")] == ["plan"]
    assert len(told.of_type("apply_errored")) == 1
    del b["jump_host_ids"], output["a_wrong"]
    native.apply(resources, output=output)
    assert native.state["outputs"].keys() == {"late", "literal", "right"}


def test_a_value_that_comes_out_wrong_fails_alone(native):
    late = '${opsconsole_host.a.id == "" ? "x" : null}'
    rest = {"b": {"name": late}, "c": {"name": "c", "knowledge": "${opsconsole_host.a.id}"}}
    jumps = '${count.index == 0 ? ["hst_no"] : []}'
    half = {"count": 2, "name": "h${count.index}", "jump_host_ids": jumps}
    rest |= {"half": half, "d": {"name": late.replace(".a.", ".half[1].")}}
    data = {"opsconsole_agent_plugins": {"e": {"agent_id": late}}}
    resources = {"opsconsole_host": {"a": {"name": "a"}, **rest}}
    applied = native.apply(resources, expect=1, data=data)
    assert "Apply incomplete" in applied.text
    assert {row["name"] for row in native.console.rows("hosts")} == {"a", "c", "h1"}
    for failed in ("data.opsconsole_agent_plugins.e", "opsconsole_host.b"):
        assert f"✗ {failed}\n" in applied.text
    assert "opsconsole_host.d (waited for opsconsole_host.half[0])" in applied.text


def test_a_replacement_that_shows_only_while_applying_is_refused(native):
    def write(names: list[str], described: str | None = None, **b: Any) -> None:
        a = {"count": 2, "name": f"${{{json.dumps(names)}[count.index]}}"}
        linux = {"linux": {"key": "linux-server", "description": described}}
        native.write({**hosts(a=a, b=b), "opsconsole_specialty": linux})

    def privates_of_b() -> list[str]:
        resources = native.state["resources"]
        return [item["instances"][0]["private"] for item in resources if item["name"] == "b"]

    write(["old", "one"], external_id="new")
    native.run("apply", "-auto-approve")
    native.console.fault(operation="host_update", holds='"new"', status=400)
    [private] = privates_of_b()
    later = "${opsconsole_host.a[1].updated_at}"
    write(["new", "two"], later, external_id="${opsconsole_host.a[0].name}", knowledge=later)
    result = native.run("apply", "-auto-approve", expect=1)
    failed = ("opsconsole_host.a[0]", "opsconsole_host.b", "opsconsole_specialty.linux")
    assert "".join(f"  ✗ {address}\n" for address in failed) in result.out
    assert "The description of the specialty" in result.out
    assert "opsconsole_host.b must be replaced after all\n│\n│   at external_id\n" in result.out
    assert "external_id became known only now. Its new value replaces the object" in result.out
    assert [row["name"] for row in native.console.rows("hosts")] == ["old", "two", "b"]
    assert privates_of_b() == [private]


def test_replacement_that_was_only_deleted_leaves_state(native):
    native.apply(hosts(b={"external_id": "one"}))
    late = '${opsconsole_host.a.id == "" ? "x" : null}'
    native.apply(hosts(a={}, b={"external_id": "two", "name": late}), expect=1)
    assert native.addresses() == ["opsconsole_host.a"]


@pytest.mark.parametrize("is_read", [True, False])
def test_a_rerouted_host_is_read_again(native_on, is_read):
    native = native_on("rerouting")
    native.apply(hosts(gate={}, web={"jump_host_ids": ["${opsconsole_host.gate.id}"]}))
    if not is_read:
        native.console.fault(operation="host_update", status=403, times=None)
    told = native.apply(hosts(web={}), "-refresh=false").text
    rerouted = "opsconsole_host.web was rerouted by the console\n│\n│ Changed there: jump_host_ids"
    assert (rerouted in told, "was rerouted" in told) == (is_read, is_read)
    assert (native.attributes("opsconsole_host.web")["jump_host_ids"] == []) == is_read


def test_an_error_is_a_message_too_where_messages_are_asked_for(native):
    native.write({"opsconsole_host": {"a": {"nam": "a"}}})
    result = native.run("apply", "--json", "-auto-approve", expect=1)
    version, told = result.messages
    assert (version["type"], told["diagnostic"]["severity"]) == ("version", "error")
    assert "nam" in told["diagnostic"]["summary"]
    assert result.err == ""


def test_a_replacement_that_fails_is_reported_once(native):
    resources = host_with_agent()
    web = resources["opsconsole_host"]["web"]
    web |= {"external_id": "one", "lifecycle": {"create_before_destroy": True}}
    native.apply(resources)
    web["external_id"] = "two"
    result = native.apply(resources, expect=1)
    assert "which is opsconsole_host.web in state" in result.text
    assert "leave create_before_destroy out" in result.text
    skipped = [line for line in result.out.splitlines() if ": Skipped" in line]
    assert skipped == ["opsconsole_agent.a: Skipped, because opsconsole_host.web failed"]
    assert "1 change failed:\n  ✗ opsconsole_host.web\n1 change skipped:\n" in result.out


def test_unwritable_state_is_found_before_the_first_request(native, fleet, monkeypatch):
    native.write(fleet(2))

    def refuse(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if flags & os.O_CREAT and str(path).startswith(str(native.folder)):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *rest, **named)

    real = os.open
    monkeypatch.setattr(os, "open", refuse)
    result = native.run("apply", "-auto-approve", "-lock=false", expect=1)
    assert "Cannot write" in result.err and "Permission denied" in result.err
    assert native.console.request_counts() == {}


@pytest.mark.parametrize("name", ["create", "max_creates_at_once"])
def test_a_defect_ends_the_run_and_what_was_done_is_saved(native, fleet, monkeypatch, name):
    def defect(*_: object) -> None:
        raise OverflowError("anything")

    monkeypatch.setattr(AgentLifecycle, name, property(defect))
    assert "OverflowError" in native.apply(fleet(2), expect=1).text
    hosts = {row["id"] for row in native.console.rows("hosts")}
    assert {native.attributes(f"opsconsole_host.web[{number}]")["id"] for number in (0, 1)} == hosts
    assert not [path for path in native.folder.iterdir() if "lock" in path.name]


def test_state_is_written_while_changes_go_on(native, fleet, monkeypatch, caplog):
    monkeypatch.setattr("opsconsole.state.session.Cadence.is_due", lambda *_: True)
    native.settings["max_concurrency"] = 1
    native.apply(fleet(4))
    assert native.state["serial"] > 3
    # It is asked again and again while the one agent is created, until a write has failed.
    asked = iter([False] * 9)
    monkeypatch.setattr("opsconsole.state.session.Cadence.is_due", lambda *_: next(asked, True))
    monkeypatch.setattr("opsconsole.reconcile.executor._SAVE_PAUSE", 0.001)
    failures = iter([OverflowError("anything")] * 3)

    async def fail(*_: Any) -> None:
        native.console.clear_faults()
        # The write at the end of the run succeeds.
        if failure := next(failures, None):
            raise failure

    monkeypatch.setattr("opsconsole.state.session.StateSession.checkpoint", fail)
    native.console.fault(operation="agent_create", hold="before")
    assert "OverflowError" in native.apply(fleet(5), expect=1).text
    gc.collect()
    assert caplog.text == ""


async def test_a_closed_provider_is_not_opened_again(native):
    """The providers of a run stay closed once it is over."""
    native.write(hosts(web={"name": "web"}))
    program = load_directory(native.folder, resources)
    evaluator = Evaluator(program, {}, lambda address: None)
    async with Providers(program, evaluator, native.console.environment) as providers:
        opened = providers.of("opsconsole")
    assert providers.of("opsconsole") is opened
