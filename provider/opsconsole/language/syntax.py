"""The tree of a parsed expression. Each node evaluates itself in a scope.

`parser` builds the tree, and the scope resolves names. Every result keeps the marks of its
operands. An unknown operand makes the result unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from opsconsole.language.values import Value, check_size

Step = str | int
"""An attribute's name, or a literal index: a whole number or a Quoted."""


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a block, a variable or a local value."""
    # A name is a Python identifier that may also contain dashes, but not at the start.
    return text[:1] != "-" and text.replace("-", "_").isidentifier()


class Quoted(str):
    """A string index, `["a"]`. It leads to the same value as the attribute `a`."""

    __slots__ = ()


class Work:
    """The bound on the values made while one value is evaluated, including discarded values."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts = 0

    def start(self) -> None:
        """Reset the count."""
        self.parts = 0

    def count(self, parts: int) -> None:
        """Add values to the count.

        Raises:
            BeyondBounds: The count exceeds the bound.
        """
        self.parts = check_size(self.parts + parts)


class Scope(Protocol):
    """The context of an expression."""

    @property
    def work(self) -> Work:
        """The count of values made in this scope, with its bound."""

    def within(self, names: dict[str, Value]) -> Scope:
        """Return this scope with additional names."""

    def resolve(self, reference: Reference) -> Value:
        """Return the value of a reference."""

    def resolve_index(self, reference: Reference, key: Value) -> Value:
        """Return the element `key` of a reference's value, without evaluating the others."""

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        """Return the result of a function."""


class Node:
    """One node of the tree; `operands` are its child nodes."""

    __slots__ = ("operands",)

    def __init__(self, *operands: Node) -> None:
        self.operands = operands

    def evaluate(self, scope: Scope) -> Value:
        """Return the value in `scope`.

        Raises:
            EvaluationError: The expression fails for these values.
            UnsupportedExpression: The expression uses something that only Terraform has.
        """
        raise NotImplementedError

    def children(self) -> Sequence[Node]:
        """Return the child nodes."""
        return self.operands

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        """Yield every reference in the tree, except references to names in `bound`."""
        for child in self.children():
            yield from child.references(bound)


class Literal(Node):
    """A literal value."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value

    def evaluate(self, scope: Scope) -> Value:
        return self.value


class Reference(Node):
    """A name and the literal steps that follow it."""

    __slots__ = ("steps",)

    def __init__(self, steps: tuple[Step, ...]) -> None:
        super().__init__()
        self.steps = steps

    def __repr__(self) -> str:
        return f"Reference({self.steps!r})"

    def evaluate(self, scope: Scope) -> Value:
        return scope.resolve(self)

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        if self.steps[0] not in bound:
            yield self

    def source_text(self) -> str:
        """Return the reference as the user writes it."""
        text = str(self.steps[0])
        for step in self.steps[1:]:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f'["{step}"]' if isinstance(step, Quoted) else f".{step}"
        return text
