"""What evaluating a program yields."""

from __future__ import annotations

from dataclasses import dataclass

from opsconsole.diagnostics import Path
from opsconsole.language.value_types import Type
from opsconsole.values import Attributes, Value


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluated configuration.

    Attributes:
        values: Every attribute of the definition; null where none is declared, UNKNOWN where
            only apply settles it.
        sensitive: Paths of what must not be shown, beyond what the definition says.
    """

    values: Attributes
    sensitive: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputValue:
    """An evaluated output.

    Attributes:
        value: A wire value, UNKNOWN (or holding it) where only apply settles it.
        type: Its type; `value_types.type_to_json` gives the form of states.
        sensitive: Whether it is declared sensitive.
    """

    name: str
    value: Value
    type: Type
    sensitive: bool
    description: str = ""
