"""Values as literals of Terraform's language, text broken into lines, and colour on a terminal."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Final

from opsconsole.quoting import quote
from opsconsole.values import UNKNOWN, Value

KNOWN_AFTER_APPLY: Final = "(known after apply)"
SENSITIVE: Final = "(sensitive value)"


def scalar(value: Value) -> str:
    """Return a value that is neither a list nor a dict as a literal."""
    if value is UNKNOWN:
        return KNOWN_AFTER_APPLY
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    return str(value)


_NARROWEST = 30
"""Below this number of columns, wrapping does not make text easier to read."""


def wrap_lines(text: str, width: int) -> list[str]:
    """Return the lines of a text, wrapped to `width` unless a word is longer; keep indents.

    Args:
        text: Lines.
        width: The number of columns; with 0 (no terminal) lines stay unchanged.
    """
    found = []
    for line in text.splitlines():
        if width < _NARROWEST or len(line) <= width:
            found.append(line)
            continue
        words = line.lstrip()
        indent = line[: len(line) - len(words)]
        found += textwrap.wrap(
            words,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return found


_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
SIGN_COLOURS = {"+": "green", "-": "red", "~": "yellow"}


@dataclass(frozen=True, slots=True)
class Pen:
    """Paints text with ANSI sequences where `colour` is true."""

    colour: bool

    def paint(self, text: str, *styles: str) -> str:
        """Return `text` in the `styles` (`bold`, `dim` and colours), reset after it."""
        if not self.colour or not text or not styles:
            return text
        return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"

    def bold(self, text: str) -> str:
        """Return `text` in bold."""
        return self.paint(text, "bold")

    def sign(self, sign: str) -> str:
        """Return `sign` with each of its letters in its colour: `-/+` is red and green."""
        if not self.colour:
            return sign
        return "".join(
            self.paint(letter, SIGN_COLOURS[letter]) if letter in SIGN_COLOURS else letter
            for letter in sign
        )
