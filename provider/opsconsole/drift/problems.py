"""What could not be checked, told once for each cause instead of once for each resource. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from opsconsole.diagnostics import Diagnostic, Severity, has_error
from opsconsole.drift.stack import Held
from opsconsole.lifecycle.interface import NOT_PERMITTED, Outcome, Seen
from opsconsole.resources import RESOURCES

_VARYING = re.compile(r", request id [^,)\s]*|\b(?:GET|POST|PUT|PATCH|DELETE) /\S*: ")
"""What differs between answers that mean the same: the operation and the request's id."""
_ANSWER = re.compile(r".*?\(status \d+, code [^)]*\)", re.DOTALL)
"""An answer of the console; only the first of its kind has a remedy behind it."""

_NAMED = 3


@dataclass
class _Cause:
    grave: bool = False
    details: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    types: Counter[str] = field(default_factory=Counter)


def problems(
    read: Iterable[tuple[Held, Outcome | None, str]], *, tolerant: bool
) -> tuple[Diagnostic, ...]:
    """Return why resources were not checked: one diagnostic a cause.

    An answer that is no answer (401, 5xx, HTML, nothing) is an error: the check met trouble. That
    the console shows no more (truncated lists, hosts that cannot be read) is a warning, and
    coverage decides. A refusal by 403 is an error too, unless `tolerant`: a coverage below 100 %
    was asked for.

    Args:
        read: Each resource, what reading said, and why there is no outcome where there is none.
    """
    causes: dict[str, _Cause] = {}
    for held, outcome, why in read:
        if outcome is None:
            cause = causes.setdefault(why, _Cause(grave=True))
            cause.details.append(why)
        elif outcome.seen is Seen.UNCHECKED:
            cause = causes.setdefault(_kind(outcome.reason), _Cause())
            refused = outcome.reason.startswith(NOT_PERMITTED)
            failed = has_error(outcome.diagnostics) or refused
            cause.grave = cause.grave or (failed and not (refused and tolerant))
            cause.details.append(outcome.reason)
            cause.details += (
                item.detail for item in outcome.diagnostics if outcome.reason not in item.detail
            )
        else:
            continue
        cause.addresses.append(held.known.address)
        cause.types[held.known.type_name] += 1
    return tuple(_told(cause) for cause in causes.values())


def _kind(reason: str) -> str:
    """Return what reasons of one cause have in common."""
    said = _VARYING.sub("", reason)
    answer = _ANSWER.match(said)
    return answer[0] if answer else said


def _told(cause: _Cause) -> Diagnostic:
    severity = Severity.ERROR if cause.grave else Severity.WARNING
    which = ", ".join(cause.addresses[:_NAMED])
    more = len(cause.addresses) - _NAMED
    if more > 0:
        which += f" and {more:,} more"
    # One of many answers explains the cause in full; the others only refer to it.
    detail = max(cause.details, key=len)
    counted = [_counted(type_name, count) for type_name, count in cause.types.items()]
    listed = " and ".join([", ".join(counted[:-1]), counted[-1]] if counted[:-1] else counted)
    return Diagnostic(severity, f"{listed} could not be checked", f"{detail}\n{which}")


def _counted(type_name: str, count: int) -> str:
    title = RESOURCES[type_name].title
    if count == 1:
        return f"1 {title}"
    plural = f"{title[:-1]}ies" if title.endswith("y") else f"{title}s"
    return f"{count:,} {plural}"
