"""Breaking text between words, for terminals."""

from __future__ import annotations

import textwrap

_NARROWEST = 30
"""Below this many columns broken text is no easier to read."""


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, none longer than `width` unless a word is; indents are kept.

    Args:
        text: Lines.
        width: Columns; 0 where there is no terminal: lines stay as they are.
    """
    lines = text.splitlines()
    if width < _NARROWEST:
        return lines
    return [part for line in lines for part in _broken(line, width)]


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
