"""The nodes of the tree that make values: calls, constructors, templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError
from opsconsole.language.syntax import Node, Scope
from opsconsole.language.values import (
    BOOL,
    CHARACTERS_PER_PART,
    NO_MARKS,
    STRING,
    Value,
    check_length,
    is_sequence,
    items_of,
    object_of,
    tuple_of,
    unknown,
)
from opsconsole.values import UNKNOWN


class Call(Node):
    """A function call; `spread` when the last argument is followed by `...`."""

    __slots__ = ("name", "spread")

    def __init__(self, name: str, arguments: Sequence[Node], *, spread: bool) -> None:
        super().__init__(*arguments)
        self.name = name
        self.spread = spread

    def evaluate(self, scope: Scope) -> Value:
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
    """`try` and `can`: what fails is passed over. `can` of an unknown value is unknown."""
    if not call.operands or (call.name == "can" and len(call.operands) != 1):
        raise EvaluationError(f"{call.name} has the wrong number of arguments")
    problems = []
    for operand in call.operands:
        try:
            value = operand.evaluate(scope)
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

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Value:
        return tuple_of(operand.evaluate(scope) for operand in self.operands)


class Object(Node):
    """`{a = b}`: operands are keys and values in turn."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Value:
        pairs = zip(self.operands[::2], self.operands[1::2], strict=True)
        return make_object((key.evaluate(scope), item.evaluate(scope)) for key, item in pairs)


def make_object(pairs: Iterable[tuple[Value, Value]]) -> Value:
    """Return an object; unknown where a key is, marked as the keys are. The last of a name counts.

    Raises:
        EvaluationError: A key is null, or no text.
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
        else:
            items[name] = item
    return unknown(marks=marks) if has_unknown else object_of(items).mark(marks)


class Template(Node):
    """Text with interpolations: at least two parts, or one that is text."""

    __slots__ = ()

    def evaluate(self, scope: Scope) -> Value:
        return join_parts((operand.evaluate(scope) for operand in self.operands), scope)


def join_parts(parts: Iterable[Value], scope: Scope) -> Value:
    """Return the text that the parts of a template make.

    Raises:
        EvaluationError: One is null, or no primitive.
        BeyondBounds: The text is too long.
    """
    pieces: list[str] = []
    marks = NO_MARKS
    has_unknown = False
    for value in parts:
        if value.marks:
            marks |= value.marks
        if value.data is UNKNOWN:
            has_unknown = True
        elif value.is_null:
            raise EvaluationError("a part of this template is null")
        else:
            pieces.append(value.data if value.type is STRING else convert(value, STRING).data)
    length = sum(map(len, pieces))
    check_length(length)
    scope.work.count(length // CHARACTERS_PER_PART)
    return Value(STRING, UNKNOWN if has_unknown else "".join(pieces), marks)
