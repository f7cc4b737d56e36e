"""A drift report on a terminal: drift, unchecked resources, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opsconsole.phrases import plural
from opsconsole.reports import diagnostics_text
from opsconsole.reports.report import Report, Row
from opsconsole.reports.text import SIGN_COLOURS, Pen, wrap_lines

MANY: Final = 10
"""Above this number, resources with the same reason are only counted, except for drift."""
_SHOWN: Final = 3


def render(report: Report, *, colour: bool = False, width: int = 0) -> str:
    """Return the report as text; the verdict comes last, nearest the prompt.

    `width`: of the terminal that text is fitted to, or 0.
    """
    pen = Pen(colour)
    lines: list[str] = []
    for section in report.sections:
        if not section.quiet:
            heading = f"{section.title} ({len(section.rows):,})"
            lines += [pen.paint(heading, "bold", section.style.colour), ""]
            for group in section.groups:
                lines += _group(group, pen, width)
            lines.append("")
    if report.notes:
        heading = f"Baseline entries to look at ({len(report.notes):,})"
        lines += [pen.paint(heading, "bold", "yellow"), ""]
        lines += [f"  {pen.paint('!', 'yellow')} {entry}: {text}" for entry, text in report.notes]
        lines.append("")
    messages = diagnostics_text.render(report.diagnostics, colour=colour, width=width)
    end = "\n".join([*_end(report, pen, width), ""])
    return "\n".join(filter(None, ("\n".join(lines), messages, end)))


def _group(rows: Sequence[Row], pen: Pen, width: int) -> Iterator[str]:
    """Yield resources with the same reason; of many, only the first and the number of others."""
    shown = rows if len(rows) <= MANY else rows[:_SHOWN]
    for row in shown:
        sign = pen.paint(row.style.sign.replace("\N{MINUS SIGN}", "-"), row.style.colour)
        label = f" ({row.label})" if row.label else ""
        verb = f", {row.verb}" if row.verb else ""
        yield f"  {sign} {pen.bold(row.title)}{label}{verb}"
        for text in row.remarks:
            yield from _remark(text, pen, width)
    if len(shown) < len(rows):
        more = plural(len(rows) - _SHOWN, f"more {rows[0].kind.replace('_', ' ')}")
        yield f"  and {more}; the other formats list all"
    yield from _remark(rows[0].reason, pen, width)
    for line in rows[0].diff:
        painted = SIGN_COLOURS.get(line.sign)
        yield pen.paint(line.plain, painted) if painted else line.plain


def _remark(text: str, pen: Pen, width: int) -> Iterator[str]:
    return (pen.paint(line, "dim") for line in wrap_lines(f"      {text}" if text else "", width))


def _end(report: Report, pen: Pen, width: int) -> Iterator[str]:
    headline = f"{report.headline}."
    first, *rest = wrap_lines(f"{headline} {report.lede}", width)
    yield pen.paint(headline, "bold", report.style.colour) + first.removeprefix(headline)
    yield from rest
    counts = [f"{len(section.rows):,} {section.title.lower()}" for section in report.sections]
    yield from wrap_lines(f"{', '.join(counts) or 'There is nothing to check'}.", width)
    yield from wrap_lines(" · ".join(f"{name} {value}" for name, value in report.facts), width)
    yield from wrap_lines(report.method, width)
