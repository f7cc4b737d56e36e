"""A plan, the end of an apply, and outputs, as Terraform's users know them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from opsconsole.diagnostics import has_error
from opsconsole.reconcile.plan import Action, Change, Drift, OutputChange, Plan
from opsconsole.reports import terminal
from opsconsole.reports.plan_parts import (
    LEGEND,
    apply_summary,
    cascade_effect,
    cascades,
    describe_change,
    describe_no_changes,
    describe_no_requests,
    diff_of,
    label_of,
    output_lines,
    parse_address,
    plan_summary,
    remarks_on,
    symbol,
    visible_changes,
)
from opsconsole.reports.value_diff import Line, count_unknown, lines_of_value
from opsconsole.state import StateOutput, format_key
from opsconsole.text import (
    PLAIN,
    SENSITIVE,
    SIGN_COLOURS,
    Pen,
    first_items,
    first_lines,
    format_scalar,
    natural_order,
    plural,
    printable,
    wrap_lines,
)
from opsconsole.values import holds_unknown

if TYPE_CHECKING:
    from opsconsole.reconcile.executor import ApplyResult

RULE = "─" * 77
_WIDTH = 100
_NAMED = (Action.CREATE, Action.ADOPT, Action.DELETE, Action.READ, Action.FORGET, Action.NO_OP)
"""The changes of which `Detail` hides a part. Readers need every attribute of the others."""
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.ASCII | re.DOTALL)
_RUN = 4
"""From this length, a run of names that count up by one is written as its first and last name."""
_MOST_LINES = 100
"""Up to this length, a plan that does not fit the screen shows more than counts and names."""


class Detail(Enum):
    """How much a plan shows of the resources that it creates, adopts, reads or removes."""

    FULL = "every attribute"
    KNOWN = "the attributes that are known; the others are counted"
    NAMES = "counts and names"


def render(plan: Plan, pen: Pen = PLAIN, detail: Detail = Detail.FULL) -> str:
    """Return the whole plan as text, diagnostics last."""
    parts = [
        _drift_text(plan, pen),
        _changes_text(plan, pen, detail),
        render_outputs(plan.outputs, pen),
    ]
    if plan.empty:
        parts.insert(1, _no_changes_text(plan, pen))
    elif plan.unsettled:
        parts.append(_unsettled_text(plan, pen))
    if note := describe_no_requests(plan):
        parts.append("\n".join(_wrap(note, pen)) + "\n")
    parts.append(terminal.render_diagnostics(plan.diagnostics, pen))
    return "\n".join(part for part in parts if part)


def choose_detail(plan: Plan, rows: int) -> Detail:
    """Return the detail that fits a screen of `rows` lines."""
    # A change has at least three lines, so a plan with many changes need not be rendered.
    least = 3 * len(visible_changes(plan))
    for detail, most in ((Detail.FULL, rows), (Detail.KNOWN, max(rows, _MOST_LINES))):
        if least <= most and render(plan, detail=detail).count("\n") <= most:
            return detail
    return Detail.NAMES


def _wrap(text: str, pen: Pen) -> list[str]:
    """Wrap a text to the terminal, and to a width that is easy to read."""
    return wrap_lines(text, min(pen.width or _WIDTH, _WIDTH))


def _unsettled_text(plan: Plan, pen: Pen) -> str:
    what = plural(len(plan.unsettled), "creation")
    said = f"The outcome of {what} is not known. Until it is settled, no apply is complete."
    return pen.paint(said, "bold", "yellow") + "\n"


def _changes_text(plan: Plan, pen: Pen, detail: Detail) -> str:
    shown = visible_changes(plan)
    if not shown:
        return ""
    used = {symbol(change) for change in shown}
    legend = [
        f"{' ' * (3 - len(sign))}{pen.sign(sign)} {word}" for sign, word in LEGEND if sign in used
    ]
    blocks = cascades(plan)
    named, in_blocks = [], shown
    if detail is Detail.NAMES:
        named = [change for change in shown if change.action in _NAMED]
        in_blocks = [change for change in shown if change.action not in _NAMED]
    bodies = [
        _change_text(change, blocks.get(change.address, ()), pen, detail) for change in in_blocks
    ]
    bodies += _brief_lines(named, blocks, pen)
    counts_unknown = detail is Detail.KNOWN and any(
        change.action in _NAMED and holds_unknown(change.after) for change in shown
    )
    if named or counts_unknown:
        bodies += [pen.paint("Run with --full to see every attribute.", "dim"), ""]
    intro = "Actions are marked with these symbols:\n" + "\n".join(legend) if legend else ""
    opening = "These actions will be performed:"
    if has_error(plan.diagnostics):
        opening = "Planning failed. Up to then, these actions were planned:"
    summary = plan_summary(plan.counts, plan.changes).removeprefix("Plan:")
    return "\n".join(
        [*([intro, ""] if intro else []), opening, "", *bodies, f"{pen.bold('Plan:')}{summary}", ""]
    )


def _brief_lines(
    changes: Sequence[Change], cascades: Mapping[str, Sequence[Change]], pen: Pen
) -> Iterator[str]:
    """Yield the lines of the changes that are only named, grouped by action and type."""
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[Change]] = {}
    for change in changes:
        place = parse_address(change.address, change.type_name)
        kind = f"data.{change.type_name}" if place.mode == "data" else change.type_name
        moves = change.action is Action.NO_OP and change.previous_address
        verb = "will move" if moves else describe_change(change)
        key = symbol(change), kind, verb, tuple(change.notes)
        groups.setdefault(key, []).append(change)
    for (sign, kind, verb, notes), group in groups.items():
        count = f"{len(group):,} {kind}" if len(group) > 1 else kind
        mark = f"{pen.sign(sign)} " if sign else ""
        yield f"  {mark}{pen.bold(count)} {verb}"
        yield from _wrap(f"      {', '.join(_name_ranges(map(_shown_name, group)))}", pen)
        for note in notes:
            yield f"      ({printable(note)})"
        along = [item.type_name for change in group for item in cascades.get(change.address, ())]
        if along:
            yield f"      ({len(along):,} {cascade_effect(*along)} with them, without a call)"
        yield ""


def _shown_name(change: Change) -> str:
    name = change.address
    if change.construct_path:
        # The address of a construct ends with a hash.
        key = parse_address(change.address, change.type_name).key
        name = f"{change.construct_path}{format_key(key)}"
    origin = change.previous_address or change.import_id
    return printable(f"{name} (from {origin})" if origin else name)


def _name_ranges(names: Iterable[str]) -> Iterator[str]:
    """Yield names in order; a run that counts up by one becomes its first and last name."""
    run: list[str] = []
    for name in names:
        if run and name != _successor(run[-1]):
            yield from _shorten_run(run)
            run = []
        run.append(name)
    yield from _shorten_run(run)


def _successor(name: str) -> str:
    """Return the name whose last number is one higher; empty if it has no number."""
    match = _LAST_NUMBER.fullmatch(name)
    if match is None:
        return ""
    before, number, behind = match.groups()
    return f"{before}{int(number) + 1:0{len(number)}}{behind}"


def _shorten_run(run: Sequence[str]) -> Sequence[str]:
    return run if len(run) < _RUN else [f"{run[0]} … {run[-1]}"]


def _change_text(change: Change, cascaded: Sequence[Change], pen: Pen, detail: Detail) -> str:
    verb = describe_change(change)
    start, _, last = verb.rpartition(" ")
    if change.action is Action.DELETE or last == "replaced":
        verb = f"{start} {pen.paint(last, 'bold', 'red')}"
    lines = [f"  {pen.bold(f'# {printable(change.address)}')} {verb}"]
    lines += [f"  # ({remark})" for remark in remarks_on(change)]
    diff: Iterable[Line] = diff_of(change)
    if detail is Detail.KNOWN and change.action in _NAMED:
        diff = count_unknown(diff)
    lines += _body_lines(change, symbol(change), diff, pen)
    if cascaded:
        lines += _cascade_text(change, cascaded, pen)
    return "\n".join([*lines, ""])


def _body_lines(
    change: Change | Drift, sign: str, lines: Iterable[Line], pen: Pen
) -> Iterator[str]:
    place = parse_address(change.address, change.type_name)
    word = "data" if place.mode == "data" else "resource"
    names = f'{word} "{change.type_name}" "{printable(place.name)}" {{'
    yield f"{' ' * (3 - len(sign))}{pen.sign(sign)} {names}"
    for line in lines:
        yield _paint(line, pen)
    yield "    }"


def _paint(line: Line, pen: Pen) -> str:
    if not pen.colour:
        return line.plain
    colour = SIGN_COLOURS.get(line.sign)
    sign = pen.paint(line.sign, colour) if colour else line.sign
    return line.laid_out(sign, pen.paint(line.remark, "red" if line.text else "dim"))


def _cascade_text(owner: Change, cascaded: Sequence[Change], pen: Pen) -> Iterator[str]:
    yield ""
    effect = cascade_effect(*(change.type_name for change in cascaded))
    yield f"    # {effect} by the deletion of {printable(owner.address)}, without a call:"
    for change in cascaded:
        name = label_of(change, format_scalar)
        yield f"      {pen.sign('-')} {printable(change.address)} {name}".rstrip()
        for note in change.notes:
            yield f"        ({printable(note)})"


_KEPT = "the console keeps other values than were declared"


def _drift_text(plan: Plan, pen: Pen) -> str:
    if not plan.drift:
        return ""
    lines = [
        f"{pen.paint('Note:', 'bold', 'cyan')} {pen.bold('The console differs from state')}",
        "",
        *_wrap(
            "Objects were changed or deleted outside of this program since the last apply, or "
            f"{_KEPT}. Some planned changes may follow from this:",
            pen,
        ),
        "",
    ]
    for drift in sorted(plan.drift, key=lambda item: natural_order(item.address)):
        verb = "has been deleted" if drift.after is None else "has changed"
        if not drift.perhaps_by_others:
            verb = f"differs, with the same updated_at: {_KEPT}"
        lines.append(f"  {pen.bold(f'# {printable(drift.address)}')} {verb}")
        lines += _body_lines(drift, "-" if drift.after is None else "~", diff_of(drift), pen)
        lines.append("")
    if plan.mode == "refresh-only":
        lines += ["Applying this plan only updates state with the changes above.", ""]
    return "\n".join([*lines, RULE, ""])


def _no_changes_text(plan: Plan, pen: Pen) -> str:
    if has_error(plan.diagnostics):
        return pen.paint("Planning failed.", "bold", "red") + "\n"
    words = pen.bold(describe_no_changes(plan))
    headline = f"{pen.paint('No changes.', 'bold', 'green')} {words}\n"
    if plan.drift and plan.mode != "refresh-only":
        headline += "\nApplying only updates state with the changes above.\n"
    return headline


def render_outputs(outputs: Iterable[OutputChange], pen: Pen = PLAIN) -> str:
    """Return the changes of outputs; empty if no output changes."""
    changing = sorted(
        (output for output in outputs if output.action is not Action.NO_OP),
        key=lambda output: output.name,
    )
    if not changing:
        return ""
    width = max(len(output.name) for output in changing)
    lines = ["Changes to outputs:"]
    for output in changing:
        for line in output_lines(output, width):
            lines.append(_paint(line, pen))
    return "\n".join([*lines, ""])


def describe_duration(seconds: float) -> str:
    """Return a duration as `5.2 s` or `3 min 20 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"


def _list_changes(what: str, lines: Sequence[str], pen: Pen, colour: str) -> list[str]:
    if not lines:
        return []
    heading = pen.paint(f"{plural(len(lines), 'change')} {what}:", "bold", colour)
    return [heading, *first_lines(lines, 50)]


def render_apply(
    applied: ApplyResult,
    outputs: Mapping[str, StateOutput],
    pen: Pen = PLAIN,
    *,
    command: str = "apply",
) -> str:
    """Return the end of an apply as text.

    Args:
        outputs: The outputs by name, shown if everything was done.
        command: `apply` or `destroy`.
    """
    failures = sorted((step.change.address for step in applied.failed), key=natural_order)
    skipped = sorted(applied.skipped.items(), key=lambda item: natural_order(item[0]))
    cross, dash = pen.paint("✗", "red"), pen.paint("-", "yellow")
    waits = (f"{printable(item)} (waited for {printable(cause)})" for item, cause in skipped)
    lines = [
        *_list_changes("failed", [f"  {cross} {printable(item)}" for item in failures], pen, "red"),
        *_list_changes("skipped", [f"  {dash} {item}" for item in waits], pen, "yellow"),
    ]
    summary = apply_summary(applied.counts, command, applied.complete)
    lines.append(pen.paint(summary, "bold", "green" if applied.complete else "yellow"))
    if applied.seconds:
        lines.append(f"The run ended in {describe_duration(applied.seconds)}.")
    if failures:
        # Diagnostics come last, because some clients show only the end of a failure.
        lines.append(pen.paint(f"Failed: {printable(first_items(failures, 1))}", "bold", "red"))
    text = "\n".join([*lines, ""])
    messages = terminal.render_diagnostics(applied.diagnostics, pen)
    shown = outputs_text(outputs, pen) if applied.complete else ""
    return "\n".join(filter(None, (messages, text, shown)))


def outputs_text(outputs: Mapping[str, StateOutput], pen: Pen) -> str:
    """Return outputs as `name = value`, sensitive ones masked."""
    if not outputs:
        return ""
    lines = [pen.paint("Outputs:", "bold", "green"), ""]
    for name in sorted(outputs):
        if outputs[name].sensitive:
            lines.append(f"{printable(name)} = {SENSITIVE}")
        else:
            shown = lines_of_value(outputs[name].value, 0, "", f"{printable(name)} = ")
            lines += [line.plain[4:] for line in shown]
    return "\n".join([*lines, ""])
