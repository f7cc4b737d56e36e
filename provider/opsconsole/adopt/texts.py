"""Texts of the console in programs: quoted alike in Python and Terraform's language, or on a line.

What is not printable is escaped: it would change how the program reads.
"""

from __future__ import annotations

from typing import Final

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
"""The short escapes of Terraform's language, which has fewer of them than JSON and Python."""


def quoted(text: str) -> str:
    """Return text as a literal in double quotes; what Terraform would take for a template stays."""
    escaped = "".join(_ESCAPES.get(letter, letter) for letter in text)
    return f'"{_printable(escaped)}"'.replace("${", "$${").replace("%{", "%%{")


def line(text: str) -> str:
    """Return text on one line, for a comment."""
    return _printable(" ".join(text.split()))


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    number = ord(letter)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
