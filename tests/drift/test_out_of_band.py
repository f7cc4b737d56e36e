"""Every attribute of every resource, changed behind our back, is found: by being defined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from opsconsole.definition import Attribute, Kind, ResourceDefinition
from opsconsole.resources import (
    AGENT,
    AGENT_PLUGIN,
    BLACKLISTED_COMMAND,
    HOST,
    RESOURCES,
    SPECIALTY,
)
from opsconsole.resources.agent_plugin import PLUGIN_FIELDS

Applied = Callable[[str], Any]

SUBJECTS = {
    SPECIALTY.name: ("opsconsole_specialty.linux", "specialties"),
    HOST.name: ("opsconsole_host.web[0]", "hosts"),
    AGENT.name: ("opsconsole_agent.ops[0]", "agents"),
    AGENT_PLUGIN.name: ("opsconsole_agent_plugin.disk[0]", "plugins"),
    BLACKLISTED_COMMAND.name: ("opsconsole_blacklisted_command.format", "blacklists"),
}
"""Resource to the address of one, and the console's collection that its attributes stand in."""

REFERENCES = {"host": ("hosts", "{0}"), "specialty": ("specialties", "{0}")}


def attributes(definition: ResourceDefinition) -> Iterator[Attribute]:
    """Yield what the console may change: neither ids nor what any write moves."""
    shown = PLUGIN_FIELDS if definition is AGENT_PLUGIN else definition.answered
    for attribute in shown:
        if attribute.name not in ("id", "plugin_ids") and not attribute.volatile:
            yield attribute


CASES = [
    pytest.param(definition, attribute, id=f"{definition.name}-{attribute.name}")
    for definition in RESOURCES.values()
    for attribute in attributes(definition)
]


def another(attribute: Attribute, now: Any, ground: Any) -> Any:
    """Return a value that differs from what the console holds now."""
    if attribute.refers_to:
        collection = REFERENCES[attribute.refers_to][0]
        ids = [row["id"] for row in ground.console.rows(collection)]
        other = next(row_id for row_id in ids if row_id != now and [row_id] != now)
        return [other] if attribute.kind is Kind.STRING_LIST else other
    if attribute.allowed:
        return next(word for word in attribute.allowed if word != now)
    match attribute.kind:
        case Kind.INTEGER | Kind.NUMBER:
            return (now or 0) + 1
        case Kind.BOOLEAN:
            return not now
        case Kind.STRING_SET | Kind.STRING_LIST:
            return [*(now or ()), "drift:1"]
        case Kind.OBJECT_LIST:
            return [{a.name: another(a, None, ground) for a in attribute.attributes}]
        case _:
            return f"{now or ''} changed"


def moved(ground: Any, definition: ResourceDefinition) -> tuple[str, str, dict[str, Any]]:
    """Return the address of a resource, and collection and row of what it shows."""
    address, collection = SUBJECTS[definition.name]
    values = ground.state()[address]
    row_id = values["plugin_id"] if definition is AGENT_PLUGIN else values["id"]
    row = ground.console.row(collection, row_id)
    assert row is not None
    return address, collection, row


@pytest.mark.parametrize("profile", ["default", "extended"])
@pytest.mark.parametrize(("definition", "attribute"), CASES)
def test_a_changed_attribute(
    profile: str, definition: ResourceDefinition, attribute: Attribute, applied: Applied
) -> None:
    ground = applied(profile)
    address, collection, row = moved(ground, definition)
    now = row.get(attribute.name)
    ground.console.change(
        collection, row["id"], **{attribute.name: another(attribute, now, ground)}
    )
    try:
        found = ground.drift()
    finally:
        ground.console.change(collection, row["id"], **{attribute.name: None} | row)

    hidden = definition is AGENT and profile == "default"
    if hidden:
        assert found.bucket(address) == "unchecked"
        assert attribute.name in found.of(address)["unobserved"]
        assert found.code == 0
        return
    assert found.code == 2
    assert found.bucket(address) == "changed"
    assert set(found.changed(address)) == {attribute.name}
    before, after = found.changed(address)[attribute.name]
    assert before != after
    assert before == ground.state()[address][attribute.name]
    assert ground.drift().code == 0


@pytest.mark.parametrize("definition", RESOURCES.values(), ids=lambda item: item.name)
def test_cleared_attributes(definition: ResourceDefinition, applied: Applied) -> None:
    """Values that are gone from the console are differences too, whether null or left out."""
    ground = applied("extended")
    address, collection, row = moved(ground, definition)
    cleared = {
        attribute.name: None
        for attribute in attributes(definition)
        if row.get(attribute.name) is not None and attribute.name not in ("name", "pattern")
    }
    assert cleared
    ground.console.change(collection, row["id"], **cleared)
    try:
        found = ground.drift()
    finally:
        ground.console.change(collection, row["id"], **row)
    assert found.bucket(address) == "changed"
    assert set(found.changed(address)) == set(cleared)
    for before, after in found.changed(address).values():
        assert before not in (None, [])
        assert after in (None, [])


def test_no_state_is_written_and_no_lock_taken(applied: Applied) -> None:
    ground = applied("default")
    before = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    row = ground.console.rows("hosts")[0]
    ground.console.change("hosts", row["id"], knowledge="changed")
    assert ground.drift().code == 2
    ground.console.change("hosts", row["id"], knowledge=row.get("knowledge"))
    after = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    after.pop(ground.folder / "drift.json")
    assert after == {path: text for path, text in before.items() if path in after}
