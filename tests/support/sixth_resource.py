"""A resource that the product does not know, made of nothing but what a resource is made of.

One definition, a lifecycle that follows it, and the console's rules for it: a schedule, which a
host has and takes along when it is deleted.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, cast

import pytest

from opsconsole.definition import Attribute, NodeStyle, ResourceDefinition, Way, read_only
from opsconsole.emulator.application import HANDLERS
from opsconsole.emulator.bodies import json_body, not_found
from opsconsole.emulator.console import Answer, ConsoleRequest, EmulatedConsole
from opsconsole.emulator.document import DOCUMENTED
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.resources import RESOURCES
from opsconsole.resources.lifecycles import LIFECYCLES
from opsconsole.v1.operations import NAMEABLE, OPERATIONS, Operation

SCHEDULE = ResourceDefinition(
    name="schedule",
    title="schedule",
    plural="schedules",
    label="name",
    import_forms=("sch_…",),
    description="When agents work on a host.",
    ways={
        "create": (Way("schedule_create"),),
        "read": (Way("schedule_get"), Way("schedule_list")),
        "update": (Way("schedule_update"),),
        "delete": (Way("schedule_delete"),),
        "list": (Way("schedule_list"), Way("")),
    },
    gone_reason="deleted, or not visible to this key (404)",
    owner="host_id",
    node_style=NodeStyle(("((", "))"), "circle", "#fee2e2"),
    attributes=(
        read_only("id", "The console's id of the schedule."),
        Attribute("name", "The schedule's name.", required=True),
        Attribute("host_id", "Id of the host.", required=True, refers_to="host"),
        Attribute("cron", "When it is due.", optional=True, computed=True),
        read_only("updated_at", "When it was last changed, ISO 8601.", volatile=True),
    ),
)

_ONE, _ALL = "/api/v1/schedules/{id}", "/api/v1/schedules"
_CREATE = Operation("schedule_create", "POST", _ALL, idempotent=False, documented=True)
_READ = Operation("schedule_get", "GET", _ONE, idempotent=True, documented=True)
_UPDATE = Operation("schedule_update", "POST", _ONE, idempotent=True, documented=True)
_DELETE = Operation("schedule_delete", "DELETE", _ONE, idempotent=True, documented=True)
_LIST = Operation("schedule_list", "", "", idempotent=True, nameable=True, lists="schedules")


class ScheduleLifecycle(BaseLifecycle):
    """The steps of `opsconsole_schedule`, all of them as its definition says."""

    definition: ClassVar[ResourceDefinition] = SCHEDULE


class Schedules:
    """The console's schedules, by id, and its handlers for them."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self._writes = 0

    def create(self, console: EmulatedConsole, call: ConsoleRequest) -> Answer:
        schedule_id = console.store.new_id("sch")
        self.rows[schedule_id] = {"id": schedule_id}
        return self._write(schedule_id, call)

    def get(self, console: EmulatedConsole, call: ConsoleRequest) -> Answer:
        host = self.rows.get(call.ids[0], {}).get("host_id")
        if host is None or console.store.hosts.get(host) is None:
            raise not_found("schedule", call.ids[0])
        return Answer(self.rows[call.ids[0]])

    def list(self, console: EmulatedConsole, call: ConsoleRequest) -> Answer:
        rows = list(self.rows.values())
        envelope = {"object": "list", "data": rows, "has_more": False, "total_count": len(rows)}
        return Answer(envelope)

    def update(self, console: EmulatedConsole, call: ConsoleRequest) -> Answer:
        self.get(console, call)
        return self._write(call.ids[0], call)

    def delete(self, console: EmulatedConsole, call: ConsoleRequest) -> Answer:
        self.get(console, call)
        del self.rows[call.ids[0]]
        return Answer({"id": call.ids[0], "deleted": True})

    def _write(self, schedule_id: str, call: ConsoleRequest) -> Answer:
        self._writes += 1
        self.rows[schedule_id] |= json_body(call.body)
        self.rows[schedule_id]["updated_at"] = f"2026-01-01T00:00:{self._writes:02}Z"
        return Answer(self.rows[schedule_id])


@contextlib.contextmanager
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Schedules]:
    """Register the resource until the block ends; yields what the console holds of it."""
    monkeypatch.setitem(cast(dict[str, Any], RESOURCES), SCHEDULE.type_name, SCHEDULE)
    lifecycle = f"{__name__}:{ScheduleLifecycle.__name__}"
    monkeypatch.setitem(cast(dict[str, Any], LIFECYCLES), SCHEDULE.type_name, lifecycle)
    held = Schedules()
    handlers = {_CREATE: held.create, _READ: held.get, _UPDATE: held.update, _DELETE: held.delete}
    handlers[_LIST] = held.list
    for operation, handler in handlers.items():
        monkeypatch.setitem(OPERATIONS, operation.name, operation)
        DOCUMENTED[operation.name] = f"GET {_ALL}" if operation is _LIST else str(operation)
        HANDLERS[operation.name] = handler
    monkeypatch.setitem(NAMEABLE, _LIST.name, _LIST)
    yield held
    for operation in handlers:
        for table in (DOCUMENTED, HANDLERS):
            del table[operation.name]
