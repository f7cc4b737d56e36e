"""A plan as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opsconsole.diagnostics import has_error
from opsconsole.phrases import plural
from opsconsole.reconcile.changes import Action, Change, Drift, Plan
from opsconsole.reports.addresses import label_attribute, natural, parsed, sensitive_of
from opsconsole.reports.diagnostics_text import dedupe_diagnostics
from opsconsole.reports.html.layout import picture_of
from opsconsole.reports.html.page import GENERATOR, write
from opsconsole.reports.html.topology import GraphItem
from opsconsole.reports.html.view import Fact, Page, ResourceRow, Section, spans
from opsconsole.reports.labels import agreement, heading, plan_summary
from opsconsole.reports.literals import SENSITIVE, printable
from opsconsole.reports.plan_text import cascades, diff_of, displayed, output_lines
from opsconsole.reports.styles import MOVE, PLAN_STYLES, SAME, Style, style_of_change
from opsconsole.values import UNKNOWN

_TITLES = {
    "remove": (
        "Destroy",
        "Removed from state, and deleted on the console if it can be.",
    ),
    "replace": ("Replace", "Destroyed, then created again."),
    "change": ("Change", "Updated in place."),
    "add": ("Create", "New on the console."),
    "leave": ("Stop managing", "Stays on the console, and leaves state."),
    "info": ("Move or read", "Nothing on the console changes."),
}


def render(plan: Plan, *, title: str = "", timestamp: str = "") -> str:
    """Return the plan as one self-contained HTML document.

    Args:
        title: The name of the stack or program, for the head of the page.
        timestamp: When the plan was made.
    """
    return write(page_of(plan, title=title, timestamp=timestamp))


def page_of(plan: Plan, *, title: str = "", timestamp: str = "") -> Page:
    """Return what the page shows."""
    anchors = {id(change): f"r{number}" for number, change in enumerate(plan.changes)}
    outputs = [output for output in plan.outputs if output.action is not Action.NO_OP]
    width = max((len(output.name) for output in outputs), default=0)
    lines = [line for output in outputs for line in output_lines(output, width)]
    headline, lede, mood = _headline(plan)
    return Page(
        kind="Plan",
        title=title,
        headline=headline,
        lede=lede,
        mood=mood,
        facts=tuple(_facts(plan, timestamp)),
        diagnostics=tuple(dedupe_diagnostics(plan.diagnostics)),
        sections=tuple(_sections(plan, anchors)),
        extra=(("Outputs", spans(lines)),) if lines else (),
        notes=(),
        picture=picture_of(items_of(plan, anchors)),
        generator=GENERATOR,
    )


def _headline(plan: Plan) -> tuple[str, str, str]:
    if has_error(plan.diagnostics):
        return "Planning failed", "The changes below were planned before the error.", "remove"
    if plan.mode == "refresh-only":
        found = plural(len(plan.drift), "object")
        return (
            f"{found} differ{'s' if len(plan.drift) == 1 else ''} from state",
            "Applying only updates state.",
            "info",
        )
    if plan.empty:
        return "No changes", agreement(plan), "add"
    first, _, rest = plan_summary(plan.counts, plan.changes).removeprefix("Plan: ").partition(". ")
    gravest = min((style_of_change(change) for change in plan.changes), key=_rank, default=SAME)
    return first.removesuffix("."), rest, gravest.name


def _rank(style: Style) -> int:
    return style.rank


def _facts(plan: Plan, timestamp: str) -> Iterator[Fact]:
    if timestamp:
        yield Fact("Made", timestamp)
    if plan.mode != "normal":
        yield Fact("Mode", plan.mode)
    yield Fact("Resources", f"{len(plan.changes):,}")
    if plan.lineage:
        yield Fact("State", f"serial {plan.serial}, lineage {printable(plan.lineage)}")
    if plan.calls:
        yield Fact("Requests", f"{sum(plan.calls.values()):,}")


def _sections(plan: Plan, anchors: Mapping[int, str]) -> Iterator[Section]:
    shown = displayed(plan)
    gone = cascades(plan)
    styles = [*PLAN_STYLES.values(), MOVE]
    for name, (title, meaning) in _TITLES.items():
        rows = [
            _row(change, anchors[id(change)], gone.get(change.address, ()))
            for change in shown
            if style_of_change(change).name == name
        ]
        if rows:
            style = next(style for style in styles if style.name == name)
            yield Section(f"s-{name}", title, meaning, style, tuple(rows))
    if plan.drift:
        drift = sorted(plan.drift, key=lambda item: natural(item.address))
        rows = [_drift_row(item, number) for number, item in enumerate(drift)]
        meaning = "The console holds other values than state."
        yield Section("s-drift", "Differs from state", meaning, MOVE, tuple(rows))
    still = sorted(
        (change for change in plan.changes if not change.acts),
        key=lambda change: natural(change.address),
    )
    if still:
        rows = [_still(change, anchors[id(change)]) for change in still]
        meaning = "The console matches the program, as far as it was read."
        yield Section("s-same", "Unchanged", meaning, SAME, tuple(rows), quiet=True)


def _row(change: Change, anchor: str, cascaded: Sequence[Change]) -> ResourceRow:
    head = heading(change)
    return ResourceRow(
        anchor=anchor,
        style=style_of_change(change),
        kind=_kind(change),
        title=head.subject,
        label=label_of(change),
        verb=head.verb,
        remarks=head.remarks,
        diff=spans(diff_of(change).lines()),
        children=tuple((printable(item.address), label_of(item)) for item in cascaded),
    )


def _still(change: Change, anchor: str) -> ResourceRow:
    return ResourceRow(anchor, SAME, _kind(change), printable(change.address), label_of(change))


def _drift_row(drift: Drift, number: int) -> ResourceRow:
    gone = drift.after is None
    return ResourceRow(
        anchor=f"d{number}",
        style=PLAN_STYLES[Action.DELETE if gone else Action.UPDATE],
        kind=drift.type_name.removeprefix("opsconsole_"),
        title=printable(drift.address),
        verb="has been deleted" if gone else "has changed",
        diff=spans(diff_of(drift).lines()),
    )


def _kind(change: Change) -> str:
    return change.type_name.removeprefix("opsconsole_")


def label_of(change: Change) -> str:
    """Return what names the instance of `change` to a reader, masked where it is sensitive."""
    name = label_attribute(change.type_name)
    value = (change.after or {}).get(name)
    if value is None or value is UNKNOWN:
        value = (change.before or {}).get(name)
    if not isinstance(value, str):
        return ""
    hidden = sensitive_of(change.address, change.type_name, change.sensitive)
    return SENSITIVE if name in hidden else printable(value)


def items_of(plan: Plan, anchors: Mapping[int, str]) -> Iterator[GraphItem]:
    folded = {id(item): host for host, group in cascades(plan).items() for item in group}
    hosts = {change.address: anchors[id(change)] for change in plan.changes}
    for change in plan.changes:
        if parsed(change.address, change.type_name).mode == "data":
            continue
        values = change.after if change.after is not None else change.before or {}
        before = change.before or {}
        own = before.get("id") or values.get("id")
        hidden = sensitive_of(change.address, change.type_name, change.sensitive)
        yield GraphItem(
            stack="",
            address=change.address,
            type_name=change.type_name,
            id=own if isinstance(own, str) else "",
            label=label_of(change),
            style=style_of_change(change),
            anchor=hosts[folded[id(change)]] if id(change) in folded else anchors[id(change)],
            values={name: value for name, value in values.items() if name not in hidden},
            depends_on=change.depends_on,
        )
