"""Plan, apply and destroy from the command line."""

import json
import math
import re
from typing import Any

import pytest

from commands import write_stacks
from consoles import call_api
from declarations import agent_on


def test_the_whole_way(native, fleet):
    native.write(fleet(), output={"first": {"value": "${opsconsole_host.web[0].id}"}})
    planned = native.run("plan", "-detailed-exitcode", expect=2)
    assert "# opsconsole_host.web[0] will be created" in planned.out
    assert "# opsconsole_specialty.linux will be adopted" in planned.out
    assert "Plan: 1 to adopt, 9 to add, 0 to change, 0 to destroy." in planned.out
    assert native.addresses() == []

    applied = native.run("apply", "-auto-approve")
    assert "Apply complete! Resources: 1 adopted, 9 added, 0 changed, 0 destroyed." in applied.out
    assert re.search(
        r"opsconsole_host\.web\[2\]: Creation complete after \ds \[id=hst_", applied.out
    )
    assert re.search(r'first = "hst_', applied.out)
    assert len(native.console.rows("hosts")) == 3

    again = native.run("plan", "-detailed-exitcode")
    assert "No changes." in again.out

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
def test_options_take_one_dash_or_two(native, dashes, tmp_path):
    native.write(
        {"opsconsole_host": {"a": {"name": "${var.name}"}}},
        variable={"name": {"type": "string"}, "other": {"default": "x"}},
    )
    (native.folder / "more.tfvars").write_text('other = "y"\n')
    words = ["var=name=box", "var-file=more.tfvars", "refresh=false", "lock-timeout=1s"]
    native.run(
        "plan", *(dashes + word for word in words), f"{dashes}out", "p", f"{dashes}input=false"
    )
    native.run("apply", f"{dashes}no-color", "p")
    assert [row["name"] for row in native.console.rows("hosts")] == ["box"]


@pytest.mark.parametrize(
    ("answer", "words", "code", "said"),
    [
        ("yes\n", [], 0, "Apply complete!"),
        ("y\n", [], 1, "Apply cancelled."),
        ("", [], 1, "Apply cancelled."),
        ("yes\n", ["-input=false"], 1, "--input=false does not allow"),
    ],
)
def test_apply_asks(native, answer, words, code, said):
    native.write({"opsconsole_host": {"a": {"name": "a"}}})
    result = native.run("apply", *words, answer=answer, expect=code)
    assert said in result.text
    assert len(native.console.rows("hosts")) == (1 if code == 0 else 0)


def test_plan_as_json_is_terraforms(native, fleet):
    native.write(fleet(2))
    plan = native.plan()
    assert plan["format_version"] == "1.2"
    assert plan["errored"] is False
    changes = {item["address"]: item["change"] for item in plan["resource_changes"]}
    adopted = changes.pop("opsconsole_specialty.linux")
    assert (adopted["actions"], adopted["importing"]) == (["no-op"], {"id": "spc_linux"})
    assert {change["actions"][0] for change in changes.values()} == {"create"}


def test_apply_as_json_is_a_stream_of_messages(native, fleet):
    native.write(fleet(2), output={"n": {"value": "${length(opsconsole_host.web)}"}})
    refused = native.run("apply", "--json", expect=1)
    assert "--auto-approve" in refused.err
    result = native.run("apply", "--json", "-auto-approve")
    assert result.messages[0]["type"] == "version"
    summaries = result.of_type("change_summary")
    assert [item["changes"]["operation"] for item in summaries] == ["plan", "apply"]
    assert (summaries[1]["changes"]["add"], summaries[1]["changes"]["import"]) == (6, 1)
    assert len(result.of_type("apply_start")) == len(result.of_type("apply_complete")) == 7
    assert result.of_type("outputs")[-1]["outputs"]["n"]["value"] == 2


def test_targets_and_replacements(native):
    native.apply(
        {"opsconsole_host": {"a": {"name": "a"}, "b": {"name": "b"}}}, "-target=opsconsole_host.a"
    )
    assert native.addresses() == ["opsconsole_host.a"]
    assert native.actions("-replace=opsconsole_host.a") == {
        "opsconsole_host.a": ["delete", "create"],
        "opsconsole_host.b": ["create"],
    }
    assert (
        "neither in the program nor in state"
        in native.run("plan", "-target=opsconsole_host.c", expect=1).err
    )


def test_a_target_comes_before_what_depends_on_its_outcome(native):
    count = "${length(opsconsole_host.a.id) > 3 ? 1 : 0}"
    native.write(
        {"opsconsole_host": {"a": {"name": "a"}, "b": {"count": count, "name": "b"}}},
        output={"many": {"value": "${length(opsconsole_host.b)}"}},
    )
    refused = native.run("plan", expect=1)
    assert "apply what it depends on first" in refused.err
    native.run("apply", "-auto-approve", "-target=opsconsole_host.a")
    native.run("apply", "-auto-approve")
    assert native.addresses() == ["opsconsole_host.a", "opsconsole_host.b[0]"]
    native.run("apply", "-auto-approve", "-target=opsconsole_host.a")
    assert native.state["outputs"]["many"]["value"] == 1


def test_what_went_with_its_owner_leaves_state_outside_of_target_too(native, fleet):
    native.apply(fleet(1))
    call_api(native.console, "DELETE", f"/api/v1/hosts/{native.console.rows('hosts')[0]['id']}")
    native.run("apply", "-auto-approve", "-target=opsconsole_host.web")
    assert native.addresses() == ["opsconsole_host.web[0]", "opsconsole_specialty.linux"]
    assert [*native.actions()] == ["opsconsole_agent.a[0]", "opsconsole_agent_plugin.p[0]"]


def test_refresh_is_done_as_asked(native):
    native.apply({"opsconsole_host": {"a": {"name": "a", "knowledge": "k"}}})
    [row] = native.console.rows("hosts")
    native.console.change("hosts", row["id"], knowledge="changed")
    native.console.reset_log()
    assert native.actions("-refresh=false") == {}
    assert native.console.request_counts() == {}
    assert native.actions() == {"opsconsole_host.a": ["update"]}
    only = native.run("plan", "-refresh-only", "-detailed-exitcode", expect=2)
    assert "The console differs from state" in only.out
    native.run("apply", "-refresh-only", "-auto-approve")
    assert native.attributes("opsconsole_host.a")["knowledge"] == "changed"
    assert native.console.rows("hosts")[0]["knowledge"] == "changed"


def test_a_plan_is_written_as_a_page_and_as_markdown(native, fleet):
    native.run_plan(fleet(2), "--html", "plan.html", "--markdown", "plan.md")
    assert "<html" in (native.folder / "plan.html").read_text()
    assert "Plan: 1 to adopt, 6 to add" in (native.folder / "plan.md").read_text()
    refused = native.run("plan", "--html", "nowhere/plan.html", expect=1)
    assert refused.err.count("Error:") == 1


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
    native.apply(fleet(12, agents=False), "-parallelism=2")
    assert native.console.traffic()["most_in_flight"] <= 2
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
    result = native.apply(resources, expect=1)
    assert "Apply incomplete. Resources: 1 adopted, 1 added" in result.out
    for address in ("opsconsole_agent.on_b", "opsconsole_host.c"):
        assert f"{address} (waited for opsconsole_host.b)" in result.out
    assert result.out.count("Error:") == 1
    assert native.addresses() == ["opsconsole_host.a", "opsconsole_specialty.linux"]
    told = native.run("apply", "--json", "-auto-approve", expect=1)
    assert [m["changes"]["operation"] for m in told.of_type("change_summary")] == ["plan"]
    assert len(told.of_type("apply_errored")) == 1


def test_data_sources_that_are_gone_leave_state(native):
    host = {"opsconsole_host": {"a": {"name": "a"}}}
    native.apply(host, data={"opsconsole_specialties": {"all": {}}})
    assert "data.opsconsole_specialties.all" in native.addresses()
    native.apply(host)
    assert native.addresses() == ["opsconsole_host.a"]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("opsconsole_host.web", "-replace='opsconsole_host.web[0]'"),
        ("opsconsole_host.web[7]", "-replace='opsconsole_host.web[0]'"),
        ("opsconsole_host.other", "The program declares no such instance"),
    ],
)
def test_a_replacement_of_nothing_is_reported(native, fleet, address, said):
    native.apply(fleet(2, agents=False))
    result = native.run("plan", f"-replace={address}", "-detailed-exitcode")
    assert f"-replace={address} replaces nothing" in result.text
    assert said in result.text


@pytest.mark.parametrize("words", [[], ["-destroy"]])
def test_a_target_leaves_alone_the_outputs_of_what_else_there_is(native, words):
    hosts = {name: {"name": name} for name in ("a", "b")}
    output = {
        "of_both": {"value": ["${opsconsole_host.a.id}", "${opsconsole_host.b.id}"]},
        "of_a": {"value": "${opsconsole_host.a.knowledge}"},
        "of_data": {"value": "${length(data.opsconsole_specialties.all.specialties)}"},
        "literal": {"value": "one"},
    }
    blocks: dict[str, Any] = {"data": {"opsconsole_specialties": {"all": {}}}, "output": output}
    hosts["a"]["knowledge"] = "one"
    native.apply({"opsconsole_host": hosts}, **blocks)
    before = native.state["outputs"]

    hosts["a"]["knowledge"] = "two"
    output["literal"]["value"] = "two"
    native.write({"opsconsole_host": hosts}, **blocks)
    words = [*words, "-target=opsconsole_host.a"]
    changes = native.plan(*words).get("output_changes", {})
    changing = {name for name, item in changes.items() if item["actions"] != ["no-op"]}
    native.run("apply", "-auto-approve", *words)

    after = native.state["outputs"]
    if "-destroy" in words:
        assert (changing, after) == (set(), before)
    else:
        assert changing == {"of_a"}
        assert after == before | {"of_a": {"value": "two", "type": "string"}}


def checksum_of(native: Any, *words: str) -> str:
    found = re.search(r"Checksum of this plan: (\w+)", native.run("plan", *words).out)
    assert found is not None
    return found[1]


def test_the_order_of_a_replacement_is_part_of_the_checksum(native):
    web: dict[str, Any] = {"name": "web", "external_id": "one"}
    native.apply({"opsconsole_host": {"web": web}})
    web["external_id"] = "two"
    native.write({"opsconsole_host": {"web": web}})
    one_way = checksum_of(native)
    web["lifecycle"] = {"create_before_destroy": True}
    native.write({"opsconsole_host": {"web": web}})
    assert checksum_of(native) != one_way


def test_what_a_refresh_found_is_part_of_the_checksum_where_it_is_all_there_is(native):
    native.apply({"opsconsole_host": {"web": {"name": "web"}}})
    [row] = native.console.rows("hosts")
    native.console.change("hosts", row["id"], private_ip="10.0.0.1")
    once = checksum_of(native, "-refresh-only")
    native.console.change("hosts", row["id"], private_ip="10.0.0.2")
    assert checksum_of(native, "-refresh-only") != once


def test_what_a_console_changes_by_itself_is_no_part_of_the_checksum(native_on):
    native = native_on("bumping")
    native.apply({"opsconsole_host": {"web": {"name": "web"}}})
    [row] = native.console.rows("hosts")
    native.console.change("hosts", row["id"], name="other")
    assert checksum_of(native) == checksum_of(native)
    assert checksum_of(native, "-refresh-only") == checksum_of(native, "-refresh-only")


def test_a_checksum_can_be_demanded(native):
    native.write({"opsconsole_host": {"a": {"name": "a"}}})
    found = checksum_of(native)
    assert checksum_of(native) == found
    refused = native.run("apply", "-auto-approve", "-checksum=0123456789abcdef", expect=1)
    assert "not 0123456789abcdef" in refused.err
    assert native.console.rows("hosts") == []
    native.run("apply", "-auto-approve", f"-checksum={found}")


@pytest.mark.parametrize(("count", "forced"), [(9, False), (10, True)])
def test_a_plan_that_takes_much_away_is_forced(native, fleet, count, forced):
    native.apply(fleet(count, agents=False))
    warned = native.run_plan(fleet(count - 5, agents=False)).out
    assert ("The plan removes 5 of" in warned) is forced
    result = native.run("apply", "-auto-approve", expect=1 if forced else 0)
    assert ("must be forced" in result.out) is forced
    if forced:
        assert len(native.console.rows("hosts")) == count
        native.run("apply", "-auto-approve", "--max-destroy", "60")
    assert len(native.console.rows("hosts")) == count - 5


def test_hosts_that_are_gone_need_force_too(native, fleet):
    native.apply(fleet(10, agents=False))
    for row in native.console.rows("hosts")[:4]:
        native.console.delete("hosts", row["id"])
    for command in ("apply", "destroy"):
        refused = native.run(command, "-auto-approve", expect=1)
        assert "4 are gone from the console" in refused.out
    native.run("apply", "-auto-approve", "--force")
    assert len(native.console.rows("hosts")) == 10


def test_what_was_asked_to_be_destroyed_needs_no_force(native, fleet):
    native.apply(fleet(10, agents=False))
    native.run("destroy", "-auto-approve")
    assert native.console.rows("hosts") == []


def test_an_error_is_a_message_too_where_messages_are_asked_for(native):
    native.write({"opsconsole_host": {"a": {"nam": "a"}}})
    result = native.run("apply", "--json", "-auto-approve", expect=1)
    [told] = result.of_type("diagnostic")
    assert told["diagnostic"]["severity"] == "error"
    assert "nam" in told["diagnostic"]["summary"]
    assert result.err == ""


def test_what_state_calls_sensitive_is_shown_by_no_plan(native):
    host = {"web": {"name": "${var.name}", "knowledge": "told"}}
    variable = {"name": {"default": "hush", "sensitive": True}}
    native.apply({"opsconsole_host": host}, variable=variable)
    [row] = native.console.rows("hosts")
    native.console.change("hosts", row["id"], knowledge="changed")
    pages = ["-html=plan.html", "-markdown=plan.md"]

    for mode in ([], ["-refresh-only"], ["-destroy"]):
        out = native.run("plan", *pages, *mode).out
        texts = [out, *((native.folder / name).read_text() for name in ("plan.html", "plan.md"))]
        assert all("(sensitive value)" in text for text in texts)
        assert not any("hush" in text for text in texts)


def test_an_output_shows_what_is_read_again_after_the_last_step(native_on):
    native = native_on("rerouting")
    jump = {"jump": {"name": "jump", "is_jump_host": True}}
    native.apply({"opsconsole_host": jump})
    web = {"name": "web", "jump_host_ids": [native.attributes("opsconsole_host.jump")["id"]]}
    native.apply({"opsconsole_host": {"web": web, **jump}})
    native.console.fault(operation="host_delete", delay=0.1)
    ways = {"ways": {"value": "${opsconsole_host.web.jump_host_ids}"}}
    changed = {"name": "web", "knowledge": "k"}
    native.apply({"opsconsole_host": {"web": changed}}, "-force", output=ways)
    assert native.state["outputs"]["ways"]["value"] == []
    assert native.attributes("opsconsole_host.web")["jump_host_ids"] == []
