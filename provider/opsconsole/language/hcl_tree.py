"""Trees of expressions, made from python-hcl2's.

Importing this costs a tenth of a second for hcl2 and its grammar; `parsing` does so only when an
expression is more than a plain reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import hcl2
from lark import Token, Tree
from lark.exceptions import LarkError

from opsconsole.language.comprehensions import ForObject, ForTuple
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.nodes import (
    Binary,
    Call,
    Conditional,
    GetAttribute,
    Index,
    Item,
    Object,
    Splat,
    Tuple,
    Unary,
)
from opsconsole.language.syntax import Literal, Node, Quoted, Reference
from opsconsole.language.value_types import parse_number

_LITERALS: Final = {"true": True, "false": False, "null": None}


def parse(text: str, strings: Sequence[Node]) -> Node:
    """Return the tree of an expression; `strings` are what its placeholders stand for.

    Raises:
        EvaluationError: It is not an expression.
        UnsupportedExpression: It is one that only Terraform reads.
    """
    try:
        document = hcl2.parses_to_tree(f"x = {text}")
    except LarkError as error:
        raise EvaluationError(
            f"this is not an expression: {str(error).strip().splitlines()[0]}"
        ) from error
    body = document.children[0]
    attributes = [item for item in _trees(body) if item.data == "attribute"]
    if len(attributes) != 1:
        raise EvaluationError("this is not an expression")
    return _Builder(strings).node(attributes[0].children[-1])


class _Builder:
    """Turns hcl2's tree into nodes; `strings` are what placeholders stand for.

    The method `of_x` handles a tree of the kind `x`.
    """

    def __init__(self, strings: Sequence[Node]) -> None:
        self.strings = strings

    def node(self, tree: Any) -> Node:
        """Return the node of one tree of hcl2."""
        maker: Callable[[Any], Node] | None = getattr(self, "of_" + tree.data, None)
        if maker is None:
            raise UnsupportedExpression(f"the syntax {tree.data}")
        return maker(tree)

    def of_expr_term(self, tree: Any) -> Node:
        return self.node(_trees(tree)[0])

    def of_identifier(self, tree: Any) -> Node:
        return Reference((str(tree.children[0]),))

    def of_literal_value(self, tree: Any) -> Node:
        return Literal(_LITERALS[str(tree.children[0])])

    def of_int_lit(self, tree: Any) -> Node:
        return Literal(parse_number(str(tree.children[0])))

    of_float_lit = of_int_lit

    def of_string(self, tree: Any) -> Node:
        placeholder = "".join(
            str(token) for token in tree.scan_values(lambda token: isinstance(token, Token))
        )
        return self.strings[int(placeholder.strip('"#'))]

    def of_get_attr_expr_term(self, tree: Any) -> Node:
        source, step = _trees(tree)
        return self.stepped(self.node(source), step)

    of_index_expr_term = of_get_attr_expr_term

    def stepped(self, source: Node, step: Any) -> Node:
        """Return `source` followed by one attribute or index."""
        if step.data == "get_attr":
            name = str(_trees(step)[0].children[0])
            if isinstance(source, Reference):
                return Reference((*source.steps, name))
            return GetAttribute(source, name)
        if step.data == "short_index":
            key: Node = Literal(int(step.children[-1]))
        else:
            key = self.node(_trees(step)[0])
        if isinstance(source, Reference) and isinstance(key, Literal):
            written = key.value
            if isinstance(written, str | int) and not isinstance(written, bool):
                step_made = Quoted(written) if isinstance(written, str) else written
                return Reference((*source.steps, step_made))
        return Index(source, key)

    def of_attr_splat_expr_term(self, tree: Any) -> Node:
        """`source.*.a.b[0]`: an index in brackets applies to the result, not to each element."""
        source, rest = _trees(tree)
        steps = _trees(rest)
        inside = next(
            (at for at, step in enumerate(steps) if step.data == "braces_index"), len(steps)
        )
        node = self._splat(source, steps[:inside])
        for step in steps[inside:]:
            node = self.stepped(node, step)
        return node

    def of_full_splat_expr_term(self, tree: Any) -> Node:
        source, rest = _trees(tree)
        return self._splat(source, _trees(rest))

    def _splat(self, source: Any, steps: Sequence[Any]) -> Node:
        item = Item()
        each: Node = item
        for step in steps:
            each = self.stepped(each, step)
        return Splat(self.node(source), item, each)

    def of_conditional(self, tree: Any) -> Node:
        return Conditional(*(self.node(part) for part in _trees(tree)))

    def of_binary_op(self, tree: Any) -> Node:
        left, term = _trees(tree)
        operator, right = _trees(term)
        return Binary(str(operator.children[0]).strip(), self.node(left), self.node(right))

    def of_unary_op(self, tree: Any) -> Node:
        return Unary(str(tree.children[0]), self.node(_trees(tree)[0]))

    def of_tuple(self, tree: Any) -> Node:
        return Tuple(*(self.node(part) for part in _trees(tree)))

    def of_object(self, tree: Any) -> Node:
        operands: list[Node] = []
        for element in _trees(tree):
            key, value = _trees(element)
            operands += [self.object_key(key), self.node(value)]
        return Object(*operands)

    def object_key(self, tree: Any) -> Node:
        """A bare name as a key is a string; in parentheses it is a reference."""
        inner = _trees(tree)[0]
        while inner.data == "expr_term" and not _parenthesised(inner):
            inner = _trees(inner)[0]
        if inner.data in ("identifier", "keyword", "literal_value"):
            return Literal(str(inner.children[0]))
        return self.node(inner)

    def of_function_call(self, tree: Any) -> Node:
        parts = _trees(tree)
        name = "::".join(str(part.children[0]) for part in parts if part.data == "identifier")
        arguments = next((part for part in parts if part.data == "arguments"), None)
        if arguments is None:
            return Call(name, (), spread=False)
        spread = any(token == "..." for token in arguments.children)
        return Call(name, [self.node(part) for part in _trees(arguments)], spread=spread)

    def of_for_tuple_expr(self, tree: Any) -> Node:
        return ForTuple(*self._for(tree))

    def of_for_object_expr(self, tree: Any) -> Node:
        return ForObject(*self._for(tree), grouped=any(token == "..." for token in tree.children))

    def _for(self, tree: Any) -> tuple[list[str], Node, list[Node], Node | None]:
        intro, *rest = _trees(tree)
        *names, collection = _trees(intro)
        condition = None
        if rest[-1].data == "for_cond":
            condition = self.node(_trees(rest.pop())[0])
        return (
            [str(name.children[0]) for name in names],
            self.node(collection),
            [self.node(part) for part in rest],
            condition,
        )


def _trees(tree: Any) -> list[Any]:
    """Return the children that are trees, newlines and comments left out."""
    return [
        child
        for child in tree.children
        if isinstance(child, Tree) and child.data != "new_line_or_comment"
    ]


def _parenthesised(tree: Any) -> bool:
    return any(isinstance(child, Token) and child.type == "LPAR" for child in tree.children)
