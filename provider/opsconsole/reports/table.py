"""A plain table: columns as wide as their content, the last one cut to the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from opsconsole.reports.colour import Pen
from opsconsole.reports.literals import printable

_GAP = "  "


def render(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    styles: Sequence[str] = (),
    width: int = 0,
    colour: bool = False,
) -> str:
    """Return a table as text.

    Args:
        styles: A style for each row (`red`, `dim` …), or none.
        width: Characters in a line; 0: as many as it takes.
    """
    pen = Pen(colour)
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max([len(head), *(len(row[place]) for row in shown)]) for place, head in enumerate(heads)
    ]
    lines = [pen.bold(_line(heads, widths, width)), pen.paint(_rule(widths, width), "dim")]
    for number, row in enumerate(shown):
        style = styles[number] if number < len(styles) else ""
        text = _line(row, widths, width)
        lines.append(pen.paint(text, style) if style else text)
    return "\n".join([*lines, ""])


def _line(cells: Sequence[str], widths: Sequence[int], width: int) -> str:
    padded = [f"{cell:{size}}" for cell, size in zip(cells, widths, strict=True)]
    text = _GAP.join(padded).rstrip()
    return f"{text[: width - 1]}…" if width and len(text) > width else text


def _rule(widths: Sequence[int], width: int) -> str:
    text = _GAP.join("─" * size for size in widths)
    return text[:width] if width else text
