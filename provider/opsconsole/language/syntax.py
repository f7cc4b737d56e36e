"""The tree of a parsed expression. Each node evaluates itself in a scope.

Built by `parser`; the scope resolves names. Marks travel with every result; an unknown
operand makes the result unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from opsconsole.language.values import Value, check_size

Step = str | int
"""An attribute's name, or an index that is written out: a whole number or a Quoted."""


class Quoted(str):
    """An index that is a text: `["a"]`. It leads to the same as the attribute `a`."""

    __slots__ = ()


class Work:
    """The bound on the values made while one value is evaluated, discarded ones included."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts = 0

    def start(self) -> None:
        """Count from nothing."""
        self.parts = 0

    def count(self, parts: int) -> None:
        """Count values that were made.

        Raises:
            BeyondBounds: It is too much.
        """
        self.parts = check_size(self.parts + parts)


class Scope(Protocol):
    """The context of an expression."""

    @property
    def work(self) -> Work:
        """The size of the values made in it."""

    def within(self, names: dict[str, Value]) -> Scope:
        """Return this scope with further names bound."""

    def resolve(self, reference: Reference) -> Value:
        """Return the value that a reference stands for."""

    def resolve_index(self, reference: Reference, key: Value) -> Value:
        """Return the element `key` of a reference's value, without making the others."""

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        """Return the result of a function."""


class Node:
    """One node of the tree; `operands` are nodes right below."""

    __slots__ = ("operands",)

    def __init__(self, *operands: Node) -> None:
        self.operands = operands

    def evaluate(self, scope: Scope) -> Value:
        """Return the value in `scope`.

        Raises:
            EvaluationError: The expression is wrong for what it was given.
            UnsupportedExpression: It uses what only Terraform has.
        """
        raise NotImplementedError

    def children(self) -> Sequence[Node]:
        """Return the nodes right below."""
        return self.operands

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        """Yield every reference in the tree but those to names in `bound`."""
        for child in self.children():
            yield from child.references(bound)


class Literal(Node):
    """A value that is written out."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value

    def evaluate(self, scope: Scope) -> Value:
        return self.value


class Reference(Node):
    """A name and the steps that follow it, as far as they are written out."""

    __slots__ = ("steps",)

    def __init__(self, steps: tuple[Step, ...]) -> None:
        super().__init__()
        self.steps = steps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self.steps == other.steps

    def __hash__(self) -> int:
        return hash(self.steps)

    def __repr__(self) -> str:
        return f"Reference({self.steps!r})"

    def evaluate(self, scope: Scope) -> Value:
        return scope.resolve(self)

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        if self.steps[0] not in bound:
            yield self

    def source_text(self) -> str:
        """Return the reference as a user writes it."""
        text = str(self.steps[0])
        for step in self.steps[1:]:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f'["{step}"]' if isinstance(step, Quoted) else f".{step}"
        return text
