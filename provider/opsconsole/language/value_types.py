"""The types of the expression language, the collections that carry them, and the form of texts.

Values are Python's own: None, UNKNOWN, bool, str, int, Fraction (a number that is not whole), list
(a tuple of the language), dict (an object of the language). Lists, sets and maps of the language,
whose elements are all of one type, are the three subclasses below.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from opsconsole.language.marks import Marked
from opsconsole.language.numeric import Double
from opsconsole.values import UNKNOWN

STRING: Final = "string"
NUMBER: Final = "number"
BOOL: Final = "bool"
DYNAMIC: Final = "dynamic"
"""The type of null and of unknown values, and the constraint `any`."""

Type = Any
"""One of the four names above, or a pair: ("list" | "set" | "map", element type),
("tuple", element types), ("object", ((name, type), …)) sorted by name."""

PRIMITIVES: Final = frozenset((STRING, NUMBER, BOOL))


class ListValue(list[Any]):
    """A list: all elements are of type `element`."""

    __slots__ = ("element",)

    def __init__(self, items: Iterable[Any], element: Type) -> None:
        super().__init__(items)
        self.element = element


class SetValue(list[Any]):
    """A set: distinct elements of type `element` in the order of iteration."""

    __slots__ = ("element",)

    def __init__(self, items: Iterable[Any], element: Type) -> None:
        super().__init__(items)
        self.element = element

    @property
    def settled(self) -> bool:
        """Whether no element is unknown, so that it is known which elements there are."""
        return not any(item is UNKNOWN for item in self)


class MapValue(dict[str, Any]):
    """A map: all values are of type `element`."""

    __slots__ = ("element",)

    def __init__(self, items: Mapping[str, Any], element: Type) -> None:
        super().__init__(items)
        self.element = element


def type_of(value: Any) -> Type:
    """Return the type of `value`; of null and unknown it is DYNAMIC. Marks do not matter."""
    simple = _SIMPLE.get(type(value))
    if simple is not None:
        return simple
    if value is None or value is UNKNOWN:
        return DYNAMIC
    if isinstance(value, Marked):
        return type_of(value.value)
    if isinstance(value, ListValue):
        return ("list", value.element)
    if isinstance(value, SetValue):
        return ("set", value.element)
    if isinstance(value, MapValue):
        return ("map", value.element)
    if isinstance(value, list):
        return ("tuple", tuple(type_of(item) for item in value))
    if isinstance(value, dict):
        return ("object", tuple((name, type_of(value[name])) for name in sorted(value)))
    raise TypeError(f"not a value of the expression language: {value!r}")


_SIMPLE: Final[Mapping[type, Type]] = {
    str: STRING,
    int: NUMBER,
    Double: NUMBER,
    Fraction: NUMBER,
    bool: BOOL,
}


def kind_of(kind: Type) -> str:
    """Return the outermost name of a type: `list` for a list of strings."""
    return kind if isinstance(kind, str) else str(kind[0])


def type_to_json(kind: Type) -> Any:
    """Return the form that Terraform writes into states and plans: `["list", "string"]`."""
    if isinstance(kind, str):
        return kind
    name, inner = kind
    if name == "tuple":
        return [name, [type_to_json(item) for item in inner]]
    if name == "object":
        return [name, {attribute: type_to_json(item) for attribute, item in inner}]
    return [name, type_to_json(inner)]


def describe(kind: Type) -> str:
    """Return a type in the words of Terraform's messages: `list of string`."""
    if isinstance(kind, str):
        return "any value" if kind == DYNAMIC else kind
    name, inner = kind
    return name if name in ("tuple", "object") else f"{name} of {describe(inner)}"


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of `text`: characters as users see them."""
    if text.isascii() and "\r" not in text:
        return list(text)
    # Imported late: it takes long to import, and most texts are plain.
    import regex

    return [str(cluster) for cluster in regex.findall(r"\X", text)]


def normalised(text: str) -> str:
    """Return `text` in form C, which all strings of the language have."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
