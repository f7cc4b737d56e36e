"""Wire values: the values of attributes between an engine and the lifecycle.

A value is None (null), UNKNOWN, a str, int, bool, a list of values or a dict of values. Sets are
lists, sorted and without duplicates. A resource's value is a dict with every attribute present.
"""

from __future__ import annotations

from typing import Any, Final


class Unknown:
    """The type of UNKNOWN: a value that is known only after apply."""

    _instance: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false: ask `is UNKNOWN`")

    def __copy__(self) -> Unknown:
        return self

    def __deepcopy__(self, memo: object) -> Unknown:
        return self


UNKNOWN: Final = Unknown()

Value = Any
"""One wire value."""

Attributes = dict[str, Any]
"""A resource's wire value: attribute name to value, every attribute of the definition present."""


def holds_unknown(value: Value) -> bool:
    """Return whether `value` is UNKNOWN or holds it at any depth."""
    if not isinstance(value, (list, dict)):
        return value is UNKNOWN
    return any(map(holds_unknown, value if isinstance(value, list) else value.values()))


def unknown_names(values: Attributes) -> list[str]:
    """Return the names of those values that are UNKNOWN or hold it at any depth, in order."""
    return [
        name
        for name, value in values.items()
        # This runs for each attribute of each resource: most are null or unknown themselves.
        if value is UNKNOWN or (isinstance(value, (list, dict)) and holds_unknown(value))
    ]
