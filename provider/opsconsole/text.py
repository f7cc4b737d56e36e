"""Text for people: phrases, names, escapes, values as literals, wrapped lines, and colour. Pure.

Texts come from consoles and programs, so every terminal control character is escaped.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from opsconsole.values import UNKNOWN, Value

KNOWN_AFTER_APPLY: Final = "(known after apply)"
SENSITIVE: Final = "(sensitive value)"
_DIGITS: Final = re.compile(r"(\d{1,4000})")
"""No more digits than `int` takes at once."""
LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can spell and no encoding can write."""
DURATION: Final = r"(?:0|(?:(?:[0-9]{1,4000}(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
"""A duration as Go writes it, without a sign; no number has more digits than `int` takes."""
_SIGNED_DURATION: Final = re.compile(f"[+-]?{DURATION}")
_TERM: Final = re.compile(r"([0-9]*)\.?([0-9]*)([a-zµμ]+)")
_NANOSECONDS: Final = {
    "ns": 1,
    **dict.fromkeys(("us", "µs", "μs"), 10**3),
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""The nanoseconds in each unit of a duration."""
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
"""The short escapes of Terraform's language, which has fewer of them than JSON and Python."""
_ESCAPING: Final = str.maketrans(_ESCAPES)


_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""The words for on and off, as in Go."""
_SWITCHES: Final = {
    **dict.fromkeys(("1", "t", "true", "y", "yes", "on"), True),
    **dict.fromkeys(("", "0", "f", "false", "n", "no", "off"), False),
}


def parse_bool(text: str) -> bool | None:
    """Parse one of Go's words for on and off, which Terraform takes; None for any other word."""
    return _BOOLEANS.get(text)


def parse_switch(text: str) -> bool | None:
    """Parse a word of the environment for on or off, in any case; None for any other word."""
    return _SWITCHES.get(text.strip().lower())


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the `known` names like `name`, or else with all of them."""
    names = list(known)
    near = nearest(name, names)
    if near:
        return f'Did you mean "{near}"?'
    if not names:
        return "There is none."
    return f"There {'is' if len(names) == 1 else 'are'}: {first_items(names)}."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the most similar of the `known` names; empty if none is similar."""
    import difflib  # only messages about mistakes need it

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), "")


def suggest_address(text: str, known: Iterable[str]) -> str:
    """Return a sentence with the address most like `text`; empty if none is similar."""
    from difflib import SequenceMatcher

    def likeness(address: str) -> float:
        # Compare type and name separately: a long common type makes any two addresses similar.
        parts = zip(text.partition("."), address.partition("."), strict=True)
        return min(SequenceMatcher(None, *pair).ratio() for pair in parts)

    best = max(known, key=likeness, default=text)
    return f'Did you mean "{best}"?' if best != text and likeness(best) >= 0.6 else ""


def capitalise_first(text: str) -> str:
    """Return text with its first letter in upper case, and all others as they are."""
    return text[:1].upper() + text[1:]


def plural(count: int, noun: str) -> str:
    """Return `1 host`, `2 hosts`, `2 specialties`."""
    if count == 1:
        return f"1 {noun}"
    stem = f"{noun[:-1]}ie" if noun.endswith("y") and noun[-2] not in "aeiou" else noun
    return f"{count:,} {stem}s"


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, or `a, b and c`, with `last` before the last word."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def first_items(items: Sequence[str], most: int = 20) -> str:
    """Return `a, b and 3 more`: the first items, and the number of the others."""
    return f"{', '.join(items[:most])}{_more(items, most)}"


def first_lines(lines: Sequence[str], most: int = 20) -> list[str]:
    """Return the first lines, and one such as `  and 3 more` in place of the others."""
    more = _more(lines, most)
    return [*lines[:most], *([f" {more}"] if more else [])]


def _more(items: Sequence[str], most: int) -> str:
    return f" and {len(items) - most:,} more" if len(items) > most else ""


def shorten(text: str, most: int) -> str:
    """Return the first `most` characters of a text, with an ellipsis if there are more."""
    return text if len(text) <= most else f"{text[:most]}…"


def short_type(type_name: str) -> str:
    return type_name.removeprefix("opsconsole_")


def natural_order(text: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that orders `web[2]` before `web[10]`."""
    return tuple(
        # Pairs are used because Python cannot compare a number with a text. isdigit() accepts a
        # superscript, but int() does not.
        (0, int(part)) if part.isascii() and part.isdigit() else (1, part)
        for part in _DIGITS.split(text)
    )


def printable(text: str, keep: str = "") -> str:
    """Escape every character that is not printable, except the characters in `keep`."""
    if text.isprintable():
        return text
    if keep:
        # The parts between kept letters are nearly always printable, and then cost one look each.
        return keep[0].join(printable(part, keep[1:]) for part in text.split(keep[0]))
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    code = ord(letter)
    return _ESCAPES.get(letter) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def to_nfc(text: str) -> str:
    """Return text in normal form C, in which Terraform and the native engine hold all text."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def quote(text: str) -> str:
    """Return `text` as a literal in double quotes, in which nothing is a template."""
    return in_quotes(escape_template(text))


def in_quotes(template: str) -> str:
    """Return the text of a template as a literal in double quotes."""
    return f'"{printable(template.translate(_ESCAPING))}"'


def escape_template(text: str) -> str:
    """Return the template whose value is `text`."""
    return text.replace("${", "$${").replace("%{", "%%{")


def parse_duration(duration: str) -> int:
    """Parse a duration as Go writes it, such as `30s`, `-1m30s` or `0`.

    Raises:
        ValueError: The text is not a duration, or a duration that Go cannot hold.
    """
    if not _SIGNED_DURATION.fullmatch(duration):
        raise ValueError(f'"{duration}" is not a duration')
    total = 0
    for number, decimals, unit in _TERM.findall(duration):
        # Go computes the part behind the point in double precision, from 18 digits.
        part = int(decimals[:18] or "0") * (_NANOSECONDS[unit] / 10 ** len(decimals[:18]))
        total += int(number or "0") * _NANOSECONDS[unit] + int(part)
    total = -total if duration.startswith("-") else total
    if not -(2**63) <= total < 2**63:
        raise ValueError(f"the duration {duration} is longer than 292 years")
    return total


def format_scalar(value: Value) -> str:
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
    """Wrap lines to `width` columns, keeping indents; with 0 (no terminal) they stay unchanged."""
    lines = []
    for line in text.splitlines():
        if width < _NARROWEST or len(line) <= width:
            lines.append(line)
            continue
        words = line.lstrip()
        indent = line[: len(line) - len(words)]
        lines += textwrap.wrap(
            words,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


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
    """Paints text with ANSI sequences, and wraps it.

    `width` is the columns of the terminal; 0 without a terminal, for text that is not wrapped.
    """

    colour: bool = False
    width: int = 0

    def paint(self, text: str, *styles: str) -> str:
        """Return `text` in the `styles` (`bold`, `dim` and colours), reset after it."""
        if not self.colour or not text or not styles:
            return text
        return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"

    def bold(self, text: str) -> str:
        return self.paint(text, "bold")

    def wrap(self, text: str) -> list[str]:
        return wrap_lines(text, self.width)

    def sign(self, sign: str) -> str:
        """Return `sign` with each of its letters in its colour: `-/+` is red and green."""
        if not self.colour:
            return sign
        return "".join(
            self.paint(letter, SIGN_COLOURS[letter]) if letter in SIGN_COLOURS else letter
            for letter in sign
        )


PLAIN: Final = Pen()
"""For text that is neither painted nor wrapped, as in a file."""
