"""Functions on strings, except formatting and regular expressions."""

from __future__ import annotations

from functools import partial
from typing import Any

from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.collections import LIST_OF_TEXT, require_integer
from opsconsole.language.functions.registry import Signature
from opsconsole.language.numbers import Number
from opsconsole.language.values import NUMBER, STRING, check_length, clusters

# Go's white space; Python's own also includes \x1c to \x1f.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def _change_case(text: str, case: str) -> str:
    """Change case rune by rune, as Go does. A rune that would become two letters is unchanged."""
    return "".join(_change_letter(letter, case) for letter in text)


def _change_letter(letter: str, case: str) -> str:
    if letter == "İ" and case == "lower":
        return "i"
    # Python makes two letters of `ᾳ` in upper case, for which Go has the one of a title.
    forms = (getattr(letter, case)(), letter.title() if case == "upper" else letter, letter)
    return next(form for form in forms if len(form) == 1)


Signature("upper", (STRING,))(partial(_change_case, case="upper"))
Signature("lower", (STRING,))(partial(_change_case, case="lower"))


@Signature("title", (STRING,))
def _title(text: str) -> str:
    letters = []
    before = " "
    for letter in text:
        letters.append(_change_case(letter, "title") if _is_separator(before) else letter)
        before = letter
    return "".join(letters)


def _is_separator(letter: str) -> bool:
    if letter.isascii():
        return not (letter.isalnum() or letter == "_")
    return letter.isspace()


@Signature("substr", (STRING, NUMBER, NUMBER))
def _substr(text: str, offset: Number, length: Number) -> str:
    letters = clusters(text)
    start, size = require_integer(offset), require_integer(length)
    if start < 0:
        start = max(start + len(letters), 0)
        size = size or -1  # counted from the end, a length of 0 means the rest, as in go-cty
    return "".join(letters[start:] if size < 0 else letters[start : start + size])


@Signature("indent", (NUMBER, STRING))
def _indent(spaces: Number, text: str) -> str:
    width = require_integer(spaces)
    if width < 0:
        raise EvaluationError("the number of spaces must not be negative")
    check_length(len(text) + max(text.count("\n"), 1) * width)
    return text.replace("\n", "\n" + " " * width)


Signature("strrev", (STRING,))(lambda text: "".join(reversed(clusters(text))))
Signature("chomp", (STRING,))(lambda text: text.rstrip("\r\n"))
Signature("trim", (STRING, STRING))(str.strip)
Signature("trimprefix", (STRING, STRING))(str.removeprefix)
Signature("trimsuffix", (STRING, STRING))(str.removesuffix)
Signature("trimspace", (STRING,))(lambda text: text.strip(_SPACE))
Signature("startswith", (STRING, STRING))(str.startswith)
Signature("endswith", (STRING, STRING))(str.endswith)
Signature("strcontains", (STRING, STRING))(str.__contains__)


@Signature("split", (STRING, STRING), returns=LIST_OF_TEXT)
def _split(separator: str, text: str) -> list[str]:
    # With an empty separator, Go splits into characters; Python refuses it.
    return text.split(separator) if separator else list(text)


@Signature("join", (STRING, LIST_OF_TEXT), rest=LIST_OF_TEXT, unknown_if="part", returns=STRING)
def _join(separator: str, *lists: Any) -> str:
    items = [item for part in lists for item in part]
    if None in items:
        raise EvaluationError("an element is null")
    check_length(sum(map(len, items)) + len(separator) * max(len(items) - 1, 0))
    return separator.join(items)


@Signature("replace", (STRING, STRING, STRING))
def _replace(text: str, old: str, new: str) -> str:
    from opsconsole.language.functions.regular_expressions import replace_all

    # A single slash is a plain text, not an empty pattern.
    if len(old) > 1 and old.startswith("/") and old.endswith("/"):
        return replace_all(text, old[1:-1], new)
    count = text.count(old) if old else len(text) + 1
    check_length(len(text) + count * max(len(new) - len(old), 0))
    return text.replace(old, new)
