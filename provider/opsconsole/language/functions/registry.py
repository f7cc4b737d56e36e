"""The functions of the language: signatures, table and calls.

This module checks arguments, converts them to the parameters' types, and handles nulls, unknowns
and marks. The functions themselves receive plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.name_resolver import NameResolver
from opsconsole.language.values import (
    COLLECTIONS,
    DYNAMIC,
    PRIMITIVES,
    STRING,
    Type,
    Value,
    check_size,
    from_python,
    strip_marks,
    unknown,
)
from opsconsole.text import did_you_mean, plural, to_nfc
from opsconsole.values import UNKNOWN, holds_unknown

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function's parameters, and its treatment of nulls, unknowns and marks.

    Calling a signature adds a function to the table: `@Signature("join", (STRING,), rest=…)`.

    Attributes:
        rest: The type of any further arguments; None if there may be none.
        nulls: Whether arguments may be null.
        unknown_if: When the result is unknown: `whole`: if an argument is unknown as a whole;
            `part`: if any part of an argument is; `never`: the function handles unknown arguments
            itself.
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
    unknown_if: Literal["whole", "part", "never"] = "whole"
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
    """Return the result of the function `name`."""
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
    marks: set[str] = set()
    try:
        made = _invoke(signature, implementation, arguments, marks, resolver)
        typed = signature.returns is not DYNAMIC and not isinstance(made, Value)
        result = Value(signature.returns, made) if typed else from_python(made)
        check_size(result.size)
        if isinstance(result.data, str):
            result = Value(STRING, to_nfc(result.data), result.marks)
        return result.mark(frozenset(marks))
    except (EvaluationError, ValueError, ArithmeticError) as error:
        raise EvaluationError(f"{name}: {error}") from error


def _invoke(
    signature: Signature,
    implementation: Implementation,
    arguments: Sequence[Value],
    marks: set[str],
    resolver: NameResolver,
) -> Any:
    """Return the result, a Value or plain data; add the marks of the arguments to `marks`."""
    kinds = (*signature.parameters, *(signature.rest or DYNAMIC for _ in arguments))
    given = []
    has_unknown = False
    for kind, argument in zip(kinds, arguments, strict=False):
        marks |= argument.marks
        if argument.is_null and not signature.nulls:
            raise EvaluationError("an argument must not be null")
        plain = argument.unmark()
        if not signature.opaque:
            plain = Value(argument.type, strip_marks(argument.data, marks))
        value = convert(plain, kind)
        given.append(value.data if _is_plain(kind) else value)
        if signature.unknown_if != "never":
            has_unknown |= value.data is UNKNOWN
        if signature.unknown_if == "part":
            has_unknown |= holds_unknown(value.data)
    if has_unknown:
        return unknown(signature.returns)
    return implementation(resolver, *given) if signature.impure else implementation(*given)


def _is_plain(kind: Type) -> bool:
    """Return whether a parameter receives plain data, because its type says all about the data."""
    return kind in PRIMITIVES or (kind.kind in COLLECTIONS and _is_plain(kind.element))
