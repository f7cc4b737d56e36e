"""The functions of the language: signatures, table and calls.

This module checks arguments, converts them to the parameters' types, and handles nulls, unknowns
and marks. The functions themselves receive plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.name_resolver import NameResolver
from opsconsole.language.values import (
    COLLECTIONS,
    DYNAMIC,
    NO_MARKS,
    PRIMITIVES,
    STRING,
    Type,
    Value,
    check_size,
    from_python,
    unknown,
)
from opsconsole.text import did_you_mean, plural, to_nfc
from opsconsole.values import UNKNOWN, holds_unknown

Implementation = Callable[..., Any]


class Unknowns(Enum):
    """The effect of unknown arguments on a call."""

    OUTER = "outer"
    """An argument that is unknown as a whole makes the result unknown."""
    ANY = "any"
    """An argument with an unknown part makes the result unknown too."""
    OWN = "own"
    """The function handles unknown arguments itself."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function's parameters, and its treatment of nulls, unknowns and marks.

    Calling a signature adds a function to the table: `@Signature("join", (STRING,), rest=…)`.

    Attributes:
        rest: The type of any further arguments; None if there may be none.
        nulls: Whether arguments may be null.
        opaque: Whether marks inside arguments stay in them.
        marked: Whether the function receives the arguments as they are, and decides on their marks.
        impure: Whether the first argument is the NameResolver, which knows the time and the place
            of the run.
        returns: The type of each result, if it is always the same. The function may then return
            plain data.
    """

    name: str
    parameters: tuple[Type, ...] = ()
    rest: Type | None = None
    nulls: bool = False
    unknowns: Unknowns = Unknowns.OUTER
    opaque: bool = False
    marked: bool = False
    impure: bool = False
    returns: Type = DYNAMIC

    def __call__(self, implementation: Implementation) -> Implementation:
        """Add `implementation` to the table and return it unchanged."""
        FUNCTIONS[self.name] = self, implementation
        return implementation


FUNCTIONS: Final[dict[str, tuple[Signature, Implementation]]] = {}
"""Every function by name; the modules beside this one fill it."""
_SPECIAL: Final = frozenset(("try", "can"))
"""Functions that receive expressions; they are nodes of the tree."""

_OF_TERRAFORM: Final = frozenset(
    ("abspath", "base64gzip", "convert", "fileset", "templatestring", "yamldecode", "yamlencode")
)
"""Functions of Terraform that must not be mistaken for slips of similar names here."""


def is_known(name: str) -> bool:
    name = name.removeprefix("core::")
    return name in FUNCTIONS or name in _SPECIAL


def unknown_function_error(name: str) -> UnsupportedExpression:
    known = not (name in _OF_TERRAFORM or "::" in name)
    near = did_you_mean(name, FUNCTIONS) if known else ""
    hint = f" ({near})" if near.startswith("Did") else ""
    # The name may not be a mistake: a newer release of Terraform or OpenTofu may have the function.
    return UnsupportedExpression(f"the function {name}{hint}")


def call(name: str, arguments: Sequence[Value], resolver: NameResolver) -> Value:
    """Return the result of the function `name`.

    Raises:
        EvaluationError: The arguments do not fit.
        UnsupportedExpression: The function is not known here.
    """
    name = name.removeprefix("core::")
    if name not in FUNCTIONS:
        raise unknown_function_error(name)
    signature, implementation = FUNCTIONS[name]
    required, count = len(signature.parameters), len(arguments)
    if count < required or (signature.rest is None and count > required):
        takes = f"{plural(required, 'argument')}{'' if signature.rest is None else ' or more'}"
        raise EvaluationError(f"{name} takes {takes}, not {count}")
    if signature.marked:
        result: Value = implementation(*arguments)
        return result
    plain: list[Value] = []
    marks = NO_MARKS
    for argument in arguments:
        marks |= argument.marks
        if signature.opaque:
            plain.append(argument.unmark())
        else:
            data, inner_marks = argument.unmark_deep()
            plain.append(Value(argument.type, data))
            marks |= inner_marks
    try:
        made = _invoke(signature, implementation, plain, resolver)
        typed = signature.returns is not DYNAMIC and not isinstance(made, Value)
        result = Value(signature.returns, made) if typed else from_python(made)
        check_size(result.size)
        if isinstance(result.data, str):
            result = Value(STRING, to_nfc(result.data), result.marks)
        return result.mark(marks)
    except (EvaluationError, ValueError, ArithmeticError) as error:
        raise EvaluationError(f"{name}: {error}") from error


def _invoke(
    signature: Signature,
    implementation: Implementation,
    arguments: list[Value],
    resolver: NameResolver,
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
    return implementation(resolver, *given) if signature.impure else implementation(*given)


def _is_plain(kind: Type) -> bool:
    """Return whether a parameter receives plain data, because its type says all about the data."""
    return kind in PRIMITIVES or (kind.kind in COLLECTIONS and _is_plain(kind.element))
