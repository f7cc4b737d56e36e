"""The tree of a parsed expression. Each node evaluates itself in a scope.

`parser` builds the tree, and the scope resolves names. Every result keeps the marks of its
operands. An unknown operand makes the result unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from opsconsole.language.conversion import all_of, any_of, convert, equal, to_text, unify
from opsconsole.language.failures import DependsOnRelease, EvaluationError, UnsupportedExpression
from opsconsole.language.numbers import calculate, negate, remainder
from opsconsole.language.values import (
    BOOL,
    CHARACTERS_PER_PART,
    DYNAMIC,
    NO_MARKS,
    NUMBER,
    PRIMITIVES,
    STRING,
    Marks,
    Type,
    Value,
    check_length,
    check_size,
    elements,
    is_sequence,
    items_of,
    list_value,
    object_value,
    tuple_value,
    unknown,
    unpack,
)
from opsconsole.text import to_nfc
from opsconsole.values import UNKNOWN

PathStep = str | int
"""An attribute's name, or a literal index: a whole number or a Quoted."""


class Quoted(str):
    """A string index, `["a"]`. It leads to the same value as the attribute `a`."""

    __slots__ = ()


def get_attribute(value: Value, name: str) -> Value:
    """Return the attribute or the map element `name` of `value`."""
    type = value.type
    if type.kind not in ("object", "map", "dynamic"):
        hint = ""
        if isinstance(value.data, list) and value.data and isinstance(value.data[0], dict):
            hint = ": name one element"
        raise EvaluationError(f'a {type} has no attribute "{name}"{hint}')
    if value.is_null:
        raise EvaluationError(f'this value is null, so it has no attribute "{name}"')
    if type.kind == "object" and name not in type.names:
        raise EvaluationError(f'this object has no attribute named "{name}"')
    inner = type.inner[type.names.index(name)] if type.kind == "object" else type.element
    if value.data is UNKNOWN:
        return unknown(inner, value.marks)
    if name not in value.data:
        raise EvaluationError(f'this map has no element with the key "{name}"')
    return unpack(inner, value.data[name], value.marks)


def get_element(value: Value, key: Value) -> Value:
    """Return `value[key]`."""
    type, marks = value.type, value.marks | key.marks
    if value.is_null:
        raise EvaluationError("this value is null, so it has no indices")
    if key.is_null:
        raise EvaluationError("null is not an index")
    if type is DYNAMIC:
        return unknown(marks=marks)
    if type.kind == "set":
        raise EvaluationError("the elements of a set have no index: convert it with tolist()")
    if is_sequence(value):
        return _item_at(value, convert(key, NUMBER).data, marks)
    if type.kind not in ("map", "object"):
        raise EvaluationError(f"a {type} has no indices")
    name = convert(key, STRING).data
    if name is UNKNOWN:
        return unknown(type.element, marks)
    known = type.names if type.kind == "object" else value.data
    if known is not UNKNOWN and name not in known:
        raise EvaluationError(f'this {type.kind} has no element "{name}"')
    return get_attribute(value, name).mark(marks)


def _item_at(value: Value, position: Any, marks: Marks) -> Value:
    type = value.type
    if position is UNKNOWN:
        return unknown(type.element, marks)
    if isinstance(position, Fraction):
        raise EvaluationError("an index of a sequence must be a whole number")
    if position < 0:
        raise EvaluationError("an index of a sequence cannot be negative")
    items = type.inner if type.kind == "tuple" else value.data
    if items is not UNKNOWN and position >= len(items):
        raise EvaluationError(f"index {to_text(position)} is beyond the {len(items)} elements")
    inner = type.inner[position] if type.kind == "tuple" else type.element
    return unpack(inner, UNKNOWN if value.data is UNKNOWN else value.data[position], marks)


def get_path(value: Value, steps: Sequence[PathStep]) -> Value:
    for step in steps:
        if isinstance(step, int):
            value = get_element(value, Value(NUMBER, step))
        elif isinstance(step, Quoted):
            value = get_element(value, Value(STRING, str(step)))
        else:
            value = get_attribute(value, step)
    return value


class Work:
    """The count of values made while one value is evaluated, including discarded values."""

    parts = 0

    def count(self, parts: int) -> None:
        """Add values to the count; BeyondBounds if it exceeds `MAX_PARTS`."""
        self.parts = check_size(self.parts + parts)


class Names:
    """The functions of an expression, and the names that are not bound in its text.

    This class has none; subclasses add them.
    """

    work = Work()

    def resolve(self, reference: Reference, key: Value | None = None) -> Value:
        """Return the value of a reference, or the element `key` of that value."""
        raise EvaluationError(f"a value cannot refer to {reference.source_text()} here")

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        raise EvaluationError(f"a value cannot call {name} here")


class Scope:
    """The bound `names` of an expression, such as `each` or in a `for`; `outer` has all others."""

    __slots__ = ("names", "outer", "work")

    def __init__(self, outer: Names, names: Mapping[str, Value] = MappingProxyType({})) -> None:
        self.outer = outer
        self.names = names
        self.work = outer.work

    def within(self, names: Mapping[str, Value]) -> Scope:
        return Scope(self.outer, {**self.names, **names})

    def resolve(self, reference: Reference, key: Value | None = None) -> Value:
        bound = self.names.get(str(reference.steps[0]))
        if bound is None:
            return self.outer.resolve(reference, key)
        value = get_path(bound, reference.steps[1:])
        return value if key is None else get_element(value, key)


class Node:
    """One node of the tree. Its fields hold the child nodes, and tuples of them, in order."""

    __slots__: tuple[str, ...] = ()

    def evaluate(self, scope: Scope) -> Value:
        """Return the value in `scope`.

        Raises:
            EvaluationError: The expression fails for these values.
            UnsupportedExpression: The expression uses something that only Terraform has.
        """
        raise NotImplementedError

    def children(self) -> Iterator[Node]:
        for name in self.__slots__:
            part = getattr(self, name)
            for item in part if isinstance(part, tuple) else (part,):
                if isinstance(item, Node):
                    yield item

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        """Yield every reference in the tree, except references to names in `bound`."""
        for child in self.children():
            yield from child.references(bound)


@dataclass(slots=True, eq=False)
class Literal(Node):
    value: Value

    def evaluate(self, scope: Scope) -> Value:
        return self.value


@dataclass(slots=True, eq=False)
class Reference(Node):
    """A name and the literal steps that follow it."""

    steps: tuple[PathStep, ...]

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


@dataclass(slots=True, eq=False)
class GetAttribute(Node):
    """`source.name` with a source that is not a plain reference."""

    source: Node
    name: str

    def evaluate(self, scope: Scope) -> Value:
        return get_attribute(self.source.evaluate(scope), self.name)


@dataclass(slots=True, eq=False)
class Index(Node):
    """`source[key]`, if the key is not a literal or the source is not a plain reference."""

    source: Node
    key: Node

    def evaluate(self, scope: Scope) -> Value:
        key = self.key.evaluate(scope)
        # The scope looks up one instance of a block without evaluating the others.
        if isinstance(self.source, Reference):
            return scope.resolve(self.source, key)
        return get_element(self.source.evaluate(scope), key)


ITEM: Final = "*"
"""The name under which the expression after a splat refers to the current element."""


@dataclass(slots=True, eq=False)
class Splat(Node):
    """`source[*]…`: `each` is evaluated for each element.

    A single value counts as one element, and null as no element.
    """

    source: Node
    each: Node

    def evaluate(self, scope: Scope) -> Value:
        value = self.source.evaluate(scope)
        # In HCL, a null list, set or tuple is an error, and any other null counts as no element.
        if value.is_null and is_sequence(value):
            raise EvaluationError("a splat cannot go over null")
        if value.is_null:
            return tuple_value(()).mark(value.marks)
        if not value.is_known:
            return unknown(marks=value.marks)
        items = items_of(value) if is_sequence(value) else [value.unmark()]
        scope.work.count(len(items))
        results = [self.each.evaluate(scope.within({ITEM: item})) for item in items]
        types = {item.type for item in results}
        if value.kind in ("list", "set"):
            if not results:
                # An empty list keeps its type, which is found by evaluating an unknown element.
                example = {ITEM: unknown(value.type.element)}
                types = {self.each.evaluate(scope.within(example)).type}
            if len(types) == 1:
                return list_value(results, types.pop()).mark(value.marks)
        return tuple_value(results).mark(value.marks)

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        return Node.references(self, bound | {ITEM})


@dataclass(slots=True, eq=False)
class Binary(Node):
    """`left operator right`."""

    operator: str
    left: Node
    right: Node

    def evaluate(self, scope: Scope) -> Value:
        if self.operator in ("&&", "||"):
            return self._logic(scope)
        return _binary(self.operator, self.left.evaluate(scope), self.right.evaluate(scope))

    def _logic(self, scope: Scope) -> Value:
        """Evaluate both operands, as Terraform 1.11 does."""
        left, right = _attempt(self.left, scope), _attempt(self.right, scope)
        try:
            for item in (left, right):
                if isinstance(item, EvaluationError):
                    raise item
            return _binary(self.operator, left, right)
        except EvaluationError as error:
            # Terraform 1.12 and OpenTofu skip a failure if the other operand decides: `false && X`.
            if _may_ignore_failure(self.operator, left, right):
                raise DependsOnRelease(str(error)) from error
            raise


def _attempt(node: Node, scope: Scope) -> Any:
    """Return the value of a node, or its failure."""
    try:
        return node.evaluate(scope)
    except EvaluationError as error:
        return error


def _binary(operator: str, left: Value, right: Value) -> Value:
    (left_data, left_marks), (right_data, right_marks) = left.unmark_deep(), right.unmark_deep()
    left, right = Value(left.type, left_data), Value(right.type, right_data)
    marks = left_marks | right_marks
    if operator in ("==", "!="):
        result = equal(left, right)
        negates = operator == "!=" and result is not UNKNOWN
        return Value(BOOL, not result if negates else result, marks)
    if operator in ("&&", "||"):
        decide = any_of if operator == "||" else all_of
        return Value(BOOL, decide([_operand(left, BOOL), _operand(right, BOOL)]), marks)
    type = NUMBER if operator in "+-*/%" else BOOL
    first, second = _operand(left, NUMBER), _operand(right, NUMBER)
    if first is UNKNOWN or second is UNKNOWN:
        return unknown(type, marks)
    if operator in "/%" and second == 0:
        raise UnsupportedExpression("a division by zero")
    return Value(type, _NUMERIC[operator](first, second), marks)


@dataclass(slots=True, eq=False)
class Unary(Node):
    """`-operand` or `!operand`."""

    operator: str
    operand: Node

    def evaluate(self, scope: Scope) -> Value:
        value = self.operand.evaluate(scope)
        type = NUMBER if self.operator == "-" else BOOL
        data = _operand(value, type)
        if data is not UNKNOWN:
            data = negate(data) if type is NUMBER else not data
        return Value(type, data, value.marks)


def _operand(value: Value, type: Type) -> Any:
    if value.is_null:
        raise EvaluationError("an operand is null")
    try:
        return convert(value, type).data
    except EvaluationError as error:
        raise EvaluationError(f"unsuitable operand: {error}") from error


def _may_ignore_failure(operator: str, left: Value | EvaluationError, right: Any) -> bool:
    """Return whether Terraform 1.12 and OpenTofu ignore the failure of `left operator right`.

    Args:
        left, right: The operands, or the EvaluationError of an operand that failed.
    """
    if isinstance(left, EvaluationError):
        return _is_deciding(operator, right)
    if isinstance(right, EvaluationError):
        return left.data is UNKNOWN or _is_deciding(operator, left)
    return right.is_null and _is_deciding(operator, left)


def _is_deciding(operator: str, operand: Any) -> bool:
    """Return whether an operand of `&&` or `||` decides the result alone."""
    deciding = operator == "||"
    return isinstance(operand, Value) and (
        operand.data is deciding or operand.data == ("true" if deciding else "false")
    )


_NUMERIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **{operator: partial(calculate, operator) for operator in "+-*/"},
    "%": remainder,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


@dataclass(slots=True, eq=False)
class Conditional(Node):
    """`condition ? when_true : when_false`, or `%{ if condition }…%{ else }…%{ endif }`.

    A failure of the result that is not taken is ignored.
    """

    condition: Node
    when_true: Node
    when_false: Node

    def evaluate(self, scope: Scope) -> Value:
        condition = self.condition.evaluate(scope)
        # The result that is not taken is evaluated too, because both results need a common type.
        results = [_attempt(self.when_true, scope), _attempt(self.when_false, scope)]
        chosen = None
        if condition.data is not None and condition.data is not UNKNOWN:
            chosen = results[0 if convert(condition, BOOL).data else 1]
            if isinstance(chosen, EvaluationError):
                raise chosen
        values = [unknown() if isinstance(item, EvaluationError) else item for item in results]
        type = _common_type(values)
        if condition.is_null:
            raise EvaluationError("the condition is null")
        marks = condition.marks.union(*(item.marks for item in values))
        if chosen is None:
            data = None if all(item.is_null for item in values) else UNKNOWN
            return Value(type, data, marks)
        return convert(chosen, type).mark(marks)


def _common_type(results: Sequence[Value]) -> Type:
    """Return the common type of both results of a conditional; a null without a type fits any."""
    types = [item.type for item in results if item.type is not DYNAMIC or not item.is_null]
    type = DYNAMIC if DYNAMIC in types else unify(types)
    if type is None:
        one, other = map(str, types)
        both = f"{one} and {other}" if one != other else f"two different {one}s"
        raise EvaluationError(f"the results of a conditional must have one type, not {both}")
    return type


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function call; `spread` tells whether the last argument is followed by `...`."""

    name: str
    arguments: tuple[Node, ...]
    spread: bool

    def evaluate(self, scope: Scope) -> Value:
        # Handled before any argument is evaluated, because the arguments may fail.
        if self.name in ("try", "can"):
            return _try_each(self, scope)
        arguments = [argument.evaluate(scope) for argument in self.arguments]
        marks = NO_MARKS
        if self.spread:
            last = arguments.pop()
            marks = last.marks
            if last.data is UNKNOWN:
                return unknown(marks=marks)
            if last.is_null or not is_sequence(last):
                raise EvaluationError("what is expanded by ... must be a list, a tuple or a set")
            arguments += items_of(last)
        result = scope.outer.call(self.name, arguments)
        scope.work.count(result.size)
        return result.mark(marks)


def _try_each(call: Call, scope: Scope) -> Value:
    """Evaluate `try` or `can`, which skip failures. `can` of an unknown value is unknown."""
    if not call.arguments or (call.name == "can" and len(call.arguments) != 1):
        raise EvaluationError(f"{call.name} has the wrong number of arguments")
    problems = []
    for argument in call.arguments:
        try:
            value = argument.evaluate(scope)
        # An UnsupportedExpression is not caught: Terraform may have a value for it.
        except EvaluationError as error:
            problems.append(str(error))
            continue
        if call.name == "try":
            return value
        return Value(BOOL, UNKNOWN if value.data is UNKNOWN else True)
    if call.name == "can":
        return Value(BOOL, False)
    raise EvaluationError(f"no argument of try succeeded: {'; '.join(problems)}")


@dataclass(slots=True, eq=False)
class Tuple(Node):
    """`[a, b]`."""

    items: tuple[Node, ...]

    def evaluate(self, scope: Scope) -> Value:
        return tuple_value(item.evaluate(scope) for item in self.items)


@dataclass(slots=True, eq=False)
class Object(Node):
    """`{a = b}`."""

    keys: tuple[Node, ...]
    items: tuple[Node, ...]

    def evaluate(self, scope: Scope) -> Value:
        pairs = zip(self.keys, self.items, strict=True)
        return make_object((key.evaluate(scope), item.evaluate(scope)) for key, item in pairs)


def make_object(pairs: Iterable[tuple[Value, Value]], refusal: str = "") -> Value:
    """Return an object with the marks of the keys. If a key is unknown, so is the object.

    Args:
        refusal: The message about a repeated name, `{}`. Without a message, the last pair counts.
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
    return unknown(marks=marks) if has_unknown else object_value(items).mark(marks)


@dataclass(slots=True, eq=False)
class Template(Node):
    """Text with interpolations; has at least two parts, or one part that is text."""

    parts: tuple[Node, ...]

    def evaluate(self, scope: Scope) -> Value:
        return join_parts((part.evaluate(scope) for part in self.parts), scope)


def join_parts(parts: Iterable[Value], scope: Scope) -> Value:
    """Join the parts of a template."""
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


@dataclass(slots=True, eq=False)
class For(Node):
    """A `for` expression or directive.

    Each round gives a value, or a key and a value; `combine` makes one value of all results.
    """

    names: tuple[str, ...]
    collection: Node
    results: tuple[Node, ...]
    condition: Node | None
    combine: Callable[[Sequence[Value], Scope], Value]

    def references(self, bound: frozenset[str] = frozenset()) -> Iterator[Reference]:
        collection, *others = self.children()
        yield from collection.references(bound)
        for child in others:
            yield from child.references(bound.union(self.names))

    def evaluate(self, scope: Scope) -> Value:
        source = self.collection.evaluate(scope)
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
            results += [result.evaluate(inner) for result in self.results]
        made = self.combine(results, scope)
        return (unknown() if has_unknown else made).mark(frozenset(marks))

    def _holds(self, scope: Scope, marks: set[str]) -> Any:
        """Return whether the condition holds, or UNKNOWN; add its marks to `marks`."""
        if self.condition is None:
            return True
        result = self.condition.evaluate(scope)
        if result.is_null:
            raise EvaluationError("the condition of a for expression is null")
        marks |= result.marks
        return convert(result, BOOL).data


def make_pairs(results: Sequence[Value], scope: Scope) -> Value:
    """Return the object of `{for … : key => value}`."""
    pairs = zip(results[::2], results[1::2], strict=True)
    return make_object(pairs, 'two elements have the key "{}": group them with `...`')


def make_groups(results: Sequence[Value], scope: Scope) -> Value:
    """Return the object of `{for … : key => value...}`, with a tuple for each key."""
    groups: dict[str, list[Value]] = {}
    keys: dict[str, Value] = {}
    marks = NO_MARKS
    for key, item in zip(results[::2], results[1::2], strict=True):
        marks |= key.marks
        name = convert(key, STRING).data
        # The last key stands for the group; `marks` holds the marks of the other keys.
        keys[name] = key
        groups.setdefault(name, []).append(item)
    pairs = ((key, tuple_value(groups[name])) for name, key in keys.items())
    return make_object(pairs).mark(marks)
