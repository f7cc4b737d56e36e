"""Compares a drift report with an earlier one: new, resolved and open drift. Pure.

The unit is one differing attribute of one resource, or the bucket of the resource. Values do not
matter. A further change of an attribute that has already drifted is not new.

| the earlier report | this check | it is |
|---|---|---|
| not there, or accepted | counts as drift | new |
| counted as drift | counts as drift | open |
| counted as drift | is seen and in sync, has left state, or is accepted | resolved |
| counted as drift | could not see it, or could not tell at all | open, not seen |
| an attribute differed | the resource is missing or archived | neither |
| counted as drift | does not read its stack | neither |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from opsconsole.drift.model import Bucket, Comparison, DriftEntry, DriftReport, Finding

_Key = tuple[str, str, str]
"""The stack, the address, and the unit that differs. An unmanaged object belongs to no stack."""


def compare(report: DriftReport, earlier: DriftReport | None) -> DriftReport:
    """Compare a report with an earlier one; without one, all drift is new."""
    now = _units_by_key(report.findings)
    before = _units_by_key(earlier.findings) if earlier else {}
    if earlier is not None and earlier.comparison is not None:
        # The findings of an earlier check lack everything that the check could not see.
        for entry in earlier.comparison.open:
            if not entry.seen:
                units = (replace(entry, what=(what,), seen=True) for what in entry.what)
                before = {_key(unit): unit for unit in units} | before
    by_address = {
        _finding_key(item.stack, item.address, item.bucket.value): item for item in report.findings
    }
    gone = [
        (unit, _is_resolved(unit, report, by_address))
        for key, unit in before.items()
        if key not in now
    ]
    comparison = Comparison(
        earlier.checked_at if earlier else "",
        new=_merge_by_resource(unit for key, unit in now.items() if key not in before),
        resolved=_merge_by_resource(unit for unit, resolved in gone if resolved),
        open=(
            *_merge_by_resource(unit for key, unit in now.items() if key in before),
            *_merge_by_resource(
                replace(unit, seen=False) for unit, resolved in gone if resolved is False
            ),
        ),
    )
    new = {(item.stack, item.address): item.what for item in comparison.new}
    findings = (
        replace(item, new=new.get((item.stack, item.address), ())) if item.is_drift else item
        for item in report.findings
    )
    return replace(report, findings=tuple(findings), comparison=comparison)


def _is_resolved(
    unit: DriftEntry, report: DriftReport, by_address: Mapping[tuple[str, str], Finding]
) -> bool | None:
    """Return whether earlier drift is resolved.

    False: it is open and was not seen. None: neither. An inconclusive check resolves nothing.
    """
    [what] = unit.what
    if not report.is_conclusive:
        return False
    if unit.stack not in report.scope.stacks:
        return None
    finding = by_address.get(_finding_key(unit.stack, unit.address, what))
    if finding is None:
        # A resource without a finding has left state. An unmanaged object may only be hidden by a
        # list that was not read to its end.
        unmanaged = what == Bucket.UNMANAGED.value
        return not unmanaged or unit.type_name in report.scope.listed
    if finding.bucket is Bucket.UNCHECKED or what in finding.unobserved:
        return False
    # It is there still, and only its kind does not count in this check.
    if finding.bucket is Bucket.UNMANAGED and not finding.counted:
        return False
    # The attribute is gone with its object, and the drift of the object itself is new.
    if finding.is_drift and finding.bucket in (Bucket.MISSING, Bucket.ARCHIVED):
        return None
    return True


def _units_by_key(findings: Iterable[Finding]) -> dict[_Key, DriftEntry]:
    units = (
        DriftEntry(finding.stack, finding.address, finding.type_name, finding.label, (what,))
        for finding in findings
        if finding.is_drift
        for what in finding.drifting
    )
    return {_key(unit): unit for unit in units}


def _key(unit: DriftEntry) -> _Key:
    [what] = unit.what
    return (*_finding_key(unit.stack, unit.address, what), what)


def _finding_key(stack: str, address: str, what: str) -> tuple[str, str]:
    # An unmanaged object is shown under any stack of its console, and that stack may change.
    return "" if what == Bucket.UNMANAGED.value else stack, address


def _merge_by_resource(units: Iterable[DriftEntry]) -> tuple[DriftEntry, ...]:
    entries: dict[tuple[str, str], DriftEntry] = {}
    for unit in units:
        earlier = entries.get((unit.stack, unit.address))
        merged = replace(earlier, what=(*earlier.what, *unit.what)) if earlier else unit
        entries[unit.stack, unit.address] = merged
    return tuple(entries.values())
