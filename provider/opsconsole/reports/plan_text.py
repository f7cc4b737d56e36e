"""A plan as Terraform's users know it: what changes, attribute by attribute, and a summary line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from opsconsole.diagnostics import has_error
from opsconsole.phrases import plural
from opsconsole.reconcile.changes import Action, Change, Drift, OutputChange, Plan
from opsconsole.reports import diagnostics_text, plan_brief
from opsconsole.reports.addresses import (
    kinds_of,
    label_attribute,
    natural,
    parsed,
    sensitive_of,
)
from opsconsole.reports.colour import SIGN_COLOURS, Pen
from opsconsole.reports.labels import LEGEND, agreement, heading, plan_summary, symbol
from opsconsole.reports.literals import SENSITIVE, printable, scalar
from opsconsole.reports.value_diff import Diff, Line, changed_value, whole

RULE = "─" * 77


def render(plan: Plan, *, colour: bool = False, width: int = 0, compact: bool = False) -> str:
    """Return the whole plan as text, diagnostics last.

    Args:
        colour: Whether to paint it with ANSI sequences.
        width: Columns of the terminal that diagnostics are fitted to, or 0.
        compact: Whether what is created or goes away is only counted and named.
    """
    pen = Pen(colour)
    parts = [
        _drift(plan, pen),
        _changes(plan, pen, compact),
        render_outputs(plan.outputs, colour=colour),
    ]
    if plan.empty:
        parts.insert(1, _nothing(plan, pen))
    elif plan.unsettled:
        parts.append(_unsettled(plan, pen))
    parts.append(diagnostics_text.render(plan.diagnostics, colour=colour, width=width))
    return "\n".join(part for part in parts if part)


def fits(plan: Plan, rows: int) -> bool:
    """Return whether the whole plan as text has at most so many lines."""
    # A change has three lines at least: a plan of many need not be rendered to know.
    return 3 * len(displayed(plan)) <= rows and render(plan).count("\n") <= rows


def _unsettled(plan: Plan, pen: Pen) -> str:
    what = plural(len(plan.unsettled), "creation")
    said = f"The outcome of {what} is not known, so this is not complete whatever is applied."
    return pen.paint(said, "bold", "yellow") + "\n"


def displayed(plan: Plan) -> list[Change]:
    """Return the changes that deserve a block of their own, ordered by address.

    Those that the deletion of a host brings about are under their host instead.
    """
    cascaded = {id(change) for group in cascades(plan).values() for change in group}
    acting = (change for change in plan.acting() if id(change) not in cascaded)
    return sorted(acting, key=lambda change: natural(change.address))


def cascades(plan: Plan) -> Mapping[str, Sequence[Change]]:
    """Return what each host's deletion takes along, by the host's address, ordered by address."""
    hosts = {change.address for change in plan.changes if change.action in _DELETING}
    found: defaultdict[str, list[Change]] = defaultdict(list)
    for change in plan.changes:
        if change.cascade in hosts and change.action is Action.DELETE:
            found[change.cascade].append(change)
    for group in found.values():
        group.sort(key=lambda change: natural(change.address))
    return found


_DELETING = (Action.DELETE, Action.REPLACE)


def diff_of(change: Change | Drift) -> Diff:
    """Return the comparison that shows `change`."""
    forcing = change.replace_paths if isinstance(change, Change) else ()
    return Diff(
        before=change.before,
        after=change.after,
        kinds=kinds_of(change.address, change.type_name),
        sensitive=sensitive_of(change.address, change.type_name, change.sensitive),
        forcing=frozenset(forcing),
        shown=frozenset({"id", "name", label_attribute(change.type_name)}),
    )


def _changes(plan: Plan, pen: Pen, compact: bool) -> str:
    shown = displayed(plan)
    if not shown:
        return ""
    used = {symbol(change) for change in shown}
    legend = [
        f"{pen.sign(sign):>{_pad(pen, sign)}} {word}" for sign, word in LEGEND if sign in used
    ]
    blocks = cascades(plan)
    named: list[Change] = []
    if compact:
        named = [change for change in shown if plan_brief.is_named(change)]
        shown = [change for change in shown if not plan_brief.is_named(change)]
    bodies = [_block(change, blocks.get(change.address, ()), pen) for change in shown]
    bodies += plan_brief.lines(named, blocks, pen)
    if named:
        bodies += [pen.paint("--full shows every attribute of what is only named here.", "dim"), ""]
    intro = "Actions are marked with these symbols:\n" + "\n".join(legend) if legend else ""
    failed = has_error(plan.diagnostics)
    opening = "Planning failed. Up to then, these actions were planned:" if failed else ""
    opening = opening or "These actions will be performed:"
    summary = plan_summary(plan.counts, plan.changes).removeprefix("Plan:")
    return "\n".join(
        [*([intro, ""] if intro else []), opening, "", *bodies, f"{pen.bold('Plan:')}{summary}", ""]
    )


def _pad(pen: Pen, sign: str) -> int:
    return 3 + len(pen.sign(sign)) - len(sign)


def _block(change: Change, cascaded: Sequence[Change], pen: Pen) -> str:
    head = heading(change)
    verb = head.verb
    if head.stress:
        verb = verb.removesuffix(head.stress) + pen.paint(head.stress, "bold", "red")
    lines = [f"  {pen.bold(f'# {head.subject}')} {verb}"]
    lines += [f"  # ({remark})" for remark in head.remarks]
    lines += _body(change, symbol(change), diff_of(change).lines(), pen)
    lines += _cascaded(change, cascaded, pen)
    return "\n".join([*lines, ""])


def _body(change: Change | Drift, sign: str, lines: Iterable[Line], pen: Pen) -> Iterator[str]:
    place = parsed(change.address, change.type_name)
    word = "data" if place.mode == "data" else "resource"
    names = f'{word} "{change.type_name}" "{printable(place.name)}" {{'
    yield f"{' ' * (3 - len(sign))}{pen.sign(sign)} {names}"
    for line in lines:
        yield _painted(line, pen)
    yield "    }"


def _painted(line: Line, pen: Pen) -> str:
    if not pen.colour:
        return line.plain
    colour = SIGN_COLOURS.get(line.sign)
    sign = pen.paint(line.sign, colour) if colour else line.sign or " "
    remark = line.remark and pen.paint(line.remark, "red" if line.text else "dim")
    rest = f"{line.text} {remark}" if line.text and remark else line.text + remark
    return f"{'    ' * line.depth}  {sign} {rest}".rstrip()


def _cascaded(host: Change, cascaded: Sequence[Change], pen: Pen) -> Iterator[str]:
    if not cascaded:
        return
    yield ""
    yield f"    # archived by the deletion of {printable(host.address)}, without a call:"
    for change in cascaded:
        values = change.before or {}
        label = values.get(label_attribute(change.type_name))
        name = f" {scalar(label)}" if isinstance(label, str) else ""
        hidden = sensitive_of(change.address, change.type_name, change.sensitive)
        if label_attribute(change.type_name) in hidden:
            name = f" {SENSITIVE}"
        yield f"      {pen.sign('-')} {printable(change.address)}{name}"
        for note in change.notes:
            if "archived by the deletion of" not in note:
                yield f"        ({printable(note)})"


_KEPT = "the console keeps other values than were declared"


def _drift(plan: Plan, pen: Pen) -> str:
    if not plan.drift:
        return ""
    lines = [
        f"{pen.paint('Note:', 'bold', 'cyan')} {pen.bold('The console differs from state')}",
        "",
        "Others changed or deleted this on the console since the last apply, or the console keeps",
        "other values than were declared. It may be the reason for some of what is planned:",
        "",
    ]
    for drift in sorted(plan.drift, key=lambda item: natural(item.address)):
        verb = "has been deleted" if drift.after is None else "has changed"
        if not drift.perhaps_by_others:
            verb = f"differs, with the same updated_at: {_KEPT}"
        lines.append(f"  {pen.bold(f'# {printable(drift.address)}')} {verb}")
        lines += _body(drift, "-" if drift.after is None else "~", diff_of(drift).lines(), pen)
        lines.append("")
    if plan.mode == "refresh-only":
        lines += ["Applying this plan only updates state with the changes above.", ""]
    return "\n".join([*lines, RULE, ""])


def _nothing(plan: Plan, pen: Pen) -> str:
    if has_error(plan.diagnostics):
        return pen.paint("Planning failed.", "bold", "red") + "\n"
    words = {
        "destroy": "There is nothing to destroy.",
        "refresh-only": "State matches what was read of the console.",
    }.get(plan.mode, agreement(plan))
    headline = f"{pen.paint('No changes.', 'bold', 'green')} {pen.bold(words)}\n"
    if plan.drift and plan.mode != "refresh-only":
        headline += "\nApplying only updates state with the changes above.\n"
    return headline


def render_outputs(outputs: Iterable[OutputChange], *, colour: bool = False) -> str:
    """Return the section that shows how outputs change; empty where none does."""
    pen = Pen(colour)
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
            lines.append(_painted(line, pen))
    return "\n".join([*lines, ""])


def output_lines(output: OutputChange, width: int = 0) -> Iterator[Line]:
    """Yield the lines that show how one output changes."""
    head = f"{printable(output.name):{width}} = "
    if output.sensitive:
        sign = _OUTPUT_SIGNS.get(output.action, "~")
        tail = " -> null" if output.action is Action.DELETE else ""
        yield Line(0, sign, f"{head}{SENSITIVE}{tail}")
    elif output.action is Action.CREATE:
        yield from whole(output.after, 0, "+", head)
    elif output.action is Action.DELETE:
        yield from whole(output.before, 0, "-", head, " -> null")
    else:
        yield from changed_value(output.before, output.after, 0, head, None, "")


_OUTPUT_SIGNS = {Action.CREATE: "+", Action.DELETE: "-"}
