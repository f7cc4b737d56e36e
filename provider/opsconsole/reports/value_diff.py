"""The diff of one resource as lines: signs, depth and text, for terminal, Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Final, NamedTuple

from opsconsole.definition import Kind
from opsconsole.text import KNOWN_AFTER_APPLY, SENSITIVE, format_scalar, plural, printable
from opsconsole.values import UNKNOWN, Value, Values, is_same

TO_NULL: Final = " -> null"


class Line(NamedTuple):
    """One line of a diff.

    Attributes:
        depth: 1 for an attribute, more within collections.
        sign: `+`, `-`, `~`, or empty if nothing changes.
        remark: A comment at the end of the line.
        mark: The sign of the lines that this line closes, such as the end of an added list; the
            sign is not shown.
    """

    depth: int
    sign: str
    text: str
    remark: str = ""
    mark: str = ""

    @property
    def plain(self) -> str:
        """The line as Terraform lays it out: indented, sign before text."""
        return self.laid_out(self.sign, self.remark)

    def laid_out(self, sign: str, remark: str) -> str:
        """Return the line with this sign and remark, painted or plain."""
        rest = f"{self.text} {remark}" if self.text and remark else self.text + remark
        return f"{'    ' * self.depth}  {sign or ' '} {rest}".rstrip()


def hidden_line(depth: int, count: int, noun: str) -> Line:
    return Line(depth, "", "", f"# ({plural(count, f'unchanged {noun}')} hidden)")


def lines_of_value(
    value: Value, depth: int, sign: str, head: str = "", tail: str = "", inner: str | None = None
) -> list[Line]:
    """Return `value` in full between `head` and `tail`; `inner` is the sign of its parts."""
    inner = sign if inner is None else inner
    if isinstance(value, list) and value:
        lines = [Line(depth, sign, f"{head}[")]
        for item in value:
            lines += lines_of_value(item, depth + 1, inner, tail=",")
        lines.append(Line(depth, "", f"]{tail}", mark=sign))
    elif isinstance(value, dict) and value:
        lines = [Line(depth, sign, f"{head}{{")]
        width = max(map(len, value))
        for name, item in value.items():
            if item is not None:
                lines += lines_of_value(item, depth + 1, inner, f"{printable(name):{width}} = ")
        lines.append(Line(depth, "", f"}}{tail}", mark=sign))
    elif isinstance(value, str) and "\n" in value:
        lines = [Line(depth, sign, f"{head}<<-EOT")]
        lines += [Line(depth + 1, "", printable(text), mark=inner) for text in value.split("\n")]
        lines.append(Line(depth, "", f"EOT{tail}", mark=sign))
    else:
        shown = "[]" if value == [] else "{}" if value == {} else format_scalar(value)
        lines = [Line(depth, sign, f"{head}{shown}{tail}")]
    return lines


def count_unknown(lines: Iterable[Line]) -> list[Line]:
    """Return the lines of a diff; added attributes that are known after apply are only counted."""
    all_lines = list(lines)
    known = [
        line for line in all_lines if line.sign != "+" or not line.text.endswith(KNOWN_AFTER_APPLY)
    ]
    unknown = len(all_lines) - len(known)
    if not unknown:
        return all_lines
    if all(line.sign in ("+", "") for line in known):
        known = _align(known)
    return [*known, Line(1, "", "", f"# ({plural(unknown, 'attribute')} known after apply)")]


def _align(lines: Sequence[Line]) -> list[Line]:
    """Align the values of an added object once some names are not shown."""
    aligned = []
    names = [line.text.partition(" ")[0] for line in lines if line.depth == 1 and line.sign]
    width = max(map(len, names), default=0)
    for line in lines:
        if line.depth == 1 and line.sign:
            name, _, value = line.text.partition(" ")
            line = line._replace(text=f"{name:{width}} {value.lstrip()}")
        aligned.append(line)
    return aligned


def changed_value(
    old: Value, new: Value, depth: int, head: str, kind: Kind | None, tail: str, remark: str = ""
) -> Iterator[Line]:
    """Yield the change from `old` to `new`; equal values are yielded unsigned."""
    if is_same(old, new):
        yield from lines_of_value(old, depth, "", head, tail)
    elif old is None:
        yield from _add_remark(lines_of_value(new, depth, "+", head, tail), remark)
    elif new is None:
        yield from _add_remark(lines_of_value(old, depth, "-", head, TO_NULL + tail), remark)
    elif new is UNKNOWN:
        arrow = f" -> {KNOWN_AFTER_APPLY}{tail}"
        yield from _add_remark(lines_of_value(old, depth, "~", head, arrow, inner="-"), remark)
    elif isinstance(old, list) and isinstance(new, list):
        yield Line(depth, "~", f"{head}[", remark)
        yield from (_diff_sets if kind is Kind.STRING_SET else _diff_lists)(old, new, depth + 1)
        yield Line(depth, "", f"]{tail}")
    elif isinstance(old, dict) and isinstance(new, dict):
        yield Line(depth, "~", f"{head}{{", remark)
        yield from _diff_objects(old, new, depth + 1)
        yield Line(depth, "", f"}}{tail}")
    elif isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        yield Line(depth, "~", f"{head}<<-EOT", remark)
        yield from _diff_texts(old, new, depth + 1)
        yield Line(depth, "", f"EOT{tail}")
    elif isinstance(old, list | dict) or isinstance(new, list | dict):
        yield from _add_remark(lines_of_value(old, depth, "-", head, tail), remark)
        yield from lines_of_value(new, depth, "+", head, tail)
    else:
        yield Line(depth, "~", f"{head}{format_scalar(old)} -> {format_scalar(new)}{tail}", remark)


def _add_remark(lines: Iterable[Line], remark: str) -> Iterator[Line]:
    for line in lines:
        yield line._replace(remark=remark)
        remark = ""


def _diff_sets(old: list[Value], new: list[Value], depth: int) -> Iterator[Line]:
    old_keys, new_keys = {*map(_key, old)}, {*map(_key, new)}
    gone = [item for item in old if _key(item) not in new_keys]
    come = [item for item in new if _key(item) not in old_keys]
    for item in gone:
        yield from lines_of_value(item, depth, "-", tail=",")
    for item in come:
        yield from lines_of_value(item, depth, "+", tail=",")
    if len(old) > len(gone):
        yield hidden_line(depth, len(old) - len(gone), "element")


def _diff_lists(old: list[Value], new: list[Value], depth: int) -> Iterator[Line]:
    hidden = 0
    for step, left, left_end, right, right_end in edit_script([*map(_key, old)], [*map(_key, new)]):
        if step == "equal":
            hidden += left_end - left
            continue
        pairs = min(left_end - left, right_end - right)
        for index in range(pairs):
            yield from changed_value(old[left + index], new[right + index], depth, "", None, ",")
        for item in old[left + pairs : left_end]:
            yield from lines_of_value(item, depth, "-", tail=",")
        for item in new[right + pairs : right_end]:
            yield from lines_of_value(item, depth, "+", tail=",")
    if hidden:
        yield hidden_line(depth, hidden, "element")


def edit_script(
    left: Sequence[str], right: Sequence[str]
) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the edits from `left` to `right` as difflib's opcodes, coarser for long texts."""
    if len(left) * len(right) <= _COMPARABLE:
        # difflib's heuristic would leave frequent parts, such as empty lines, out of the
        # comparison.
        return SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    # Comparing all pairs of parts would take too long. So everything between the common beginning
    # and the common end is one replacement.
    shorter = min(len(left), len(right))
    start = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    rest = range(1, shorter - start + 1)
    end = next((at - 1 for at in rest if left[-at] != right[-at]), shorter - start)
    steps = [
        ("equal", 0, start, 0, start),
        ("replace", start, len(left) - end, start, len(right) - end),
        ("equal", len(left) - end, len(left), len(right) - end, len(right)),
    ]
    return [step for step in steps if step[1] < step[2] or step[3] < step[4]]


_COMPARABLE: Final = 1_000_000


def _key(value: Value) -> str:
    # JSON is used because Python treats true as equal to 1. An unknown value becomes an object, so
    # that it equals no text.
    return json.dumps(value, sort_keys=True, default=lambda unknown: {"": repr(unknown)})


def _diff_objects(old: dict[str, Value], new: dict[str, Value], depth: int) -> Iterator[Line]:
    names = [*old, *(name for name in new if name not in old)]
    changed = [name for name in names if not is_same(old.get(name), new.get(name))]
    width = max(map(len, changed), default=0)
    for name in changed:
        head = f"{printable(name):{width}} = "
        yield from changed_value(old.get(name), new.get(name), depth, head, None, "")
    hidden = sum(old.get(name) is not None for name in names if name not in changed)
    if hidden:
        yield hidden_line(depth, hidden, "attribute")


def _diff_texts(old: str, new: str, depth: int) -> Iterator[Line]:
    left, right = old.split("\n"), new.split("\n")
    for step, start, end, other, other_end in edit_script(left, right):
        if step == "equal":
            yield from _context(left[start:end], depth)
            continue
        for text in left[start:end]:
            yield Line(depth, "-", printable(text))
        for text in right[other:other_end]:
            yield Line(depth, "+", printable(text))


_CONTEXT: Final = 3


def _context(texts: list[str], depth: int) -> Iterator[Line]:
    """Yield a few unchanged lines at each end of a text, and count the others."""
    if len(texts) <= 2 * _CONTEXT + 1:
        for text in texts:
            yield Line(depth, "", printable(text))
        return
    for text in texts[:_CONTEXT]:
        yield Line(depth, "", printable(text))
    yield hidden_line(depth, len(texts) - 2 * _CONTEXT, "line")
    for text in texts[-_CONTEXT:]:
        yield Line(depth, "", printable(text))


FORCES: Final = "# forces replacement"


def diff_lines(
    before: Values | None,
    after: Values | None,
    *,
    kinds: Mapping[str, Kind] = MappingProxyType({}),
    sensitive: Collection[str] = (),
    forcing: Collection[str] = (),
    shown: Collection[str] = ("id", "name"),
) -> list[Line]:
    """Return the lines of every changed attribute, and the number of unchanged ones.

    Args:
        before, after: The values; None if there is no object.
        kinds: Kinds of the attributes by name; sets are compared without regard to order.
        sensitive: Attributes that are masked.
        forcing: Attributes whose change forces replacement.
        shown: Attributes that are shown even if unchanged.
    """
    left, right = before or {}, after or {}
    still: set[str] = set()
    if left and right:
        names = sorted(left.keys() | right.keys())
        changed = {name for name in names if not is_same(left.get(name), right.get(name))}
        still = {name for name in names if left.get(name) is not None} - changed
        visible = [name for name in names if name in changed or (name in shown and name in still)]
    else:
        visible = sorted(name for name, value in (left or right).items() if value is not None)
    width = max(map(len, visible), default=0)
    lines: list[Line] = []
    for name in visible:
        old, new = left.get(name), right.get(name)
        head = f"{name:{width}} = "
        remark = FORCES if name in forcing else ""
        if name in sensitive:
            sign = "" if is_same(old, new) else "+" if old is None else "-" if new is None else "~"
            tail = TO_NULL if sign == "-" else ""
            lines.append(Line(1, sign, f"{head}{SENSITIVE}{tail}", remark if sign else ""))
        elif before is None:
            lines += lines_of_value(new, 1, "+", head)
        elif after is None:
            lines += lines_of_value(old, 1, "-", head, TO_NULL)
        else:
            lines += changed_value(old, new, 1, head, kinds.get(name), "", remark)
    hidden = len(still.difference(visible))
    if hidden:
        lines.append(hidden_line(1, hidden, "attribute"))
    return lines
