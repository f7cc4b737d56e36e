"""Assembles the parts of a template, directives and strip markers among them, into one tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from opsconsole.language.comprehensions import ForTemplate, IfTemplate
from opsconsole.language.failures import EvaluationError
from opsconsole.language.nodes import Template
from opsconsole.language.scanning import Part, Source, TemplateSequence
from opsconsole.language.syntax import Literal, Node

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
        only_interpolation = False
        while self.position < len(self.parts):
            part = self.parts[self.position]
            self.position += 1
            if isinstance(part, str):
                nodes.append(Literal(part))
            elif not part.keyword:
                nodes.append(self.parse(part.source))
                only_interpolation = len(self.parts) == 1
            elif part.keyword in ("if", "for"):
                nodes.append(self._opened(part))
            elif part.keyword in ends:
                return Template(*nodes), part.keyword
            else:
                raise EvaluationError(f"%{{ {part.keyword} }} does not belong here")
        if ends:
            raise EvaluationError(f"a template directive is not closed by %{{ {ends[-1]} }}")
        if only_interpolation:
            return nodes[0], ""
        if not nodes:
            return Literal(""), ""
        if len(nodes) == 1 and isinstance(nodes[0], Literal):
            return nodes[0], ""
        return Template(*nodes), ""

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
