"""Reads templates, expressions and arguments of the language into trees, by recursive descent.

The syntax is HCL's (github.com/hashicorp/hcl, hclsyntax/spec.md). Equal texts are parsed once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

from opsconsole.language.failures import (
    MAX_NESTING,
    BeyondBounds,
    EvaluationError,
    ExpressionFailure,
)
from opsconsole.language.nodes import (
    ITEM,
    Binary,
    Call,
    Conditional,
    For,
    GetAttribute,
    Index,
    Literal,
    Node,
    Object,
    Quoted,
    Reference,
    Splat,
    Template,
    Tuple,
    Unary,
    join_parts,
    make_groups,
    make_pairs,
)
from opsconsole.language.numbers import parse_number
from opsconsole.language.values import BOOL, NULL, NUMBER, STRING, Value, tuple_value
from opsconsole.text import to_nfc

T = TypeVar("T")

# Names may hold the combining marks of decomposed letters, which are no word characters in Python.
_TOKEN: Final = re.compile(
    r"""(?P<blank>[\ \t\r]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
    |(?P<newline>\n)
    |(?P<number>\d(?:[\d.]|[eE][+-]?\d)*(?<!\.))
    |(?P<name>[^\W\d][\w\u0300-\u036f\u3099\u309a-]*)
    |(?P<heredoc><<-?[^\W\d])
    |(?P<operator>=>|==|!=|<=|>=|&&|\|\||\.\.\.|::|[-+*/%!<>=?:.,()\[\]{}~"])
    """,
    re.VERBOSE | re.DOTALL,
)
_PRECEDENCE: Final = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4,
    "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}  # fmt: skip
_CONSTANTS: Final = {"true": Value(BOOL, True), "false": Value(BOOL, False), "null": NULL}
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_PLAIN: Final = re.compile(
    rf"\s*({_NAME}(?:\.{_NAME}|\[[0-9]{{1,9}}\]|\[\"[^\"\\$%]*\"\])*)\s*", re.ASCII
)
_STEP: Final = re.compile(rf"{_NAME}|\[([0-9]+)\]|\[\"([^\"]*)\"\]", re.ASCII)
_OLD_INDEX: Final = re.compile(r"(\d+)(\.\d)?")

_SEQUENCE: Final = re.compile(r"[$%]\{~?")
_LITERAL: Final = re.compile(r"(?:[^$%]|(?:\$\$|%%)\{|[$%](?!\{))+")
_LITERAL_LINE: Final = re.compile(r"(?:[^$%\n]|(?:\$\$|%%)\{|[$%](?!\{))*\n?")
_LITERAL_QUOTED: Final = re.compile(r'(?:[^$%"\\\n]|(?:\$\$|%%)\{|[$%](?!\{)|\\.)+')
_DOUBLED: Final = re.compile(r"(?:\$\$|%%)\{")
_ESCAPED: Final = re.compile(r"(?:\$\$|%%)\{|\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_HEREDOC: Final = re.compile(r"<<(-?)([^\W\d][\w-]*)[ \t\r]*\n")


@cache
def parse_template(text: str) -> Node:
    """Parse a template, such as a string in Terraform's JSON syntax."""
    if text.startswith("${") and text.endswith("}") and (plain := plain_reference(text[2:-1])):
        return plain
    return _parse(Parser(text).template)


@cache
def parse_expression(text: str) -> Node:
    """Parse a bare expression."""
    return plain_reference(text) or _parse(Parser(text).whole_expression)


def parse_arguments(text: str) -> list[tuple[str, Node]]:
    """Return the name and expression of each `name = expression` in the text of a file.

    The message of an EvaluationError begins with the line.
    """
    parser = Parser(text.removeprefix("\ufeff"))
    try:
        return _parse(lambda: list(parser.arguments()))
    except EvaluationError as error:
        line = parser.text.count("\n", 0, parser.at) + 1
        raise EvaluationError(f"line {line}: {error}") from error


def plain_reference(text: str) -> Reference | None:
    # Uses one pattern, because nearly all expressions in synthesised programs are plain references.
    match = _PLAIN.fullmatch(text)
    if match is None or match[1] in _CONSTANTS:
        return None
    return Reference(
        tuple(
            int(step[1])
            if step[1] is not None
            else step[0]
            if step[2] is None
            else Quoted(to_nfc(step[2]))
            for step in _STEP.finditer(match[1])
        )
    )


def bare_reference(text: str) -> Reference | None:
    """Return the reference if `text` is an expression that is one reference, else None."""
    try:
        node = parse_expression(text)
    except ExpressionFailure:
        return None
    return node if isinstance(node, Reference) else None


def _parse(read: Callable[[], T]) -> T:
    try:
        return read()
    except RecursionError as error:
        raise BeyondBounds("more levels of nesting than can be followed") from error


@dataclass(slots=True)
class _Directive:
    """`%{ keyword … }`."""

    keyword: str
    names: tuple[str, ...] = ()
    node: Node | None = None


_Part = str | _Directive | Node
"""A part of a template. A text ends at the next `${` or `%{`; in a heredoc, also with its line."""


class Parser:
    """Reads one text from the beginning; `at` is the current position."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self._depth = depth
        # Whether a line break is a token: in objects and between arguments, line breaks separate.
        self._lines = False

    def template(self) -> Node:
        return _assemble(self._parts(_LITERAL))

    def whole_expression(self) -> Node:
        node = self._expression()
        if self._peek():
            raise self._unexpected_error()
        return node

    def arguments(self) -> Iterator[tuple[str, Node]]:
        """Read all of the text as lines of the form `name = expression`."""
        self._lines = True
        while self._skip_lines():
            name = self._name() if self._kind() == "name" else ""
            if not name or not self._accept("="):
                raise EvaluationError("`name = value` is required")
            yield name, self._expression()
            if self._peek() not in ("\n", ""):
                raise self._unexpected_error()

    # Templates

    def _parts(self, literal: re.Pattern[str]) -> list[_Part]:
        """Read the parts of a template up to its end; `literal` matches the text of one part."""
        parts: list[_Part] = []
        quoted = literal is _LITERAL_QUOTED
        strips = False
        while self.at < len(self.text):
            if quoted and self.text[self.at] == '"':
                self.at += 1
                return parts
            if opening := _SEQUENCE.match(self.text, self.at):
                self.at = opening.end()
                if opening[0][-1] == "~" and parts and isinstance(before := parts[-1], str):
                    parts[-1] = before.rstrip()
                parts.append(self._expression() if opening[0][0] == "$" else self._directive())
                strips = self._close_sequence(parts[-1])
                continue
            match = literal.match(self.text, self.at)
            if match is None:
                raise EvaluationError("a string in quotes goes on in another line")
            self.at = match.end()
            text = (_ESCAPED if quoted else _DOUBLED).sub(_unescape, match[0])
            parts.append(text.lstrip() if strips else text)
            strips = False
        if quoted:
            raise EvaluationError("a string is not closed")
        return parts

    def _directive(self) -> _Directive:
        if self._kind() != "name":
            raise EvaluationError("a template directive needs a keyword")
        keyword = self._name()
        if keyword == "if":
            return _Directive(keyword, (), self._expression())
        if keyword == "for":
            return _Directive(keyword, self._loop_names("%{ for }"), self._expression())
        if keyword not in ("else", "endif", "endfor"):
            raise EvaluationError(f"%{{ {keyword} }} does not belong here")
        return _Directive(keyword)

    def _close_sequence(self, part: _Part) -> bool:
        """Read the `}` that ends an interpolation or directive; return whether it has a `~`."""
        token = self._peek()
        strips = self._accept("~")
        if self._accept("}"):
            return strips
        if not token:
            raise EvaluationError("a bracket is not closed")
        if isinstance(part, _Directive) and part.node is None:
            raise EvaluationError(f"%{{ {part.keyword} }} has {token!r} behind its keyword")
        raise self._unexpected_error()

    def _heredoc(self) -> Node:
        match = _HEREDOC.match(self.text, self.at)
        if match is None:
            raise EvaluationError("a heredoc begins with << and a name, which end the line")
        end = re.compile(rf"^[ \t]*{match[2]}[ \t\r]*$", re.MULTILINE).search(
            self.text, match.end()
        )
        if end is None:
            raise EvaluationError(f"the heredoc {match[2]} is not closed")
        inner = Parser(self.text[match.end() : end.start()], self._depth + 1)
        parts = inner._parts(_LITERAL_LINE)
        if match[1]:
            _unindent(parts)
        self.at = end.end()
        return _assemble(parts)

    # Expressions

    def _expression(self) -> Node:
        self._deepen("levels of nesting")
        node = self._operation(1)
        if self._accept("?"):
            when_true = self._expression()
            self._expect(":")
            node = Conditional(node, when_true, self._expression())
        self._depth -= 1
        return node

    def _deepen(self, of_what: str) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise BeyondBounds(f"more than {MAX_NESTING} {of_what}")

    def _operation(self, least: int) -> Node:
        """Read operands and the operators between them that bind at least as tightly as `least`."""
        left = self._operand()
        while (rank := _PRECEDENCE.get(operator := self._peek(), 0)) >= least:
            self.at += len(operator)
            left = Binary(operator, left, self._operation(rank + 1))
        return left

    def _operand(self) -> Node:
        operator = self._peek()
        if operator not in ("-", "!"):
            return self._steps(self._term())
        self.at += 1
        self._deepen("unary operators in a row")
        node = Unary(operator, self._operand())
        self._depth -= 1
        return node

    def _term(self) -> Node:
        kind, token = self._kind(), self._peek()
        if kind == "heredoc":
            return self._heredoc()
        if kind == "number":
            self.at += len(token)
            number = parse_number(token)
            if number is None:
                raise EvaluationError(f"{token} is not a number")
            return Literal(Value(NUMBER, number))
        if kind == "name":
            return self._read_named()
        if token not in ('"', "(", "[", "{"):
            raise EvaluationError(
                f"this is not an expression: it has {token!r} in the place of a value"
                if token
                else "this is not an expression: it ends too early"
            )
        self.at += 1
        if token == '"':
            self._deepen("levels of nesting")
            # Inside an interpolation, a line break separates nothing.
            lines, self._lines = self._lines, False
            node = _assemble(self._parts(_LITERAL_QUOTED))
            self._lines = lines
            self._depth -= 1
            return node
        if token == "(":
            return self._until(")", self._expression)
        if token == "[":
            return self._until("]", self._tuple)
        return self._until("}", self._object)

    def _read_named(self) -> Node:
        """Read a constant, a call, or the root of a reference."""
        name = self._name()
        while self._accept("::"):
            name += f"::{self._name()}"
        if self._accept("("):
            return self._until(")", lambda: self._call(name))
        if "::" in name:
            raise EvaluationError(f"the function {name} is not called")
        return Literal(_CONSTANTS[name]) if name in _CONSTANTS else Reference((name,))

    def _until(self, bracket: str, read: Callable[[], Node]) -> Node:
        """Read up to a closing bracket; line breaks are blanks unless `read` asks for them."""
        lines, self._lines = self._lines, False
        node = read()
        self._expect(bracket)
        # Reset only now, because a line break right before the bracket is a blank too.
        self._lines = lines
        return node

    def _steps(self, node: Node) -> Node:
        """Read the attributes, indexes and splats that follow `node`."""
        while True:
            if self._accept("."):
                node = self._attribute_splat(node) if self._accept("*") else self._step(node)
            elif not self._accept("["):
                return node
            elif self._accept("*"):
                self._expect("]")
                return Splat(node, self._steps(Reference((ITEM,))))
            else:
                node = _make_step(node, self._until("]", self._expression))

    def _step(self, source: Node) -> Node:
        """Read the name after a dot, or an index as Terraform 0.11 wrote it."""
        # Only skips blanks. Read as a token, `0.1` in `a.0.1` would be one number.
        self._peek()
        if match := _OLD_INDEX.match(self.text, self.at):
            if match[2]:
                raise EvaluationError("an index behind a dot is followed by another")
            self.at = match.end()
            return _make_step(source, Literal(Value(NUMBER, int(match[1]))))
        name = self._name()
        if isinstance(source, Reference):
            return Reference((*source.steps, name))
        return GetAttribute(source, name)

    def _attribute_splat(self, source: Node) -> Node:
        """Read the steps after `.*`. An index in brackets applies to the result."""
        each: Node = Reference((ITEM,))
        while self._accept("."):
            if self._peek() == "*":
                raise EvaluationError("a splat without brackets cannot follow another")
            each = self._step(each)
        return Splat(source, each)

    def _call(self, name: str) -> Node:
        arguments: list[Node] = []
        spread = False
        while self._peek() != ")":
            arguments.append(self._expression())
            spread = self._accept("...")
            if spread or not self._accept(","):
                break
        return Call(name, tuple(arguments), spread)

    def _tuple(self) -> Node:
        if self._peek() == "for":
            names, collection = self._loop()
            results = (self._expression(),)
            return For(names, collection, results, self._condition(), lambda r, _: tuple_value(r))
        items: list[Node] = []
        while self._peek() != "]":
            items.append(self._expression())
            if not self._accept(","):
                break
        return Tuple(tuple(items))

    def _object(self) -> Node:
        if self._peek() == "for":
            names, collection = self._loop()
            key = self._expression()
            self._expect("=>")
            results = (key, self._expression())
            combine = make_groups if self._accept("...") else make_pairs
            return For(names, collection, results, self._condition(), combine)
        # From here on, line breaks separate; `_until` restores the old value.
        self._lines = True
        keys: list[Node] = []
        items: list[Node] = []
        while self._skip_lines() and self._peek() != "}":
            keys.append(self._key())
            items.append(self._expression())
            if not self._accept(",") and self._peek() not in ("\n", "}", ""):
                raise self._unexpected_error()
        return Object(tuple(keys), tuple(items))

    def _key(self) -> Node:
        """Read a key and the token after it. A name is a string, or in parentheses a reference."""
        start = self._peek()
        key = self._expression()
        if isinstance(key, Reference) and start != "(":
            if len(key.steps) > 1:
                raise EvaluationError(f"the key {key.source_text()} needs parentheses or quotes")
            key = _text(str(key.steps[0]))
        elif isinstance(key, Literal) and start in _CONSTANTS:
            # As a key, `true` or `null` is an ordinary name.
            key = _text(start)
        if not self._accept("="):
            self._expect(":")
        return key

    def _loop(self) -> tuple[tuple[str, ...], Node]:
        self._name()
        names, collection = self._loop_names("for"), self._expression()
        self._expect(":")
        return names, collection

    def _loop_names(self, of_what: str) -> tuple[str, ...]:
        names: list[str] = []
        while self._kind() == "name" and len(names) < 2:
            names.append(self._name())
            if not self._accept(","):
                break
        if not names or self._peek() != "in":
            raise EvaluationError(f"{of_what} needs a name, `in` and a collection")
        self._name()
        return tuple(names)

    def _condition(self) -> Node | None:
        return self._expression() if self._accept("if") else None

    # Tokens

    def _match(self) -> re.Match[str] | None:
        """Return the match of the next token, skipping blanks and comments; None at the end."""
        while self.at < len(self.text):
            match = _TOKEN.match(self.text, self.at)
            if match is None:
                raise EvaluationError(f"{self.text[self.at]!r} is not part of an expression")
            if match.lastgroup != "blank" and (match.lastgroup != "newline" or self._lines):
                return match
            self.at = match.end()
        return None

    def _peek(self) -> str:
        """Return the next token without reading it; empty at the end."""
        match = self._match()
        return match[0] if match else ""

    def _kind(self) -> str:
        match = self._match()
        return str(match.lastgroup) if match else ""

    def _accept(self, token: str) -> bool:
        """Read the next token if it is `token`."""
        accepted = self._peek() == token
        self.at += len(token) if accepted else 0
        return accepted

    def _expect(self, token: str) -> None:
        if self._accept(token):
            return
        if not self._peek() and token in ")]}":
            raise EvaluationError("a bracket is not closed")
        raise EvaluationError(f"{token!r} is missing before {self._peek() or 'the end'!r}")

    def _name(self) -> str:
        if self._kind() != "name":
            raise EvaluationError(f"a name is missing before {self._peek() or 'the end'!r}")
        name = self._peek()
        self.at += len(name)
        return name

    def _skip_lines(self) -> bool:
        """Go past line breaks; return whether anything is left."""
        while self._accept("\n"):
            pass
        return bool(self._peek())

    def _unexpected_error(self) -> EvaluationError:
        return EvaluationError(f"{self._peek()!r} is not part of an expression")


def _unescape(match: re.Match[str]) -> str:
    if not match[0].startswith("\\"):
        return match[0][1:]
    kind = match[1]
    if kind in _ESCAPES:
        return _ESCAPES[kind]
    # An unknown escape gets a code beyond the last character, so that it is refused like those.
    code = int(kind[1:], 16) if len(kind) > 1 else sys.maxunicode + 1
    if code > sys.maxunicode or 0xD800 <= code < 0xE000:
        raise EvaluationError(f"there is no escape sequence \\{kind}")
    return chr(code)


def _unindent(parts: list[_Part]) -> None:
    """Remove the common indentation from the lines of a heredoc `<<-`."""
    begins = True
    starts: list[int] = []
    shared = sys.maxsize
    for place, part in enumerate(parts):
        text = part if isinstance(part, str) else ""
        if begins and (text.strip() or not text.endswith("\n")):
            shared = min(shared, len(text) - len(text.lstrip()))
            if isinstance(part, str):
                starts.append(place)
        begins = text.endswith("\n")
    for place in starts:
        parts[place] = str(parts[place])[shared:]


def _assemble(parts: list[_Part]) -> Node:
    """Return the tree of a template. A lone interpolation keeps its type; all else is a string."""
    if len(parts) == 1 and isinstance(sole := parts[0], Node):
        return sole
    if len(parts) == 1 and isinstance(sole, str):
        return _text(sole)
    return _template(iter(parts), ())[0]


def _template(parts: Iterator[_Part], ends: tuple[str, ...]) -> tuple[Template, str]:
    """Return the template up to one of the directives `ends`, and that directive."""
    nodes: list[Node] = []
    for part in parts:
        if isinstance(part, Node):
            nodes.append(part)
        elif isinstance(part, str):
            nodes.append(_text(part))
        elif part.keyword in ends:
            return Template(tuple(nodes)), part.keyword
        elif part.node is None:
            raise EvaluationError(f"%{{ {part.keyword} }} does not belong here")
        elif part.keyword == "if":
            when_true, end = _template(parts, ("else", "endif"))
            when_false = _template(parts, ("endif",))[0] if end == "else" else Template(())
            nodes.append(Conditional(part.node, when_true, when_false))
        else:
            body, _ = _template(parts, ("endfor",))
            nodes.append(For(part.names, part.node, (body,), None, join_parts))
    if ends:
        raise EvaluationError(f"a template directive is not closed by %{{ {ends[-1]} }}")
    return Template(tuple(nodes)), ""


def _text(text: str) -> Literal:
    return Literal(Value(STRING, to_nfc(text)))


def _make_step(source: Node, key: Node) -> Node:
    """Return `source[key]`. A reference with a literal key becomes a longer reference."""
    written = key.value.data if isinstance(key, Literal) else None
    if isinstance(source, Reference) and isinstance(written, str):
        return Reference((*source.steps, Quoted(written)))
    if isinstance(source, Reference) and type(written) is int:
        return Reference((*source.steps, written))
    return Index(source, key)
