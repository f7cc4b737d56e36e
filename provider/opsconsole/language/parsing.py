"""Parses expressions and templates into trees, by python-hcl2; the same text is parsed once.

Plain references, by far the most frequent expressions of synthesised programs, take a short way
past hcl2, to the same tree.
"""

from __future__ import annotations

import re
from typing import Final

from opsconsole.language.bounds import BeyondBounds
from opsconsole.language.characters import normalised
from opsconsole.language.scanning import Source, split_expression, split_template
from opsconsole.language.syntax import Node, Quoted, Reference, Step
from opsconsole.language.templates import assemble

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_PLAIN: Final = re.compile(
    rf"\s*({_NAME}(?:\.{_NAME}|\[[0-9]{{1,9}}\]|\[\"[^\"\\$%]*\"\])*)\s*", re.ASCII
)
_STEP: Final = re.compile(rf"{_NAME}|\[([0-9]+)\]|\[\"([^\"]*)\"\]", re.ASCII)
_CONSTANTS: Final = frozenset(("true", "false", "null"))

_templates: dict[str, Node] = {}
_expressions: dict[str, Node] = {}


def parse_template(text: str) -> Node:
    """Return the tree of a template, which a string in Terraform's JSON syntax is.

    Raises:
        EvaluationError: It is no valid template.
        UnsupportedExpression: It is one that only Terraform reads.
    """
    node = _templates.get(text)
    if node is None:
        try:
            node = _plain_interpolation(text) or _template(text)
        except RecursionError as error:
            raise BeyondBounds("more levels of nesting than can be followed") from error
        _templates[text] = node
    return node


def parse_expression(text: str) -> Node:
    """Return the tree of a bare expression; raises as `parse_template` does."""
    node = _expressions.get(text)
    if node is None:
        try:
            node = plain_reference(text) or tree_of(split_expression(text))
        except RecursionError as error:
            raise BeyondBounds("more levels of nesting than can be followed") from error
        _expressions[text] = node
    return node


def _plain_interpolation(text: str) -> Node | None:
    if text.startswith("${") and text.endswith("}"):
        return plain_reference(text[2:-1])
    return None


def _template(text: str) -> Node:
    return assemble(split_template(text), tree_of)


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
