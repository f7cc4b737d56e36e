"""Settling creations of hosts whose outcome a crash left unknown, by a dry run of their rows.

A dry run that knows a row under an id shows that the host came to be. One that would create it
shows the contrary only where the console demonstrably recognises hosts by such rows: where the row
of a host that certainly exists, cut to the same fields, is recognised in the same dry run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from opsconsole.errors import BadRequest, TooLarge
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.bulk_import import (
    DryRunIgnored,
    RowVerdict,
    dry_run,
    verdicts,
    was_created,
)
from opsconsole.lifecycle.host_row import HostRow, OtherHost, import_row, read_back
from opsconsole.lifecycle.interface import CreateOutcome, LostCreate, SettledCreate
from opsconsole.resources import HOST
from opsconsole.values import Attributes

_UNKNOWN = SettledCreate(CreateOutcome.UNKNOWN)
_Fields = frozenset[str]


async def settle_host_creates(
    steps: BaseLifecycle, lost: Sequence[LostCreate], existing: Sequence[Attributes]
) -> list[SettledCreate]:
    """Return what became of creations that fit into one dry run beside as many witnesses, in order.

    Args:
        existing: Hosts that are known to exist, for comparison.

    Raises:
        ConsoleError: The console could not be asked.
    """
    rows = [_row(steps, item) for item in lost]
    witnesses = _witnesses(rows, existing)
    sent = [row.fields for row in rows] + [witness for _, witness in witnesses.values()]
    try:
        result = await dry_run(steps.session, sent)
    except (BadRequest, TooLarge, DryRunIgnored) as problem:
        steps.log(problem, "settle what an earlier run may have created")
        return [_UNKNOWN] * len(rows)
    judged = verdicts(result, len(sent))
    ids = Counter(verdict.id for verdict in judged)
    held = {item.get("id") for item in existing}

    def came(item: LostCreate, verdict: RowVerdict) -> bool:
        if not result.dry_run:  # a console that ignored the dry run has imported it just now
            return verdict.created and verdict.id is not None
        is_new = ids[verdict.id] == 1 and verdict.id not in held
        return (
            verdict.id is not None
            and is_new
            and verdict.matched
            and was_created(verdict, item.dry_run_status)
        )

    found = [
        (item, row, verdict, came(item, verdict))
        for item, row, verdict in zip(lost, rows, judged, strict=False)
    ]
    recognised = {frozenset(row.fields) for _, row, _, yes in found if yes}
    vouched = zip(witnesses.items(), judged[len(rows) :], strict=True)
    recognised |= {fields for (fields, (host_id, _)), verdict in vouched if verdict.id == host_id}
    if not result.dry_run:
        recognised.clear()
    return [
        await _settled(
            steps, row, verdict, yes, frozenset(row.fields) in recognised, item.dry_run_status
        )
        for item, row, verdict, yes in found
    ]


def _row(steps: BaseLifecycle, item: LostCreate) -> HostRow:
    request = item.request(HOST)
    return HostRow(request, import_row(request, steps.session.settings.org_id))


def _witnesses(
    rows: Sequence[HostRow], existing: Sequence[Attributes]
) -> Mapping[_Fields, tuple[str, dict[str, object]]]:
    """Return a host that exists for each set of fields: its id, and its row of these fields."""
    found: dict[_Fields, tuple[str, dict[str, object]]] = {}
    for fields in {frozenset(row.fields): None for row in rows}:
        for host in existing:
            if all(host.get(name) is not None for name in fields):
                found[fields] = (host["id"], {name: host[name] for name in fields})
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
    if not came:
        new = verdict.matched and (
            verdict.created or (bool(dry_run_status) and verdict.status == dry_run_status)
        )
        return SettledCreate(CreateOutcome.NEVER) if new and recognisable else _UNKNOWN
    assert verdict.id is not None
    try:
        return SettledCreate(CreateOutcome.CREATED, await read_back(steps, row, verdict.id))
    except OtherHost as problem:
        steps.log(problem, f"settle the creation of {row.fields['name']}")
        return _UNKNOWN
