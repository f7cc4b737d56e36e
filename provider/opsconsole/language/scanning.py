"""Splits templates into text, interpolations and directives, and prepares expressions for hcl2.

A string in Terraform's JSON syntax is a template without quotes, which hcl2 does not read, and
hcl2 reads quoted strings only in part. So text and strings are taken apart here, recursively, and
what is left for hcl2 is an expression in which each string is a mere placeholder: `"#0"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from opsconsole.language.failures import (
    MAX_NESTING,
    MAX_OPERATIONS,
    BeyondBounds,
    EvaluationError,
    UnsupportedExpression,
)
from opsconsole.language.value_types import normalised


@dataclass(slots=True)
class Source:
    """An expression for hcl2; `strings` holds what its placeholders stand for."""

    text: str
    strings: list[list[Part]]


@dataclass(slots=True)
class TemplateSequence:
    """One `${…}` or `%{…}`: its expression, keyword and strip markers.

    `keyword` is empty for an interpolation.
    """

    source: Source
    keyword: str = ""
    strip_before: bool = False
    strip_after: bool = False


Part = str | TemplateSequence

_TOKEN: Final = re.compile(
    r"""(?P<space>[\ \t\r]+)
    |(?P<comment>\#[^\n]*|//[^\n]*|/\*.*?\*/)
    |(?P<newline>\n)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d][\w-]*)
    |(?P<heredoc><<-?[^\W\d])
    |(?P<operator>=>|==|!=|<=|>=|&&|\|\||\.\.\.|::|[-+*/%!<>=?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_UNARY: Final = frozenset("!-")
_SPECIAL: Final = re.compile("[$%]")
_SPECIAL_QUOTED: Final = re.compile(r'[$%"\\]')


def split_template(text: str) -> list[Part]:
    """Return the parts of a template without quotes: backslashes are nothing special in it."""
    return _Reader(text).template(quoted=False)


def split_expression(text: str) -> Source:
    """Return a bare expression prepared for hcl2."""
    return _Reader(text).expression(until="")


_ASSIGNED: Final = re.compile(r"""\s*(?:([^\W\d][\w-]*)|"([^"]*)")\s*=(?!=)""")


def assignments(text: str) -> Iterator[tuple[str, Source]]:
    """Yield name and expression of each `name = expression` in a file of them."""
    reader = _Reader(text)
    while reader.skip_blank():
        match = _ASSIGNED.match(text, reader.position)
        if match is None:
            line = text.count("\n", 0, reader.position) + 1
            raise EvaluationError(f"line {line}: `name = value` is required")
        reader.position = match.end()
        yield match[1] or match[2], reader.expression(until="\n")


@dataclass(slots=True)
class _Reader:
    text: str
    position: int = 0
    depth: int = 0

    def skip_blank(self) -> bool:
        """Go past white space and comments; tell whether anything is left."""
        blank = re.compile(r"(?:\s|#[^\n]*|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
        match = blank.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.position < len(self.text)

    def template(self, *, quoted: bool) -> list[Part]:
        """Read up to the end, or past the closing quote if `quoted`."""
        parts: list[Part] = []
        literal: list[str] = []
        text = self.text
        special = _SPECIAL_QUOTED if quoted else _SPECIAL
        while self.position < len(text):
            here = text[self.position]
            if here == '"' and quoted:
                self.position += 1
                return _end_literal(parts, literal)
            if here == "\\" and quoted:
                literal.append(self._escape())
            elif here in "$%" and text.startswith(here + here + "{", self.position):
                literal.append(here + "{")
                self.position += 3
            elif here in "$%" and text.startswith(here + "{", self.position):
                _end_literal(parts, literal)
                self.position += 2
                parts.append(self._sequence(directive=here == "%"))
            else:
                match = special.search(text, self.position + 1)
                end = match.start() if match else len(text)
                literal.append(text[self.position : end])
                self.position = end
        if quoted:
            raise EvaluationError("a string is not closed")
        return _end_literal(parts, literal)

    def _escape(self) -> str:
        kind = self.text[self.position + 1 : self.position + 2]
        if kind in _ESCAPES:
            self.position += 2
            return _ESCAPES[kind]
        size = {"u": 4, "U": 8}.get(kind, 0)
        digits = self.text[self.position + 2 : self.position + 2 + size]
        if size and re.fullmatch(rf"[0-9a-fA-F]{{{size}}}", digits):
            self.position += 2 + size
            code = int(digits, 16)
            # Go has no such characters, and writes its replacement character for them.
            return "\ufffd" if code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code)
        raise EvaluationError(f"there is no escape sequence \\{kind}")

    def _sequence(self, *, directive: bool) -> TemplateSequence:
        strip_before = self._take("~")
        keyword = ""
        if directive:
            match = re.compile(r"\s*([a-z]+)").match(self.text, self.position)
            if match is None:
                raise EvaluationError("a template directive needs a keyword")
            keyword = match[1]
            self.position = match.end()
        source = self.expression(until="}")
        strip_after = self.text[self.position - 2 : self.position - 1] == "~"
        return TemplateSequence(source, keyword, strip_before, strip_after)

    def _take(self, text: str) -> bool:
        found = self.text.startswith(text, self.position)
        if found:
            self.position += len(text)
        return found

    def expression(self, until: str) -> Source:
        """Read an expression up to `until` outside of all brackets, and past it."""
        tokens: list[str] = []
        strings: list[list[Part]] = []
        open_brackets: list[str] = []
        before = ""
        while self.position < len(self.text):
            if self.text[self.position] == '"':
                self.position += 1
                tokens.append(f'"#{len(strings)}"')
                self.depth += 1
                strings.append(self.template(quoted=True))
                self.depth -= 1
                before = '"'
                continue
            if until and not open_brackets and (self._take("~" + until) or self._take(until)):
                return Source(_joined(tokens), strings)
            token = self._token(open_brackets, before)
            tokens.append(token)
            before = before if token in (" ", "\n") else token
            if len(open_brackets) + self.depth > MAX_NESTING:
                raise BeyondBounds(f"more than {MAX_NESTING} levels of nesting")
            if len(tokens) > MAX_OPERATIONS:
                raise BeyondBounds(f"an expression of more than {MAX_OPERATIONS:,} tokens")
        if (until and until != "\n") or open_brackets:
            raise EvaluationError("a bracket is not closed")
        return Source(_joined(tokens), strings)

    def _token(self, open_brackets: list[str], before: str) -> str:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            raise EvaluationError(f"{self.text[self.position]!r} is not part of an expression")
        self.position = match.end()
        kind, token = match.lastgroup, match[0]
        if kind == "heredoc":
            raise UnsupportedExpression("a heredoc inside an expression")
        if kind in ("space", "comment"):
            return " "
        if kind == "newline":
            return "\n" if open_brackets and open_brackets[-1] == "{" else " "
        if token == "for" and open_brackets and before in ("{", "["):
            open_brackets[-1] = "("
        if token in ("(", "[", "{"):
            open_brackets.append(token)
        elif token in (")", "]", "}"):
            if not open_brackets:
                raise EvaluationError(f"{token!r} closes nothing")
            open_brackets.pop()
        return token


def _end_literal(parts: list[Part], literal: list[str]) -> list[Part]:
    if literal:
        parts.append(normalised("".join(literal)))
        literal.clear()
    return parts


def _joined(tokens: Sequence[str]) -> str:
    """Join tokens so that hcl2 reads them: a minus stands apart, `!!a` becomes `!(!a)`."""
    solid = [token for token in tokens if token != " "]
    _check_unary(solid)
    text: list[str] = []
    closing: dict[int, int] = {}
    for index, token in enumerate(solid):
        if token in _UNARY and index and solid[index - 1] in _UNARY:
            text.append("(")
            end = _operand_end(solid, index)
            closing[end] = closing.get(end, 0) + 1
        text.append(_spaced(solid, index))
        text.append(")" * closing.get(index, 0))
    return "".join(text).strip()


def _check_unary(tokens: Sequence[str]) -> None:
    run = 0
    for token in tokens:
        run = run + 1 if token in _UNARY else 0
        if run > MAX_NESTING:
            raise BeyondBounds(f"more than {MAX_NESTING} unary operators in a row")


def _spaced(tokens: Sequence[str], index: int) -> str:
    token = tokens[index]
    if token in ("-", "?", ":", "=", "=>"):
        return f" {token} "
    follows_word = index and (tokens[index - 1][-1].isalnum() or tokens[index - 1][-1] == "_")
    wordlike = token[0].isalnum() or token[0] in '_"'
    return f" {token}" if follows_word and wordlike else token


_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


def _operand_end(tokens: Sequence[str], start: int) -> int:
    """Return the index of the last token of the operand whose unary operator is at `start`."""
    index = start
    while index < len(tokens) - 1 and tokens[index] in _UNARY:
        index += 1
    index = _closing(tokens, index)
    while index + 1 < len(tokens):
        following = tokens[index + 1]
        if following in ("(", "["):
            index = _closing(tokens, index + 1)
        elif following in (".", "::") and index + 2 < len(tokens):
            index += 2
        else:
            break
    return index


def _closing(tokens: Sequence[str], index: int) -> int:
    """Return where the bracket that opens at `index` closes; `index` itself if none opens."""
    depth = 0
    for position in range(index, len(tokens)):
        if tokens[position] in _PAIRS:
            depth += 1
        elif tokens[position] in _PAIRS.values():
            depth -= 1
        if depth == 0:
            return position
    return len(tokens) - 1
