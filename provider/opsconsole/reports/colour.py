"""Colour on a terminal: a pen that paints, or one that leaves text as it is."""

from __future__ import annotations

from dataclasses import dataclass

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
