"""Functions on regular expressions. They use RE2, so matching takes linear time.

Texts are matched as UTF-8, so that a search can continue from the end of the last match at no cost.
Empty matches and replacements are treated as in Go, on which Terraform's functions are based.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.functions.registry import Signature
from opsconsole.language.values import (
    STRING,
    Type,
    Value,
    check_length,
    check_size,
    list_type,
    object_type,
    tuple_type,
)

_REFERENCE = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))")
_NAMED = re.compile(r"\(\?P?<(\w+)>")
_MEMORY = 64 * 2**20
"""The memory in bytes that RE2 may use for one pattern. Go refuses patterns of about that size."""


def _matches(pattern: Any, text: bytes) -> Iterator[list[tuple[int, int]]]:
    """Yield the spans of each match and its groups; (-1, -1) for a group that did not match."""
    position, before = 0, -1
    while position <= len(text):
        match = pattern.search(text, position)
        if match is None:
            return
        start, end = match.span()
        # In Go, an empty match right after another match does not count.
        if end > start or start != before:
            yield [match.span(group) for group in range(pattern.groups + 1)]
        before = end
        position = max(end, position + 1)
        # The text is UTF-8, and a search must not begin inside a character.
        while position < len(text) and text[position] & 0xC0 == 0x80:
            position += 1


@lru_cache(maxsize=128)
def compile_pattern(pattern: str) -> Any:
    """Compile a regular expression with RE2; `groups` and `groupindex` are as in `re`."""
    # Imported late, because most programs use no regular expression.
    import re2

    options = re2.Options()
    # Otherwise RE2 writes the error in a pattern to stderr itself.
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        problem = error.args[0].decode("utf-8", "replace")
        if "too large" in problem:
            raise UnsupportedExpression("a regular expression as large as this one") from error
        raise EvaluationError(f"this is not a regular expression: {problem}") from error
    # RE2 accepts \C (one byte) and group names that are not ASCII; Go refuses both.
    if r"\C" in pattern.replace(r"\\", ""):
        raise EvaluationError(r"this is not a regular expression: it has the escape \C")
    if not all(name.isascii() for name in expression.groupindex):
        raise EvaluationError("this is not a regular expression: a group's name is not plain")
    return expression


def _with_groups_of_one_kind(pattern: str) -> tuple[Any, Type]:
    """Compile a regular expression; return it with the type of one match."""
    expression = compile_pattern(pattern)
    if 0 < len(expression.groupindex) < expression.groups:
        # RE2 keeps the last of two groups with one name and counts both.
        if len(set(names := _NAMED.findall(pattern))) < len(names):
            raise UnsupportedExpression("a regular expression with two groups of one name")
        raise EvaluationError("named and unnamed groups cannot be mixed")
    if expression.groupindex:
        return expression, object_type(dict.fromkeys(expression.groupindex, STRING))
    return expression, tuple_type([STRING] * expression.groups) if expression.groups else STRING


def _result(pattern: Any, text: bytes, spans: list[tuple[int, int]]) -> Any:
    parts = [None if start < 0 else text[start:end].decode() for start, end in spans]
    if names := pattern.groupindex:
        return {name: parts[names[name]] for name in sorted(names)}
    return parts[1:] if pattern.groups else parts[0]


@Signature("regex", (STRING, STRING))
def _regex(pattern: str, text: str) -> Value:
    expression, type = _with_groups_of_one_kind(pattern)
    encoded = text.encode()
    spans = next(_matches(expression, encoded), None)
    if spans is None:
        raise EvaluationError("the pattern did not match any part of the string")
    return Value(type, _result(expression, encoded, spans))


@Signature("regexall", (STRING, STRING))
def _regexall(pattern: str, text: str) -> Value:
    expression, type = _with_groups_of_one_kind(pattern)
    encoded = text.encode()
    results: list[Any] = []
    for spans in _matches(expression, encoded):
        check_size((len(results) + 1) * (1 + expression.groups))
        results.append(_result(expression, encoded, spans))
    return Value(list_type(type), results)


def replace_all(text: str, pattern: str, replacement: str) -> str:
    """Return `text` with every match replaced; `$1` and `${name}` stand for groups."""
    expression = compile_pattern(pattern)
    encoded = text.encode()
    template = _template(replacement)
    pieces: list[bytes] = []
    last = length = 0
    for spans in _matches(expression, encoded):
        start, end = spans[0]
        added = [encoded[last:start], *_expand(template, expression, encoded, spans)]
        pieces += added
        length += sum(map(len, added))
        check_length(length)
        last = end
    pieces.append(encoded[last:])
    return b"".join(pieces).decode()


def _template(replacement: str) -> list[bytes | str]:
    """Return the pieces of a replacement: literal bytes, and names or numbers of groups."""
    pieces: list[bytes | str] = []
    last = 0
    for group in _REFERENCE.finditer(replacement):
        pieces.append(replacement[last : group.start()].encode())
        name = group[1] or group[2]
        pieces.append(b"$" if name is None else name)
        last = group.end()
    return [*pieces, replacement[last:].encode()]


def _expand(
    template: list[bytes | str], pattern: Any, text: bytes, spans: list[tuple[int, int]]
) -> Iterator[bytes]:
    for piece in template:
        if isinstance(piece, bytes):
            yield piece
            continue
        # As in Go, a number with a leading zero is a name.
        numbered = piece.isascii() and piece.isdigit() and (piece == "0" or piece[0] != "0")
        # Nine digits exceed any number of groups.
        group = int(piece[:9]) if numbered else pattern.groupindex.get(piece, -1)
        if 0 <= group < len(spans) and spans[group][0] >= 0:
            yield text[slice(*spans[group])]
