"""The nodes of the tree that make values: calls, constructors, templates, `for` expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError
from opsconsole.language.syntax import Node, Reference, Scope
from opsconsole.language.values import (
    BOOL,
    CHARACTERS_PER_PART,
    NO_MARKS,
    PRIMITIVES,
    STRING,
    Value,
    check_length,
    elements,
    is_sequence,
    items_of,
    object_of,
    to_nfc,
    tuple_of,
    unknown,
)
from opsconsole.values import UNKNOWN


class Call(Node):
    """A function call; `spread` tells whether the last argument is followed by `...`."""

    __slots__ = ("name", "spread")

    def __init__(self, name: str, arguments: Sequence[Node], *, spread: bool) -> None:
        super().__init__(*arguments)
        self.name = name
        self.spread = spread

    def evaluate(self, scope: Scope) -> Value:
        # Handled before any argument is evaluated, because the arguments may fail.
        if self.name in ("try", "can"):
            return _try_each(self, scope)
        arguments = [operand.evaluate(scope) for operand in self.operands]
        marks = NO_MARKS
        if self.spread:
            last = arguments.pop()
            marks = last.marks
            if last.data is UNKNOWN:
                return unknown(marks=marks)
            if last.is_null or not is_sequence(last):
                raise EvaluationError("what is expanded by ... must be a list, a tuple or a set")
            arguments += items_of(last)
        result = scope.call(self.name, arguments)
        scope.work.count(result.size)
        return result.mark(marks)


def _try_each(call: Call, scope: Scope) -> Value:
    """Evaluate `try` or `can`, which skip failures. `can` of an unknown value is unknown."""
    if not call.operands or (call.name == "can" and len(call.operands) != 1):
        raise EvaluationError(f"{call.name} has the wrong number of arguments")
    problems = []
    for operand in call.operands:
        try:
            value = operand.evaluate(scope)
        # A construct that only Terraform can run is not caught, because the argument may have a
        # value in Terraform.
        except EvaluationError as error:
            problems.append(str(error))
            continue
        if call.name == "try":
            return value
        return Value(BOOL, UNKNOWN if value.data is UNKNOWN else True)
    if call.name == "can":
        return Value(BOOL, False)
    raise EvaluationError(f"no argument of try succeeded: {'; '.join(problems)}")


class Tuple(Node):
    """`[a, b]`."""

    def evaluate(self, scope: Scope) -> Value:
        return tuple_of(operand.evaluate(scope) for operand in self.operands)


class Object(Node):
    """`{a = b}`; the operands are alternating keys and values."""

    def evaluate(self, scope: Scope) -> Value:
        pairs = zip(self.operands[::2], self.operands[1::2], strict=True)
        return make_object((key.evaluate(scope), item.evaluate(scope)) for key, item in pairs)


def make_object(pairs: Iterable[tuple[Value, Value]], refusal: str = "") -> Value:
    """Return an object.

    If a key is unknown, so is the object. The object has the marks of the keys.

    Args:
        refusal: The message about a repeated name, `{}`. Without a message, the last pair counts.

    Raises:
        EvaluationError: A key is null, or not a string, or is refused.
    """
    items: dict[str, Value] = {}
    marks = NO_MARKS
    has_unknown = False
    for key, item in pairs:
        marks |= key.marks
        if key.is_null:
            raise EvaluationError("null is not a key of an object")
        name = convert(key, STRING).data
        if name is UNKNOWN:
            has_unknown = True
            continue
        if refusal and name in items:
            raise EvaluationError(refusal.format(name))
        items[name] = item
    return unknown(marks=marks) if has_unknown else object_of(items).mark(marks)


class Template(Node):
    """Text with interpolations; has at least two parts, or one part that is text."""

    def evaluate(self, scope: Scope) -> Value:
        return join_parts((operand.evaluate(scope) for operand in self.operands), scope)


def join_parts(parts: Iterable[Value], scope: Scope) -> Value:
    """Join the parts of a template.

    Raises:
        EvaluationError: A part is null, or not a primitive.
        BeyondBounds: The text is too long.
    """
    pieces: list[str] = []
    marks = NO_MARKS
    has_unknown = False
    for value in parts:
        if value.marks:
            marks |= value.marks
        if value.data is UNKNOWN:
            # Continue, because a later part may fail whether or not it is known.
            has_unknown = True
        elif value.is_null:
            raise EvaluationError("a part of this template is null")
        else:
            pieces.append(value.data if value.type is STRING else convert(value, STRING).data)
    length = sum(map(len, pieces))
    check_length(length)
    scope.work.count(length // CHARACTERS_PER_PART)
    # A piece may begin with a mark that joins the end of the piece before it.
    return Value(STRING, UNKNOWN if has_unknown else to_nfc("".join(pieces)), marks)


class _For(Node):
    """The common part of all `for` forms; the collection and the results are operands."""

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
        # A wrong condition fails even if there are no rounds.
        self._holds(scope.within(dict.fromkeys(self.names, unknown())), set())
        results: list[Value] = []
        has_unknown = False
        count = scope.work.count
        rounds = elements(source) if len(self.names) == 2 else ((i,) for i in items_of(source))
        for bound in rounds:
            count(1)
            inner = scope.within(dict(zip(self.names, bound, strict=True)))
            holds = self._holds(inner, marks)
            if holds is not True:
                has_unknown = has_unknown or holds is UNKNOWN
                continue
            results += [result.evaluate(inner) for result in self.operands[1:]]
        made = self.collect(results, scope)
        return (unknown() if has_unknown else made).mark(frozenset(marks))

    def _holds(self, scope: Scope, marks: set[str]) -> Any:
        """Return whether the condition holds, or UNKNOWN; add its marks to `marks`."""
        if self.condition is None:
            return True
        verdict = self.condition.evaluate(scope)
        if verdict.is_null:
            raise EvaluationError("the condition of a for expression is null")
        marks |= verdict.marks
        return convert(verdict, BOOL).data

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        """Combine the results of all rounds. Each result has a value, or a key and a value."""
        raise NotImplementedError


class ForTuple(_For):
    """`[for key, value in collection : result if condition]`."""

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        return tuple_of(results)


class ForTemplate(_For):
    """`%{ for key, value in collection }text%{ endfor }`."""

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        return join_parts(results, scope)


class ForObject(_For):
    """`{for key, value in collection : new_key => result if condition}`."""

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        pairs = zip(results[::2], results[1::2], strict=True)
        return make_object(pairs, 'two elements have the key "{}": group them with `...`')


class ForGroups(_For):
    """`{for key, value in collection : new_key => result... if condition}`."""

    def collect(self, results: Sequence[Value], scope: Scope) -> Value:
        groups: dict[str, list[Value]] = {}
        keys: dict[str, Value] = {}
        marks = NO_MARKS
        for key, item in zip(results[::2], results[1::2], strict=True):
            marks |= key.marks
            name = convert(key, STRING).data
            # The last key stands for the group; `marks` holds the marks of the other keys.
            keys[name] = key
            groups.setdefault(name, []).append(item)
        pairs = ((key, tuple_of(groups[name])) for name, key in keys.items())
        return make_object(pairs).mark(marks)
