"""`for` expressions and the template directive `%{ for }`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError
from opsconsole.language.nodes import join_parts, make_object
from opsconsole.language.syntax import Node, Reference, Scope
from opsconsole.language.values import (
    BOOL,
    NO_MARKS,
    PRIMITIVES,
    STRING,
    Value,
    elements,
    items_of,
    tuple_of,
    unknown,
)
from opsconsole.values import UNKNOWN


class _For(Node):
    """The common part of all forms; the collection and the results are operands."""

    __slots__ = ("condition", "names")

    def __init__(
        self,
        names: Sequence[str],
        collection: Node,
        results: Sequence[Node],
        condition: Node | None,
    ) -> None:
        super().__init__(collection, *results)
        self.names = tuple(names)
        self.condition = condition

    def children(self) -> Sequence[Node]:
        return self.operands if self.condition is None else (*self.operands, self.condition)

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        collection, *others = self.children()
        yield from collection.references(bound)
        for child in others:
            yield from child.references(bound.union(self.names))

    def evaluate(self, scope: Scope) -> Value:
        source = self.operands[0].evaluate(scope)
        if source.is_null:
            raise EvaluationError("a for expression cannot go over null")
        if source.type in PRIMITIVES:
            raise EvaluationError(f"a for expression cannot go over a {source.type}")
        if not source.is_known:
            return unknown(marks=source.marks)
        marks = set(source.marks)
        self._try_condition(scope)
        results: list[Value] = []
        has_unknown = False
        count = scope.work.count
        rounds = elements(source) if len(self.names) == 2 else ((i,) for i in items_of(source))
        for bound in rounds:
            count(1)
            inner = scope.within(dict(zip(self.names, bound, strict=True)))
            if self.condition is not None:
                verdict = self.condition.evaluate(inner)
                marks |= verdict.marks
                if verdict.is_null:
                    raise EvaluationError("the condition of a for expression is null")
                if verdict.data is UNKNOWN:
                    has_unknown = True
                    continue
                if not convert(verdict, BOOL).data:
                    continue
            results += [result.evaluate(inner) for result in self.operands[1:]]
        made = self.collect(results, scope)
        return (unknown() if has_unknown else made).mark(frozenset(marks))

    def _try_condition(self, scope: Scope) -> None:
        """Evaluate the condition, so that a wrong one fails without any round, too."""
        if self.condition is not None:
            trial = self.condition.evaluate(scope.within(dict.fromkeys(self.names, unknown())))
            convert(trial, BOOL)

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        """Combine the results of all rounds: each has a value, or a key and a value."""
        raise NotImplementedError


class ForTuple(_For):
    """`[for key, value in collection : result if condition]`."""

    __slots__ = ()

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        return tuple_of(results)


class ForTemplate(_For):
    """`%{ for key, value in collection }text%{ endfor }`."""

    __slots__ = ()

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        return join_parts(results, scope)


class ForObject(_For):
    """`{for key, value in collection : new_key => result if condition}`."""

    __slots__ = ()

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        seen: set[str] = set()
        for key in results[::2]:
            name = convert(key, STRING).data
            if isinstance(name, str) and name in seen:
                raise EvaluationError(f'two elements have the key "{name}": group them with ...')
            seen.add(name)
        return make_object(zip(results[::2], results[1::2], strict=True))


class ForGroups(_For):
    """`{for key, value in collection : new_key => result... if condition}`."""

    __slots__ = ()

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        groups: dict[str, list[Value]] = {}
        keys: dict[str, Value] = {}
        marks = NO_MARKS
        for key, item in zip(results[::2], results[1::2], strict=True):
            marks |= key.marks
            name = convert(key, STRING).data
            keys[name] = key
            groups.setdefault(name, []).append(item)
        pairs = ((key, tuple_of(groups[name])) for name, key in keys.items())
        return make_object(pairs).mark(marks)
