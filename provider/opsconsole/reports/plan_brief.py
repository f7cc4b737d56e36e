"""The short form of a plan's changes, for a plan of many: kinds, counts and names.

What is created or goes away is named only: all of it is new, or all of it is gone. What is changed
in place is shown attribute by attribute, as in the long form.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from opsconsole.reconcile.changes import Action, Change
from opsconsole.reports.addresses import parsed
from opsconsole.reports.colour import Pen
from opsconsole.reports.literals import printable
from opsconsole.reports.wording import heading, symbol

ABOVE = 40
"""So many changes are shown in full."""

_WIDTH = 100
_NAMED = (Action.CREATE, Action.DELETE, Action.READ, Action.FORGET)


def is_named(change: Change) -> bool:
    """Tell whether the short form only names a change."""
    plain = not (change.import_id or change.previous_address or change.notes)
    return change.action in _NAMED and plain


def lines(
    changes: Sequence[Change], cascades: Mapping[str, Sequence[Change]], pen: Pen
) -> Iterator[str]:
    """Yield the lines of the changes that are only named, grouped by what happens to which kind."""
    groups: dict[tuple[str, str, str], list[Change]] = {}
    for change in changes:
        place = parsed(change.address, change.type_name)
        kind = f"data.{change.type_name}" if place.mode == "data" else change.type_name
        groups.setdefault((symbol(change), kind, heading(change).verb), []).append(change)
    for (sign, kind, verb), group in groups.items():
        count = f"{len(group):,} {kind}" if len(group) > 1 else kind
        yield f"  {pen.sign(sign)} {pen.bold(count)} {verb}"
        names = ", ".join(_name(change) for change in group)
        yield from textwrap.wrap(
            names,
            _WIDTH,
            initial_indent=" " * 6,
            subsequent_indent=" " * 6,
            break_long_words=False,
            break_on_hyphens=False,
        )
        along = sum(len(cascades.get(change.address, ())) for change in group)
        if along:
            yield f"      ({along:,} archived with them, without a call)"
        yield ""


def _name(change: Change) -> str:
    if change.construct_path:
        return printable(change.construct_path)
    place = parsed(change.address, change.type_name)
    return printable(change.address.partition(f"{place.type}.")[2] or change.address)
