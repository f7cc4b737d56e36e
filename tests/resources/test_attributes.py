"""Attributes: bounds, values that are known late, absent, null or kept otherwise."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from declarations import ORGS, agent_on, attribute_at, held, program, value, value_of_kind
from engines import ON_TERRAFORM
from opsconsole.definition import Attribute, ChangeRule, Kind
from opsconsole.diagnostics import Severity
from opsconsole.emulator import Emulator
from opsconsole.errors import UnexpectedAnswer
from opsconsole.lifecycle.answers import merge_answer, values_shown
from opsconsole.lifecycle.interface import ReadStatus
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.resources import HOST, RESOURCES
from text_groups import read_rows

ROWS = read_rows(__file__)

# The rules of a specialty demand a key, or an id.
NEEDED: dict[str, dict[str, Any]] = {
    kind.name: {item.name: "x" for item in kind if item.required or item.name == "key"}
    for kind in RESOURCES.values()
}


def wrong_values(attribute: Attribute) -> Iterator[Any]:
    """Yield values beyond each bound that the definition names; any of what is read only."""
    if attribute.read_only:
        texts: dict[Kind, Any] = {Kind.BOOLEAN: True, Kind.STRING_SET: ["x"]}
        yield texts.get(attribute.kind, "x")
    if attribute.bounds.allowed:
        yield "none of them"
    if attribute.bounds.minimum is not None:
        yield attribute.bounds.minimum - 1
    if attribute.bounds.maximum is not None:
        yield attribute.bounds.maximum + 1
    if attribute.bounds.min_length:
        yield "x" * (attribute.bounds.min_length - 1)
    if attribute.bounds.max_length is not None:
        yield "x" * (attribute.bounds.max_length + 1)
    if attribute.bounds.pattern is not None:
        yield ["fine:tag", "no tag"] if attribute.name == "tags" else "no match"
    if attribute.kind is Kind.OBJECT_LIST and attribute.settable:
        yield [None]
    for nested in attribute.attributes:
        for item in wrong_values(nested):
            yield {nested.name: item}


@ON_TERRAFORM
def test_each_bound_is_checked_before_any_call(project):
    declared: dict[str, dict[str, Any]] = {}
    expected = set()
    for definition in RESOURCES.values():
        for attribute in definition:
            for number, wrong in enumerate(wrong_values(attribute)):
                label = f"{attribute.name}_{number}"
                values = NEEDED[definition.name] | {attribute.name: wrong}
                declared.setdefault(definition.name, {})[label] = values
                expected.add((f"{definition.type_name}.{label}", attribute.name))
    assert len(expected) > 10
    document = program(**declared)
    document["data"] = {"opsconsole_specialty": {"one": {"key": "x", "prompt": "y"}}}
    expected.add(("data.opsconsole_specialty.one", "prompt"))
    engine = project(document)

    report = engine.validate(expect={1})

    found = {
        (item["address"], attribute_at(engine.folder, item))
        for item in report["diagnostics"]
        if item["severity"] == "error"
    }
    nested = {("opsconsole_specialty.timeouts_0", "delete")}
    assert found - nested == expected - {("opsconsole_specialty.timeouts_0", "timeouts")}
    assert report["error_count"] == len(expected)


@ON_TERRAFORM
def test_a_null_that_turns_out_late_is_refused(project, console):
    null = '${opsconsole_host.first.id == "" ? "x" : null}'
    beside = {"name": "beside", "knowledge": "${opsconsole_host.first.id}"}
    declared = program(
        host={"first": {"name": "first"}, "none": {"name": null}, "beside": beside},
        agent_plugin={"none": {"agent_id": "x", "plugin_id": null}},
    )
    told = project(declared, console).apply(expect={1}).errors
    assert {item["address"]: item["summary"] for item in told} == {
        "opsconsole_host.none": "name is required",
        "opsconsole_agent_plugin.none": "plugin_id is required",
    }
    assert sorted(row["name"] for row in console.rows("hosts")) == ["beside", "first"]


def late(name: str, source: str = "late") -> str:
    return f"${{terraform_data.{source}.output.{name}}}"


def all_late(variant: int) -> dict[str, Any]:
    """Declare resources whose every value comes out of another resource's apply."""
    updated = [a for a in HOST.settable if a.change is ChangeRule.UPDATE and a.refers_to is None]
    once = {a.name: value(a, 0) for a in HOST.settable if a.change is ChangeRule.REPLACE}
    inputs: dict[str, Any] = {a.name: value(a, variant) for a in updated}
    # Where these were unknown again, the host would be replaced: they come from elsewhere.
    host = {name: late(name) for name in inputs} | {name: late(name, "once") for name in once}
    inputs |= {"key": "linux-server", "title": "Database", "wide": True, "plugin": "plg_disk"}
    inputs |= {"pattern": f"mkfs {variant}", "scope": ORGS[variant]}
    inputs["plugins"] = ["plg_logs"] if variant else []
    named = {"key": "database", "name": late("title")}
    both = {"specialty_id": "${opsconsole_specialty.late.id}", "plugin_ids": late("plugins")}
    open_agent = agent_on("late", "open", specialty_id="spc_windows")
    attached = {"agent_id": "${opsconsole_agent.open.id}", "plugin_id": "plg_disk"}
    row = {"id": "blk_format", "pattern": late("pattern"), "org_id": late("scope")}
    declared = program(
        host={"late": host},
        specialty={"late": {"key": late("key")}, "named": named},
        agent={"late": agent_on("late", "late", **both), "open": open_agent},
        agent_plugin={"late": attached},
        blacklisted_command={"late": row, "wide": {"id": "blk_wipe", "tenant_wide": late("wide")}},
    )
    declared["resource"]["terraform_data"] = {"late": {"input": inputs}, "once": {"input": once}}
    return declared


@ON_TERRAFORM
def test_values_that_are_known_only_after_apply(project, console):
    engine = project(all_late(0), console)
    for variant in (0, 1):
        engine.apply(program=all_late(variant))
        engine.plan_run(expect={0})
        state = held(engine)
        host = state["opsconsole_host.late"]
        for attribute in HOST.settable:
            if attribute.change is ChangeRule.UPDATE and attribute.refers_to is None:
                assert host[attribute.name] == value(attribute, variant)
        assert state["opsconsole_blacklisted_command.late"]["org_id"] == ORGS[variant]
        assert state["opsconsole_agent.late"]["plugin_ids"] == (["plg_logs"] if variant else [])
    assert len(console.rows("hosts")) == 1
    assert len(console.rows("agents")) == 2


@pytest.mark.parametrize(*ROWS["test_rules_hold_for_values_that_are_known_only_after_apply"])
def test_rules_hold_for_values_that_are_known_only_after_apply(native, type_name, declared, said):
    before = native.console.row("blacklists", "blk_format")
    resources: dict[str, Any] = {"opsconsole_host": {"a": {"name": "a"}}}
    resources.setdefault(type_name, {})["late"] = declared
    refused = native.apply(resources, expect=1)

    assert said.lower() in refused.text.lower()
    assert native.addresses() == ["opsconsole_host.a"]
    assert len(native.console.rows("hosts")) == 1
    assert native.console.row("blacklists", "blk_format") == before


def test_a_value_that_is_known_late_may_be_doubtful_without_being_wrong(native):
    late = '${opsconsole_host.a.id == "" ? "" : "nowhere"}'
    known = {"name": "c", "private_ip": "somewhere", "knowledge": "${opsconsole_host.a.id}"}
    hosts = {"a": {"name": "a"}, "b": {"name": "b", "private_ip": late}, "c": known}
    told = native.apply({"opsconsole_host": hosts}).text
    assert told.count("'nowhere' is not") == told.count("'somewhere' is not") == 1


def answering(console: Emulator, outcome: Any, **fields: Any) -> None:
    """Let the next reading of a host show only these fields."""
    text = json.dumps({"id": outcome.state["id"], "name": "web"} | fields)
    console.fault(method="POST", path="/hosts/hst_", status=200, text=text)


@pytest.mark.parametrize("fields", [{}, {"knowledge": None}], ids=["absent", "null"])
async def test_attribute_that_is_no_longer_shown_is_null(steps_of, console, fields):
    hosts = steps_of("host")
    created = await hosts.create(name="web", knowledge="a")
    # What an import has read counts as shown, too.
    unseen = created.state | {"updated_at": None}
    imported = await hosts.read(created._replace(state=unseen, private=b""))
    assert imported.state == created.state
    answering(console, created, **fields)

    read = await hosts.read(imported)
    plan = await hosts.plan(read, hosts.config(name="web", knowledge="a"))

    assert read.state["knowledge"] is None
    assert plan.planned["knowledge"] == "a"
    assert plan.requires_replace == ()


async def test_a_new_value_that_is_shown_as_unset_is_told(steps_of, console):
    """Without the declaration, nothing is planned any more."""
    hosts = steps_of("host")
    created = await hosts.create(name="web", skip_tls_verify=True, knowledge="a")
    answering(console, created)

    changed = await hosts.change(created, name="web", skip_tls_verify=False, knowledge="a")

    assert changed.state == created.state | {"skip_tls_verify": None}
    [told] = changed.diagnostics
    assert told.path == ("skip_tls_verify",)
    assert told.detail == (
        "The request set False, the console kept nothing. If it shows this value as unset, leave "
        "the attribute out."
    )
    plan = await hosts.plan(changed, hosts.config(name="web", knowledge="a"))
    assert plan.planned == changed.state


async def test_attribute_that_was_never_shown_is_kept(steps_of, console):
    created = await steps_of("host", host_read="none").create(name="web", knowledge="a")
    answering(console, created)

    read = await steps_of("host").read(created)

    assert read.state["knowledge"] == "a"
    assert "knowledge" in read.unobserved
    for prior, declared, unseen in ((None, {}, ()), (None, None, ("a",)), ("x", {}, ("a",))):
        attribute = Attribute("a", "", required=prior is not None)
        found = merge_answer([attribute], {"a": prior}, PrivateState(declared=declared), {})
        shown = frozenset({"a"}.difference(unseen))
        assert found == ({"a": prior}, PrivateState(shown, declared), unseen)


async def test_an_answer_of_a_part_of_a_host_proves_no_absence(steps_of, console):
    hosts = steps_of("host")
    created = await hosts.create(name="web", knowledge="a")
    part = json.dumps({"id": created.state["id"], "public_ip": None})
    console.fault(method="POST", path="/hosts/hst_", status=200, text=part, times=2)

    changed = await hosts.change(created, name="web", knowledge="b", target_port=2200)
    read = await hosts.read(changed)

    assert (read.state["knowledge"], read.state["target_port"]) == ("b", 2200)
    assert {"knowledge", "target_port"} <= set(read.unobserved)
    plan = await hosts.plan(read, hosts.config(name="web", knowledge="b", target_port=2200))
    assert plan.planned == read.state


@pytest.mark.parametrize("name", ["org_id", "external_id", "unique_id", "mac"])
async def test_a_console_that_clears_what_replaces_never_replaces(steps_of, console, name):
    hosts = steps_of("host")
    created = await hosts.create(name="web", **{name: "one"})
    answering(console, created, **{name: None})
    read = await hosts.read(created)
    console.reset_log()

    plan = await hosts.plan(read, hosts.config(name="web", **{name: "one"}))
    applied = await hosts.change(read, name="web", **{name: "one"})

    assert plan.requires_replace == ()
    # Terraform takes no null for what is configured: one apply without a call, then none.
    assert plan.planned[name] == applied.state[name] == "one"
    assert any(f"has no {name}" in item.summary for item in plan.diagnostics)
    assert all(item.severity is Severity.WARNING for item in plan.diagnostics)
    assert console.traffic()["total"] == 0


DECLARED = {"name": "web", "mac": "02:00:00:00:00:01", "unique_id": "u-1"}


@pytest.mark.parametrize("profile", ["dropping"], indirect=True)
async def test_a_dropped_value_is_reported_at_creation_and_no_difference_later(steps_of, console):
    hosts = steps_of("host")
    made = await hosts.create(**DECLARED)
    assert sorted(item.path for item in made.diagnostics) == [("mac",), ("unique_id",)]
    assert all("kept another value for" in item.summary for item in made.diagnostics)
    read = await hosts.read(made)
    assert read.diagnostics == ()
    assert (read.state["mac"], read.state["unique_id"]) == (DECLARED["mac"], DECLARED["unique_id"])

    plan = await hosts.plan(read, hosts.config(**DECLARED))
    assert (plan.planned, plan.requires_replace, plan.diagnostics) == (read.state, (), ())

    changed = await hosts.plan(read, hosts.config(**DECLARED | {"mac": "02:00:00:00:00:02"}))
    assert changed.requires_replace == ("mac",)

    console.change("hosts", made.state["id"], mac="02:00:00:00:00:09")
    assert (await hosts.read(made)).state["mac"] == "02:00:00:00:00:09"


@pytest.mark.parametrize("profile", ["dropping"], indirect=True)
async def test_dropped_value_that_was_not_read_back_is_told_by_the_next_plan(steps_of):
    hosts = steps_of("host")
    made = await hosts.create(**DECLARED)
    forgotten = PrivateState.decode(made.private)._replace(not_kept={})
    read = await hosts.read(made._replace(private=forgotten.encode()))
    assert read.state["mac"] is None

    plan = await hosts.plan(read, hosts.config(**DECLARED))
    assert plan.requires_replace == ()
    assert {item.summary.split(" for ")[0] for item in plan.diagnostics} == {
        "The console has no mac",
        "The console has no unique_id",
    }
    kept = await hosts.read(await hosts.change(read, **DECLARED))
    again = await hosts.plan(kept, hosts.config(**DECLARED))
    assert (again.planned, again.diagnostics) == (kept.state, ())


@pytest.mark.parametrize("kept", [{"org_id": "org_other"}, {"org_id": None}, {}], ids=str)
async def test_an_org_that_the_console_does_not_keep_is_told_once(steps_of, console, kept):
    """Whatever it shows in its place, the host was created, and later plans find no difference."""
    hosts = steps_of("host")
    declared = {"name": "web", "org_id": "org_lab"}
    row = {name: None for name in HOST.names if name not in ("deletion_policy", "org_id")}
    row |= {"id": "hst_1", "name": "web"} | kept
    results = [{"index": 0, "status": "created", "id": "hst_1"}]
    for dry_run in (True, False):
        answer = {"object": "import_result", "dry_run": dry_run, "results": results}
        console.fault(operation="host_import", status=200, text=json.dumps(answer))
    console.fault(operation="host_update", status=200, text=json.dumps(row), times=None)

    made = await hosts.create(**declared)
    [told] = made.diagnostics
    assert (told.severity, told.path) == (Severity.WARNING, ("org_id",))
    assert (made.state["id"], made.state["org_id"]) == ("hst_1", "org_lab")
    read = await hosts.read(made)
    plan = await hosts.plan(read, hosts.config(**declared))
    assert (read.state, read.diagnostics) == (made.state, ())
    assert (plan.planned, plan.requires_replace, plan.diagnostics) == (read.state, (), ())
    other = await hosts.plan(read, hosts.config(**declared | {"org_id": "org_new"}))
    assert other.requires_replace == ("org_id",)


NAMES = sorted(
    {item.name for definition in RESOURCES.values() for item in definition.answer_fields}
)


@pytest.mark.parametrize("kind", Kind)
def test_an_answer_may_show_a_value_of_any_kind(kind):
    attribute = Attribute("a", "", kind, attributes=(Attribute("b", ""),) * kind.is_nested)
    shown = {"a": value_of_kind(attribute, 0)}
    assert values_shown([attribute], shown) == shown
    if kind in (Kind.INTEGER, Kind.NUMBER):
        # JSON may write a whole number with a point.
        assert str(values_shown([attribute], {"a": 80.0})) == "{'a': 80}"
    with pytest.raises(UnexpectedAnswer, match=r"^The console's answer holds (\[1\]|1) "):
        values_shown([attribute], {"a": [1]})


@given(st.frozensets(st.sampled_from(NAMES)), st.booleans(), st.none() | st.just({"mac": "02:00"}))
def test_private_state_survives_its_encoding(observed, kept, declared):
    private_state = PrivateState(observed, declared, owner_stays=kept)  # type: ignore[arg-type]  # one of PrivateState's own
    assert PrivateState.decode(private_state.encode()) == private_state
    # A deletion that failed leaves a plan behind, which ends with the next update.
    left = private_state._replace(removal_planned=True, overtaken={"mac": "02:01"})
    assert left.with_declaration({"mac": "02:02", "name": "web"}, ["mac"]) == PrivateState(
        observed, {"mac": "02:02"}
    )


def test_every_name_has_a_bit_and_any_other_is_written_in_full_beside_them():
    spelled = json.loads(PrivateState(frozenset(NAMES)).encode())["observed"].split()[1:]
    assert spelled == [], "append these names to _NAMES_BY_BIT in lifecycle/private_state.py"
    private_state = PrivateState(frozenset({"id", "a_name_of_tomorrow"}))
    assert json.loads(private_state.encode()) == {"observed": "1 a_name_of_tomorrow"}
    assert PrivateState.decode(private_state.encode()) == private_state


@pytest.mark.parametrize(
    ("private", "observed"),
    [
        (b'{"observed":"3"}', {"id", "name"}),
        (b'{"observed":"200000000000"}', {"text_hash"}),
        (b'{"observed":"1000000000000000000000001"}', {"id"}),
        (b'{"observed":"no number"}', set()),
        (b'{"observed":["id","name"]}', set()),
        (b'{"observed":7}', set()),
        (b"[]", set()),
        (b"\xff", set()),
        (b"", set()),
    ],
)
def test_private_state_of_others_is_read_or_empty(private, observed):
    assert PrivateState.decode(private).observed == observed


def test_value_that_the_console_trims_is_not_called_a_change_by_others(native_on):
    native = native_on("tidying")
    host = {"name": "web", "knowledge": " kept trimmed "}
    native.apply({"opsconsole_host": {"web": host, "other": {"name": "other"}}})
    other = native.attributes("opsconsole_host.other")["id"]
    native.console.change("hosts", other, knowledge="new", updated_at="2100-01-01T00:00:00Z")

    told = native.run("plan").out
    keeps = "differs, with the same updated_at: the console keeps other values than were declared"
    assert f"# opsconsole_host.web {keeps}" in told
    assert "# opsconsole_host.other has changed" in told


@pytest.mark.parametrize(
    ("port", "said"),
    [
        ("1e999", "a number that is too large"),
        ("NaN", "NaN, which is not JSON"),
        ('"22"', "as target_port, where the document shows"),
        ("22.5", "as target_port, where the document shows"),
        ('22, "tags": [1]', "holds [1] as tags, where the document shows"),
        (f'22, "tags": "{"x" * 198}"', f"holds '{'x' * 198}' as tags, where the document shows"),
        (f'22, "tags": "{"x" * 199}"', f"holds '{'x' * 199}… as tags, where the document shows"),
    ],
)
async def test_a_value_of_another_type_is_no_defect_of_the_provider(steps_of, console, port, said):
    hosts = steps_of("host")
    created = await hosts.create(name="a")
    text = f'{{"id": "{created.state["id"]}", "target_port": {port}}}'
    console.fault(method="POST", path="/hosts/hst_", status=200, text=text)

    read = await hosts.read(created)

    assert read.state == created.state
    assert read.status is ReadStatus.UNCHECKED
    assert read.diagnostics[0].summary == f'Cannot read the host "a" ({created.state["id"]})'
    assert said in read.diagnostics[0].text
