"""The functions of the expression language, each as Terraform has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions import (
    addresses,
    collections,
    conversions,
    encoding,
    files,
    formatting,
    mappings,
    numbers,
    regular_expressions,
    sets,
    strings,
    times,
)
from opsconsole.language.functions.registry import FUNCTIONS, call_registered
from opsconsole.language.scopes import FunctionContext

__all__ = ["FUNCTIONS", "MARKING", "call"]

MARKING = frozenset(("sensitive", "nonsensitive", "issensitive"))
"""Functions that see marks; they are not in the table of the others."""

LOADED = (
    addresses,
    collections,
    conversions,
    encoding,
    files,
    formatting,
    mappings,
    numbers,
    regular_expressions,
    sets,
    strings,
    times,
)
"""These modules enter their functions into the table when they are imported."""


def call(name: str, arguments: Sequence[Any], context: FunctionContext) -> Any:
    """Return the result of the function `name`.

    Raises:
        EvaluationError: There is no such function, or the arguments do not fit.
        UnsupportedExpression: Only Terraform has it.
    """
    name = name.removeprefix("core::")
    if name not in MARKING:
        return call_registered(name, arguments, context)
    if len(arguments) != 1:
        raise EvaluationError(f"{name} takes one argument, not {len(arguments)}")
    return conversions.marking(name, arguments[0])
