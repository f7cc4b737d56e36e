"""The short form of a plan's changes, for a plan of many: kinds, counts and names.

What is created or goes away is named only: all of it is new, or all of it is gone. What is changed
in place is shown attribute by attribute, as in the long form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from opsconsole.reconcile.changes import Action, Change
from opsconsole.reports.addresses import parsed
from opsconsole.reports.colour import Pen
from opsconsole.reports.labels import heading, symbol
from opsconsole.reports.literals import printable, wrapped
from opsconsole.state import print_key

_WIDTH = 100
_NAMED = (Action.CREATE, Action.DELETE, Action.READ, Action.FORGET, Action.NO_OP)
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.ASCII | re.DOTALL)
_RUN = 4
"""So many names that count up by one are written as the first and the last of them."""


def is_named(change: Change) -> bool:
    """Return whether the short form only names a change."""
    return change.action in _NAMED


def lines(
    changes: Sequence[Change], cascades: Mapping[str, Sequence[Change]], pen: Pen
) -> Iterator[str]:
    """Yield the lines of the changes that are only named, grouped by what happens to which kind."""
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[Change]] = {}
    for change in changes:
        place = parsed(change.address, change.type_name)
        kind = f"data.{change.type_name}" if place.mode == "data" else change.type_name
        key = symbol(change), kind, _verb(change), tuple(change.notes)
        groups.setdefault(key, []).append(change)
    for (sign, kind, verb, notes), group in groups.items():
        count = f"{len(group):,} {kind}" if len(group) > 1 else kind
        mark = f"{pen.sign(sign)} " if sign else ""
        yield f"  {mark}{pen.bold(count)} {verb}"
        yield from wrapped(f"      {', '.join(_runs(map(_name, group)))}", _WIDTH)
        for note in notes:
            yield f"      ({printable(note)})"
        along = sum(len(cascades.get(change.address, ())) for change in group)
        if along:
            yield f"      ({along:,} archived with them, without a call)"
        yield ""


def _verb(change: Change) -> str:
    if change.action is Action.NO_OP and change.previous_address:
        return "will move"
    return heading(change).verb


def _name(change: Change) -> str:
    place = parsed(change.address, change.type_name)
    name = change.address.partition(f"{place.type}.")[2] or change.address
    if change.construct_path:
        name = f"{change.construct_path}{print_key(place.key)}"
    origin = change.previous_address or change.import_id
    return printable(f"{name} (from {origin})" if origin else name)


def _runs(names: Iterable[str]) -> Iterator[str]:
    """Yield names in their order; of those that count up by one only the first and the last."""
    run: list[str] = []
    for name in names:
        if run and name != _successor(run[-1]):
            yield from _shortened(run)
            run = []
        run.append(name)
    yield from _shortened(run)


def _successor(name: str) -> str:
    """Return the name whose last number is one higher; empty where there is no number."""
    match = _LAST_NUMBER.fullmatch(name)
    if match is None:
        return ""
    before, number, behind = match.groups()
    return f"{before}{int(number) + 1:0{len(number)}}{behind}"


def _shortened(run: Sequence[str]) -> Sequence[str]:
    return run if len(run) < _RUN else [f"{run[0]} … {run[-1]}"]
