"""`plan`: what it shows in which form, what it reads, and what it says of mistakes."""

import re
from typing import Any

import pytest

from declarations import agent_on, host_with_agent, hosts
from opsconsole.resources.agent.known import near_ids
from opsconsole.state import State
from text_groups import read_rows

ROWS = read_rows(__file__)


def test_plan_as_json_is_terraforms(native, fleet):
    native.write(fleet(2), output={"half": {"value": 0.5}})
    plan = native.plan()
    assert plan["format_version"] == "1.2"
    [half] = plan["configuration"]["root_module"]["outputs"].values()
    assert half == {"expression": {"constant_value": 0.5}}
    assert plan["errored"] is False
    changes = {item["address"]: item["change"] for item in plan["resource_changes"]}
    adopted = changes.pop("opsconsole_specialty.linux")
    assert (adopted["actions"], adopted["importing"]) == (["no-op"], {"id": "spc_linux"})
    assert {change["actions"][0] for change in changes.values()} == {"create"}


def test_targets_and_replacements(native):
    a = {"count": 2, "name": "a${count.index}"}
    native.apply(hosts(a=a, b={}), "-target=opsconsole_host.a[1]")
    assert native.addresses() == ["opsconsole_host.a[1]"]
    assert native.actions("-replace=opsconsole_host.a[1]") == {
        "opsconsole_host.a[0]": ["create"],
        "opsconsole_host.a[1]": ["delete", "create"],
        "opsconsole_host.b": ["create"],
    }
    replace = ("-replace=opsconsole_host.a[0]", "-replace=opsconsole_host.a[1]")
    said = native.run("plan", "-target=opsconsole_host.b", *replace).text
    assert "replaces nothing" not in said
    for words in (("plan",), ("apply", "-auto-approve")):
        idle = native.run(*words, "-target=opsconsole_host.a[7]").text
        assert "Resource targeting is in effect" in idle
        assert "For the targets, the console matches the program." in idle
        assert ("Applied changes may be incomplete" in idle) == (words[0] == "apply")
    native.run("plan", "-target=opsconsole_host.b", "-out=p")
    assert "Applied changes may be incomplete" in native.run("apply", "p").text
    assert "Applied changes" not in native.run("apply", "-auto-approve").text
    native.apply(hosts(a=a), output={"ids": {"value": "${opsconsole_host.a[*].id}"}})
    targeted = native.plan("-target=opsconsole_host.a[1]")
    [ids] = targeted["output_changes"].values()
    assert (ids["actions"], targeted["complete"]) == (["no-op"], False)
    for target in ("opsconsole_host.elsewhere", "module.a", "module.a[0]"):
        refused = native.run("plan", f"-target={target}", expect=1).err
        assert "neither in the program nor in state.\nCheck the address: `opsconsole" in refused
    refused = native.run("plan", "-target=module.a[", expect=1).err
    assert "'module.a[' is not a resource address" in refused
    refused = native.run("destroy", "-auto-approve", "-replace=opsconsole_host.b", expect=1).err
    assert "--replace is for a plan of changes, not for a destroy" in refused
    assert "--replace" not in native.run("destroy", "-help").out


def test_values_for_undeclared_variables_give_warnings_as_in_terraform(native, monkeypatch):
    monkeypatch.setenv("TF_VAR_unheard_of", "1")
    native.write(hosts(a={"name": "${var.name}"}), variable={"name": {}})
    (native.folder / "terraform.tfvars").write_text('name = "a"\ntypo = 1\nother = 2\n')
    told = native.run("plan", "-no-color").text
    assert told.count("Value for undeclared variable") == 2
    assert "Values for undeclared variables" not in told
    (native.folder / "b.auto.tfvars.json").write_text('{"//": "", "three": 3, "name": "b"}')
    (native.folder / "more.tfvars").write_text("typo = 5\nfour = 4\n")
    told = native.run("apply", "-auto-approve", "-no-color", "-var-file=more.tfvars").text
    words = " ".join(told.replace("\n│", " ").split())
    assert 'more.tfvars has a value for "typo", and the program declares no variable' in words
    assert told.count("Value for undeclared variable") == 2
    assert "Files have values for 2 more." in words
    assert "undeclared" not in native.run("validate").text


def test_a_targeted_instance_is_targeted_alone(native):
    """Also if another target needs its resource."""
    count = {"count": 3, "name": "a${count.index}"}
    native.apply(hosts(a=count))
    native.write(
        hosts(a=count | {"knowledge": "new"}, b={"tags": ["a:${opsconsole_host.a[1].id}"]})
    )
    needed, part = "-target=opsconsole_host.b", "-target=opsconsole_host.a[0]"
    updates = {f"opsconsole_host.a[{number}]": ["update"] for number in range(3)}
    created = {"opsconsole_host.b": ["create"]}
    assert native.actions(needed) == created | updates
    assert native.actions(needed, part) == created | {"opsconsole_host.a[0]": ["update"]}
    assert native.actions(part, "-target=opsconsole_host.a") == updates


def test_a_target_comes_before_what_depends_on_its_outcome(native):
    count = "${length(opsconsole_host.a.id) > 3 ? 1 : 0}"
    native.write(
        {"opsconsole_host": {"a": {"name": "a"}, "b": {"count": count, "name": "b"}}},
        output={"many": {"value": "${length(opsconsole_host.b)}"}},
    )
    assert "apply what it depends on first" in native.run("plan", expect=1).err
    native.run("apply", "-auto-approve", "-target=opsconsole_host.a")
    native.run("apply", "-auto-approve")
    assert native.addresses() == ["opsconsole_host.a", "opsconsole_host.b[0]"]
    native.run("apply", "-auto-approve", "-target=opsconsole_host.a")
    assert native.state["outputs"]["many"]["value"] == 1


def test_refresh_is_done_as_asked(native):
    shown = {"k": {"value": "${opsconsole_host.a.knowledge}"}}
    native.apply({"opsconsole_host": {"a": {"name": "a", "knowledge": "k"}}}, output=shown)
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
    assert native.state["outputs"]["k"]["value"] == "changed"
    assert native.console.rows("hosts")[0]["knowledge"] == "changed"


def test_a_plan_is_written_as_a_page_and_as_markdown(native, fleet):
    native.run_plan(fleet(2), "--html", "plan.html", "--markdown", "plan.md")
    assert "<html" in (native.folder / "plan.html").read_text()
    assert "Plan: 1 to adopt, 6 to add" in (native.folder / "plan.md").read_text()


@pytest.mark.parametrize("option", ["--out", "--html", "--markdown"])
def test_a_file_that_cannot_be_written_is_refused_before_the_first_request(native, option):
    native.apply(host_with_agent())
    native.console.reset_log()
    (native.folder / "taken").mkdir()
    for file, why in (
        ("nowhere/plan", "there is no directory nowhere."),
        ("taken", "it is a directory."),
    ):
        refused = native.run("plan", option, file, expect=1).err
        assert f"Cannot write {file}: {why}" in refused
    assert native.console.request_counts() == {}
    assert not (native.folder / "nowhere").exists()
    if option != "--out":
        assert "no directory" in native.run("apply", option, "nowhere/plan", expect=1).err


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--html"),
        ("apply", "--markdown"),
        ("show", "saved", "--html"),
        ("drift", "--format", "html={}"),
    ],
    ids=" ".join,
)
def test_a_report_is_not_written_over_a_program_or_a_state(native, words):
    native.apply(host_with_agent())
    state = native.state_file.read_bytes()
    for name, content, is_what in (
        ("copy", state, "a state"),
        ("main.tf.json", b"{}", "part of a program"),
    ):
        (native.folder / name).write_bytes(content)
        line = [*words, name] if "{}" not in words[-1] else [*words[:-1], words[-1].format(name)]
        refused = native.run(*line, expect=1).err
        assert f"{name} exists already and is {is_what}, so it is not overwritten." in refused
        assert (native.folder / name).read_bytes() == content


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--out=p", "--html=./p"),
        ("plan", "--html=p", "--markdown=p"),
        ("show", "p", "--html=p"),
        ("apply", "p", "--markdown=p"),
    ],
    ids=" ".join,
)
def test_a_plan_and_its_reports_do_not_share_a_file(native, words):
    native.write(host_with_agent())
    refused = native.run(*words, expect=1).err
    assert f"The plan and its reports would share the file {native.folder / 'p'}." in refused
    assert not (native.folder / "p").exists()


@pytest.mark.parametrize("option", ["--html=-", "--markdown=-"])
def test_no_report_is_written_beside_the_plan_on_standard_output(native, option):
    native.write(host_with_agent())
    refused = native.run("plan", option, expect=1).err
    assert "--html and --markdown cannot write to standard output (-)" in refused
    assert not (native.folder / "-").exists()


@pytest.mark.parametrize(*ROWS["replacements of nothing"])
def test_a_replacement_of_nothing_is_reported(native, fleet, address, count, said):
    native.apply(fleet(count, agents=False))
    told = native.run("plan", f"-replace={address}").text
    assert (f"--replace={address} replaces nothing" in told) is bool(said)
    assert said in told


def test_each_deletion_has_terraforms_reason(native):
    def declare(count: int, keys: str, **rest: Any) -> dict[str, Any]:
        c = {"count": count, "name": "c${count.index}"}
        k = {"for_each": {key: key for key in keys}, "name": "${each.key}"}
        return hosts(c=c, k=k, **rest)

    native.apply(declare(2, "xy", turned={"for_each": {"z": "z"}}, gone={}, left={}))
    to_nowhere = {"from": "opsconsole_host.left", "to": "opsconsole_host.nowhere"}
    native.write(declare(1, "x", turned={"count": 1}), moved=[to_nowhere])
    changes = native.plan("-force")["resource_changes"]
    deleted = [item for item in changes if item["change"]["actions"] == ["delete"]]
    assert {item["address"]: item["action_reason"] for item in deleted} == {
        "opsconsole_host.c[1]": "delete_because_count_index",
        'opsconsole_host.k["y"]': "delete_because_each_key",
        'opsconsole_host.turned["z"]': "delete_because_wrong_repetition",
        "opsconsole_host.gone": "delete_because_no_resource_config",
        "opsconsole_host.nowhere": "delete_because_no_move_target",
    }


@pytest.mark.parametrize(*ROWS["test_a_change_of_what_is_named_replaces"])
def test_a_change_of_what_is_named_replaces(native, named, replaced):
    jumps = [native.console.create("hosts", name=it, is_jump_host=True)["id"] for it in "jk"]

    def declare(ids: list[str], **more: Any) -> dict[str, Any]:
        a = {"for_each": {"x": ids, "y": []}, "name": "${each.key}"}
        a["jump_host_ids"] = "${each.value}"
        return hosts(a=a, **more)

    native.apply(declare(jumps[:1], web={}))
    lifecycle = {"replace_triggered_by": [f"opsconsole_host.{named}"]}
    triggered = {"lifecycle": lifecycle}
    native.write(declare(jumps, web=triggered, new=triggered, created={}))
    changes = {item["address"]: item for item in native.plan()["resource_changes"]}
    for address in ("opsconsole_host.web", "opsconsole_host.new"):
        told = changes[address].get("action_reason")
        assert told == ("replace_by_triggers" if replaced else None)
    assert changes["opsconsole_host.new"]["change"]["actions"] == ["create"]


def test_of_several_reasons_to_replace_terraforms_is_told(native):
    def declare(external_id: str, knowledge: str) -> dict[str, Any]:
        triggers = {"replace_triggered_by": ["opsconsole_host.b.knowledge"]}
        names = {"count": 2, "name": "a${count.index}", "external_id": external_id}
        return hosts(a=names | {"lifecycle": triggers}, b={"knowledge": knowledge})

    native.apply(declare("one", "k"))
    state = State.parse(native.state_file.read_bytes())
    state.taint("opsconsole_host.a[0]")
    native.state_file.write_bytes(state.to_bytes())
    for declared, tainted, other in (
        (declare("two", "k"), "replace_because_tainted", "replace_by_request"),
        (declare("two", "l"), "replace_by_triggers", "replace_by_triggers"),
    ):
        native.write(declared)
        changes = native.plan("-replace=opsconsole_host.a[1]")["resource_changes"]
        reasons = [item["action_reason"] for item in changes if "[" in item["address"]]
        assert reasons == [tainted, other]


def checksum_of(native: Any, *words: str) -> str:
    found = re.search(r"Checksum of this plan: (\w+)", native.run("plan", *words).out)
    return found[1]


def test_checksum_is_of_what_the_plan_does_and_found(native_on):
    native = native_on("bumping")  # which changes updated_at by itself

    def checksums(*words: str, **web: Any) -> set[str]:
        native.write(hosts(web=web))
        return {checksum_of(native, *words) for _ in range(2)}

    native.apply(hosts(web={"external_id": "one"}))
    first = {"lifecycle": {"create_before_destroy": True}}
    plans = [checksums(external_id="two", **order) for order in ({}, first)]
    [row] = native.console.rows("hosts")
    for address in ("10.0.0.1", "10.0.0.2"):
        native.console.change("hosts", row["id"], private_ip=address)
        # What the refresh found is all there is to it.
        plans.append(checksums("-refresh-only", external_id="one"))
    assert [len(each) for each in plans] == [1] * 4
    assert len(set.union(*plans)) == 4


def test_a_checksum_can_be_demanded(native):
    native.write({"opsconsole_host": {"a": {"name": "a"}}})
    found = checksum_of(native)
    refused = native.run("apply", "-auto-approve", "-checksum=0123456789abcdef", expect=1)
    assert "not 0123456789abcdef" in refused.err
    assert native.console.rows("hosts") == []
    native.run("apply", "-auto-approve", f"-checksum={found}")


def test_sensitive_values_in_state_are_in_no_plan(native):
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


ATTRIBUTE = "+ name "
COUNT = "30 opsconsole_host will be created"


@pytest.fixture
def many(native: Any, fleet: Any) -> Any:
    """A program of more hosts than a screen has lines."""
    native.write(fleet(30, agents=False))
    return native


@pytest.mark.parametrize(
    ("words", "short"),
    [([], False), (["-compact"], True), (["--compact"], True), (["--full"], False)],
)
def test_plan_in_a_pipe_is_whole_unless_compact(words, short, many):
    said = many.run("plan", *words).out
    assert (COUNT in said, ATTRIBUTE in said) == (short, not short)
    assert "Plan: 30 to add" in said


@pytest.mark.parametrize(("words", "short"), [(["-refresh=false"], True), (["-full"], False)])
def test_plan_on_a_small_terminal_is_compact_unless_full(words, short, many):
    said = many.run_on_terminal("plan", "-no-color", *words)
    assert (COUNT in said, ATTRIBUTE in said) == (short, not short)
    assert "opsconsole_host.web[0] … opsconsole_host.web[29]" in said or not short


def test_verdicts_stand_in_the_plan(native):
    native.console.create("hosts", id="hst_there", name="there")
    new = "${opsconsole_host.new.id}"
    jumps = {"wrong": "hst_nowhere", "behind": new}
    behind = {name: {"name": name, "jump_host_ids": [jump]} for name, jump in jumps.items()}
    resources = hosts("new", "there", named={"name": f"after-{new}"}, **behind)
    resources["opsconsole_specialty"] = {"linux": {"key": "linux-server"}}
    native.write(resources | {"opsconsole_agent": {"x": agent_on("new")}})
    result = native.run("plan", "--preflight", expect=1)
    assert "(dry run: would be created)" in result.out
    assert result.out.count("(dry run: would fail)") == 2
    assert "(dry run: would be created, judged without jump_host_ids)" in result.out
    assert "(dry run: not judged, as its name is not known yet)" in result.out
    assert "It exists already as hst_there" in result.out
    assert [row["name"] for row in native.console.rows("hosts")] == ["there"]


def test_host_to_adopt_is_no_error_of_preflight(native):
    native.console.create("hosts", id="hst_there", name="there")
    native.settings["on_existing_host"] = "adopt"
    native.write({"opsconsole_host": {"there": {"name": "there", "knowledge": "k"}}})
    assert "(dry run: exists already, would be adopted)" in native.run("plan", "--preflight").out
    assert native.console.row("hosts", "hst_there").get("knowledge") is None


def test_preflight_sends_dry_runs_and_the_first_row_alone(native, fleet):
    native.settings["import_chunk_size"] = 4
    native.run_plan(fleet(9, agents=False), "--preflight")
    assert native.console.request_counts() == {"host_import": 3}
    assert native.console.rows("hosts") == []


def test_a_console_that_ignores_the_dry_run_creates_one_host_at_most(native_on, fleet):
    native = native_on("heedless")
    result = native.run_plan(fleet(9, agents=False), "--preflight", expect=1)
    [row] = native.console.rows("hosts")
    assert "although it was asked for a dry run only" in result.out
    assert row["id"] in result.out


def ignoring(jumps: list[str] | None, ignored: Any) -> dict[str, Any]:
    found: dict[str, Any] = {name: {"name": name} for name in ("one", "two")}
    references = jumps and [f"${{opsconsole_host.{name}.id}}" for name in jumps]
    lifecycle = {"ignore_changes": ignored}
    found["web"] = {"name": "web", "jump_host_ids": references, "lifecycle": lifecycle}
    return {"opsconsole_host": found}


@pytest.mark.parametrize(*ROWS["ignored elements"])
def test_ignored_elements_stay_as_they_are(native, declared, ignored, kept):
    native.apply(ignoring(["one"], ignored))
    native.apply(ignoring(declared, ignored))
    ids = {row["id"]: row["name"] for row in native.console.rows("hosts")}
    found = native.attributes("opsconsole_host.web")["jump_host_ids"]
    assert [ids[item] for item in found] == kept
    assert native.actions() == {}


def test_refused_change_stands_below_the_plan(native):
    native.apply(host_with_agent())
    native.write(host_with_agent(main_engine="other") | hosts(web={"name": "web-1"}))

    result = native.run("plan", expect=1)

    assert "opsconsole_host.web will be updated in-place" in result.out
    assert "# opsconsole_agent.a" not in result.out
    assert "Plan: 0 to add, 1 to change, 0 to destroy." in result.out
    assert "cannot be replaced while its host stays" in result.text
    assert "main_engine would change, which no operation does in place" in result.text


HOST = {"opsconsole_host": {"a": {"name": "a"}}}
SPECIALTY = {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}


def agent(*plugin_ids: str) -> dict[str, Any]:
    ids = {"specialty_id": "${opsconsole_specialty.linux.id}", "plugin_ids": list(plugin_ids)}
    fields = {"host_id": "${opsconsole_host.a.id}", **ids}
    return {**HOST, **SPECIALTY, "opsconsole_agent": {"x": fields}}


def test_an_unknown_specialty_is_answered_with_a_near_one(native):
    said = native.run_plan({"opsconsole_specialty": {"s": {"key": "linux-sever"}}}, expect=1).out
    assert "There is no specialty with the key 'linux-sever' that this key can see" in said
    assert 'Did you mean "linux-server"?' in said
    native.write({"opsconsole_specialty": {"s": {"key": "qqq"}}})
    assert "There are: " in native.run("plan", expect=1).out
    native.write({}, data={"opsconsole_specialty": {"s": {"name": "Linux sever"}}})
    assert 'Did you mean "Linux server"?' in native.run("plan", expect=1).out


def test_an_unknown_plugin_is_doubted_in_the_plan(native):
    native.apply(agent("plg_disk"))
    said = native.run_plan(agent("plg_disk", "plg_dsk")).out
    assert "Warning: No agent that was read has the plugin plg_dsk" in said
    assert 'Did you mean "plg_disk"?' in said
    attachment = {"agent_id": "${opsconsole_agent.x.id}", "plugin_id": "plg_disks"}
    whole = agent("plg_disk")
    del whole["opsconsole_agent"]["x"]["plugin_ids"]
    said = native.run_plan({**whole, "opsconsole_agent_plugin": {"p": attachment}}).out
    assert "has the plugin plg_disks" in said
    near = {"DISK": '"plg_disk"', "disk": '"plg_disk"', "disk_usage": 'plg_disk ("Disk usage")'}
    for mistaken, meant in near.items():
        assert f"Did you mean {meant}?" in native.run_plan(agent("plg_disk", mistaken)).out
    said = native.run_plan(agent("plg_disk", "plg_metrics")).out
    assert "They have plg_disk. No operation lists all plugins" in said
    assert "No agent that was read" not in native.run("plan", "--refresh=false").out
    names = frozenset((f"Disk_a{end}", ()) for end in "bcd") | {("plg_x", ("disk a",))}
    assert near_ids("Disk_a", names) == '"Disk_ad", "Disk_ac" or "Disk_ab"'


def test_an_agent_with_an_unknown_specialty_is_doubted_in_the_plan(native):
    program = agent()
    near = {"spc_linuz": '"spc_linux"', "linux-server": 'spc_linux ("linux-server")'}
    for mistaken, meant in near.items():
        program["opsconsole_agent"]["x"]["specialty_id"] = mistaken
        said = native.run_plan(program).out
        assert f"There is no specialty {mistaken} that this key can see" in said
        assert f"Did you mean {meant}" in said
    program["opsconsole_agent"]["x"]["specialty_id"] = "qqq"
    known = "There are spc_container, spc_database, spc_identity, spc_linux, spc_network, spc_"
    assert known in native.run_plan(program).out


def test_a_saved_plan_is_shown_in_either_form(many):
    many.run("plan", "--out", "saved")
    assert COUNT in many.run("show", "--compact", "saved").out
    assert ATTRIBUTE in many.run("show", "saved").out
    assert "not allowed with" in many.run("show", "--compact", "--full", "saved", expect=1).err


def test_objects_are_not_planned_with_settings_that_the_plan_changes(native):
    late = native.settings | {"alias": "late", "org_id": "${opsconsole_host.a.name}"}
    declared = hosts(a={"name": "old"}, b={"provider": "opsconsole.late"})
    native.apply(declared, provider={"opsconsole": [native.settings, late]})
    declared["opsconsole_host"]["a"]["name"] = "new"
    native.write(declared, provider={"opsconsole": [native.settings, late]})
    refused = native.run("apply", "-auto-approve", expect=1).text
    assert "org_id of provider opsconsole.late is not up to date in state" in refused
    native.run("apply", "-auto-approve", "-target=opsconsole_host.a")
    native.run("plan")


def test_a_setting_may_follow_from_a_host_that_is_applied_first(native):
    late = native.settings | {"alias": "late", "org_id": "${opsconsole_host.a.id}"}
    declared = hosts(a={}, b={"provider": "opsconsole.late"})
    native.write(declared, provider={"opsconsole": [native.settings, late]})
    refused = native.run("apply", "-auto-approve", expect=1).err
    assert "org_id of provider opsconsole.late is known only after apply.\nApply what" in refused
    native.run("apply", "-auto-approve", "-target=opsconsole_host.a")
    native.run("plan", "-detailed-exitcode", expect=2)
    native.run("apply", "-auto-approve")
    native.run("plan", "-detailed-exitcode", expect=0)


def test_marks_of_the_former_value_are_no_marks_of_the_planned_one(native):
    host = {"name": "a", "knowledge": "${var.k}"}
    secret = {"k": {"default": "hush", "sensitive": True}}
    native.apply({"opsconsole_host": {"a": host}}, variable=secret)
    host["knowledge"] = "open"

    def marks() -> list[bool]:
        native.write({"opsconsole_host": {"a": host}}, variable=secret)
        [found] = native.plan()["resource_changes"]
        change = found["change"]
        return [
            change[key].get("knowledge", False) for key in ("before_sensitive", "after_sensitive")
        ]

    assert marks() == [True, False]
    host["lifecycle"] = {"ignore_changes": ["knowledge"]}
    assert marks() == [True, True]
    native.run("apply", "-auto-approve")
    assert marks() == [True, True]
    shown = {"o": {"value": "${opsconsole_host.a.knowledge}"}}
    refused = native.run_plan({"opsconsole_host": {"a": host}}, expect=1, output=shown).err
    assert "output.o: its value is sensitive" in refused
    native.apply({"opsconsole_host": {"a": {"name": "a", "knowledge": "open"}}})
    host["knowledge"] = "${var.k}"
    assert marks() == [False, False]
    native.run_plan({"opsconsole_host": {"a": host}}, variable=secret, output=shown)
