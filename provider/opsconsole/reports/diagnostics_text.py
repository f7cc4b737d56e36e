"""Diagnostics on a terminal: a bar beside each, errors after warnings."""

from __future__ import annotations

from collections.abc import Iterable

from opsconsole.diagnostics import Diagnostic, Severity
from opsconsole.reports.colour import Pen
from opsconsole.reports.deduplication import body_of, dedupe_diagnostics
from opsconsole.reports.literals import printable
from opsconsole.reports.wrapping import wrapped

_STYLES = {Severity.ERROR: ("Error", "red"), Severity.WARNING: ("Warning", "yellow")}


def render(diagnostics: Iterable[Diagnostic], *, colour: bool = False, width: int = 0) -> str:
    """Return `diagnostics` as text, warnings first, so that errors stand nearest the prompt.

    Diagnostics that differ only in their resource are shown once. `width`: of the terminal, or 0.
    """
    pen = Pen(colour)
    ordered = sorted(
        dedupe_diagnostics(diagnostics), key=lambda item: item.severity is Severity.ERROR
    )
    return "".join(_one(item, pen, width) for item in ordered)


def path_text(item: Diagnostic) -> str:
    """Return the attribute that a diagnostic is about, `tags[0]`, or empty."""
    text = ""
    for step in item.path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return printable(text.removeprefix("."))


def _one(item: Diagnostic, pen: Pen, width: int) -> str:
    word, style = _STYLES[item.severity]
    room = width - len("│ ")
    first, *rest = wrapped(f"{word}: {printable(item.summary)}", room)
    summary = first.removeprefix(f"{word}: ")
    lines = [f"{pen.paint(f'{word}:', 'bold', style)} {pen.bold(summary)}", *map(pen.bold, rest)]
    path = path_text(item)
    if path:
        lines += ["", f"  at {path}"]
    body = body_of(item)
    if body:
        lines += ["", *wrapped("\n".join(map(printable, body.splitlines())), room)]
    bar = pen.paint("│", style)
    text = "\n".join(f"{bar} {line}".rstrip() for line in lines)
    return f"{pen.paint('╷', style)}\n{text}\n{pen.paint('╵', style)}\n"
