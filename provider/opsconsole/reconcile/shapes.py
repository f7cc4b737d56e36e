"""Whether values that were read from a file have the shape that the definitions give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opsconsole.definition import Attribute, Kind
from opsconsole.values import UNKNOWN, Value

_SCALARS: Final[Mapping[Kind, type | tuple[type, ...]]] = {
    Kind.STRING: str,
    Kind.INTEGER: (int, float),
    Kind.NUMBER: (int, float),
    Kind.BOOLEAN: bool,
}
_ELEMENTS: Final = (Kind.STRING_SET, Kind.STRING_LIST)


def has_shape(value: Value, attribute: Attribute) -> bool:
    """Tell whether a value, or null, or an unknown one, can be that of an attribute."""
    if value is None or value is UNKNOWN:
        return True
    kind = attribute.kind
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return isinstance(value, scalar) and (kind is Kind.BOOLEAN or not isinstance(value, bool))
    if kind in _ELEMENTS:
        return isinstance(value, list) and all(
            item is UNKNOWN or isinstance(item, str) for item in value
        )
    if kind is Kind.OBJECT_LIST:
        return isinstance(value, list) and all(_is_object(item, attribute) for item in value)
    if not attribute.attributes:
        return isinstance(value, dict) and all(
            item is UNKNOWN or isinstance(item, str) for item in value.values()
        )
    return _is_object(value, attribute)


def _is_object(value: Value, attribute: Attribute) -> bool:
    return value is UNKNOWN or (
        isinstance(value, dict)
        and all(has_shape(value.get(item.name), item) for item in attribute.attributes)
    )
