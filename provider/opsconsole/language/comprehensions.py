"""`for` expressions and the template directives `%{ for }` and `%{ if }`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opsconsole.language.conversion import convert, to_text
from opsconsole.language.failures import EvaluationError
from opsconsole.language.syntax import Composite, Node, Reference, Scope
from opsconsole.language.value_types import (
    BOOL,
    NO_MARKS,
    STRING,
    Marks,
    SetValue,
    check_length,
    count_parts,
    describe,
    mark,
    size_of,
    type_of,
    unmark,
)
from opsconsole.values import UNKNOWN


class _For(Node):
    """What both forms share: the names, the collection, the results and the condition."""

    __slots__ = ("collection", "condition", "names", "results")

    def __init__(
        self,
        names: Sequence[str],
        collection: Node,
        results: Sequence[Node],
        condition: Node | None,
    ) -> None:
        self.names = tuple(names)
        self.collection = collection
        self.results = tuple(results)
        self.condition = condition

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        yield from self.collection.references(bound)
        inner = bound | frozenset(self.names)
        for child in self.children()[1:]:
            yield from child.references(inner)

    def children(self) -> Sequence[Node]:
        extra = () if self.condition is None else (self.condition,)
        return (self.collection, *self.results, *extra)

    def rounds(self, source: Any, scope: Scope) -> Iterator[tuple[Scope, Marks] | None]:
        """Yield the scope of each round that passes the condition; None where that is not known.

        The condition is tried beforehand, so that a wrong one fails without any round, too.
        """
        if self.condition is not None:
            trial, _ = unmark(
                self.condition.evaluate(scope.within(dict.fromkeys(self.names, UNKNOWN)))
            )
            convert(trial, BOOL)
        for key, value in _entries(source):
            count_parts(1)
            bound = (key, value)[-len(self.names) :]
            inner = scope.within(dict(zip(self.names, bound, strict=True)))
            if self.condition is None:
                yield inner, NO_MARKS
                continue
            verdict, marks = unmark(self.condition.evaluate(inner))
            if verdict is None:
                raise EvaluationError("the condition of a for expression is null")
            if verdict is UNKNOWN:
                yield None
            elif convert(verdict, BOOL):
                yield inner, marks

    def source(self, scope: Scope) -> tuple[Any, Marks]:
        """Return the collection and its marks."""
        source, marks = unmark(self.collection.evaluate(scope))
        if source is None:
            raise EvaluationError("a for expression cannot go over null")
        if source is not UNKNOWN and not isinstance(source, list | dict):
            raise EvaluationError(f"a for expression cannot go over a {describe(type_of(source))}")
        has_unknown = isinstance(source, SetValue) and not source.known
        return (UNKNOWN if has_unknown else source), marks


def _entries(source: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(source, dict):
        for key in sorted(source):
            yield key, source[key]
    elif isinstance(source, SetValue):
        for item in source:
            yield item, item
    else:
        yield from enumerate(source)


class ForTuple(_For):
    """`[for key, value in collection : result if condition]`."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        source, marks = self.source(scope)
        if source is UNKNOWN:
            return mark(UNKNOWN, marks)
        items = []
        has_unknown = False
        for entry in self.rounds(source, scope):
            if entry is None:
                has_unknown = True
                continue
            inner, found = entry
            marks |= found
            items.append(self.results[0].evaluate(inner))
        size_of(items)
        return mark(UNKNOWN if has_unknown else items, marks)


class ForObject(_For):
    """`{for key, value in collection : new_key => result... if condition}`."""

    __slots__ = ("grouped",)

    def __init__(
        self,
        names: Sequence[str],
        collection: Node,
        results: Sequence[Node],
        condition: Node | None,
        *,
        grouped: bool,
    ) -> None:
        super().__init__(names, collection, results, condition)
        self.grouped = grouped

    def evaluate(self, scope: Scope) -> Any:
        source, marks = self.source(scope)
        if source is UNKNOWN:
            return mark(UNKNOWN, marks)
        values: dict[str, Any] = {}
        has_unknown = False
        for entry in self.rounds(source, scope):
            if entry is None:
                has_unknown = True
                continue
            inner, found = entry
            key, key_marks = unmark(self.results[0].evaluate(inner))
            marks |= found | key_marks
            if key is UNKNOWN:
                has_unknown = True
                continue
            self._add(values, key, self.results[1].evaluate(inner))
        size_of(values)
        return mark(UNKNOWN if has_unknown else values, marks)

    def _add(self, values: dict[str, Any], key: Any, value: Any) -> None:
        if key is None:
            raise EvaluationError("null is not a key of an object")
        name = convert(key, STRING)
        if self.grouped:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise EvaluationError(f'two elements have the key "{name}": group them with ...')
        else:
            values[name] = value


class ForTemplate(_For):
    """`%{ for key, value in collection }text%{ endfor }`."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        source, marks = self.source(scope)
        if source is UNKNOWN:
            return mark(UNKNOWN, marks)
        pieces: list[str] = []
        has_unknown = False
        length = 0
        for entry in self.rounds(source, scope):
            if entry is None:
                raise EvaluationError("a template directive has no condition")
            value, found = unmark(self.results[0].evaluate(entry[0]))
            marks |= found
            if value is UNKNOWN:
                has_unknown = True
            else:
                pieces.append(to_text(value))
                length += len(pieces[-1])
                check_length(length)
        return mark(UNKNOWN if has_unknown else "".join(pieces), marks)


class IfTemplate(Composite):
    """`%{ if condition }text%{ else }text%{ endif }`."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Any:
        verdict, marks = unmark(self.operands[0].evaluate(scope))
        if verdict is None:
            raise EvaluationError("the condition of a template directive is null")
        if verdict is UNKNOWN:
            return mark(UNKNOWN, marks)
        chosen = self.operands[1 if convert(verdict, BOOL) else 2]
        return mark(chosen.evaluate(scope), marks)
