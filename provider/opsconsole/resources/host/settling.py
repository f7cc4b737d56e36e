"""Settling creations of hosts whose outcome a crash left unknown, by a dry run of their rows.

A dry run that shows an id for a row proves that the host was created. A dry run that would create
the host shows the contrary only if the console demonstrably recognises hosts by such rows. It does
if the same dry run recognises the row of a host that certainly exists, cut to the same fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from opsconsole.errors import BadRequest, TooLarge
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import CreateOutcome, LostCreate, SettledCreate, creation_fields
from opsconsole.resources import HOST
from opsconsole.resources.host.rows import HostRow, OtherHost, read_back
from opsconsole.resources.host.verdicts import (
    DryRunIgnored,
    RowVerdict,
    dry_run,
    match_verdicts,
    was_created,
)
from opsconsole.values import Attributes

_UNKNOWN = SettledCreate(CreateOutcome.UNKNOWN)
_Fields = frozenset[str]


async def settle_host_creates(
    lifecycle: BaseLifecycle, lost: Sequence[LostCreate], existing: Sequence[Attributes]
) -> list[SettledCreate]:
    """Return the outcomes of creations, in order; they fit into one dry run with as many witnesses.

    Args:
        existing: Hosts that are known to exist, for comparison.

    Raises:
        ConsoleError: The console could not be asked.
    """
    org_id = lifecycle.session.settings.org_id
    requests = [item.request(HOST) for item in lost]
    rows = [HostRow(item, creation_fields(HOST, item.config, org_id)) for item in requests]
    witnesses = _witnesses(rows, existing)
    sent = [row.fields for row in rows] + [witness for _, witness in witnesses.values()]
    try:
        result = await dry_run(lifecycle.session, sent)
    except (BadRequest, TooLarge, DryRunIgnored) as problem:
        lifecycle.log(problem, "settle what an earlier run may have created")
        return [_UNKNOWN] * len(rows)
    judged = match_verdicts(result, len(sent))
    exist = _which_exist(lost, judged, existing, imported=not result.dry_run)
    recognised: set[_Fields] = set()
    if result.dry_run:
        recognised.update(
            frozenset(row.fields) for row, yes in zip(rows, exist, strict=True) if yes
        )
        vouched = zip(witnesses.items(), judged[len(rows) :], strict=True)
        recognised.update(fields for (fields, (host_id, _)), it in vouched if it.id == host_id)
    return [
        await _settle(
            lifecycle, row, verdict, yes, frozenset(row.fields) in recognised, item.dry_run_status
        )
        for item, row, verdict, yes in zip(lost, rows, judged, exist, strict=False)
    ]


def _which_exist(
    lost: Sequence[LostCreate],
    judged: Sequence[RowVerdict],
    existing: Sequence[Attributes],
    *,
    imported: bool,
) -> list[bool]:
    """Return which hosts exist; `imported`: the console ignored the dry run and created them."""
    if imported:
        # The witnesses have verdicts too, behind those of the rows.
        pairs = zip(lost, judged, strict=False)
        return [verdict.created and verdict.id is not None for _, verdict in pairs]
    # An id that several rows share, or that is in state, proves no creation.
    ids = Counter(verdict.id for verdict in judged)
    others = {item.get("id") for item in existing}
    return [
        ids[verdict.id] == 1
        and verdict.id not in others
        and was_created(verdict, item.dry_run_status)
        for item, verdict in zip(lost, judged, strict=False)
    ]


def _witnesses(
    rows: Sequence[HostRow], existing: Sequence[Attributes]
) -> Mapping[_Fields, tuple[str, dict[str, object]]]:
    """Return a host that exists for each set of fields: its id, and its row of these fields."""
    witnesses: dict[_Fields, tuple[str, dict[str, object]]] = {}
    # In the order of the row, so that the same run sends the same bytes.
    for fields, names in {frozenset(row.fields): [*row.fields] for row in rows}.items():
        for host in existing:
            if all(host.get(name) is not None for name in names):
                witnesses[fields] = (host["id"], {name: host[name] for name in names})
                break
    return witnesses


async def _settle(
    lifecycle: BaseLifecycle,
    row: HostRow,
    verdict: RowVerdict,
    exists: bool,
    recognisable: bool,
    dry_run_status: str,
) -> SettledCreate:
    if not exists:
        new = verdict.created or (bool(dry_run_status) and verdict.status == dry_run_status)
        return SettledCreate(CreateOutcome.NEVER) if new and recognisable else _UNKNOWN
    assert verdict.id is not None
    try:
        return SettledCreate(CreateOutcome.CREATED, await read_back(lifecycle, row, verdict.id))
    except OtherHost as problem:
        lifecycle.log(problem, f"settle the creation of {row.fields['name']}")
        return _UNKNOWN
