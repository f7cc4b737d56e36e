"""A state in memory: its layout, its unknown fields, its edits, and what is no state."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsconsole.errors import UserError
from opsconsole.state import objects
from opsconsole.state.address import Address
from opsconsole.state.model import State
from opsconsole.state.objects import (
    InstanceObject,
    StateChange,
    StateOutput,
    compact,
    escape_as_go,
    lay_out,
)

WEB = "opsconsole_host.web"

FOREIGN: dict[str, Any] = json.loads(Path(__file__).with_name("foreign_state.json").read_text())

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
UNKNOWN = st.dictionaries(st.text(min_size=1, max_size=6).map(lambda name: f"x_{name}"), JSON)


def text_of(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def go_text(value: Any) -> bytes:
    return lay_out(escape_as_go(compact(json.dumps(value, ensure_ascii=False).encode())))


def with_unknown(top: Any, resource: Any, instance: Any) -> Any:
    found = json.loads(json.dumps(FOREIGN))
    found.update(top)
    found["resources"][0].update(resource)
    found["resources"][0]["instances"][0].update(instance)
    return found


@given(UNKNOWN, UNKNOWN, UNKNOWN)
def test_unknown_fields_are_kept_in_place_whatever_is_edited_beside_them(top, resource, instance):
    value = with_unknown(top, resource, instance)
    state = State.parse(go_text(value))
    assert state.to_bytes() == go_text(value)
    item = state.get("random_pet.p[0]")
    state.put("random_pet.p[0]", item._replace(attributes={"id": "y"}))
    state.taint("random_pet.p[0]")
    state.put("opsconsole_host.new", item)
    after = json.loads(state.to_bytes())
    assert list(after) == list(value)
    kept = next(entry for entry in after["resources"] if entry["type"] == "random_pet")
    assert {k: v for k, v in kept.items() if k != "instances"} == {
        k: v for k, v in value["resources"][0].items() if k != "instances"
    }
    changed, before = kept["instances"][0], value["resources"][0]["instances"][0]
    assert changed.pop("status") == "tainted"
    assert list(changed) == list(before)
    assert changed == {**before, "attributes": {"id": "y"}}


@settings(deadline=None)
@given(UNKNOWN, UNKNOWN, UNKNOWN, st.sampled_from([None, 1, 4]))
def test_a_state_in_another_layout_is_laid_out_as_terraform_does(top, resource, instance, indent):
    value = with_unknown(top, resource, instance)
    state = State.parse(json.dumps(value, indent=indent, ensure_ascii=False).encode())
    item = state.get("random_pet.p[0]")
    state.put("random_pet.p[0]", item)
    assert state.to_bytes() == go_text(value)


def test_numbers_stay_as_they_were_written():
    text = text_of(FOREIGN).replace(b"1e+30", b"1E+030").replace(b"1.1\n", b"1.100\n")
    assert State.parse(text).to_bytes() == text
    assert "random_pet.p[0]" in State.parse(text.replace(b'"index_key": 0', b'"index_key": 0.0'))
    assert State.parse(b"".join(line.strip() for line in text.splitlines())).to_bytes() == text


def test_new_state_is_written_as_terraform_writes_it(host):
    state = State.new("11111111-2222-3333-4444-555555555555")
    item = host(1)._replace(tainted=True, create_before_destroy=True)
    state.put('module.m["a"].opsconsole_host.web["k"]', item)
    state.set_output("ids", StateOutput({"b": "", "a": ""}, ["map", "string"], sensitive=True))
    assert state.raise_serial() == 1
    instance = {
        "index_key": "k",
        "status": "tainted",
        "schema_version": 0,
        "attributes": {key: item.attributes[key] for key in sorted(item.attributes)},
        "sensitive_attributes": [],
        "private": "eyJvYnNlcnZlZCI6WyJuYW1lIl19",
        "dependencies": ["opsconsole_host.jump", "opsconsole_specialty.linux"],
        "create_before_destroy": True,
    }
    resource = {
        "module": 'module.m["a"]',
        "mode": "managed",
        "type": "opsconsole_host",
        "name": "web",
        "provider": 'provider["registry.terraform.io/opsconsole/opsconsole"]',
        "instances": [instance],
    }
    ids = {"value": {"a": "", "b": ""}, "type": ["map", "string"], "sensitive": True}
    head = {"version": 4, "terraform_version": "", "serial": 1, "lineage": state.lineage}
    whole = {**head, "outputs": {"ids": ids}, "resources": [resource], "check_results": None}
    written = text_of(whole).replace(b"<", b"\\u003c").replace(b">", b"\\u003e")
    assert (state.lineage[:8], state.to_bytes()) == ("11111111", written)


def test_resources_and_instances_are_sorted_as_core_sorts_them(host):
    instances = ["b.b", "b.b[2]", "b.b[10]", 'b.b["a"]']
    addresses = ["data.a.z", "b.a", *instances, "module.a.data.a.a", "module.a.a.a"]
    state = State.new()
    for address in reversed(addresses):
        state.put(address, host(1))
    assert [str(address) for address in state.addresses()] == addresses
    assert [str(address) for address in State.parse(state.to_bytes()).addresses()] == addresses


def test_what_is_put_is_what_is_got(host):
    state = State.new()
    item = host(1)._replace(schema_version=2, sensitive_attributes=[[{"type": "get_attr"}]])
    for each in (host(2), item):
        state.put(WEB, each)
    found = State.parse(state.to_bytes()).get(WEB)
    assert found == item._replace(
        dependencies=tuple(sorted(item.dependencies)), create_before_destroy=False
    )
    assert state.get("opsconsole_host.other") is None
    assert WEB in state
    assert Address.parse(WEB) in state


def test_sensitive_paths_are_read_whatever_their_steps_are(host):
    text = {"type": "index", "value": {"value": "knowledge", "type": "string"}}
    number = {"type": "index", "value": {"value": 0, "type": "number"}}
    written = [[text], [{"type": "get_attr", "value": "tags"}, number], [{"type": "get_attr"}], "x"]
    item = host(1)._replace(sensitive_attributes=written)
    assert item.sensitive_paths == {("knowledge",), ("tags", 0), ()}
    assert objects.paths_to_state([("tags", 0)]) == [written[1]]


def test_serial_rises_only_when_content_changed(host):
    state = State.parse(go_text(FOREIGN))
    item = state.get("random_pet.p[0]")
    state.put("random_pet.p[0]", item._replace(create_before_destroy=None))
    state.remove("random_pet.q")
    state.remove("random_pet.p[1]")
    state.set_output("gone", None)
    assert (state.changed, state.raise_serial()) == (False, 7)
    state.put(WEB, host(1))
    state.lineage = ""
    assert (state.changed, state.raise_serial(), state.raise_serial()) == (True, 8, 8)
    assert len(state.lineage) == 36
    state.put(WEB, host(1))
    assert not state.changed


def test_deposed_objects_stand_behind_the_current_one(host):
    state = State.new()
    state.put(WEB, host(1))
    deposed = state.depose(WEB)
    assert (state.get(WEB), len(deposed)) == (None, 8)
    state.put(WEB, host(2))
    state = State.parse(state.to_bytes())
    assert state.deposed_keys(WEB) == (deposed,)
    old = state.get(WEB, deposed)
    assert old.attributes["id"] == "hst_0001"
    assert [str(address) for address in state.addresses()] == [WEB]
    state.remove(WEB, deposed)
    assert state.deposed_keys(WEB) == ()
    assert len(state) == 1


def test_move_keeps_everything_but_the_address():
    state = State.parse(go_text(FOREIGN))
    before = json.loads(state.object_json("random_pet.p[0]") or "")
    state.move("random_pet.p[0]", 'module.m.random_pet.q["k"]')
    after = json.loads(state.object_json('module.m.random_pet.q["k"]') or "")
    assert list(state.addresses()) == [Address.parse('module.m.random_pet.q["k"]')]
    assert after == {**before, "index_key": "k"}
    with pytest.raises(UserError, match="not in the state"):
        state.move("random_pet.p[0]", "random_pet.z")
    with pytest.raises(UserError, match="is in the state already"):
        state.move('module.m.random_pet.q["k"]', 'module.m.random_pet.q["k"]')


def test_provider_of_a_resource_can_change(host):
    state = State.parse(go_text(FOREIGN))
    item = state.get("random_pet.p[0]")
    state.put("random_pet.p[0]", item._replace(provider="provider[x]"))
    again = json.loads(state.to_bytes())["resources"][0]
    assert again == {**FOREIGN["resources"][0], "provider": "provider[x]"}


def test_a_copy_is_edited_alone(host):
    state = State.new()
    state.put(WEB, host(1))
    heard: list[StateChange] = []
    state.on_change = heard.append
    twin = state.copy()
    twin.put(WEB, host(2))
    twin.set_output("o", StateOutput("x", "string"))
    assert heard == []
    found = state.get(WEB)
    assert found.attributes["id"] == "hst_0001"
    assert state.outputs == {}
    assert twin.outputs == {"o": StateOutput("x", "string")}


def test_digest_speaks_of_content_alone(host):
    state = State.parse(go_text(FOREIGN))
    before = state.digest()
    # A journal of an earlier release names a state by it.
    assert before == "56906868f0027d0a648f244207ad1d13"
    other = State.parse(go_text({**FOREIGN, "serial": 9, "lineage": "x", "terraform_version": "2"}))
    assert other.terraform_version == "2"
    assert other.digest() == before
    other.set_output("o", None)
    assert other.digest() != before


@pytest.mark.parametrize("data", [b"", b"\n"])
def test_an_empty_file_is_a_new_state(data):
    state = State.parse(data)
    assert state.empty
    assert state.serial == 0
    assert len(state.lineage) == 36


def broken(**changes: Any) -> bytes:
    return go_text({**FOREIGN, **changes})


SHAPES = "attributes", "private", "dependencies", "sensitive_attributes", "status", "provider"
RESOURCE: dict[str, Any] = FOREIGN["resources"][0]
WRONG: list[tuple[dict[str, Any], str]] = [
    *[({name: 5}, f"{name} of an instance of random_pet.p has a wrong type") for name in SHAPES],
    ({"deposed": 5}, "deposed of an instance of random_pet.p has a wrong type"),
    ({"schema_version": "0"}, "schema_version of an instance of random_pet.p has a wrong type"),
    ({"dependencies": [5]}, "a dependency of random_pet.p is not text"),
    *[({"index_key": key}, f"with the key {key!r}") for key in (True, 1.5)],
]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "cannot be read"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (go_text(FOREIGN)[:-200], "cannot be read"),
        (go_text(FOREIGN) + b"rest", "cannot be read"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'{"version": NaN}', "NaN is not JSON"),
        (broken(version=5), r"format version 5 \(written by Terraform 1.12.2\), newer"),
        (b'{"version": 5, "terraform_version": "2.0.0", "state": []}', "2.0.0"),
        (broken(version=3), "terraform apply -refresh-only"),
        (b"{}", 'no "version"'),
        (broken(resources=5), "cannot be read"),
        (b'{"encrypted_data": "x", "encryption_version": "v0"}', "encrypted by OpenTofu"),
        (broken(version=True), 'no "version"'),
        (broken(serial=-1), "serial"),
        *[(broken(outputs=wrong), "outputs are not objects by") for wrong in ({"x": 5}, [1], "x")],
        (broken(resources=[RESOURCE, RESOURCE]), "appears twice"),
        (broken(resources=[{**RESOURCE, "mode": "odd"}]), "unknown mode"),
        (broken(resources=[{**RESOURCE, "type": 5}]), "not text"),
        (broken(resources=[{**RESOURCE, "instances": [{"index_key": []}]}]), "the key"),
        (broken(resources=[{**RESOURCE, "instances": [{"status": "odd"}]}]), "unknown status"),
        (broken(resources=[{**RESOURCE, "instances": [{}, {}]}]), "appears twice"),
        (broken(resources=[{**RESOURCE, "instances": {}}]), "cannot be read"),
        (broken(resources=[5]), "cannot be read"),
        (broken(resources=[RESOURCE, 5]), "cannot be read"),
        (broken(resources=[{**RESOURCE, "name": "../x y"}]), "not the type and name of a resource"),
        (broken(resources=[{**RESOURCE, "type": ""}]), "are not the type and name of a resource"),
        (
            broken(resources=[{**RESOURCE, "instances": [{}, "x"]}]),
            "not laid out as state version 4",
        ),
        *[(broken(resources=[{**RESOURCE, "instances": [wrong]}]), said) for wrong, said in WRONG],
    ],
)
def test_bad_state_is_one_clear_error(data, message):
    with pytest.raises(UserError, match=message) as caught:
        State.parse(data, "the.tfstate")
    assert "the.tfstate" in caught.value.message
    assert caught.value.remedy or "only OpenTofu can read it" in caught.value.message


@pytest.mark.parametrize("kept", range(4))
def test_a_cut_write_over_a_longer_state_is_no_state(kept, host):
    state = State.new()
    for number in range(4):
        state.put(f"opsconsole_host.h{number}", host(number))
    before = state.to_bytes()
    for number in range(kept, 4):
        state.remove(f"opsconsole_host.h{number}")
    after = state.to_bytes()
    with pytest.raises(UserError, match="cannot be read"):
        State.parse(after + before[len(after) :])


@pytest.mark.parametrize(
    "resources",
    [
        [],
        None,
        [{**RESOURCE, "instances": []}],
        [{k: RESOURCE[k] for k in RESOURCE if k != "instances"}],
    ],
)
def test_states_without_instances_are_read(resources, host):
    state = State.parse(broken(resources=resources))
    assert len(state) == 0
    state.put(WEB, host(1))
    assert WEB in State.parse(state.to_bytes())


def test_fields_that_are_missing_are_put_where_terraform_has_them(host):
    state = State.parse(b'{"version": 4}')
    state.put(WEB, host(1))
    state.raise_serial()
    fields = ["version", "serial", "lineage", "outputs", "resources"]
    assert list(json.loads(state.to_bytes())) == fields


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_attributes_nested_too_deeply_to_be_written_are_one_clear_error(host):
    state = State.new("4a1f")
    state.put(WEB, host(1))
    before = state.to_bytes()
    with pytest.raises(UserError, match=f"attributes of {WEB} are nested too deeply"):
        state.put(WEB, host(1, knowledge=nested(5000)))
    assert state.to_bytes() == before


def test_a_change_whose_image_is_not_json_is_refused():
    with pytest.raises(UserError, match=r"holds of opsconsole_host\.a is not JSON\.$"):
        State.new().apply(StateChange("instance", "opsconsole_host.a", "{"))
    with pytest.raises(UserError, match=r"^The state holds an object that is not JSON: "):
        objects.object_id("{")
    with pytest.raises(UserError, match="private data is not base64"):
        objects.read_instance(b'{"private": "?"}', "")
    assert objects.read_instance(b"{}", "p") == InstanceObject("p", {}, create_before_destroy=False)


def test_an_output_is_a_change_only_where_it_is_another():
    state, told = State.new(), list[StateChange]()
    state.on_change = told.append
    for value, count in ((1, 1), (1, 1), (2, 2), (None, 3), (None, 3)):
        state.set_output("o", None if value is None else StateOutput(value, "number"))
        assert len(told) == count
