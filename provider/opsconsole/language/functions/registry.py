"""Functions of the language: their form, the table of all of them, and calls.

Checks of arguments, conversion to parameter types, nulls, unknowns and marks are here, once; the
functions themselves see plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.name_resolver import FunctionContext
from opsconsole.language.values import (
    BOOL,
    COLLECTIONS,
    DYNAMIC,
    IS_SENSITIVE,
    NO_MARKS,
    PRIMITIVES,
    SENSITIVE,
    Type,
    Value,
    check_size,
    of_python,
    unknown,
)
from opsconsole.phrases import did_you_mean
from opsconsole.values import UNKNOWN, holds_unknown

Implementation = Callable[..., Any]


class Unknowns(Enum):
    """What unknown arguments do to a call."""

    OUTER = "outer"
    """An argument that is unknown as a whole makes the result unknown."""
    ANY = "any"
    """So does an argument with an unknown part."""
    OWN = "own"
    """The function sees to it."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's parameters' types, and how it treats nulls, unknowns and marks.

    Calling it enters a function into the table: `@Signature("join", (STRING,), rest=…)`.

    Attributes:
        rest: The type of any further arguments; None: there may be none.
        nulls: Whether arguments may be null.
        opaque: Marks inside of arguments stay where they are.
        context: Whether the first argument is the FunctionContext.
    """

    name: str
    parameters: tuple[Type, ...] = ()
    rest: Type | None = None
    nulls: bool = False
    unknowns: Unknowns = Unknowns.OUTER
    opaque: bool = False
    context: bool = False
    returns: Type = DYNAMIC

    def __call__(self, implementation: Implementation) -> Implementation:
        """Enter `implementation` into the table and return it unchanged."""
        FUNCTIONS[self.name] = self, implementation
        return implementation


FUNCTIONS: Final[dict[str, tuple[Signature, Implementation]]] = {}
"""Every function by name; the modules beside this one fill it."""
MARKING: Final = frozenset(("sensitive", "nonsensitive", "issensitive"))
"""Functions that see marks; they are not in the table of the others."""


_SPECIAL: Final = frozenset(("try", "can"))
"""Functions that see expressions; they are nodes of the tree."""

_OF_TERRAFORM: Final = frozenset(
    (
        "abspath",
        "base64gzip",
        "bcrypt",
        "convert",
        "ephemeralasnull",
        "fileset",
        "pathexpand",
        "rsadecrypt",
        "templatestring",
        "textdecodebase64",
        "textencodebase64",
        "type",
        "yamldecode",
        "yamlencode",
    )
)
"""Functions that Terraform has, and that are not slips for similar names here."""


def is_known(name: str) -> bool:
    """Return whether a function can be called here."""
    return any(name.removeprefix("core::") in names for names in (FUNCTIONS, MARKING, _SPECIAL))


def unknown_function(name: str) -> UnsupportedExpression:
    """Return the failure of a call of a function that is not known here."""
    known = not (name in _OF_TERRAFORM or "::" in name)
    near = did_you_mean(name, FUNCTIONS) if known else ""
    hint = f" ({near})" if near.startswith("Did") else ""
    # Not a mistake for certain: a newer release of Terraform or OpenTofu may have it.
    return UnsupportedExpression(f"the function {name}{hint}")


def call(name: str, arguments: Sequence[Value], context: FunctionContext) -> Value:
    """Return the result of the function `name`.

    Raises:
        EvaluationError: The arguments do not fit.
        UnsupportedExpression: It is not known here.
    """
    name = name.removeprefix("core::")
    if name in MARKING:
        return _marking(name, arguments)
    if name not in FUNCTIONS:
        raise unknown_function(name)
    signature, implementation = FUNCTIONS[name]
    required, count = len(signature.parameters), len(arguments)
    if count < required or (signature.rest is None and count > required):
        raise EvaluationError(f"{name} cannot take {count} arguments")
    plain: list[Value] = []
    marks = NO_MARKS
    for argument in arguments:
        marks |= argument.marks
        if signature.opaque:
            plain.append(argument.unmark())
        else:
            data, found = argument.unmark_deep()
            plain.append(Value(argument.type, data))
            marks |= found
    try:
        result = of_python(_invoke(signature, implementation, plain, context))
        check_size(result.size)
        return result.mark(marks)
    except (EvaluationError, ValueError, ArithmeticError) as error:
        raise EvaluationError(f"{name}: {error}") from error


def _marking(name: str, arguments: Sequence[Value]) -> Value:
    if len(arguments) != 1:
        raise EvaluationError(f"{name} takes one argument, not {len(arguments)}")
    value = arguments[0]
    if name == "sensitive":
        return value.mark(IS_SENSITIVE)
    if name == "issensitive":
        return Value(BOOL, SENSITIVE in value.marks)
    return Value(value.type, value.data, value.marks - IS_SENSITIVE)


def _invoke(
    signature: Signature,
    implementation: Implementation,
    arguments: list[Value],
    context: FunctionContext,
) -> Any:
    kinds = (*signature.parameters, *(signature.rest or DYNAMIC for _ in arguments))
    converted = []
    for kind, argument in zip(kinds, arguments, strict=False):
        if argument.is_null and not signature.nulls:
            raise EvaluationError("an argument must not be null")
        converted.append(convert(argument, kind))
    data = [value.data for value in converted]
    if signature.unknowns is Unknowns.OUTER and any(item is UNKNOWN for item in data):
        return unknown(signature.returns)
    if signature.unknowns is Unknowns.ANY and any(map(holds_unknown, data)):
        return unknown(signature.returns)
    given = [
        value.data if _is_plain(kind) else value
        for kind, value in zip(kinds, converted, strict=False)
    ]
    return implementation(context, *given) if signature.context else implementation(*given)


def _is_plain(kind: Type) -> bool:
    """Return whether a parameter is given as plain data, as its type says all of it."""
    return kind in PRIMITIVES or (kind.kind in COLLECTIONS and _is_plain(kind.element))
