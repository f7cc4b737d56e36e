"""Commands on a state, what a run leaves in it, and states that hold what they must not."""

import json
from typing import Any

import pytest

from declarations import hosts
from native_project import intents_left
from opsconsole.errors import UserError
from opsconsole.local_terraform import journal_of
from opsconsole.state import Intent, LocalBackend, State, open_state
from opsconsole.state.folding import base_of
from opsconsole.state.journal import StateChanges, encode_records
from opsconsole.state.objects import StateChange
from text_groups import read_rows

ROWS = read_rows(__file__)

HOST = {"opsconsole_host": {"a": {"name": "a"}}}


def test_list_and_show(native, fleet):
    native.apply(fleet(2))
    assert native.run("state", "list", "opsconsole_host.web").out.split() == [
        "opsconsole_host.web[0]",
        "opsconsole_host.web[1]",
    ]
    shown = native.run("state", "show", "opsconsole_host.web[0]").out
    assert shown.startswith("# opsconsole_host.web[0]:\n")
    assert '    name             = "web-0"\n' in shown
    assert native.run("show").out.count("\n}\n") == 7
    document = json.loads(native.run("show", "-json").out)
    resources = document["values"]["root_module"]["resources"]
    assert {item["address"] for item in resources} == set(native.addresses())
    for command in ("list", "show"):
        refused = native.run("state", command, "opsconsole_host.none", expect=1)
        assert "state list` prints" in refused.err


def test_a_module_is_listed_where_the_root_module_has_instances_too(native, fleet):
    native.apply(fleet(2, agents=False))
    state = native.state
    state["resources"] += [{**state["resources"][0], "module": "module.m"}]
    native.state_file.write_text(json.dumps(state))
    instances = [f"module.m.opsconsole_host.web[{number}]" for number in range(2)]
    for named in ("module.m", "module.m.opsconsole_host.web"):
        assert native.run("state", "list", named).out.split() == instances
    refused = native.run("state", "list", "module.no", expect=1).err
    assert "module.no names nothing in the state." in refused


def test_an_empty_folder_has_no_state(native):
    assert "neither a program nor a state" in native.run("state", "list", expect=1).err
    native.write(HOST)
    assert native.run("state", "list").out == ""
    assert "Nothing is managed yet" in native.run("show").out
    assert "Nothing to add" in native.run("state", "fold").out
    result = native.run("output")
    assert (result.out, "no outputs" in result.err) == ("", True)
    for words in (
        ("state", "list"),
        ("state", "show", "a.b"),
        ("state", "pull"),
        ("show",),
        ("output",),
    ):
        refused = native.run(*words, "--state", "nothere", expect=1).err
        assert refused == "Error: There is no state nothere.\nCheck the path.\n"


@pytest.mark.parametrize("words", [["rm"], ["rm", "-dry-run"]])
def test_rm_forgets_and_the_console_keeps(native, fleet, words):
    native.apply(fleet(3, agents=False))
    # Beside a state, no program is needed.
    (native.folder / "cdk.tf.json").unlink()
    dry = "-dry-run" in words
    assert native.run("state", *words, "opsconsole_host.web").out.count("\n") == 4
    assert len(native.addresses()) == (3 if dry else 0)
    assert len(native.console.rows("hosts")) == 3
    if not dry:
        assert "names nothing in the state" in native.run("state", *words, "x.y", expect=1).err


def test_rm_says_nothing_of_what_cannot_be_written(native):
    native.apply(HOST)
    native.monkeypatch.setattr(LocalBackend, "back_up", refuse)
    assert native.run("state", "rm", "opsconsole_host.a", expect=1).out == ""


def refuse(_: object) -> None:
    raise UserError("The disk is full.")


def test_an_address_that_is_almost_right_is_answered_with_the_right_one(native):
    native.apply(HOST)
    near = 'Did you mean "opsconsole_host.a"?'
    wrong = "opsconsole_hots.a"
    for words in (
        ("state", "show", wrong),
        ("state", "rm", wrong),
        ("import", wrong, "hst_1"),
        ("plan", f"--target={wrong}"),
    ):
        assert near in native.run(*words, expect=1).err


def test_mv_gives_a_new_address_and_the_plan_is_empty(native, fleet):
    native.apply(fleet(2, agents=False))
    dry = native.run("state", "mv", "--dry-run", "opsconsole_host.web", "opsconsole_host.gate").out
    assert dry.count("Would move") == 2
    assert native.addresses() == ["opsconsole_host.web[0]", "opsconsole_host.web[1]"]
    said = native.run("state", "mv", "opsconsole_host.web", "opsconsole_host.gate").out
    assert said.endswith("Successfully moved 2 object(s).\n")
    assert native.addresses() == ["opsconsole_host.gate[0]", "opsconsole_host.gate[1]"]
    native.write({"opsconsole_host": {"gate": fleet(2)["opsconsole_host"]["web"]}})
    assert native.actions() == {}


def test_state_mv_refuses_wrong_addresses(native, fleet):
    web = fleet(2)["opsconsole_host"]["web"]
    native.apply(hosts(web=web, taken=web | {"name": "taken-${count.index}"}, single={}))
    native.run("state", "rm", "opsconsole_host.taken[0]")
    before = native.state_file.read_bytes()
    for source, target, text in (
        ("opsconsole_host.web", "opsconsole_host.taken", "taken[1] is in the state already"),
        ("opsconsole_host.web", "opsconsole_host.single", "single is in the state already"),
        ("opsconsole_host.web", "opsconsole_agent.web", "of different types"),
        ("opsconsole_host.web", "opsconsole_host.one[0]", "names 2 instances"),
        ("opsconsole_host.web[0]", "opsconsole_host.web[1]", "is in the state already"),
        ("opsconsole_host.no", "opsconsole_host.one", "names nothing in the state"),
    ):
        for words in (["mv"], ["mv", "--dry-run"]):
            assert text in native.run("state", *words, source, target, expect=1).err
    assert native.state_file.read_bytes() == before


def test_a_deposed_object_moves_with_its_instance(native, fleet):
    native.apply(fleet(2, agents=False))
    with open_state(LocalBackend(native.state_file)) as session:
        key = session.state.depose("opsconsole_host.web[1]")
    refused = native.run("state", "show", "opsconsole_host.web[1]", expect=1).err
    assert f"no current object, only opsconsole_host.web[1] (deposed {key})" in refused
    # An address that holds only a deposed object is taken, as for Terraform.
    taken = ("opsconsole_host.web[0]", "opsconsole_host.web[1]")
    assert "is in the state already" in native.run("state", "mv", *taken, expect=1).err
    native.run("state", "mv", "opsconsole_host.web", "opsconsole_host.gate")
    native.run("state", "mv", "opsconsole_host.gate[1]", "opsconsole_host.one")
    assert native.addresses() == ["opsconsole_host.gate[0]", "opsconsole_host.one"]
    [_, one] = native.state["resources"]
    assert one["instances"][0]["deposed"] == key


def test_a_state_is_pulled_and_pushed(native):
    native.write(HOST)
    assert native.run("state", "pull").out == ""
    native.run("apply", "--auto-approve")
    pulled = native.run("state", "pull").out
    assert json.loads(pulled) == native.state
    mine = native.folder / "mine"
    mine.write_text(pulled)
    native.run("state", "push", "mine")
    native.run("state", "rm", "opsconsole_host.a")
    assert "replace a newer one" in native.run("state", "push", "mine", expect=1).err
    native.run("state", "push", "--force", "mine")
    assert native.addresses() == ["opsconsole_host.a"]
    mine.write_text(json.dumps(json.loads(pulled) | {"lineage": "another"}))
    assert "lineage" in native.run("state", "push", "mine", expect=1).err
    mine.write_text(json.dumps(native.state | {"outputs": {}, "resources": []}))
    assert "other content: neither is newer" in native.run("state", "push", "mine", expect=1).err
    assert "Check the path" in native.run("state", "push", "none", expect=1).err
    mine.write_text("\n")
    assert "mine holds no state" in native.run("state", "push", "--force", "mine", expect=1).err
    assert native.addresses() == ["opsconsole_host.a"]


def test_a_push_discards_nothing_of_an_interrupted_run_without_a_word(native):
    native.apply(hosts(a={}, new={}, old={}))
    created = native.id_of("opsconsole_host.new")
    other = native.folder / "other"

    # A run created one host, deleted another, and ended before it wrote the state.
    state = State.parse(native.state_file.read_bytes())
    item = state.get("opsconsole_host.new")
    state.remove("opsconsole_host.new")
    native.state_file.write_bytes(state.to_bytes())
    older = native.state
    base, changes = base_of("crashed", state), list[StateChange]()
    state.on_change = changes.append
    state.put("opsconsole_host.new", item)
    state.remove("opsconsole_host.old")
    call = Intent("crashed-9", "opsconsole_host.b", "POST /api/v1/hosts", {}, "now")
    records = encode_records([base, StateChanges(tuple(changes)), call])
    journal_of(native.state_file).write_bytes(records)

    push = ("state", "push", "other")
    named = f"opsconsole_host.new = {created}, opsconsole_host.old = gone"
    for serial in (0, state.serial + 9, state.serial + 9):
        other.write_text(json.dumps(older | {"serial": serial}))
        refused = native.run(*push, expect=1).err
        assert f"does not hold what an interrupted run did: {named}." in refused
        assert native.addresses() == ["opsconsole_host.a", "opsconsole_host.new"]
    forced = native.run(*push, "--force").err
    assert f"no longer holds what an interrupted run did: {named}." in forced
    assert native.addresses() == ["opsconsole_host.a", "opsconsole_host.old"]
    # The state is of the same lineage, so the next plan can still ask about the open call.
    assert [intent.id for intent in intents_left(native.state_file)] == ["crashed-9"]

    other.write_text(json.dumps(native.state | {"lineage": "another"}))
    said = native.run(*push, "--force").err
    assert "opsconsole_host.b (POST /api/v1/hosts)" in said
    assert (native.addresses(), intents_left(native.state_file)) == (
        ["opsconsole_host.a", "opsconsole_host.old"],
        [],
    )


def test_a_program_for_opentofu_or_terraform_alone_is_served_by_its_state(native):
    """Providers with `for_each`, modules, other providers: only the state is needed."""
    native.apply({"opsconsole_host": {"a": {"name": "a"}}})
    state = json.loads(native.state_file.read_text())
    resource = state["resources"][0]
    address = resource.pop("provider")
    resource["instances"][0]["provider"] = f'{address}.by["east"]'
    native.state_file.write_text(json.dumps(state))
    settings = {"alias": "by", "for_each": {"east": native.console.base_url}}
    native.monkeypatch.delenv("OPSCONSOLE_BASE_URL")
    document = {
        "provider": {"opsconsole": {**settings, "base_url": "${each.value}"}},
        "resource": {"opsconsole_host": {"a": {"name": "a", "provider": 'opsconsole.by["east"]'}}},
        "module": {"m": {"source": "./m"}},
    }
    (native.folder / "cdk.tf.json").write_text(json.dumps(document))
    assert native.run("state", "list").out == "opsconsole_host.a\n"
    assert "No drift. 1 resource in state checked." in native.run("drift").out
    left = settings | {"base_url": native.console.base_url, "for_each": {"west": ""}}
    (native.folder / "cdk.tf.json").write_text(json.dumps({"provider": {"opsconsole": left}}))
    assert 'configuration opsconsole.by["east"].' in native.run("drift", expect=1).out
    (native.folder / "cdk.tf.json").write_text(json.dumps(document))
    assert "the native engine does not support for_each" in native.run("plan", expect=1).err
    document["terraform"] = {"encryption": {}}
    (native.folder / "cdk.tf.json").write_text(json.dumps(document))
    assert "encryption" in native.run("state", "rm", "opsconsole_host.a", expect=1).err
    (native.folder / "cdk.tf.json").rename(native.folder / "main.tofu")
    assert native.run("state", "list").out == "opsconsole_host.a\n"


def flags(native: Any) -> dict[str, bool]:
    return {
        resource["name"]: resource["instances"][0].get("create_before_destroy", False)
        for resource in native.state["resources"]
    }


def test_state_says_what_is_created_before_it_is_destroyed(native):
    web = {"jump_host_ids": ["${opsconsole_host.jump.id}"]}
    first = {"lifecycle": {"create_before_destroy": True}}
    native.apply(hosts(jump={}, web={**web, **first}))
    # What it depends on must be there before it, too.
    assert flags(native) == {"jump": True, "web": True}

    native.apply(hosts(jump={}, web={**web, "knowledge": "k"}))
    assert flags(native) == {"jump": False, "web": False}

    native.apply(hosts(jump=first, web={**web, "knowledge": "k"}))
    assert flags(native) == {"jump": True, "web": False}
    native.apply(
        hosts(jump={}, web={**web, "knowledge": "k", "depends_on": ["opsconsole_host.a"]}, a={})
    )
    [web] = [item["instances"][0] for item in native.state["resources"] if item["name"] == "web"]
    assert web["dependencies"] == ["opsconsole_host.a", "opsconsole_host.jump"]


def test_new_sensitivity_is_a_change_without_a_call(native):
    secret = {"s": {"default": "k", "sensitive": True}}

    def declare(value: str) -> None:
        jump = {"jump_host_ids": ["${sensitive(opsconsole_host.jump.id)}"]}
        native.write(hosts(jump={}, web={**jump, "knowledge": value}), variable=secret)

    def paths() -> list[Any]:
        [_, web] = native.state["resources"]
        return [
            [step["value"] for step in path]
            for path in web["instances"][0].get("sensitive_attributes", [])
        ]

    at_first = {"value": 0, "type": "number"}
    declare("k")
    native.run("apply", "-auto-approve")
    assert paths() == [["jump_host_ids", at_first]]
    declare("${var.s}")
    assert native.actions() == {"opsconsole_host.web": ["update"]}
    native.run("plan", "-out=saved")
    before = native.console.rows("hosts")
    native.run("apply", "saved")
    assert native.console.rows("hosts") == before
    assert paths() == [["jump_host_ids", at_first], ["knowledge"]]
    assert native.actions() == {}

    assert '"k"' not in native.run_plan(hosts(jump={}, web={"knowledge": "other"})).out


@pytest.mark.parametrize(*ROWS["spoilt states"])
def test_wrong_state_is_one_error_and_stays(native, path, value, said):
    native.apply(HOST)
    state = holder = native.state
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    native.state_file.write_text(json.dumps(state))
    before = native.state_file.read_bytes()
    refused = native.run("apply", "-auto-approve", expect=1).err
    assert (said in refused, refused.count("Error:")) == (True, 1)
    assert native.state_file.read_bytes() == before


def test_a_deposed_object_of_another_provider_stays(native):
    native.apply(HOST)
    state = native.state
    [instance] = state["resources"][0]["instances"]
    aside = {"type": "aws_instance", "instances": [{**instance, "deposed": "0badc0de"}]}
    state["resources"].append(state["resources"][0] | aside)
    native.state_file.write_text(json.dumps(state))
    native.apply(hosts(a={"knowledge": "k"}))
    assert [item["type"] for item in native.state["resources"]] == [
        "aws_instance",
        "opsconsole_host",
    ]
