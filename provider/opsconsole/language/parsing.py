"""Parses expressions and templates into trees, by python-hcl2; the same text is parsed once.

The parts of a template, directives and strip markers among them, are assembled into one tree here.
Plain references, by far the most frequent expressions of synthesised programs, take a short way
past hcl2, to the same tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from opsconsole.language.comprehensions import ForTemplate, IfTemplate
from opsconsole.language.failures import BeyondBounds, EvaluationError
from opsconsole.language.nodes import Template
from opsconsole.language.scanning import (
    Part,
    Source,
    TemplateSequence,
    split_expression,
    split_template,
)
from opsconsole.language.syntax import Literal, Node, Quoted, Reference, Step
from opsconsole.language.value_types import normalised

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_PLAIN: Final = re.compile(
    rf"\s*({_NAME}(?:\.{_NAME}|\[[0-9]{{1,9}}\]|\[\"[^\"\\$%]*\"\])*)\s*", re.ASCII
)
_STEP: Final = re.compile(rf"{_NAME}|\[([0-9]+)\]|\[\"([^\"]*)\"\]", re.ASCII)
_CONSTANTS: Final = frozenset(("true", "false", "null"))
_TOO_DEEP: Final = "more levels of nesting than can be followed"


@cache
def parse_template(text: str) -> Node:
    """Return the tree of a template, which a string in Terraform's JSON syntax is.

    Raises:
        EvaluationError: It is not a valid template.
        UnsupportedExpression: It is one that only Terraform reads.
    """
    sole = text.startswith("${") and text.endswith("}")
    plain = plain_reference(text[2:-1]) if sole else None
    try:
        return plain or assemble(split_template(text), tree_of)
    except RecursionError as error:
        raise BeyondBounds(_TOO_DEEP) from error


@cache
def parse_expression(text: str) -> Node:
    """Return the tree of a bare expression; raises as `parse_template` does."""
    try:
        return plain_reference(text) or tree_of(split_expression(text))
    except RecursionError as error:
        raise BeyondBounds(_TOO_DEEP) from error


def plain_reference(text: str) -> Reference | None:
    """Return the reference that `text` is, if it is one and nothing more."""
    match = _PLAIN.fullmatch(text)
    if match is None or match[1] in _CONSTANTS:
        return None
    steps: list[Step] = []
    for step in _STEP.finditer(match[1]):
        if step[1] is not None:
            steps.append(int(step[1]))
        else:
            steps.append(step[0] if step[2] is None else Quoted(normalised(step[2])))
    return Reference(tuple(steps))


def tree_of(source: Source) -> Node:
    """Return the tree of an expression that was prepared for hcl2; raises as `parse_template`."""
    plain = None if source.strings else plain_reference(source.text)
    if plain is not None:
        return plain
    # Imported late: a program of plain references never needs hcl2, which takes long to import.
    from opsconsole.language import hcl_tree

    strings = [assemble(parts, tree_of) for parts in source.strings]
    return hcl_tree.parse(source.text, strings)


Parse = Callable[[Source], Node]

_FOR: Final = re.compile(r"([\w-]+)(?:\s*,\s*([\w-]+))?\s+in\s*(.+)", re.DOTALL)


def assemble(parts: Sequence[Part], parse: Parse) -> Node:
    """Return the tree of a template; `parse` turns expressions into trees.

    Raises:
        EvaluationError: A directive is not closed, or closes nothing.
    """
    assembler = _Assembler(_stripped(parts), parse)
    node, end = assembler.until(())
    if end:
        raise EvaluationError(f"%{{ {end} }} closes nothing")
    return node


def _stripped(parts: Sequence[Part]) -> list[Part]:
    """Take out the white space that strip markers ask to take out."""
    result = list(parts)
    for index, part in enumerate(result):
        if isinstance(part, str):
            continue
        before = result[index - 1] if index else ""
        after = result[index + 1] if index + 1 < len(result) else ""
        if part.strip_before and isinstance(before, str) and index:
            result[index - 1] = before.rstrip()
        if part.strip_after and isinstance(after, str) and index + 1 < len(result):
            result[index + 1] = after.lstrip()
    return [part for part in result if part != ""]


class _Assembler:
    def __init__(self, parts: Sequence[Part], parse: Parse) -> None:
        self.parts = parts
        self.parse = parse
        self.position = 0

    def until(self, ends: tuple[str, ...]) -> tuple[Node, str]:
        """Read up to one of the directives `ends`; return what was read and which one it was."""
        nodes: list[Node] = []
        while self.position < len(self.parts):
            part = self.parts[self.position]
            self.position += 1
            if isinstance(part, str):
                nodes.append(Literal(part))
            elif not part.keyword:
                nodes.append(self.parse(part.source))
            elif part.keyword in ("if", "for"):
                nodes.append(self._opened(part))
            elif part.keyword in ends:
                return Template(*nodes), part.keyword
            else:
                raise EvaluationError(f"%{{ {part.keyword} }} does not belong here")
        if ends:
            raise EvaluationError(f"a template directive is not closed by %{{ {ends[-1]} }}")
        if not nodes:
            return Literal(""), ""
        return (nodes[0] if len(self.parts) == 1 else Template(*nodes)), ""

    def _opened(self, part: TemplateSequence) -> Node:
        if part.keyword == "if":
            condition = self.parse(part.source)
            when_true, end = self.until(("else", "endif"))
            when_false: Node = Literal("")
            if end == "else":
                when_false, _ = self.until(("endif",))
            return IfTemplate(condition, when_true, when_false)
        match = _FOR.fullmatch(part.source.text)
        if match is None:
            raise EvaluationError("%{ for } needs a name, `in` and a collection")
        names = [name for name in (match[1], match[2]) if name]
        collection = self.parse(Source(match[3], part.source.strings))
        body, _ = self.until(("endfor",))
        return ForTemplate(names, collection, [body], None)
