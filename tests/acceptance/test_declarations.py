"""What a program may say: bounds, values that are not known yet, data sources."""

from collections.abc import Iterator
from typing import Any

from declarations import ORGS, agent_on, attribute_at, held, program, value
from engines import ON_TERRAFORM
from opsconsole.definition import Attribute, ChangeRule, Kind
from opsconsole.resources import HOST, RESOURCES

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


def late(name: str, source: str = "late") -> str:
    return f"${{terraform_data.{source}.output.{name}}}"


def all_late(variant: int) -> dict[str, Any]:
    """Declare resources whose every value comes out of another resource's apply."""
    updated = [a for a in HOST.settable if a.change is ChangeRule.UPDATE and a.refers_to is None]
    once = {a.name: value(a, 0) for a in HOST.settable if a.change is ChangeRule.REPLACE}
    inputs: dict[str, Any] = {a.name: value(a, variant) for a in updated}
    # Where these were unknown again, the host would be replaced: they come from elsewhere.
    host = {name: late(name) for name in inputs} | {name: late(name, "once") for name in once}
    inputs |= {
        "key": "linux-server",
        "title": "Database",
        "pattern": f"mkfs {variant}",
        "scope": ORGS[variant],
        "plugin": "plg_disk",
        "plugins": ["plg_logs"] if variant else [],
        "wide": True,
    }
    declared = program(
        host={"late": host},
        specialty={
            "late": {"key": late("key")},
            "named": {"key": "database", "name": late("title")},
        },
        agent={
            "late": agent_on(
                "late",
                "late",
                specialty_id="${opsconsole_specialty.late.id}",
                plugin_ids=late("plugins"),
            ),
            "open": agent_on("late", "open", specialty_id="spc_windows"),
        },
        agent_plugin={"late": {"agent_id": "${opsconsole_agent.open.id}", "plugin_id": "plg_disk"}},
        blacklisted_command={
            "late": {"id": "blk_format", "pattern": late("pattern"), "org_id": late("scope")},
            "wide": {"id": "blk_wipe", "tenant_wide": late("wide")},
        },
    )
    declared["resource"]["terraform_data"] = {"late": {"input": inputs}, "once": {"input": once}}
    return declared


@ON_TERRAFORM
def test_values_that_are_known_only_after_apply(project, console):
    engine = project(all_late(0), console)
    for variant in (0, 1):
        engine.write(all_late(variant))
        engine.apply()
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


def test_data_sources(applied, console):
    agent = console.create("agents", name="a", status="idle", specialty_id="spc_linux")
    console.create("attachments", agent_id=agent["id"], plugin_id="plg_logs")
    outputs = {
        "ids": "${[for way in ['id', 'key', 'name'] : data.opsconsole_specialty.by[way].id]}",
        "prompt": '${data.opsconsole_specialty.by["key"].prompt}',
        "keys": "${data.opsconsole_specialties.all.specialties[*].key}",
        "plugins": "${[for p in data.opsconsole_agent_plugins.a.plugins : [p.id, p.enabled]]}",
        "complete": "${data.opsconsole_agent_plugins.a.complete}",
        "entry": "${data.opsconsole_blacklisted_command.wipe}",
    }
    outputs["ids"] = outputs["ids"].replace("'", '"')
    declared = {
        "data": {
            "opsconsole_specialty": {
                "by": {
                    "for_each": {"id": "spc_linux", "key": "database", "name": "Network"},
                    "id": '${each.key == "id" ? each.value : null}',
                    "key": '${each.key == "key" ? each.value : null}',
                    "name": '${each.key == "name" ? each.value : null}',
                }
            },
            "opsconsole_specialties": {"all": {}},
            "opsconsole_agent_plugins": {"a": {"agent_id": agent["id"]}},
            "opsconsole_blacklisted_command": {"wipe": {"id": "blk_wipe"}},
        },
        "output": {name: {"value": expression} for name, expression in outputs.items()},
    }
    engine = applied(declared, console)

    found = engine.outputs()
    assert found["ids"] == ["spc_linux", "spc_database", "spc_network"]
    assert found["prompt"] == "Watch databases and their backups."
    assert found["keys"] == [
        row["key"] for row in sorted(console.rows("specialties"), key=lambda row: row["id"])
    ]
    assert found["plugins"] == [["plg_logs", True]]
    assert found["complete"] is True
    assert found["entry"]["pattern"] == "rm -rf /" and found["entry"]["tenant_wide"] is True
    assert console.request_counts() == {"specialty_search": 1, "plugin_list": 1, "blacklist_get": 1}


@ON_TERRAFORM
def test_data_sources_that_find_nothing(project, console):
    declared = {
        "data": {
            "opsconsole_specialty": {"none": {"key": "none"}, "both": {"key": "a", "id": "b"}},
            "opsconsole_agent_plugins": {"none": {"agent_id": "agt_none"}},
            "opsconsole_blacklisted_command": {"none": {"id": "blk_none"}},
        }
    }
    engine = project(declared, console)
    told = {error["address"]: error for error in engine.plan_run(expect={1}).errors}
    places = {address: attribute_at(engine.folder, error) for address, error in told.items()}
    assert places == {
        "data.opsconsole_specialty.none": "key",
        "data.opsconsole_specialty.both": "",
        "data.opsconsole_agent_plugins.none": "agent_id",
        "data.opsconsole_blacklisted_command.none": "id",
    }
    for name in ("agent_plugins", "blacklisted_command"):
        assert "request id req_" in told[f"data.opsconsole_{name}.none"]["detail"]
