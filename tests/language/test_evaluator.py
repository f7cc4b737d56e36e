"""Configurations, instances and outputs: unknown, sensitive and converted values."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import declarations
from opsconsole.errors import UserError
from opsconsole.language.conversion import from_wire, to_wire
from opsconsole.language.evaluator import Trigger
from opsconsole.language.numbers import parse_number
from opsconsole.language.values import NUMBER
from opsconsole.resources import HOST
from opsconsole.values import UNKNOWN
from text_groups import read_groups, read_rows

REFUSALS = read_groups(Path(__file__).with_name("refusals.txt"))
ROWS = read_rows(__file__)
HELD = {
    **{f"opsconsole_host.a[{n}]": {"id": f"hst_{n}", "tags": ["x", "y"]} for n in (0, 1)},
    'opsconsole_host.b["7"]': {"id": "hst_7"},
    "opsconsole_host.c": {"id": "hst_c", "jump_host_ids": ["x", "y"]},
    **{f"data.opsconsole_specialty.{name}": {"id": "spc_1"} for name in ("s", "t[0]")},
}


def hosts(*names: str, **bodies: Any) -> dict[str, Any]:
    """Return a program of hosts, each with the name of its resource."""
    return {"resource": declarations.hosts(*names, **bodies)}


def outputs(**values: Any) -> dict[str, Any]:
    """Declare outputs by name."""
    return {"output": {name: {"value": value} for name, value in values.items()}}


def sensitive_paths(run: Any, host: str) -> Any:
    """Return what is sensitive of what a host declares."""
    return run.evaluator.config(run.instance(f"opsconsole_host.{host}")).sensitive_paths


@pytest.mark.parametrize("text", ["7", "0.1", "12345678901234567890.25"])
def test_a_number_comes_back_from_its_wire_value(text):
    number = parse_number(text)
    assert from_wire(to_wire(number), NUMBER) == number


def test_every_attribute_is_there_and_converted(start):
    declared = {"name": 5, "target_port": "22", "skip_tls_verify": "true"}
    lists = {"tags": ["b:2", "a:1", "b:2"], "jump_host_ids": ["z", "y"]}
    run = start(hosts(a=declared | lists))
    values = run.evaluator.config(run.instance("opsconsole_host.a")).values
    assert tuple(values) == HOST.names
    converted = {"name": "5", "target_port": 22, "skip_tls_verify": True, "tags": ["a:1", "b:2"]}
    assert values == HOST.empty() | lists | converted


def test_nested_objects_are_completed(start):
    """Members that the definition does not have are dropped."""
    ids = {"host_id": "h", "specialty_id": "s"}
    one = '${opsconsole_agent.a.id == "x" ? {order = 1} : {order = 2}}'
    some = '${opsconsole_agent.a.id == "x" ? [{order = 1}] : [{order = 2}, {order = 3}]}'
    agents = {
        "a": ids | {"credential_config": [{"credential_id": "c", "order": "1", "more": 1}]},
        "b": ids | {"credential_config": [one]},
        "c": ids | {"credential_config": some},
    }
    run = start({"resource": {"opsconsole_agent": agents}})
    given = {"credential_id": "c", "credential_role": None, "order": 1, "is_required": None}
    assert run.config("opsconsole_agent.a")["credential_config"] == [given]
    assert run.config("opsconsole_agent.b")["credential_config"] == [UNKNOWN]
    assert run.config("opsconsole_agent.c")["credential_config"] is UNKNOWN


@pytest.mark.parametrize(
    ("held", "expected"),
    [(None, UNKNOWN), (UNKNOWN, UNKNOWN), ({"id": UNKNOWN}, UNKNOWN), ({"id": "hst_1"}, "hst_1")],
)
def test_a_reference_is_known_when_its_resource_is(start, held, expected):
    declared = hosts("a", b={"external_id": "${opsconsole_host.a.id}"})
    found = start(declared, {"opsconsole_host.a": held}).config("opsconsole_host.b")["external_id"]
    assert found is expected or found == expected


@pytest.mark.parametrize(*ROWS["test_unknown_travels_as_far_as_it_must"])
def test_unknown_travels_as_far_as_it_must(start, expression, value):
    held = dict.fromkeys(("id", "is_jump_host", "jump_host_ids"), UNKNOWN)
    declared = hosts("a", n={"count": 1}) | outputs(made=expression)
    run = start(declared, {"opsconsole_host.a": held})
    # In the table, a question mark stands for an unknown value.
    assert json.loads(json.dumps(run.output("made"), default=lambda unknown: "?")) == value


def test_sensitive_values_mark_the_paths_that_they_reach(start):
    lists = {"tags": ["k:${var.secret}", "plain"], "jump_host_ids": ["x", "${var.secret}"]}
    declared = hosts(
        a={"knowledge": "the key is ${var.secret}", **lists},
        b={"knowledge": "${opsconsole_host.a.knowledge}"},
        c={"knowledge": "${opsconsole_host.a.name}"},
    )
    run = start(
        {"variable": {"secret": {"sensitive": True}}, **declared},
        {"opsconsole_host.a": {"name": "a", "knowledge": "the key is s"}},
        arguments=[("var", "secret=s")],
    )
    first = run.evaluator.config(run.instance("opsconsole_host.a"))
    assert first.sensitive_paths == (("knowledge",), ("tags",), ("jump_host_ids", 1))
    assert first.values["jump_host_ids"] == ["x", "s"]
    assert (sensitive_paths(run, "b"), sensitive_paths(run, "c")) == ((("knowledge",),), ())


def test_sensitive_paths_of_state_count_too_and_may_lead_into_a_value(start):
    parts = {"b": "a.jump_host_ids[1]", "c": "a.jump_host_ids[0]", "e": "a.name", "f": "a.mac"}
    read = {name: f"opsconsole_host.{part}" for name, part in parts.items()}
    read |= {"d": "jsonencode(opsconsole_host.a)", "g": "opsconsole_host.a.tags == 1"}
    reading = {name: {"knowledge": f"${{{read[name]}}}"} for name in read}
    held = {"name": "a", "jump_host_ids": ["x", "y"], "mac": "m", "tags": ["t"]}
    run = start(
        hosts("a", **reading),
        {"opsconsole_host.a": held},
        sensitive=lambda _: [("jump_host_ids", 1), ("name", 0), ("tags", 1), ("mac",)],
    )
    for name in read:
        assert sensitive_paths(run, name) == (() if name == "c" else (("knowledge",),)), name


def test_values_of_every_kind_come_back_from_resources(start):
    agent, config = "opsconsole_agent.a", "opsconsole_agent.a.credential_config"
    read = outputs(
        order=f"${{{config}[0].order}}",
        roles=f"${{{config}[*].credential_role}}",
        list=f"${{nonsensitive({config} == tolist([]))}}",
        first=f"${{nonsensitive(jsonencode({config}[0]))}}",
        plugins=f"${{toset({agent}.plugin_ids) == {agent}.plugin_ids}}",
    )
    declared = {"opsconsole_agent": {"a": {"host_id": "h", "specialty_id": "s"}}}
    credential = {"credential_id": "c", "credential_role": "r", "order": 2}
    run = start(
        {"resource": declared, **read},
        {agent: {"credential_config": [credential], "plugin_ids": ["b", "a"]}},
        sensitive=lambda _: [("credential_config", 0, "credential_id")] * 2,
    )
    found = [run.output(name) for name in ("order", "roles", "list", "plugins")]
    assert found == [2, ["r"], False, True]
    assert json.loads(run.output("first")) == credential | {"is_required": None}


def test_a_sensitive_output_must_be_declared_so(start):
    document = outputs(
        brief="${[var.brief]}",
        bare="${var.secret}",
        lifted="${nonsensitive(var.secret)}",
        asked="${issensitive(var.secret)}",
    )
    document["output"]["declared"] = {"value": ["${var.secret}"], "sensitive": True}
    brief = {"ephemeral": True, "default": 1}
    document["variable"] = {"secret": {"sensitive": True}, "brief": brief}
    run = start(document, arguments=[("var", "secret=s")])
    for name, kind in (("bare", "sensitive"), ("brief", "ephemeral")):
        with pytest.raises(UserError, match=rf"output\.{name}: its value is {kind}"):
            run.output(name)
    assert run.evaluator.output("declared").sensitive
    assert run.output("declared") == ["s"]
    assert run.output("lifted") == "s"
    assert run.output("asked") is True


def test_an_ephemeral_value_reaches_the_provider_and_nothing_else(start):
    variable = {"key": {"ephemeral": True, "sensitive": True}}
    provider = {"opsconsole": {"api_key": "${var.key}", "max_retries": "2"}}
    program = {"variable": variable, "provider": provider, **hosts(a={"name": "${var.key}"})}
    run = start(program, arguments=[("var", "key=svc_ak_x")])
    settings = run.evaluator.provider_config("opsconsole")
    assert settings.values["api_key"] == "svc_ak_x"
    assert settings.values["max_retries"] == 2
    assert settings.sensitive_paths == (("api_key",),)
    with pytest.raises(UserError, match="an ephemeral value cannot be kept in state"):
        run.config("opsconsole_host.a")


def test_a_provider_that_is_not_declared_sets_nothing(start):
    evaluator = start(hosts("a")).evaluator
    assert set(evaluator.provider_config("opsconsole").values.values()) == {None}
    with pytest.raises(UserError, match=r"no provider configuration opsconsole\.lab\."):
        evaluator.provider_config("opsconsole.lab")


@pytest.mark.parametrize(*ROWS["test_an_index_finds_what_it_names"])
def test_an_index_finds_what_it_names(start, expression, value):
    specialties = {"s": {"key": "k"}, "t": {"count": 1, "key": "k"}}
    b = {"for_each": {"7": 0}, "name": "b"}
    run = start(
        {
            **hosts("c", a={"count": 2}, b=b),
            "data": {"opsconsole_specialty": specialties},
            "variable": {"v": {"default": {"k": ["x", "y"]}}},
            "locals": {"k": "k", "l": {"k": {"m": [1, 2]}}, "zero": "0", "one": 1, "id": "id"},
            **outputs(made=f"${{{expression}}}"),
        },
        HELD,
    )
    assert run.output("made") == value


@pytest.mark.parametrize(*ROWS["test_instances_that_cannot_be_determined_are_refused"])
def test_instances_that_cannot_be_determined_are_refused(start, meta, message):
    brief = {"variable": {"brief": {"ephemeral": True, "default": 1}}}
    run = start({**brief, **hosts("z", a=meta)})
    with pytest.raises(UserError, match=message) as caught:
        run.evaluator.instances(run.program.blocks["opsconsole_host.a"])
    assert str(caught.value).startswith(f"opsconsole_host.a: {next(iter(meta))} cannot be ")


def test_the_number_of_instances_may_be_sensitive(start):
    run = start(hosts(a={"count": "${sensitive(2)}"}))
    assert [*run.evaluator.instances(run.program.blocks["opsconsole_host.a"])] == [0, 1]


def test_an_index_of_thousands_of_digits_names_nothing(start):
    shown = outputs(x=f'${{opsconsole_host.a["{"9" * 5000}"]}}')
    run = start(hosts(a={"count": 2}) | shown)
    with pytest.raises(UserError, match="has count, and no instance"):
        run.output("x")


def test_all_instances_are_looked_up_once(start):
    size = 50
    held = {f"opsconsole_host.a[{place}]": {"id": f"hst_{place}"} for place in range(size)}
    names = {"a": "a", "b": "${opsconsole_host.a.*.id[count.index]}"}
    names["c"] = "${opsconsole_host.a[count.index].id}"
    run = start(hosts(**{host: {"count": size, "name": it} for host, it in names.items()}), held)
    for block in ("b", "c"):
        run.lookups.clear()
        names = [run.config(f"opsconsole_host.{block}[{place}]")["name"] for place in range(size)]
        assert names == [f"hst_{place}" for place in range(size)]
        assert run.lookups == list(held)


def test_a_reference_costs_one_lookup(start):
    size = 500
    bodies: dict[str, Any] = {f"h{place}": {"name": "h"} for place in range(size)}
    bodies |= {
        f"u{place}": {"name": "u", "external_id": f"${{opsconsole_host.h{place}.id}}"}
        for place in range(size)
    }
    run = start(hosts(**bodies), {f"opsconsole_host.h{p}": {"id": "hst_1"} for p in range(size)})
    for block in run.program.resources:
        run.evaluator.config(run.evaluator.instances(block)[None])
    assert len(run.lookups) == size


def test_a_template_as_a_name_is_evaluated_for_each_instance(start):
    timeouts = {"${each.key}": "2m"}
    declared = {"key": "k", "for_each": {"delete": 1, "other": 2}, "timeouts": timeouts}
    run = start({"resource": {"opsconsole_specialty": {"s": declared}}})
    addresses = [f'opsconsole_specialty.s["{key}"]' for key in declared["for_each"]]
    values = [run.config(address)["timeouts"] for address in addresses]
    assert values == [{"delete": "2m"}, {"delete": None}]


def test_a_local_value_is_kept_only_once_all_it_needs_is_known(start):
    made = {"made": {"id": "${opsconsole_host.a.id}"}}
    run = start({**hosts("a", b={"name": "${local.made.id}"}), "locals": made})
    assert run.config("opsconsole_host.b")["name"] is UNKNOWN
    run.held["opsconsole_host.a"] = {"id": "hst_1"}
    run.lookups.clear()
    assert [run.config("opsconsole_host.b")["name"] for _ in range(2)] == ["hst_1"] * 2
    assert run.lookups == ["opsconsole_host.a"]


def test_settings_of_the_run(start):
    document = outputs(
        space="${terraform.workspace}",
        module="${path.module}",
        when="${plantimestamp()}",
        now="${timestamp()}",
        unique="${uuid()}",
    )
    moment = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    run = start(document, workspace="blue", planned_at=moment)
    found = [run.output(name) for name in ("space", "module", "when", "now", "unique")]
    assert found == ["blue", ".", "2024-01-02T03:04:05Z", UNKNOWN, UNKNOWN]
    applied = start(document, applying=True)
    assert applied.output("now").endswith("Z")
    assert len(applied.output("unique")) == 36


def test_files_are_read_beside_the_program(start, tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "notes.txt").write_text("hello\n")
    (tmp_path / "program" / "page.tpl").write_text("%{ for x in xs }${upper(x.y)} %{ endfor }$${}")
    (tmp_path / "program" / "bad.tpl").write_text('${templatefile("page.tpl", {})}')
    run = start(
        outputs(
            text='${file("notes.txt")}',
            there='${fileexists("none.txt")}',
            hash='${filemd5("${path.module}/notes.txt")}',
            page='${templatefile("page.tpl", {xs = [{y = "a"}, {y = "b"}]})}',
            lacking='${templatefile("page.tpl", {})}',
            recursive='${templatefile("bad.tpl", {})}',
            missing='${file("none.txt")}',
        )
    )
    found = [run.output(name) for name in ("text", "there", "hash", "page")]
    assert found == ["hello\n", False, "b1946ac92492d2347c6235b4d2611184", "A B ${}"]
    for name, message in (
        ("lacking", "the template names xs"),
        ("recursive", "a template cannot call templatefile"),
        ("missing", "cannot read .*none.txt"),
    ):
        with pytest.raises(UserError, match=message):
            run.output(name)


def test_import_blocks_are_evaluated(start):
    each = {"for_each": "${local.ids}"}
    b = {"name": "b", **each}
    blocks = [
        {"to": "opsconsole_host.a", "id": "hst_${1 + 1}"},
        {"to": "opsconsole_host.b[each.key]", "id": "${each.value}", **each},
        {"to": "opsconsole_host.c[0]", "id": "hst_c", "provider": "opsconsole"},
        {"to": 'opsconsole_host.b["z"]', "id": "hst_z"},
    ]
    declared = hosts("a", b=b, c={"count": 1})
    ids = {"x": "hst_x", "y": "hst_y"}
    run = start({"locals": {"ids": ids}, **declared, "import": blocks})
    assert [(str(item.address), item.id) for item in run.evaluator.imports()] == [
        ("opsconsole_host.a", "hst_2"),
        ('opsconsole_host.b["x"]', "hst_x"),
        ('opsconsole_host.b["y"]', "hst_y"),
        ("opsconsole_host.c[0]", "hst_c"),
        ('opsconsole_host.b["z"]', "hst_z"),
    ]


@pytest.mark.parametrize(*ROWS["test_import_blocks_that_cannot_be_carried_out_are_refused"])
def test_import_blocks_that_cannot_be_carried_out_are_refused(start, to, identifier, said):
    run = start({**hosts("a"), "import": [{"to": to, "id": identifier}]})
    with pytest.raises(UserError, match=f"main.tf.json: import of .*{said}"):
        run.evaluator.imports()


def test_a_for_expression_in_an_import_block_knows_each(start):
    block = {
        "for_each": {"x": "hst_x"},
        "to": "opsconsole_host.b[each.key]",
        "id": '${join("", [for part in ["a"] : each.value])}',
    }
    run = start({**hosts(b={"for_each": {"x": 1}}), "import": [block]})
    assert [item.id for item in run.evaluator.imports()] == ["hst_x"]


def test_a_key_of_an_import_block_has_no_attributes(start):
    block = {"for_each": {"x": 1}, "to": "opsconsole_host.b[each.key]", "id": "${each.key.y}"}
    run = start({**hosts(b={"for_each": {"x": 1}}), "import": [block]})
    with pytest.raises(UserError, match='a string has no attribute "y"'):
        run.evaluator.imports()


def test_replacement_triggers_are_reported(start):
    named = ("b", "b.name", "a[count.index].name", 'c["k"].tags', "a")
    lifecycle = {"replace_triggered_by": [f"opsconsole_host.{each}" for each in named]}
    t = {"count": 2, "name": "t", "lifecycle": lifecycle}
    c = {"name": "c", "for_each": {"k": 1}}
    run = start(hosts("b", a={"count": 2}, c=c, t=t))
    b, a, c = (f"opsconsole_host.{name}" for name in "bac")
    assert run.evaluator.triggers(run.instance("opsconsole_host.t[1]")) == (
        Trigger(b, None, ()),
        Trigger(b, None, ("name",)),
        Trigger(a, f"{a}[1]", ("name",)),
        Trigger(c, f'{c}["k"]', ("tags",)),
        Trigger(a, None, ()),
    )


@pytest.mark.parametrize(*ROWS["test_errors_name_construct_expression_and_cause"])
def test_errors_name_construct_expression_and_cause(start, attribute, value, message):
    note = {"metadata": {"path": "stack/fleet/a", "uniqueId": "a"}}
    others = {"c": {"count": 1}, "d": {"for_each": {}}, "e": {"for_each": {"k": 1}}}
    run = start(hosts("b", a={"//": note, attribute: value}, **others))
    with pytest.raises(UserError) as caught:
        run.config("opsconsole_host.a")
    assert message in str(caught.value)
    assert str(caught.value).startswith("stack/fleet/a (opsconsole_host.a): ")
    assert "?." not in str(caught.value)
    if "uses" in message:
        assert "Terraform can run it" in caught.value.remedy


@pytest.mark.parametrize(
    ("said", "expression"),
    [(said, expression) for said, group in REFUSALS.items() for expression in group],
)
def test_a_failure_says_why(start, said, expression):
    with pytest.raises(UserError) as caught:
        start(outputs(made=f"${{{expression}}}")).output("made")
    assert caught.value.message == f"output.made: value: ${{{expression}}} {said}"
