"""Functions on regular expressions, which are RE2's; Python's engine runs what both mean alike.

A pattern that the two would read differently is refused, never run.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.functions.registry import Signature
from opsconsole.language.value_types import STRING, ListValue, Type

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\t ",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_PIECE = re.compile(
    r"""(?P<posix>\[:(?P<class>[a-z]+):\])
    |(?P<end>\\z)
    |(?P<escape>\\(?:x\{[0-9A-Fa-f]{1,6}\}|.))
    |(?P<named>\(\?P?<(?P<name>[A-Za-z_]\w*)>)
    |(?P<group>\(\?[^:)]*[:)])
    |(?P<possessive>[*+?}]\+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_SAFE_ESCAPES = frozenset("dDwWbBAntrfv") | frozenset(r".^$*+?()[]{}|\-/\"'!@#%&=~`,;:<> _")
_EXPANSION = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))", re.ASCII)


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern for Python's engine.

    Raises:
        EvaluationError: It is no regular expression.
        UnsupportedExpression: Python's engine would not read it as RE2 does.
    """
    pieces: list[str] = []
    in_class = False
    for match in _PIECE.finditer(pattern):
        text = match[0]
        if match.lastgroup in ("posix", "class"):
            pieces.append(_posix(match["class"], in_class=in_class))
        elif match["end"]:
            pieces.append(r"\Z")
        elif match["escape"]:
            pieces.append(_escape(text, in_class=in_class))
        elif in_class:
            in_class = text[-1] != "]" or pieces[-1] in ("[", "[^")
            pieces.append(r"\[" if text == "[" else text)
        elif text == "[":
            in_class = True
            pieces.append(text)
        elif match["possessive"]:
            raise EvaluationError(f"{text!r} repeats a repetition")
        else:
            pieces.append(_outside(match))
    try:
        return re.compile("".join(pieces), re.ASCII)
    except re.error as error:
        raise EvaluationError(f"this is no regular expression: {error}") from error


def _posix(name: str, *, in_class: bool) -> str:
    if in_class and name not in _CLASSES:
        raise EvaluationError(f"there is no character class [:{name}:]")
    if not in_class:
        raise UnsupportedExpression(f"the regular expression syntax [:{name}:] here")
    return _CLASSES[name]


def _escape(text: str, *, in_class: bool) -> str:
    if text.startswith(r"\x{"):
        return re.escape(chr(int(text[3:-1], 16)))
    if text == r"\s":
        return r"\t\n\f\r " if in_class else r"[\t\n\f\r ]"
    if text == r"\S" and not in_class:
        return r"[^\t\n\f\r ]"
    if text[1] not in _SAFE_ESCAPES or (in_class and text[1] in "bBA"):
        raise UnsupportedExpression(f"the regular expression escape {text}")
    return re.escape(text[1]) if not text[1].isalnum() else text


def _outside(match: re.Match[str]) -> str:
    if match["named"]:
        return f"(?P<{match['name']}>"
    if match["group"]:
        flags = re.fullmatch(r"\(\?([ims]*)[:)]", match[0])
        if flags is None or ("i" in flags[1] and not match.string.isascii()):
            raise UnsupportedExpression(f"the regular expression syntax {match[0]}")
        if match[0].endswith(")") and match.start() > 0:
            raise UnsupportedExpression(f"the flags {match[0]} inside a regular expression")
        if "m" in flags[1]:
            raise UnsupportedExpression("the multi-line flag of regular expressions")
        return match[0]
    return r"\Z" if match[0] == "$" else match[0]


def _result(pattern: re.Pattern[str], found: re.Match[str]) -> Any:
    if pattern.groupindex:
        if len(pattern.groupindex) < pattern.groups:
            raise EvaluationError("named and unnamed groups cannot be mixed")
        return dict(sorted(found.groupdict().items()))
    return list(found.groups()) if pattern.groups else found[0]


@Signature("regex", (STRING, STRING))
def _regex(pattern: str, text: str) -> Any:
    expression = compiled(pattern)
    found = expression.search(text)
    if found is None:
        raise EvaluationError("the pattern did not match any part of the string")
    return _result(expression, found)


@Signature("regexall", (STRING, STRING))
def _regexall(pattern: str, text: str) -> ListValue:
    expression = compiled(pattern)
    results = [_result(expression, found) for found in expression.finditer(text)]
    element: Type
    if expression.groupindex:
        element = ("object", tuple((name, STRING) for name in sorted(expression.groupindex)))
    elif expression.groups:
        element = ("tuple", (STRING,) * expression.groups)
    else:
        element = STRING
    return ListValue(results, element)


def replace_all(text: str, pattern: str, replacement: str) -> str:
    """Return `text` with every match replaced; `$1` and `${name}` stand for groups."""

    def expanded(found: re.Match[str]) -> str:
        return _EXPANSION.sub(lambda reference: _group(found, reference), replacement)

    return compiled(pattern).sub(expanded, text)


def _group(found: re.Match[str], reference: re.Match[str]) -> str:
    name = reference[1] or reference[2]
    if name is None:
        return "$"
    try:
        return found[int(name) if name.isdigit() else name] or ""
    except IndexError:
        return ""
