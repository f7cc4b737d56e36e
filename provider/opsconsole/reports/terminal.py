"""Diagnostics and a report as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from opsconsole.diagnostics import Diagnostic, Severity
from opsconsole.errors import ProblemKind
from opsconsole.text import (
    PLAIN,
    SIGN_COLOURS,
    Pen,
    first_lines,
    plural,
    printable,
    wrap_lines,
)

if TYPE_CHECKING:
    from opsconsole.reports.view import ResourceRow, View

MANY: Final = 10
"""Above this number, resources with the same reason are only counted, except for drift."""
_SHOWN: Final = 3
FEWEST = 4
"""Fewer diagnostics than this stay separate, even if they are alike."""


def dedupe_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Merge diagnostics that differ only in their resources.

    The first of a group with an answer of the console stands for the group, with all addresses.
    """
    groups: dict[tuple[object, ...], list[Diagnostic]] = {}
    for item in diagnostics:
        groups.setdefault(_merge_key(item), []).append(item)
    merged: list[Diagnostic] = []
    for group in groups.values():
        if len(group) < FEWEST:
            merged += group
            continue
        first = max(group, key=lambda item: bool(item.cause and item.cause.text))
        addresses = dict.fromkeys(address for item in group for address in item.addresses)
        summary = f"{first.summary} (and {len(group) - 1:,} more like it)"
        merged.append(replace(first, summary=summary, addresses=tuple(addresses)))
    return merged


def _merge_key(item: Diagnostic) -> tuple[object, ...]:
    """Return a key that is equal for diagnostics that are shown as one."""
    if not item.addresses or not item.text:
        # Such a diagnostic only has its summary, and a merged group shows only the first summary.
        return (id(item),)
    if item.cause and item.cause.kind is ProblemKind.UNAUTHORIZED:
        # One of them has the console's answer; no call was made for the others.
        return (item.severity, item.cause.kind)
    cause = (*item.cause.gist, item.cause.operation) if item.cause else ()
    return (item.severity, item.path, item.detail, cause)


def body_of(item: Diagnostic) -> str:
    """Return the text below the summary: detail, cause, the first addresses, and the place."""
    lines = [item.text] if item.text else []
    lines += first_lines([f"  with {address}" for address in item.addresses], 10)
    if item.location:
        lines.append(f"  declared at {item.location}")
    return "\n".join(lines)


_STYLES = {Severity.ERROR: ("Error", "red"), Severity.WARNING: ("Warning", "yellow")}


def render_diagnostics(diagnostics: Iterable[Diagnostic], pen: Pen = PLAIN) -> str:
    """Return diagnostics as text, merged, errors last."""
    # Errors come last, because the end of a text is nearest to the prompt.
    ordered = sorted(dedupe_diagnostics(diagnostics), key=lambda item: item.is_error)
    return "".join(_render_diagnostic(item, pen) for item in ordered)


def _render_diagnostic(item: Diagnostic, pen: Pen) -> str:
    word, style = _STYLES[item.severity]
    room = pen.width - len("│ ")
    first, *rest = wrap_lines(f"{word}: {printable(item.summary)}", room)
    summary = first.removeprefix(f"{word}: ")
    lines = [f"{pen.paint(f'{word}:', 'bold', style)} {pen.bold(summary)}", *map(pen.bold, rest)]
    if item.path:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in item.path)
        lines += ["", f"  at {printable(''.join(steps).removeprefix('.'))}"]
    body = body_of(item)
    if body:
        lines += ["", *wrap_lines("\n".join(map(printable, body.splitlines())), room)]
    bar = pen.paint("│", style)
    text = "\n".join(f"{bar} {line}".rstrip() for line in lines)
    return f"{pen.paint('╷', style)}\n{text}\n{pen.paint('╵', style)}\n"


def render(view: View, pen: Pen = PLAIN) -> str:
    """Return the report as text; the verdict comes last, nearest the prompt."""
    lines: list[str] = []
    for section in view.sections:
        if not section.style.is_quiet:
            heading = f"{section.title} ({len(section.rows):,})"
            meaning = [pen.paint(line, "dim") for line in pen.wrap(section.meaning)]
            lines += [pen.paint(heading, "bold", section.style.colour), *meaning, ""]
            for group in section.groups:
                lines += _render_group(group, pen)
            lines.append("")
    if view.notes:
        heading = f"Baseline entries to look at ({len(view.notes):,})"
        lines += [pen.paint(heading, "bold", "yellow"), ""]
        lines += [f"  {pen.paint('!', 'yellow')} {entry}: {text}" for entry, text in view.notes]
        lines.append("")
    messages = render_diagnostics(view.diagnostics, pen)
    end = "\n".join([*_end_lines(view, pen), ""])
    return "\n".join(filter(None, ("\n".join(lines), messages, end)))


def _render_group(rows: Sequence[ResourceRow], pen: Pen) -> Iterator[str]:
    """Yield resources with the same reason; if there are many, the first ones and a count."""
    shown = rows if len(rows) <= MANY else rows[:_SHOWN]
    for row in shown:
        sign = pen.paint(row.style.sign.replace("\N{MINUS SIGN}", "-"), row.style.colour)
        label = f" ({row.label})" if row.label else ""
        verb = f", {row.verb}" if row.verb else ""
        yield f"  {sign} {pen.bold(row.title)}{label}{verb}"
        for text in row.remarks:
            yield from _remark_lines(text, pen)
    if len(shown) < len(rows):
        kinds = {row.kind.replace("_", " ") for row in rows}
        noun = kinds.pop() if len(kinds) == 1 else "resource"
        more = plural(len(rows) - _SHOWN, f"more {noun}")
        yield f"  and {more}; the other formats list all"
    yield from _remark_lines(rows[0].reason, pen)
    for line in rows[0].diff:
        painted = SIGN_COLOURS.get(line.sign)
        yield pen.paint(line.plain, painted) if painted else line.plain


def _remark_lines(text: str, pen: Pen) -> Iterator[str]:
    return (pen.paint(line, "dim") for line in pen.wrap(f"      {text}" if text else ""))


def _end_lines(view: View, pen: Pen) -> Iterator[str]:
    headline = f"{view.headline}."
    first, *rest = pen.wrap(f"{headline} {view.subline}")
    yield pen.paint(headline, "bold", view.style.colour) + first.removeprefix(headline)
    yield from rest
    # The verdict has the number of accepted resources, and of all resources that are in sync.
    sections = [section for section in view.sections if section.style.css_class != "accepted"]
    if any(not section.style.is_quiet for section in sections):
        counts = (f"{len(section.rows):,} {section.title.lower()}" for section in sections)
        yield from pen.wrap(f"{', '.join(counts)}.")
    yield from pen.wrap(" · ".join(f"{name} {value}" for name, value in view.facts))
    yield from pen.wrap(view.method)
