"""Diagnostics as text, merged if they differ only in their resources.

On a terminal, each has a bar beside it. Errors come after warnings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opsconsole.diagnostics import Diagnostic, Severity
from opsconsole.quoting import printable
from opsconsole.reports.text import Pen, wrap_lines

FEWEST = 4
"""Fewer diagnostics than this stay separate, even if they are alike."""

_NAMED = 10


def dedupe_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics, merging those that differ only in their resources.

    The first of a group stands for the group, with the addresses of all.
    """
    groups: dict[tuple[object, ...], list[Diagnostic]] = {}
    for item in diagnostics:
        groups.setdefault(_alike(item), []).append(item)
    found: list[Diagnostic] = []
    for group in groups.values():
        if len(group) < FEWEST:
            found += group
            continue
        first = group[0]
        addresses = dict.fromkeys(address for item in group for address in item.addresses)
        summary = f"{first.summary} (and {len(group) - 1:,} more like it)"
        found.append(replace(first, summary=summary, addresses=tuple(addresses)))
    return found


def _alike(item: Diagnostic) -> tuple[object, ...]:
    """Return a key that is equal for diagnostics that are shown as one."""
    if not item.addresses or not item.text:
        # Such a diagnostic only has its summary, and a merged group shows only the first summary.
        return (id(item),)
    cause = (*item.cause.gist, item.cause.operation) if item.cause else ()
    return (item.severity, item.path, item.detail, cause)


def body_of(item: Diagnostic) -> str:
    """Return the text below the summary: detail, cause, the first addresses, and the place."""
    lines = [item.text] if item.text else []
    lines += [f"  with {address}" for address in item.addresses[:_NAMED]]
    if len(item.addresses) > _NAMED:
        lines.append(f"  and {len(item.addresses) - _NAMED:,} more")
    if item.place:
        lines.append(f"  declared at {item.place}")
    return "\n".join(lines)


_STYLES = {Severity.ERROR: ("Error", "red"), Severity.WARNING: ("Warning", "yellow")}


def render(diagnostics: Iterable[Diagnostic], *, colour: bool = False, width: int = 0) -> str:
    """Return `diagnostics` as text, errors last.

    Diagnostics that differ only in their resource are shown once. `width`: of the terminal, or 0.
    """
    pen = Pen(colour)
    # Errors come last, because the end of a text is nearest to the prompt.
    ordered = sorted(
        dedupe_diagnostics(diagnostics), key=lambda item: item.severity is Severity.ERROR
    )
    return "".join(_one(item, pen, width) for item in ordered)


def _one(item: Diagnostic, pen: Pen, width: int) -> str:
    word, style = _STYLES[item.severity]
    room = width - len("│ ")
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
