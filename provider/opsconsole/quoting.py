"""Escapes text for terminals and for literals of Terraform's language. Pure.

Texts come from consoles and programs, so every terminal control character is escaped.
"""

from __future__ import annotations

from typing import Final

_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
"""The short escapes of Terraform's language, which has fewer of them than JSON and Python."""
_ESCAPING: Final = str.maketrans(_ESCAPES)


def printable(text: str, keep: str = "") -> str:
    """Return `text` with every character that is not printable escaped, those in `keep` aside."""
    if text.isprintable():
        return text
    if keep:
        # The parts between kept letters are nearly always printable, and then cost one look each.
        return keep[0].join(printable(part, keep[1:]) for part in text.split(keep[0]))
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    code = ord(letter)
    return _ESCAPES.get(letter) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def quote(text: str) -> str:
    """Return `text` as a literal in double quotes, in which nothing is a template."""
    return in_quotes(escape_template(text))


def in_quotes(template: str) -> str:
    """Return the text of a template as a literal in double quotes."""
    return f'"{printable(template.translate(_ESCAPING))}"'


def escape_template(text: str) -> str:
    """Return the template whose value is `text`."""
    return text.replace("${", "$${").replace("%{", "%%{")
