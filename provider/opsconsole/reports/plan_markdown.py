"""A plan as Markdown for a step summary or a comment, kept under 1 MB by sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opsconsole.diagnostics import has_error
from opsconsole.phrases import plural
from opsconsole.reconcile.changes import Action, Change, Plan
from opsconsole.reports.diagnostics_text import dedupe_diagnostics
from opsconsole.reports.labels import agreement, heading, natural, plan_summary, symbol
from opsconsole.reports.markdown import (
    LIMIT,
    MarkdownSection,
    code,
    diff_texts,
    fenced,
    fit,
    folded,
    messages,
    plain,
)
from opsconsole.reports.plan_text import cascades, diff_of, displayed, output_lines

_GROUPS = {
    Action.DELETE: "Destroy",
    Action.REPLACE: "Replace",
    Action.UPDATE: "Change",
    Action.CREATE: "Create",
    Action.ADOPT: "Adopt",
    Action.FORGET: "Stop managing",
    Action.NO_OP: "Move or import",
    Action.READ: "Read",
}


def render(plan: Plan, *, limit: int = LIMIT) -> str:
    """Return the plan as Markdown of at most `limit` bytes: the gravest sections come first."""
    return fit(_head(plan), list(_sections(plan)), limit)


def _head(plan: Plan) -> str:
    if has_error(plan.diagnostics):
        return "## ❌ Planning failed\n\n"
    if plan.empty and plan.mode != "refresh-only":
        return f"## ✅ No changes\n\n{agreement(plan)}\n"
    summary = plan_summary(plan.counts, plan.changes)
    counts = plan.counts
    mark = "⚠️" if counts.destroy else "📋"
    return f"## {mark} {summary.partition('. ')[0].removesuffix('.')}\n\n{summary}\n"


def _sections(plan: Plan) -> Iterator[MarkdownSection]:
    if plan.diagnostics:
        yield messages("Messages", dedupe_diagnostics(plan.diagnostics))
    shown = displayed(plan)
    gone = cascades(plan)
    for action, word in _GROUPS.items():
        group = [change for change in shown if change.action is action]
        if group:
            opening = f"\n### {word} ({len(group):,})\n\n"
            items = [_item(change, gone.get(change.address, ())) for change in group]
            yield MarkdownSection(opening, items)
    changing = [output for output in plan.outputs if output.action is not Action.NO_OP]
    if changing:
        lines = [line for item in changing for line in output_lines(item)]
        yield MarkdownSection("\n### Outputs\n\n", [fenced(diff_texts(lines))], "output")
    if plan.drift:
        opening = f"\n### Differs from state ({len(plan.drift):,})\n\n"
        ordered = sorted(plan.drift, key=lambda drift: natural(drift.address))
        items = [
            folded(code(drift.address), fenced(diff_texts(diff_of(drift).lines())))
            for drift in ordered
        ]
        yield MarkdownSection(opening, items)


def _item(change: Change, cascaded: Sequence[Change]) -> str:
    head = heading(change)
    remarks = "; ".join(map(plain, head.remarks))
    mark = symbol(change)
    headline = f"{code(mark)} {code(change.address)}" if mark else code(change.address)
    headline += f" {head.verb}"
    body = f"{remarks}\n\n" if remarks else ""
    lines = diff_of(change).lines()
    if lines:
        body += fenced(diff_texts(lines))
    if cascaded:
        body += f"\nArchived with it, without a call: {plural(len(cascaded), 'resource')}\n\n"
        body += "".join(f"- {code(item.address)}\n" for item in cascaded)
    return folded(headline, body)
