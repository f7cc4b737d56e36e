"""Addresses of resources and instances, as Terraform writes them."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import NamedTuple

from opsconsole.errors import UserError
from opsconsole.text import quote

InstanceKey = str | int | None
"""The key of an instance: None without `count` and `for_each`, an int or a str with them."""

_NAME_AND_MORE = re.compile(r'[^."\[\]\s()]+')
_INDEX = re.compile(r'\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\]')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|(\$\$|%%)(?=\{)", re.DOTALL)
_DIGITS = 18
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def is_name(text: str) -> bool:
    """Return whether `text` can be a type or a name in an address, or a name in a program."""
    # A name is a Python identifier that may also contain dashes, but not at the start.
    return text[:1] != "-" and text.replace("-", "_").isidentifier()


class Address(NamedTuple):
    """A resource instance.

    Attributes:
        module: The module's path with its keys (`module.a["x"].module.b`), or empty for the root.
        mode: `managed` or `data`.
    """

    type: str
    name: str
    key: InstanceKey = None
    module: str = ""
    mode: str = "managed"

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> Address:
        """Parse an address, such as `module.m.opsconsole_host.a["k"]` or `data.opsconsole_host.h`.

        Raises:
            UserError: `text` is not the address of a resource or of an instance.
        """
        # Cached, because callers ask for the same address several times in a row.
        return _Reader(text).address()

    @property
    def resource(self) -> Address:
        """The address of the resource, without the instance key."""
        return self if self.key is None else self._replace(key=None)

    @property
    def config(self) -> str:
        """The address in the configuration, without any key, as `dependencies` lists it."""
        return str(self._replace(key=None, module=_INDEX.sub("", self.module)))

    def __str__(self) -> str:
        prefix = f"{self.module}." if self.module else ""
        mode = "data." if self.mode == "data" else ""
        return f"{prefix}{mode}{self.type}.{self.name}{format_key(self.key)}"


def format_key(key: InstanceKey) -> str:
    """Return an instance key in brackets; empty for None."""
    if key is None:
        return ""
    return f"[{key}]" if isinstance(key, int) else f"[{quote(key)}]"


def _unescape(match: re.Match[str]) -> str:
    short, long, simple, template = match.groups()
    if template:
        return str(template[0])
    if short or long:
        letter = chr(int(short or long, 16))
        # A surrogate is no character, and this raises an error.
        letter.encode()
        return letter
    return _SIMPLE[simple]


class _Reader:
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
        match = _NAME_AND_MORE.match(self._text, self._place)
        name = match.group() if match else ""
        if not is_name(name):
            # The error names the first character that is not of the name.
            self._place += max((n for n in range(len(name)) if is_name(name[:n])), default=0)
            raise self._error()
        self._place += len(name)
        return name

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
            return _ESCAPE.sub(_unescape, quoted)
        except (ValueError, OverflowError, KeyError) as error:
            raise self._error() from error

    def _error(self) -> UserError:
        return UserError(
            f"{self._text!r} is not a resource address (character {self._place + 1}).",
            "Write it as Terraform does, such as opsconsole_host.web, x.web[0] or 'x.web[\"k\"]'.",
        )


_DEPOSED = re.compile(r"(.+) \(deposed ([0-9a-f]{8})\)", re.DOTALL)


def deposed_name(address: str, deposed: str) -> str:
    """Return the name of an object in plans: its address, and the deposed key if it has one."""
    return f"{address} (deposed {deposed})" if deposed else address


def split_deposed(address: str) -> tuple[str, str]:
    """Split the name of an object into the instance's address and the deposed key, if any."""
    if address.endswith(")"):
        match = _DEPOSED.fullmatch(address)
        if match is not None:
            return match[1], match[2]
    return address, ""


def instance_of(address: str) -> Address:
    """Parse an instance's address, or a deposed object's name; raises as `Address.parse` does."""
    return Address.parse(split_deposed(address)[0])


def config_address(address: str) -> str:
    """Return the address without the instance key; for a deposed object, of its instance."""
    address, _ = split_deposed(address)
    return Address.parse(address).config if address.endswith("]") else address
