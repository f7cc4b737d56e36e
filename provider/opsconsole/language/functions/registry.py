"""What a function of the language is, the table of all of them, and how one is called.

Checks of arguments, conversion to parameter types, nulls, unknowns and marks are here, once; the
functions themselves see plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.marks import NO_MARKS, Marks, mark, union, unmark, unmark_deep
from opsconsole.language.scopes import FunctionContext
from opsconsole.language.unsupported import TERRAFORM_FUNCTIONS
from opsconsole.language.value_types import Type
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
class Function:
    """One function: its parameters' types and how it treats nulls, unknowns and marks.

    Attributes:
        required: How many of `parameters` must be given.
        rest: The type of any further arguments; None: there may be none.
        nulls: Whether arguments may be null.
        opaque: Marks inside of arguments stay where they are.
        context: Whether the first argument of `call` is the FunctionContext.
    """

    name: str
    call: Implementation
    parameters: tuple[Type, ...]
    required: int
    rest: Type | None = None
    nulls: bool = False
    unknowns: Unknowns = Unknowns.OUTER
    opaque: bool = False
    context: bool = False


FUNCTIONS: Final[dict[str, Function]] = {}
"""Every function by name; the modules beside this one fill it."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Registers the function below it: `@Signature("join", (STRING,), rest=…)`."""

    name: str
    parameters: tuple[Type, ...] = ()
    optional: int = 0
    rest: Type | None = None
    nulls: bool = False
    unknowns: Unknowns = Unknowns.OUTER
    opaque: bool = False
    context: bool = False
    aliases: tuple[str, ...] = field(default=())

    def __call__(self, implementation: Implementation) -> Implementation:
        """Enter `implementation` into the table and return it unchanged."""
        for name in (self.name, *self.aliases):
            FUNCTIONS[name] = Function(
                name=name,
                call=implementation,
                parameters=self.parameters,
                required=len(self.parameters) - self.optional,
                rest=self.rest,
                nulls=self.nulls,
                unknowns=self.unknowns,
                opaque=self.opaque,
                context=self.context,
            )
        return implementation


def call_registered(name: str, arguments: Sequence[Any], context: FunctionContext) -> Any:
    """Return the result of the function `name`.

    Raises:
        EvaluationError: There is no such function, or the arguments do not fit.
        UnsupportedExpression: Only Terraform has it.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        if name in TERRAFORM_FUNCTIONS or "::" in name:
            raise UnsupportedExpression(f"the function {name}")
        raise EvaluationError(f'there is no function named "{name}"')
    _check_count(function, len(arguments))
    strip = unmark if function.opaque else unmark_deep
    plain: list[Any] = []
    found: list[Marks] = []
    for argument in arguments:
        value, marks = strip(argument)
        plain.append(value)
        found.append(marks)
    marks = union(found) if any(found) else NO_MARKS
    try:
        return mark(_called(function, plain, context), marks)
    except (EvaluationError, ValueError, ArithmeticError) as error:
        raise EvaluationError(f"{name}: {error}") from error


def _check_count(function: Function, count: int) -> None:
    most = None if function.rest is not None else len(function.parameters)
    if count < function.required or (most is not None and count > most):
        raise EvaluationError(f"{function.name} cannot take {count} arguments")


def _called(function: Function, arguments: list[Any], context: FunctionContext) -> Any:
    kinds = (*function.parameters, *(function.rest for _ in arguments))
    converted = []
    for kind, argument in zip(kinds, arguments, strict=False):
        if argument is None and not function.nulls:
            raise EvaluationError("an argument must not be null")
        converted.append(convert(argument, kind))
    if _unsettled(function, converted):
        return UNKNOWN
    if function.context:
        return function.call(context, *converted)
    return function.call(*converted)


def _unsettled(function: Function, arguments: Sequence[Any]) -> bool:
    if function.unknowns is Unknowns.OUTER:
        return any(argument is UNKNOWN for argument in arguments)
    if function.unknowns is Unknowns.ANY:
        return any(map(holds_unknown, arguments))
    return False
