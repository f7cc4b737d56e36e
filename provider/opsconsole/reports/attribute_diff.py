"""The attribute diff of one resource, as the lines of its values' diffs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from opsconsole.compare import same
from opsconsole.definition import Kind
from opsconsole.reports.literals import SENSITIVE
from opsconsole.reports.value_diff import TO_NULL, Line, changed_value, hidden_line, whole
from opsconsole.values import Attributes, Value

FORCES: Final = "# forces replacement"


@dataclass(frozen=True, slots=True)
class Diff:
    """What to compare, and how.

    Attributes:
        before, after: The values; None: there is none.
        kinds: Kinds of the attributes by name: sets are compared without regard to order.
        sensitive: Names of attributes that are masked.
        forcing: Names of attributes whose change forces replacement.
        shown: Names that are shown though they do not change.
    """

    before: Attributes | None
    after: Attributes | None
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    sensitive: frozenset[str] = frozenset()
    forcing: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset({"id", "name"})

    def lines(self) -> list[Line]:
        """Return the lines of every attribute that changes, and how many do not."""
        before, after = self.before or {}, self.after or {}
        names = sorted(before.keys() | after.keys())
        changed = [name for name in names if not same(before.get(name), after.get(name))]
        still = [name for name in names if name not in changed and before.get(name) is not None]
        visible = [name for name in names if name in changed or self._kept(name, still)]
        width = max(map(len, visible), default=0)
        found: list[Line] = []
        for name in visible:
            found += self._attribute(name, width, before.get(name), after.get(name))
        hidden = sum(name not in visible for name in still)
        if hidden:
            found.append(hidden_line(1, hidden, "attribute"))
        return found

    def _kept(self, name: str, still: Sequence[str]) -> bool:
        return name in self.shown and name in still

    def _attribute(self, name: str, width: int, old: Value, new: Value) -> Iterable[Line]:
        head = f"{name:{width}} = "
        remark = FORCES if name in self.forcing else ""
        if name in self.sensitive:
            return [_masked(head, old, new, self, remark)]
        if self.before is None:
            return whole(new, 1, "+", head)
        if self.after is None:
            return whole(old, 1, "-", head, TO_NULL)
        return changed_value(old, new, 1, head, self.kinds.get(name), "", remark)


def _masked(head: str, old: Value, new: Value, diff: Diff, remark: str) -> Line:
    if same(old, new):
        return Line(1, "", head + SENSITIVE)
    if old is None:
        return Line(1, "+", head + SENSITIVE, remark)
    if new is None:
        return Line(1, "-", f"{head}{SENSITIVE}{TO_NULL}", remark)
    return Line(1, "~", head + SENSITIVE, remark)
