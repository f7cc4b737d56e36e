"""The content of a plan for readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opsconsole.diagnostics import has_error
from opsconsole.reconcile.plan import Action, Change, Drift, Plan
from opsconsole.reports.plan_parts import (
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
    sensitive_of,
    visible_changes,
)
from opsconsole.reports.terminal import dedupe_diagnostics
from opsconsole.reports.view import (
    SAME,
    GraphItem,
    ResourceRow,
    Section,
    Style,
    View,
    group_rows,
    moment,
)
from opsconsole.text import natural_order, plural, printable, short_type

_MOVE: Final = Style("info", "→", "move or read", 60, meaning="Nothing on the console changes.")
PLAN_STYLES: Final = {
    Action.DELETE: Style(
        "remove",
        "\N{MINUS SIGN}",
        "destroy",
        10,
        meaning="Removed from state, and deleted on the console if it can be.",
    ),
    Action.REPLACE: Style("replace", "±", "replace", 20, meaning="Destroyed, then created again."),
    Action.UPDATE: Style("change", "~", "change", 30, meaning="Updated in place."),
    Action.CREATE: Style("add", "+", "create", 40, meaning="New on the console."),
    Action.ADOPT: Style(
        "adopt", ">", "adopt", 45, meaning="On the console already, and managed from then on."
    ),
    Action.FORGET: Style(
        "leave", "↷", "stop managing", 50, meaning="Stays on the console, and leaves state."
    ),
    Action.READ: _MOVE,
    Action.NO_OP: SAME,
}


def make_view(plan: Plan, *, title: str = "", timestamp: str = "") -> View:
    """Return the content of a plan.

    Args:
        title: The name of the stack or program.
        timestamp: When the plan was made.
    """
    anchors = {id(change): f"r{number}" for number, change in enumerate(plan.changes)}
    outputs = [output for output in plan.outputs if output.action is not Action.NO_OP]
    width = max((len(output.name) for output in outputs), default=0)
    lines = [line for output in outputs for line in output_lines(output, width)]
    mark, style, headline, subline = _headline(plan)
    return View(
        kind="Plan",
        title=title,
        headline=headline,
        subline=subline,
        style=style,
        mark=mark,
        facts=tuple(_facts(plan, timestamp)),
        diagnostics=tuple(dedupe_diagnostics(plan.diagnostics)),
        sections=_sections(plan, anchors),
        extra=(("Outputs", tuple(lines)),) if lines else (),
        items=items_of(plan, anchors),
    )


def _style_of(change: Change) -> Style:
    if change.action is Action.NO_OP and change.acts:
        return _MOVE
    return PLAN_STYLES[change.action]


def _headline(plan: Plan) -> tuple[str, Style, str, str]:
    """Return mark, style, headline and subline."""
    if has_error(plan.diagnostics):
        subline = "The changes below were planned before the error."
        return "❌", PLAN_STYLES[Action.DELETE], "Planning failed", subline
    if plan.mode == "refresh-only":
        objects = plural(len(plan.drift), "object")
        headline = f"{objects} differ{'s' if len(plan.drift) == 1 else ''} from state"
        return "📋", _MOVE, headline, "Applying only updates state."
    if plan.empty:
        return "✅", PLAN_STYLES[Action.CREATE], "No changes", describe_no_changes(plan)
    first, _, rest = plan_summary(plan.counts, plan.changes).partition(". ")
    styles = map(_style_of, plan.changes)
    gravest = min(styles, key=lambda style: style.rank, default=SAME)
    subline = " ".join(filter(None, (rest, describe_no_requests(plan))))
    return "⚠️" if plan.counts.destroy else "📋", gravest, first.removesuffix("."), subline


def _facts(plan: Plan, timestamp: str) -> Iterator[tuple[str, str]]:
    if timestamp:
        yield ("Made", moment(timestamp))
    if plan.mode != "normal":
        yield ("Mode", plan.mode)
    yield ("Resources", f"{len(plan.changes):,}")
    if plan.lineage:
        yield ("State", f"serial {plan.serial}, lineage {printable(plan.lineage)}")
    if plan.calls:
        yield ("Requests", f"{sum(plan.calls.values()):,}")


def _sections(plan: Plan, anchors: Mapping[int, str]) -> tuple[Section, ...]:
    gone = cascades(plan)
    rows = [
        _row(change, anchors[id(change)], gone.get(change.address, ()))
        for change in visible_changes(plan)
    ]
    still = [change for change in plan.changes if not change.acts]
    rows += [
        ResourceRow(
            anchors[id(change)],
            SAME,
            short_type(change.type_name),
            printable(change.address),
            label_of(change),
        )
        for change in sorted(still, key=lambda change: natural_order(change.address))
    ]
    sections = group_rows(rows)
    if plan.drift:
        drift = sorted(plan.drift, key=lambda item: natural_order(item.address))
        differing = tuple(_drift_row(item, number) for number, item in enumerate(drift))
        meaning = "The console holds other values than state."
        sections.append(Section("s-drift", "Differs from state", meaning, _MOVE, differing))
    return tuple(sorted(sections, key=lambda section: section.style.is_quiet))


def _row(change: Change, anchor: str, cascaded: Sequence[Change]) -> ResourceRow:
    return ResourceRow(
        anchor=anchor,
        style=_style_of(change),
        kind=short_type(change.type_name),
        title=printable(change.address),
        label=label_of(change),
        verb=describe_change(change),
        remarks=tuple(remarks_on(change)),
        diff=tuple(diff_of(change)),
        children=tuple((printable(item.address), label_of(item)) for item in cascaded),
        children_effect=cascade_effect(*(item.type_name for item in cascaded)),
    )


def _drift_row(drift: Drift, number: int) -> ResourceRow:
    gone = drift.after is None
    return ResourceRow(
        anchor=f"d{number}",
        style=PLAN_STYLES[Action.DELETE if gone else Action.UPDATE],
        kind=short_type(drift.type_name),
        title=printable(drift.address),
        verb="has been deleted" if gone else "has changed",
        diff=tuple(diff_of(drift)),
    )


def items_of(plan: Plan, anchors: Mapping[int, str]) -> Iterator[GraphItem]:
    owners = {id(item): owner for owner, group in cascades(plan).items() for item in group}
    own_anchors = {change.address: anchors[id(change)] for change in plan.changes}
    for change in plan.changes:
        if parse_address(change.address, change.type_name).mode == "data":
            continue
        values = change.after if change.after is not None else change.before or {}
        before = change.before or {}
        # The id after a replacement is known only after apply.
        own = before.get("id") or values.get("id")
        hidden = sensitive_of(change.address, change.type_name, change.sensitive)
        yield GraphItem(
            stack="",
            address=change.address,
            type_name=change.type_name,
            id=own if isinstance(own, str) else "",
            label=label_of(change),
            style=_style_of(change),
            # A resource that is deleted with its owner has no row, so there is no link target.
            anchor=own_anchors[owners[id(change)]] if id(change) in owners else anchors[id(change)],
            values={name: value for name, value in values.items() if name not in hidden},
            dependencies=change.dependencies,
        )
