"""Options of commands, and readers of their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, TypeAlias

from opsconsole.drift import unmanaged_kinds
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS, NOTIFICATIONS

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float:
    """Read a duration as Go writes it: `30s`, `1m30s`, `0`.

    Raises:
        ArgumentTypeError: The text is not a duration.
    """
    parts = _PART.findall(text)
    if text == "0":
        return 0.0
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; write 30s, 2m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def read_per_cent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100")
    return value


def read_shard(text: str) -> Any:
    from opsconsole.drift import model

    try:
        return model.read_shard(text)
    except UserError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def read_port(text: str) -> int:
    """Read a TCP port, which may be 0.

    Raises:
        ArgumentTypeError: The text is not a port.
    """
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; write a number from 0 to 65535")
    return int(text)


def read_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2026-12-31") from None


def read_kinds(text: str) -> tuple[str, ...]:
    if text == "none":
        return ()
    kinds = tuple(text.split(","))
    known = unmanaged_kinds()
    if not known.keys() >= set(kinds):
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(known)} or none")
    return kinds


def read_notification(text: str) -> str:
    if text not in NOTIFICATIONS:
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(NOTIFICATIONS)}")
    return text


def read_format_and_file(text: str) -> tuple[str, Path | None]:
    """Read `FORMAT=FILE`; `FORMAT` alone and `FORMAT=-` go to stdout, which is None."""
    name, equals, file = text.partition("=")
    if name not in FORMATS:
        raise argparse.ArgumentTypeError(
            f"there is no format {name!r}; there are {', '.join(FORMATS)}"
        )
    if equals and not file:
        raise argparse.ArgumentTypeError(f"{text!r} names no file; write {name}=FILE")
    return name, None if file in ("", "-") else Path(file)


READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("DIR", "FILE", "PATH", "PLANFILE", "REPORT"), Path),
    "N": int,
    "DURATION": seconds,
    "PERCENT": read_per_cent,
    "K/N": read_shard,
    "DATE": read_day,
    "KINDS": read_kinds,
}
"""The readers of values, by the word for the value in help. Any other word stands for text."""
_FORM: Final = re.compile(r"(\[)?(.+?)(\.\.\.)?(?(1)\])(…?)")


class Option:
    """An option or an operand of a command.

    Args:
        text: The option as help shows it, two spaces, and its meaning. `--lock=false` is a flag
            that is on by default, `--json` one that is off, `--html FILE` takes a value, `--target
            ADDRESS…` may be repeated, `--program [DIR]` may leave the value out, `--framework
            {a,b}` has a choice. `FILE`, `[FILE]`, `FILE...` and `[FILE...]` are operands.
        environment: The environment variable that overrides its default.
        more: Further arguments of `argparse`.

    Attributes:
        arguments: The arguments for `argparse`; those of a flag lack the spelling.
    """

    def __init__(self, text: str, *, environment: str = "", **more: Any) -> None:
        form, _, help = text.partition("  ")
        self.name, _, value = form.partition(" ")
        self.environment = environment
        self.is_flag = form.startswith("--") and not value
        self.arguments: dict[str, Any] = {"help": help}
        if self.is_flag:
            self.name = self.name.removesuffix("=false")
            attribute = self.name.removeprefix("--").replace("-", "_")
            self.arguments |= {"default": self.name != form, "dest": attribute}
        else:
            self._take_value(value or form, is_operand=not value)
        self.arguments |= more
        if not form.startswith("--"):
            self.name = self.arguments.pop("dest", self.name)
        if self.arguments.get("action") == "append":
            self.arguments["default"] = []

    def _take_value(self, form: str, *, is_operand: bool) -> None:
        match = _FORM.fullmatch(form)
        assert match is not None
        optional, shown, several, repeated = match.groups()
        if shown.startswith("{"):
            self.arguments["choices"] = tuple(shown.strip("{}").split(","))
        else:
            self.arguments["metavar"] = shown
        if optional or several:
            self.arguments["nargs"] = "?" if not several else "*" if optional else "+"
        if repeated:
            self.arguments["action"] = "append"
        self.arguments["type"] = READERS.get(shown, str)
        if is_operand:
            self.name = shown.lower()


Options: TypeAlias = "tuple[str | Option | Group, ...]"
"""An option that needs no more than its text is that text."""


class Group:
    """Options under one heading of help; without a title, the options exclude each other."""

    def __init__(self, title: str, *options: str | Option | Group) -> None:
        self.title, self.options = title, options
