"""What evaluating a program yields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opsconsole.diagnostics import Path
from opsconsole.language.value_types import Type, type_to_json
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
        type: Its type.
        sensitive: Whether it is declared sensitive.
    """

    name: str
    value: Value
    type: Type
    sensitive: bool
    description: str = ""

    @property
    def stored_type(self) -> Any:
        """The type in the form that states have, such as `["list", "string"]`."""
        return type_to_json(self.type)
