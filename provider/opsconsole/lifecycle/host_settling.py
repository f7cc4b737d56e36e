"""Settling creations of hosts whose outcome a crash left unknown, by a dry run of their rows.

A dry run that knows a row under an id shows that the host came to be. One that would create it
shows the contrary only where the console demonstrably recognises hosts by such rows: where the row
of a host that certainly exists, cut to the same fields, is recognised in the same dry run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsconsole.errors import BadRequest, TooLarge
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.bulk_import import (
    DryRunIgnored,
    RowVerdict,
    guarded,
    verdicts,
    was_created,
)
from opsconsole.lifecycle.host_row import HostRow, OtherHost, import_row, read_back
from opsconsole.lifecycle.interface import CreateOutcome, CreateRequest, LostCreate, SettledCreate
from opsconsole.resources import HOST
from opsconsole.values import UNKNOWN, Attributes

_UNKNOWN = SettledCreate(CreateOutcome.UNKNOWN)
_Fields = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Witness:
    """A host that exists, as a row of the same fields as the rows that it vouches for."""

    id: str
    row: dict[str, object]


async def settle_host_creates(
    steps: BaseLifecycle, lost: Sequence[LostCreate], existing: Sequence[Attributes]
) -> list[SettledCreate]:
    """Return what became of each creation, in order.

    Args:
        existing: Hosts that are known to exist, for comparison.

    Raises:
        ConsoleError: The console could not be asked.
    """
    size = max(1, steps.session.import_chunk_size // 2)
    found: list[SettledCreate] = []
    for start in range(0, len(lost), size):
        found += await _one_chunk(steps, lost[start : start + size], existing)
    return found


async def _one_chunk(
    steps: BaseLifecycle, lost: Sequence[LostCreate], existing: Sequence[Attributes]
) -> list[SettledCreate]:
    rows = [_row(steps, item) for item in lost]
    witnesses = _witnesses(rows, existing)
    sent = [row.fields for row in rows] + [item.row for item in witnesses.values()]
    try:
        result = await guarded(
            steps.session,
            lambda: steps.session.console.import_hosts(sent, on_error="continue", dry_run=True),
        )
    except (BadRequest, TooLarge, DryRunIgnored) as problem:
        steps.log(problem, "settle what an earlier run may have created")
        return [_UNKNOWN] * len(rows)
    judged = verdicts(result, len(sent))
    if not result.dry_run:
        return [
            await _imported(steps, row, verdict) for row, verdict in zip(rows, judged, strict=False)
        ]
    ids = Counter(verdict.id for verdict in judged)
    held = {item.get("id") for item in existing}
    came = [
        verdict.id is not None
        and ids[verdict.id] == 1
        and verdict.id not in held
        and verdict.matched
        and was_created(verdict, item.dry_run_status)
        for item, verdict in zip(lost, judged, strict=False)
    ]
    recognised = {fields for fields, yes in zip(map(_fields, rows), came, strict=True) if yes}
    vouched = zip(witnesses.items(), judged[len(rows) :], strict=True)
    recognised |= {fields for (fields, item), verdict in vouched if verdict.id == item.id}
    return [
        await _settled(steps, row, verdict, yes, _fields(row) in recognised, item.dry_run_status)
        for item, row, verdict, yes in zip(lost, rows, judged, came, strict=False)
    ]


def _row(steps: BaseLifecycle, item: LostCreate) -> HostRow:
    planned = {name: item.planned.get(name) for name in HOST.names}
    config = {a.name: planned[a.name] for a in HOST.settable}
    unknown = {a.name: UNKNOWN for a in HOST if a.computed and planned[a.name] is None}
    request = CreateRequest(config, planned | unknown, address=item.address)
    return HostRow(request, import_row(request, steps.session.settings.org_id))


def _fields(row: HostRow) -> _Fields:
    return frozenset(row.fields)


def _witnesses(
    rows: Sequence[HostRow], existing: Sequence[Attributes]
) -> Mapping[_Fields, _Witness]:
    found: dict[_Fields, _Witness] = {}
    for fields in map(_fields, rows):
        if fields in found:
            continue
        for host in existing:
            if all(host.get(name) is not None for name in fields):
                found[fields] = _Witness(host["id"], {name: host[name] for name in fields})
                break
    return found


async def _settled(
    steps: BaseLifecycle,
    row: HostRow,
    verdict: RowVerdict,
    came: bool,
    recognisable: bool,
    dry_run_status: str,
) -> SettledCreate:
    if came:
        assert verdict.id is not None
        return await _read(steps, row, verdict.id)
    new = verdict.matched and (
        verdict.created or (bool(dry_run_status) and verdict.status == dry_run_status)
    )
    return SettledCreate(CreateOutcome.NEVER) if new and recognisable else _UNKNOWN


async def _imported(steps: BaseLifecycle, row: HostRow, verdict: RowVerdict) -> SettledCreate:
    """Take a row as imported just now, by a console that ignored the dry run."""
    if verdict.created and verdict.id is not None:
        return await _read(steps, row, verdict.id)
    return _UNKNOWN


async def _read(steps: BaseLifecycle, row: HostRow, host_id: str) -> SettledCreate:
    try:
        return SettledCreate(CreateOutcome.CREATED, await read_back(steps, row, host_id))
    except OtherHost as problem:
        steps.log(problem, f"settle the creation of {row.fields['name']}")
        return _UNKNOWN
