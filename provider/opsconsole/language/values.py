"""The values of the language: a type, plain data, and marks.

The data of a value is a JSON value: None (null), UNKNOWN, str, bool, a Number, a list (for a list,
set or tuple) or a dict (for a map or object). The type stands beside the data, so null and unknown
values have a type like any other value, at every depth.

A mark (sensitive, ephemeral) is on the smallest value that carries it. In the data of a collection,
a marked part is a `Marked`. Results computed from a marked value are marked too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from opsconsole.diagnostics import AttributePath
from opsconsole.language.failures import MAX_PARTS, MAX_TEXT, BeyondBounds, EvaluationError
from opsconsole.language.numbers import from_float, int64
from opsconsole.text import to_nfc
from opsconsole.values import UNKNOWN, holds_unknown

SENSITIVE: Final = "sensitive"
"""Never shown in plans or outputs."""
EPHEMERAL: Final = "ephemeral"
"""Known only during one run; may be used in provider settings, but never stored in state."""

Marks = frozenset[str]
NO_MARKS: Final[Marks] = frozenset()
IS_SENSITIVE: Final[Marks] = frozenset((SENSITIVE,))


class DuplicateKeys(dict[str, Any]):
    """A JSON object in which a name occurs twice; `pairs` has all members, the dict only the last.

    If the names are types or labels of blocks, Terraform reads the object as several blocks.
    Terraform refuses the object everywhere else.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    @property
    def repeated_name(self) -> str:
        """The first name that occurs twice."""
        counts = Counter(name for name, _ in self.pairs)
        return next(name for name, count in counts.items() if count > 1)


class Type:
    """The type of a value.

    Attributes:
        kind: `string`, `number`, `bool`, `dynamic`, `list`, `set`, `map`, `tuple` or `object`.
        inner: The type of the elements of a list, a set or a map; the types of the elements of a
            tuple, or of the attributes of an object.
        names: The names of the attributes of an object, sorted.
    """

    __slots__ = ("_hash", "inner", "kind", "names")

    def __init__(self, kind: str, inner: Iterable[Type] = (), names: Iterable[str] = ()) -> None:
        self.kind = kind
        self.inner = tuple(inner)
        self.names = tuple(names)
        self._hash: int | None = None

    @property
    def element(self) -> Type:
        """The type of the elements of a list, set or map; DYNAMIC for any other type."""
        return self.inner[0] if self.kind in COLLECTIONS else DYNAMIC

    @property
    def attributes(self) -> dict[str, Type]:
        return dict(zip(self.names, self.inner, strict=True))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Type)
            and self.kind == other.kind
            # The hash is kept: it tells most types apart without a walk through their parts.
            and hash(self) == hash(other)
            and self.names == other.names
            and self.inner == other.inner
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.kind, self.names, self.inner))
        return self._hash

    def __str__(self) -> str:
        """Return the type as Terraform's messages write it, such as `list of string`."""
        if self.kind in COLLECTIONS:
            return f"{self.kind} of {self.element}"
        return "any value" if self is DYNAMIC else self.kind


STRING: Final = Type("string")
NUMBER: Final = Type("number")
BOOL: Final = Type("bool")
DYNAMIC: Final = Type("dynamic")
"""The unknown type of a null or unknown value; in a constraint, `any`."""

_SIMPLE: Final = {type.kind: type for type in (STRING, NUMBER, BOOL, DYNAMIC)}
PRIMITIVES: Final = frozenset((STRING, NUMBER, BOOL))
COLLECTIONS: Final = frozenset(("list", "set", "map"))
"""The kinds of types whose elements all have the same type."""


def list_type(element: Type) -> Type:
    return Type("list", (element,))


def set_type(element: Type) -> Type:
    return Type("set", (element,))


def map_type(element: Type) -> Type:
    return Type("map", (element,))


def tuple_type(elements: Iterable[Type]) -> Type:
    return Type("tuple", elements)


def object_type(attributes: Mapping[str, Type]) -> Type:
    names = sorted(attributes)
    return Type("object", (attributes[name] for name in names), names)


def type_to_json(type: Type) -> Any:
    """Return a type as Terraform writes it into states and plans, such as `["list", "string"]`."""
    if not type.inner and type.kind in _SIMPLE:
        return type.kind
    inner = [type_to_json(item) for item in type.inner]
    if type.kind == "tuple":
        return ["tuple", inner]
    if type.kind == "object":
        return ["object", dict(zip(type.names, inner, strict=True))]
    return [type.kind, *inner]


def type_from_json(written: Any) -> Type:
    """Return a type from the form in states.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: `written` is not such a form.
    """
    if isinstance(written, str):
        return _SIMPLE[written]
    kind, inner = written
    if kind == "tuple":
        return tuple_type(map(type_from_json, inner))
    if kind == "object":
        return object_type({name: type_from_json(item) for name, item in inner.items()})
    if kind not in COLLECTIONS:
        raise ValueError(f"not a type: {kind!r}")
    return Type(kind, (type_from_json(inner),))


class Marked:
    __slots__ = ("data", "marks")

    def __init__(self, data: Any, marks: Marks) -> None:
        self.data = data
        self.marks = marks


class Value:
    __slots__ = ("_size", "data", "marks", "type")

    def __init__(
        self, type: Type, data: Any, marks: Marks = NO_MARKS, size: int | None = None
    ) -> None:
        self.type = type
        self.data = data
        self.marks = marks
        self._size = size

    def __repr__(self) -> str:
        return f"Value({self.type}, {'…' if self.marks else repr(self.data)})"

    @property
    def size(self) -> int:
        """The number of parts at all depths; a repeated part counts each time."""
        if self._size is None:
            self._size = _size_of(self.data)
        return self._size

    @property
    def kind(self) -> str:
        return self.type.kind

    @property
    def is_null(self) -> bool:
        return self.data is None

    @property
    def is_known(self) -> bool:
        """Whether the value as a whole is known. Its parts, except set elements, may be unknown."""
        return self.data is not UNKNOWN and not (self.kind == "set" and holds_unknown(self.data))

    def mark(self, marks: Marks) -> Value:
        return Value(self.type, self.data, self.marks | marks, self._size) if marks else self

    def unmark(self) -> Value:
        """Return this value without its own marks. Its parts may still be marked."""
        return Value(self.type, self.data, size=self._size) if self.marks else self

    def unmark_deep(self) -> tuple[Any, Marks]:
        """Return the data without marks at any depth, and all these marks."""
        marks = set(self.marks)
        data = strip_marks(self.data, marks)
        return data, frozenset(marks)


NULL: Final = Value(DYNAMIC, None)


def unknown(type: Type = DYNAMIC, marks: Marks = NO_MARKS) -> Value:
    return Value(type, UNKNOWN, marks)


def unpack(type: Type, data: Any, marks: Marks = NO_MARKS) -> Value:
    """Return data from a collection as a value."""
    if isinstance(data, Marked):
        return Value(type, data.data, data.marks | marks)
    return Value(type, data, marks)


def pack(value: Value) -> Any:
    """Return a value as data for a collection."""
    return Marked(value.data, value.marks) if value.marks else value.data


CHARACTERS_PER_PART: Final = 16
"""How many characters of a text count as one part."""


def _size_of(data: Any) -> int:
    if isinstance(data, str):
        return len(data) // CHARACTERS_PER_PART
    if isinstance(data, Marked):
        return _size_of(data.data)
    if isinstance(data, list):
        return len(data) + sum(map(_size_of, data))
    if isinstance(data, dict):
        return len(data) + sum(map(_size_of, data.values()))
    return 0


def check_length(characters: int) -> None:
    """Raise BeyondBounds for a text that would be too long, before it is made."""
    if characters > MAX_TEXT:
        raise BeyondBounds(f"a text of more than {MAX_TEXT:,} characters")


def check_size(parts: int) -> int:
    """Return the size of a value; BeyondBounds if code would have too many parts to visit."""
    if parts > MAX_PARTS:
        raise BeyondBounds(f"its values hold more than {MAX_PARTS:,} elements in all")
    return parts


_SIZED: Final = frozenset((str, list, dict))


def _total(items: Collection[Value]) -> int:
    """Return the size of a collection of `items`; raises as `check_size` does."""
    return check_size(len(items) + sum(i.size for i in items if type(i.data) in _SIZED))


def list_value(items: Iterable[Value], element: Type) -> Value:
    values = list(items)
    size = _total(values)
    return Value(list_type(element), [pack(item) for item in values], size=size)


def map_value(items: Mapping[str, Value], element: Type) -> Value:
    size = _total(items.values())
    return Value(map_type(element), {name: pack(item) for name, item in items.items()}, size=size)


def tuple_value(items: Iterable[Value]) -> Value:
    values = list(items)
    size = _total(values)
    data = [pack(item) for item in values]
    return Value(tuple_type(item.type for item in values), data, size=size)


def object_value(items: Mapping[str, Value]) -> Value:
    size = _total(items.values())
    data = {name: pack(item) for name, item in items.items()}
    return Value(object_type({name: item.type for name, item in items.items()}), data, size=size)


def members_of(value: Value) -> dict[str, Value]:
    """Return the members of a known map or object by name, sorted as go-cty iterates over them."""
    data, type = value.data, value.type
    types = type.attributes if type.kind == "object" else dict.fromkeys(data, type.element)
    return {name: unpack(types[name], data[name]) for name in sorted(data)}


def elements(value: Value) -> Iterator[tuple[Value, Value]]:
    """Yield the keys and elements of a known collection, in the order of iteration.

    For a set, each element is also its own key.
    """
    if isinstance(value.data, dict):
        for name, item in members_of(value).items():
            yield Value(STRING, name), item
    else:
        for place, item in enumerate(items_of(value)):
            yield (item if value.kind == "set" else Value(NUMBER, int64(place))), item


def items_of(value: Value) -> list[Value]:
    """Return the elements of a known collection, in the order of iteration."""
    data, type = value.data, value.type
    if isinstance(data, dict):
        return [*members_of(value).values()]
    if type.kind == "tuple":
        return [unpack(kind, item) for kind, item in zip(type.inner, data, strict=True)]
    kind = type.element
    return [unpack(kind, item) for item in data]


def is_sequence(value: Value, *, sets: bool = True) -> bool:
    """Return whether a value is a list or a tuple, or also a set if `sets` is true."""
    return value.kind in ("list", "tuple") or (sets and value.kind == "set")


def from_python(data: Any) -> Value:
    """Convert plain data to a value: lists become tuples, dicts objects, and None has no type."""
    if isinstance(data, Value):
        return data
    if isinstance(data, str):
        return Value(STRING, to_nfc(data))
    # Checked before numbers, because in Python a bool is an int.
    if isinstance(data, bool):
        return Value(BOOL, data)
    if isinstance(data, int | Fraction):
        return Value(NUMBER, data)
    if isinstance(data, float):
        return Value(NUMBER, from_float(data))
    if isinstance(data, list | tuple):
        return tuple_value(map(from_python, data))
    if isinstance(data, DuplicateKeys):
        raise EvaluationError(f'the key "{data.repeated_name}" is declared twice')
    if isinstance(data, dict):
        return object_value({to_nfc(name): from_python(item) for name, item in data.items()})
    return Value(DYNAMIC, data)


def strip_marks(data: Any, marks: set[str]) -> Any:
    """Return data without marks, adding the marks to `marks`."""
    if isinstance(data, Marked):
        marks |= data.marks
        return strip_marks(data.data, marks)
    # If there are no marks, return the data itself, not a copy.
    if not has_marks(data):
        return data
    if isinstance(data, dict):
        return {key: strip_marks(item, marks) for key, item in data.items()}
    return [strip_marks(item, marks) for item in data]


def has_marks(data: Any) -> bool:
    """Return whether data holds marks at any depth."""
    if isinstance(data, dict):
        return any(map(has_marks, data.values()))
    if isinstance(data, list):
        return any(map(has_marks, data))
    return isinstance(data, Marked)


def sensitive_paths(data: Any, at: AttributePath = ()) -> Iterator[AttributePath]:
    """Yield the paths in `data` that are sensitive, without paths below such a path."""
    if isinstance(data, Marked):
        if SENSITIVE in data.marks:
            yield at
        else:
            yield from sensitive_paths(data.data, at)
    elif isinstance(data, dict):
        for key, item in data.items():
            yield from sensitive_paths(item, (*at, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from sensitive_paths(item, (*at, index))


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of `text`: characters as users see them."""
    # In ASCII, only a carriage return followed by a line feed forms a cluster of two characters.
    if text.isascii() and "\r" not in text:
        return list(text)
    # Imported late, because the import is slow and most texts are plain.
    import regex

    # Terraform follows Unicode 15.0, in which a mark never joins the letter after it.
    parts = regex.splititer(r"(?V1)(?<=[\p{M}\u200c\u200d])(?=(?![\u0e33\u0eb3])\p{Lo})", text)
    return [str(cluster) for part in parts for cluster in regex.findall(r"\X", part)]
