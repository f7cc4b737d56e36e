"""What could not be checked: one diagnostic for each cause, not for each resource. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from opsconsole.diagnostics import Diagnostic, Severity, has_error
from opsconsole.drift.buckets import ObjectRead
from opsconsole.errors import Cause, ProblemKind
from opsconsole.resources import RESOURCES


@dataclass
class _Group:
    """The resources that were not checked for one reason."""

    grave: bool = False
    details: list[tuple[str, Cause | None]] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    types: Counter[str] = field(default_factory=Counter)


def explain_unread(objects: Iterable[ObjectRead], *, tolerant: bool) -> tuple[Diagnostic, ...]:
    """Return why resources were not checked: one diagnostic a cause.

    A failed call (401, 5xx, HTML, no answer) is an error. Where the console shows no more
    (truncated lists, hosts that cannot be read) it is a warning, and coverage decides. A 403 is an
    error too, unless `tolerant`: a coverage below 100 % was asked for.
    """
    groups: dict[tuple[object, ...], _Group] = {}
    for read in objects:
        if not read.is_unread:
            continue
        outcome, cause, known = read.outcome, read.outcome.cause, read.item.known
        group = groups.setdefault((outcome.reason, cause and cause.gist), _Group())
        refused = cause is not None and cause.kind is ProblemKind.FORBIDDEN
        failed = has_error(outcome.diagnostics) or refused
        group.grave = group.grave or (failed and not (refused and tolerant))
        group.details.append((_sentence(outcome.reason), cause))
        group.details += (
            (item.detail, item.cause)
            for item in outcome.diagnostics
            if cause is None or item.cause != cause
        )
        group.addresses.append(known.address)
        group.types[known.type_name] += 1
    return tuple(map(_diagnostic, groups.values()))


def _diagnostic(group: _Group) -> Diagnostic:
    severity = Severity.ERROR if group.grave else Severity.WARNING
    counted = [_counted(type_name, count) for type_name, count in group.types.items()]
    listed = " and ".join([", ".join(counted[:-1]), counted[-1]] if counted[:-1] else counted)
    return max(
        (
            Diagnostic(
                severity,
                f"{listed} could not be checked",
                detail,
                cause=cause,
                addresses=tuple(group.addresses),
            )
            for detail, cause in group.details
        ),
        # One of the diagnostics explains the cause in full; the others only refer to it.
        key=lambda item: len(item.text),
    )


def _sentence(reason: str) -> str:
    """Return a reason, which findings show within a line, as a sentence."""
    stop = "" if reason.endswith((".", "!", "?")) else "."
    return f"{reason[0].upper()}{reason[1:]}{stop}" if reason else ""


def _counted(type_name: str, count: int) -> str:
    title = RESOURCES[type_name].title
    if count == 1:
        return f"1 {title}"
    plural = f"{title[:-1]}ies" if title.endswith("y") else f"{title}s"
    return f"{count:,} {plural}"
