"""Values and programs for tests that declare resources, made from the definitions.

A new attribute is covered by being defined: its values come from its kind and its bounds.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engines import Terraform
from opsconsole.definition import Attribute, Kind, ResourceDefinition

ORGS = ("org_main", "org_lab")
REFERENCES = {
    "host": ("${opsconsole_host.gate_0.id}", "${opsconsole_host.gate_1.id}"),
    "specialty": ("spc_linux", "spc_windows"),
    "agent": ("${opsconsole_agent.first.id}", "${opsconsole_agent.second.id}"),
}
"""Two values of an id, by the resource that it refers to; `gates` declares the hosts."""


def kind_of(definition: ResourceDefinition) -> str:
    """Return the emulator's name for a resource: its operations without their last word."""
    return definition.ways["read"][0].operation.rpartition("_")[0]


_NAMED: Mapping[str, tuple[Any, Any]] = {
    "org_id": ORGS,
    "tags": (["env:test", "role:web"], ["env:live"]),
    "plugin_ids": (["plg_disk", "plg_logs"], ["plg_disk", "plg_metrics"]),
    "plugin_id": ("plg_disk", "plg_logs"),
    "mac": ("02:00:00:00:00:01", "02:00:00:00:00:02"),
    "delete": ("20s", "1m"),
}
"""Where a name means more to a console than its kind tells."""


def value(attribute: Attribute, variant: int) -> Any:
    """Return a value that the attribute may be declared to have; variants 0 and 1 differ."""
    if attribute.name in _NAMED:
        return _NAMED[attribute.name][variant]
    if attribute.refers_to:
        reference = REFERENCES[attribute.refers_to][variant]
        return [reference] if attribute.kind is Kind.STRING_LIST else reference
    return value_of_kind(attribute, variant)


def value_of_kind(attribute: Attribute, variant: int) -> Any:
    """Return a value by the attribute's kind alone."""
    name = attribute.name
    if attribute.bounds.allowed:
        return attribute.bounds.allowed[variant]
    match attribute.kind:
        case Kind.INTEGER | Kind.NUMBER:
            return max(attribute.bounds.minimum or 0, 40) + variant
        case Kind.BOOLEAN:
            return variant == 0
        case Kind.STRING_SET | Kind.STRING_LIST:
            return [f"{name}-{letter}{variant}" for letter in "ab"]
        case Kind.STRING_MAP:
            return {name: f"{name} {variant}"}
        case Kind.OBJECT:
            return {item.name: value(item, variant) for item in attribute.attributes}
        case Kind.OBJECT_LIST:
            return [{item.name: value(item, variant) for item in attribute.attributes}]
        case _:
            return f"{name} {variant}"


def gates(**facts: Any) -> dict[str, Any]:
    """Declare the two jump hosts that `REFERENCES` names."""
    return {
        f"gate_{number}": {"name": f"gate-{number}", "is_jump_host": True, **facts}
        for number in (0, 1)
    }


def agent_on(host: str, name: str = "", **fields: Any) -> dict[str, Any]:
    """Declare an agent of the host at this address, such as `web` or `web[count.index]`."""
    named = {"name": name} if name else {}
    ids = {"host_id": f"${{opsconsole_host.{host}.id}}", "specialty_id": "spc_linux"}
    return {**named, "main_engine": "engine-a", **ids, **fields}


def host_with_agent(**fields: Any) -> dict[str, Any]:
    """Declare the host `web`, and its agent `a` with these fields."""
    ids = {"host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    return {
        "opsconsole_host": {"web": {"name": "web"}},
        "opsconsole_agent": {"a": {"name": "keeper", **ids, **fields}},
    }


def hosts(*names: str, **declared: dict[str, Any]) -> dict[str, Any]:
    """Declare hosts, each with the name of its resource; `names` declare nothing else."""
    declared = {name: {} for name in names} | declared
    return {"opsconsole_host": {name: {"name": name, **body} for name, body in declared.items()}}


def program(**resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return a program of resources: short type name to name to attributes."""
    declared = {f"opsconsole_{kind}": dict(named) for kind, named in resources.items() if named}
    return {"resource": declared}


def waiting_for(gate: Path) -> dict[str, Any]:
    """Declare an object of Terraform's own, whose creation lasts until the file `gate` exists."""
    # Bounded: if the test is killed, nobody makes the file.
    wait = f"for i in $(seq 3000); do test -e '{gate}' && exit; sleep 0.1; done"
    return {"terraform_data": {"slow": {"provisioner": {"local-exec": {"command": wait}}}}}


def attribute_at(folder: Path, diagnostic: Mapping[str, Any]) -> str:
    """Return the attribute that a diagnostic points at, or the empty string.

    The native engine names it; for Terraform it stands in the line of the program that is named.
    """
    if path := diagnostic.get("path"):
        return str(path[0])
    place = diagnostic.get("range")
    if place is None:
        return ""
    lines = (folder / place["filename"]).read_text().splitlines()
    line = lines[place["start"]["line"] - 1]
    named = re.match(r'\s*"?(\w+)"?\s*[:=]', line)
    return named[1] if named else ""


def address_of(resource: Mapping[str, Any], instance: Mapping[str, Any]) -> str:
    """Return the address of an instance of a resource in a state's document."""
    key = instance.get("index_key")
    shown = "" if key is None else f"[{json.dumps(key)}]"
    return f"{resource['type']}.{resource['name']}{shown}"


def attributes_in(state: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the attributes of each managed instance in a state's document, by address."""
    return {
        address_of(resource, instance): instance["attributes"]
        for resource in state["resources"]
        if resource["mode"] == "managed"
        for instance in resource["instances"]
    }


def held(engine: Terraform) -> dict[str, dict[str, Any]]:
    """Return the attributes in state by address, read from the file: no program is started."""
    return attributes_in(engine.state())


def write_stacks(folder: Path, stacks: Mapping[str, Mapping[str, Any]]) -> None:
    """Write what synthesis makes of stacks; the state of one without a backend lies beside them."""
    entries = {}
    for name, blocks in stacks.items():
        where = folder / "cdktf.out" / "stacks" / name
        where.mkdir(parents=True, exist_ok=True)
        backend = {"local": {"path": str(folder / f"terraform.{name}.tfstate")}}
        program = {"terraform": {"backend": backend}, **blocks}
        (where / "cdk.tf.json").write_text(json.dumps(program))
        entries[name] = {
            "name": name,
            "constructPath": name,
            "synthesizedStackPath": f"stacks/{name}/cdk.tf.json",
            "workingDirectory": f"stacks/{name}",
            "annotations": [],
            "dependencies": [],
        }
    manifest = {"version": "0.21.0", "stacks": entries}
    (folder / "cdktf.out" / "manifest.json").write_text(json.dumps(manifest))
