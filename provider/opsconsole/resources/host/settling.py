"""Settles creates of hosts that an earlier run left unsettled, by a dry run of their rows.

A dry run that shows an id for a row proves that the host was created. A dry run that would create
the host proves the contrary only if it also recognises a control row: the row of a host that
certainly exists, cut to the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opsconsole.errors import BadRequest, TooLarge
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import NEVER_CREATED, STILL_UNSETTLED, Outcome, UnsettledCreate
from opsconsole.lifecycle.planning import creation_fields, request_of
from opsconsole.resources import HOST
from opsconsole.resources.host.rows import ImportRow, OtherHost, read_back
from opsconsole.resources.host.verdicts import DryRunIgnored, GuardedImports, match_verdicts
from opsconsole.values import Values

_FieldNames = frozenset[str]


async def settle_host_creates(
    lifecycle: BaseLifecycle, creates: Sequence[UnsettledCreate], existing: Sequence[Values]
) -> list[Outcome]:
    """Settle creates, in order, which fit into one dry run with as many control rows.

    Args:
        existing: Hosts that are known to exist.
    """
    org_id = lifecycle.session.settings.org_id
    rows = []
    for item in creates:
        request = request_of(item, HOST)
        fields = creation_fields(HOST, request.config, org_id)
        rows.append(ImportRow(request, fields, dry_run_status=item.dry_run_status))
    control = _control_rows(rows, existing)
    try:
        sent = [row.fields for row in rows] + [fields for _, fields in control.values()]
        result = await lifecycle.session.singleton(GuardedImports).dry_run(sent)
    except (BadRequest, TooLarge, DryRunIgnored) as problem:
        lifecycle.log(problem, "settle what an earlier run may have created")
        return [STILL_UNSETTLED] * len(rows)
    verdicts = match_verdicts(result, len(sent))
    in_state = {host.get("id") for host in existing}
    created = []
    for row, verdict in zip(rows, verdicts, strict=False):
        row.verdict = verdict
        # An id that several rows share, or that is in state, proves no creation.
        is_new = not verdict.is_shared and verdict.id not in in_state
        is_shown = is_new and verdict.shows_creation(row.dry_run_status)
        # A dry run that was not honoured has created the host itself.
        if verdict.id is not None and (is_shown if result.dry_run else verdict.created):
            created.append(row)
    recognised: set[_FieldNames] = set()
    if result.dry_run:
        recognised.update(frozenset(row.fields) for row in created)
        answers = zip(control.items(), verdicts[len(rows) :], strict=True)
        recognised.update(names for (names, (host_id, _)), it in answers if it.id == host_id)
    outcomes: list[Outcome] = []
    for row in rows:
        if row in created:
            outcomes.append(await _read_created(lifecycle, row))
            continue
        status = row.dry_run_status
        would_create = row.verdict.created or (bool(status) and row.verdict.status == status)
        never = would_create and frozenset(row.fields) in recognised
        outcomes.append(NEVER_CREATED if never else STILL_UNSETTLED)
    return outcomes


def _control_rows(
    rows: Sequence[ImportRow], existing: Sequence[Values]
) -> Mapping[_FieldNames, tuple[str, dict[str, object]]]:
    """Return the id and the row of an existing host, for each set of fields in `rows`."""
    control: dict[_FieldNames, tuple[str, dict[str, object]]] = {}
    # In the order of the row, so that the same run sends the same bytes.
    for fields, names in {frozenset(row.fields): [*row.fields] for row in rows}.items():
        shown = (it for it in existing if all(it.get(name) is not None for name in names))
        if host := next(shown, None):
            control[fields] = (host["id"], {name: host[name] for name in names})
    return control


async def _read_created(lifecycle: BaseLifecycle, row: ImportRow) -> Outcome:
    try:
        return await read_back(lifecycle, row)
    except OtherHost as problem:
        lifecycle.log(problem, f"settle the creation of {row.fields['name']}")
        return STILL_UNSETTLED
