"""The ground of the fault matrix: programs that reach every operation, and what was there before.

A scene is a program, the program that was applied before it, and whether it is destroyed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Declared = dict[str, dict[str, Any]]

KEY = "svc_ak_of-the-fault-matrix"

ADOPTED = "opsconsole_blacklisted_command.b"
"""It declares an entry that the console has already, which a run warns of when it adopts it."""


def _agent(name: str, host: str) -> dict[str, Any]:
    of = {"host_id": f"opsconsole_host.{host}.id", "specialty_id": "opsconsole_specialty.s.id"}
    references = {field: f"${{{reference}}}" for field, reference in of.items()}
    return {"name": name, "main_engine": "engine-a", **references}


_FIRST: Declared = {
    "opsconsole_specialty.s": {"key": "linux-server", "deletion_policy": "delete"},
    ADOPTED: {"id": "blk_format", "pattern": "dd if=*"},
    "opsconsole_host.a": {"name": "a"},
    "opsconsole_host.b": {"name": "b"},
    "opsconsole_agent.x": _agent("x", "a"),
    "opsconsole_agent.y": _agent("y", "b"),
    "opsconsole_agent_plugin.p": {"agent_id": "${opsconsole_agent.x.id}", "plugin_id": "plg_disk"},
}
_MADE = {"key": "made-here", "name": "Made here", "deletion_policy": "delete"}
_EXTRAS: Declared = {
    "opsconsole_specialty.new": _MADE,
    "opsconsole_blacklisted_command.new": {"pattern": "made here", "org_id": "org_main"},
}


def _changed(program: Declared, **changes: Mapping[str, Any]) -> Declared:
    found = {address: dict(values) for address, values in program.items()}
    for name, values in changes.items():
        found[f"opsconsole_{name.replace('__', '.')}"] |= values
    return found


def _without(program: Declared, address: str) -> Declared:
    return {name: values for name, values in program.items() if name != address}


@dataclass(frozen=True)
class Scene:
    """What is applied before, what is run under a fault, and on which profile."""

    before: Declared | None
    program: Declared
    destroy: bool = False
    profile: str = "default"


_PLUGIN = "opsconsole_agent_plugin.p"
_LATER = _without(_changed(_FIRST, host__a={"knowledge": "changed"}), _PLUGIN)
_EXTENDED = {**_FIRST, **_EXTRAS}
_EDITS = {"agent__x": {"main_engine": "engine-b"}, "specialty__new": {"name": "Changed"}}
_EXTENDED_LATER = _without(_changed(_EXTENDED, **_EDITS), "opsconsole_agent.y")

SCENES: dict[str, Scene] = {
    "create": Scene(None, _FIRST),
    "change": Scene(_FIRST, _LATER),
    "destroy": Scene(_FIRST, _FIRST, destroy=True),
    "extended_create": Scene(None, _EXTENDED, profile="extended"),
    "extended_change": Scene(_EXTENDED, _EXTENDED_LATER, profile="extended"),
    "extended_destroy": Scene(_EXTENDED, _EXTENDED, destroy=True, profile="extended"),
}


@dataclass(frozen=True)
class Target:
    """Which requests a fault meets, and in which scene they are sent."""

    operation: str
    scene: str
    holds: str = ""


def _targets(**scenes: str) -> dict[str, Target]:
    """Return a target of each operation, by its name; a scene names operations."""
    return {name: Target(name, scene) for scene, names in scenes.items() for name in names.split()}


TARGETS = {
    **_targets(
        create="blacklist_update plugin_attach",
        change="blacklist_get plugin_list plugin_detach specialty_search",
        destroy="host_delete specialty_delete",
        extended_create="specialty_create blacklist_create",
        extended_change="host_get agent_get agent_update agent_delete specialty_get"
        " specialty_update",
        extended_destroy="blacklist_delete",
    ),
    "host_read": Target("host_update", "change", r"^\{\}$"),
    "host_update": Target("host_update", "change", "knowledge"),
    "host_dry_run": Target("host_import", "create", '"dry_run":true'),
    "host_import": Target("host_import", "create", '"dry_run":false'),
    "agent_create": Target("agent_create", "create", '"name":"x"'),
    "agent_create_alone": Target("agent_create", "create", '"name":"y"'),
}
"""What plans and applies send. `host_list`, `agent_list` and `blacklist_list` are sent by drift."""

DRIFT_TARGETS = {
    **_targets(
        destroy="blacklist_get plugin_list specialty_search",
        extended_destroy="host_get host_list agent_get agent_list specialty_get blacklist_list",
    ),
    "host_read": Target("host_update", "destroy"),
}
"""What `opsconsole drift` sends; the scene is what was applied before it."""

IMPORT_TARGETS: dict[str, Target] = {
    name: Target("host_import", "create", TARGETS[name].holds)
    for name in ("host_dry_run", "host_import")
}
"""What `opsconsole hosts import` sends."""
