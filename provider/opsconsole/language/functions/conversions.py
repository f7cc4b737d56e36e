"""Functions that convert values, and those that set and lift marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opsconsole.language.conversion import convert
from opsconsole.language.functions.registry import FUNCTIONS, Function, Unknowns
from opsconsole.language.marks import SENSITIVE, Marked, mark
from opsconsole.language.value_types import BOOL, DYNAMIC, NUMBER, STRING, Type


def _conversion(wanted: Type) -> Callable[[Any], Any]:
    return lambda value: convert(value, wanted)


_CONVERSIONS: dict[str, Type] = {
    "tostring": STRING,
    "tonumber": NUMBER,
    "tobool": BOOL,
    "tolist": ("list", DYNAMIC),
    "toset": ("set", DYNAMIC),
    "tomap": ("map", DYNAMIC),
}

for _name, _wanted in _CONVERSIONS.items():
    FUNCTIONS[_name] = Function(
        name=_name,
        call=_conversion(_wanted),
        parameters=(DYNAMIC,),
        required=1,
        nulls=True,
        unknowns=Unknowns.OUTER,
        opaque=True,
    )


def marking(name: str, argument: Any) -> Any:
    """Return the result of `sensitive`, `nonsensitive` or `issensitive`.

    These see marks, so they do not go through the registry.
    """
    if name == "sensitive":
        return mark(argument, frozenset((SENSITIVE,)))
    if name == "issensitive":
        return isinstance(argument, Marked) and SENSITIVE in argument.marks
    if isinstance(argument, Marked):
        return mark(argument.value, argument.marks - {SENSITIVE})
    return argument
