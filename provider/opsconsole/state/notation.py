"""How addresses are written, those that plans give deposed objects included; and JSON laid out as
Terraform core writes it.

JSON in this layout is cut into fields and items at its line beginnings, so that whatever nobody
edits is kept letter by letter (numbers, unknown fields, order). `model` knows what the fields mean.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from opsconsole.errors import UserError

InstanceKey = str | int | None
"""The key of an instance: None without `count` and `for_each`, an int or a str with them."""

_NAME = re.compile(r"[^\W\d][\w-]*")
_INDEX = re.compile(r'\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\]')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|(\$\$|%%)(?=\{)", re.DOTALL)
_DIGITS = 18
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_PLAIN_KEY = re.compile(r"[\w ./:@+=,;-]*", re.ASCII)


def is_name(text: str) -> bool:
    """Return whether `text` can be a type or a name in an address."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Address:
    """A resource instance.

    Attributes:
        module: The module's path with its keys (`module.a["x"].module.b`), or empty for the root.
        mode: `managed`, or `data`.
        key: The instance key.
    """

    type: str
    name: str
    key: InstanceKey = None
    module: str = ""
    mode: str = "managed"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `text`, such as `module.m.opsconsole_host.a["k"]` or `data.opsconsole_specialty.s`.

        Raises:
            UserError: It is not an address of a resource or of one of its instances.
        """
        return _parsed(text)

    @property
    def resource(self) -> Address:
        """The resource, without the instance's key."""
        return self if self.key is None else replace(self, key=None)

    @property
    def config(self) -> str:
        """The address in the configuration, free of every key, as `dependencies` lists it."""
        module = _INDEX.sub("", self.module) if "[" in self.module else self.module
        return str(replace(self, key=None, module=module))

    def __str__(self) -> str:
        prefix = f"{self.module}." if self.module else ""
        mode = "data." if self.mode == "data" else ""
        return f"{prefix}{mode}{self.type}.{self.name}{print_key(self.key)}"


def print_key(key: InstanceKey) -> str:
    """Print an instance key with its brackets; nothing for None."""
    if key is None:
        return ""
    if isinstance(key, int):
        return f"[{key}]"
    if _PLAIN_KEY.fullmatch(key):
        return f'["{key}"]'
    return f'["{"".join(_written(key, place) for place in range(len(key)))}"]'


def _written(key: str, place: int) -> str:
    letter = key[place]
    if letter in "$%":
        return letter * 2 if key[place + 1 : place + 2] == "{" else letter
    for short, long in _SIMPLE.items():
        if letter == long:
            return f"\\{short}"
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _unescaped(match: re.Match[str]) -> str:
    short, long, simple, template = match.groups()
    if template:
        return str(template[0])
    if short or long:
        code = int(short or long, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ValueError(f"no character {code:x}")
        return chr(code)
    if simple not in _SIMPLE:
        raise ValueError(f"unknown escape \\{simple}")
    return _SIMPLE[simple]


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Address:
    """Read an address; one that is written is asked for several times in a row."""
    return _Reader(text).address()


class _Reader:
    """Reads one address from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def address(self) -> Address:
        module, mode = "", "managed"
        start = 0
        name = self._name()
        while name == "module":
            self._dot()
            self._name()
            self._key()
            module = self._text[start : self._place]
            self._dot()
            name = self._name()
        if name == "data":
            mode = "data"
            self._dot()
            name = self._name()
        self._dot()
        address = Address(sys.intern(name), self._name(), self._key(), module, mode)
        if self._place != len(self._text):
            raise self._error()
        return address

    def _name(self) -> str:
        match = _NAME.match(self._text, self._place)
        if match is None:
            raise self._error()
        self._place = match.end()
        return match.group()

    def _dot(self) -> None:
        if not self._text.startswith(".", self._place):
            raise self._error()
        self._place += 1

    def _key(self) -> InstanceKey:
        match = _INDEX.match(self._text, self._place)
        if match is None:
            return None
        self._place = match.end()
        number, quoted = match.groups()
        if number is not None:
            if len(number) > _DIGITS:
                raise self._error()
            return int(number)
        try:
            return _ESCAPE.sub(_unescaped, quoted)
        except ValueError as error:
            raise self._error() from error

    def _error(self) -> UserError:
        return UserError(
            f"{self._text!r} is not a resource address (character {self._place + 1}).",
            "Write it as Terraform does, such as opsconsole_host.web, x.web[0] or 'x.web[\"k\"]'.",
        )


_DEPOSED = re.compile(r"(.+) \(deposed ([0-9a-f]{8})\)", re.DOTALL)


def deposed_name(address: str, key: str) -> str:
    """Return what plans call the object that waits under `key` beside an instance."""
    return f"{address} (deposed {key})"


def instance_and_key(address: str) -> tuple[str, str]:
    """Return the address of an instance and, where `address` names a deposed object, its key."""
    if address.endswith(")"):
        found = _DEPOSED.fullmatch(address)
        if found is not None:
            return found[1], found[2]
    return address, ""


def instance_of(address: str) -> Address:
    """Return the parts of an instance's address, also where a deposed object is named.

    Raises:
        UserError: It is not an address.
    """
    return Address.parse(instance_and_key(address)[0])


def config_address(address: str) -> str:
    """Return an instance's address without its key; of a deposed object, that of its instance."""
    address, _ = instance_and_key(address)
    return Address.parse(address).config if address.endswith("]") else address


# Go's encoder writes these as escapes; a lone surrogate has no other form in UTF-8.
_GO_ESCAPES = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


class OtherLayout(ValueError):
    """The text is not laid out as Terraform writes it; `render` of its decoded value is."""


class WrittenNumber(float):
    """A number with a fraction or an exponent, which remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=WrittenNumber, parse_constant=_no_constant)


def decode(text: str) -> Any:
    """Decode JSON; numbers keep the form they were written in.

    Raises:
        ValueError: It is not JSON, or nested beyond what can be read.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def quote(text: str) -> str:
    """Write a string as Go's JSON encoder does."""
    return _escaped(encode_basestring(text))


def _escaped(text: str) -> str:
    """Escape what only Go's encoder escapes: in JSON these letters occur within strings alone."""
    # Looking for each letter alone is forty times as fast as one expression for all of them.
    if text.isascii() and "<" not in text and ">" not in text and "&" not in text:
        return text
    return _GO_ESCAPES.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def render(value: Any, indent: int, sort: bool = False) -> str:
    """Lay out a value that begins on a line indented by `indent` spaces.

    Args:
        sort: Sort the keys of every object, as core does for attributes.
    """
    return _escaped(_laid_out(value, indent, sort))


def _laid_out(value: Any, indent: int, sort: bool) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, dict):
        # Core writes a value of dynamic type in this order, and everything else sorted.
        names = sorted(value) if sort and list(value) != ["value", "type"] else value
        fields = [
            f"{encode_basestring(name)}: "
            # Most attributes are null or text, and states hold many thousands of them.
            + (
                "null"
                if (item := value[name]) is None
                else encode_basestring(item)
                if isinstance(item, str)
                else _laid_out(item, indent + 2, sort)
            )
            for name in names
        ]
        return _enclosed("{", fields, "}", indent)
    if isinstance(value, (list, tuple)):
        return _enclosed("[", [_laid_out(item, indent + 2, sort) for item in value], "]", indent)
    if isinstance(value, int):
        return str(value) if not isinstance(value, bool) else "true" if value else "false"
    return value.text if isinstance(value, WrittenNumber) else json.dumps(value, allow_nan=False)


def _enclosed(opening: str, items: Sequence[str], closing: str, indent: int) -> str:
    if not items:
        return opening + closing
    pad = "\n" + " " * (indent + 2)
    return f"{opening}{pad}{f',{pad}'.join(items)}{pad[:-2]}{closing}"


def join_fields(fields: Iterable[tuple[str, str]], indent: int) -> str:
    """Lay out an object of fields whose values are laid out already."""
    return _enclosed("{", [f"{quote(name)}: {raw}" for name, raw in fields], "}", indent)


def split_fields(text: str, indent: int) -> dict[str, str]:
    """Cut an object whose line is indented by `indent` into names and laid-out values.

    The values are not decoded: every one of them must be, before the cut can be relied on.

    Raises:
        OtherLayout: The text is not in the layout.
    """
    if text == "{}":
        return {}
    pad = "\n" + " " * (indent + 2)
    opening, closing = "{" + pad + '"', pad[:-2] + "}"
    if not (text.startswith(opening) and text.endswith(closing)):
        raise OtherLayout
    pieces = text[len(opening) : -len(closing)].split(f',{pad}"')
    fields = dict(_name_and_value(piece) for piece in pieces)
    if len(fields) < len(pieces):
        # A write in place that was cut off leaves the end of the longer text behind the new one.
        raise OtherLayout
    return fields


def _name_and_value(piece: str) -> tuple[str, str]:
    name, colon, raw = piece.partition('": ')
    if not colon:
        raise OtherLayout
    if "\\" not in name:
        return name, raw
    try:
        decoded, end = json.decoder.scanstring(piece, 0)  # type: ignore[attr-defined]
    except ValueError as error:
        raise OtherLayout from error
    if piece[end : end + 2] != ": ":
        raise OtherLayout
    return decoded, piece[end + 2 :]


def split_items(text: str, start: int, end: int, indent: int) -> Iterator[str]:
    """Cut the array of objects at `text[start:end]`, on a line indented by `indent`, into items.

    Raises:
        OtherLayout: The text is not in the layout.
    """
    if text[start : min(end, start + 5)] in ("[]", "null"):
        return
    pad = "\n" + " " * (indent + 2)
    opening, between, closing = "[" + pad + "{", f",{pad}{{", pad[:-2] + "]"
    if not (text.startswith(opening, start) and text.endswith(closing, start, end)):
        raise OtherLayout
    at, stop = start + len(opening) - 1, end - len(closing)
    while (cut := text.find(between, at, stop)) >= 0:
        yield text[at:cut]
        at = cut + len(between) - 1
    yield text[at:stop]


def find_array(text: str, opening: str, indent: int) -> tuple[int, int]:
    """Return where the array behind `opening` begins and ends; (-1, -1) when it is not there.

    Raises:
        OtherLayout: It has no end where the layout puts it.
    """
    cut = text.find(opening)
    if cut < 0:
        return -1, -1
    start = cut + len(opening)
    for nothing in ("[]", "null"):
        if text.startswith(nothing, start):
            return start, start + len(nothing)
    closing = "\n" + " " * indent + "]"
    end = text.find(closing, start) + len(closing)
    if end < start:
        raise OtherLayout
    return start, end


def set_field(
    fields: dict[str, str], name: str, raw: str | None, order: Sequence[str]
) -> dict[str, str]:
    """Return `fields` with one field set, or without it when `raw` is None.

    A field that is there keeps its place; a new one goes after the nearest one that precedes it in
    `order`.
    """
    if raw is None:
        return {key: value for key, value in fields.items() if key != name}
    if name in fields:
        return {**fields, name: raw}
    before = order[: order.index(name)]
    position = 1 + max((at for at, key in enumerate(fields) if key in before), default=-1)
    listed = list(fields.items())
    return dict([*listed[:position], (name, raw), *listed[position:]])
