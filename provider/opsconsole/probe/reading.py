"""What a probe asks of one host: whether it can be read, and what reading it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from opsconsole.errors import UnexpectedAnswer
from opsconsole.lifecycle.answers import shown
from opsconsole.probe.calls import NotAllowed, ProbeCall, ProbeCalls, ProbeFinding, unknown_id
from opsconsole.resources import HOST
from opsconsole.v1.console import resource
from opsconsole.v1.exchange import Operation, WrongShape
from opsconsole.v1.operations import UPDATE_HOST, extra_operation

MISSING_HOST: Final = "hst_opsconsole_probe_none"
_SCALARS: Final = tuple(
    attribute.name for attribute in HOST.answered if not attribute.kind.holds_texts
)


@dataclass(frozen=True, slots=True)
class HostRead:
    """A host as it was read, empty where it could not be, and what reading it showed.

    Attributes:
        number: The call that read it.
        fields: What the answer shows, sets sorted.
        tags: The tags as they were answered.
    """

    number: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    findings: tuple[ProbeFinding, ...] = ()


def host_reading(extra_endpoints: Mapping[str, str]) -> Operation:
    """Return the operation that a host is read by."""
    named = extra_endpoints.get("host_get")
    return extra_operation("host_get", named) if named else UPDATE_HOST


async def read_host(calls: ProbeCalls, host_id: str) -> HostRead:
    """Read a host twice, as a refresh would, and one that does not exist."""
    operation = host_reading(calls.settings.extra_endpoints)
    named = operation is not UPDATE_HOST
    try:
        first = await _read(calls, operation, host_id)
        second = await _read(calls, operation, host_id)
        missing = await _read(calls, operation, MISSING_HOST)
    except NotAllowed as not_allowed:
        names = ("host_reading", "reading_bumps", "unset_fields", "missing_host")
        return HostRead(findings=tuple(ProbeFinding(name, why=str(not_allowed)) for name in names))
    found = [unknown_id("missing_host", missing, first)]
    for call in (first, second):
        if problem := _no_host(call, host_id):
            refused = not named and first.status == second.status == 400
            return HostRead(findings=(*found, *_unread(call, problem, refused=refused)))
    how = "by host_get" if named else "by an update without a field"
    numbers = (first.number, second.number)
    settings = {} if named else {"host_read": "empty_update"}
    found.append(ProbeFinding("host_reading", how, calls=numbers, value=True, settings=settings))
    found.append(_bumps(first, second))
    found.append(_unset(first, second))
    fields = shown(HOST.answered, first.body)
    return HostRead(first.number, fields, tuple(first.body.get("tags") or ()), tuple(found))


def _no_host(call: ProbeCall, host_id: str) -> str:
    """Return why an answer does not show the host, or nothing."""
    if not call.succeeded:
        return call.outcome
    try:
        shown(HOST.answered, resource(dict(call.body), host_id))
    except WrongShape as problem:
        return f"{call.status} with {problem}"
    except UnexpectedAnswer as problem:
        return problem.message
    if call.body.get("name") is None:
        return f"{call.status} without its name, so only a part of it is shown"
    return ""


async def _read(calls: ProbeCalls, operation: Operation, host_id: str) -> ProbeCall:
    body: dict[str, Any] | None = None if operation.method == "GET" else {}
    return await calls.ask(operation, host_id, body=body)


def _unread(call: ProbeCall, problem: str, *, refused: bool) -> list[ProbeFinding]:
    why = f"The host was not read: {problem.removesuffix('.')}."
    rest = [ProbeFinding(name, why=why) for name in ("reading_bumps", "unset_fields")]
    if refused:
        # Another host may be read all the same, so no setting says that none is.
        answer = f"not this one: an update without a field is refused ({call.outcome})"
        return [ProbeFinding("host_reading", answer, calls=(call.number,), value=False), *rest]
    return [ProbeFinding("host_reading", why=why), *rest]


def _bumps(first: ProbeCall, second: ProbeCall) -> ProbeFinding:
    before, after = (call.body.get("updated_at") for call in (first, second))
    numbers = (first.number, second.number)
    if before is None or after is None:
        return ProbeFinding("reading_bumps", why="The host shows no updated_at.")
    moved = before != after
    answer = "yes: it moves updated_at" if moved else "no: updated_at stays"
    return ProbeFinding("reading_bumps", answer, calls=numbers, value=moved)


def _unset(first: ProbeCall, second: ProbeCall) -> ProbeFinding:
    """Say how fields that no answer gives a value are shown."""
    bodies = (first.body, second.body)
    empty = [name for name in _SCALARS if all(body.get(name) is None for body in bodies)]
    shown = {name in body for name in empty for body in bodies}
    numbers = (first.number, second.number)
    if not shown:
        return ProbeFinding("unset_fields", why="Every field of this host has a value.")
    value = "either" if len(shown) == 2 else "null" if True in shown else "absent"
    words = {"null": "null", "absent": "left out", "either": "null or left out"}
    return ProbeFinding("unset_fields", words[value], calls=numbers, value=value)
