"""What an option of a command is, and how the text of its value is read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

from opsconsole.drift import unmanaged_kinds
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS, NOTIFICATIONS


class Option:
    """An option that takes a value, or without leading dashes an operand.

    Args:
        words: Its name, and what stands for its value in help.
        environment: The variable that outranks `default`.
        more: Further arguments of `argparse`.
    """

    def __init__(
        self,
        words: str,
        help: str,
        type: Callable[[str], Any] = str,
        environment: str = "",
        **more: Any,
    ) -> None:
        self.name, _, metavar = words.partition(" ")
        self.environment = environment
        self.more = {"metavar": metavar or None, "help": help, "type": type, **more}


@dataclass(frozen=True, slots=True)
class Flag:
    """An option that is on or off: `--NAME`, `--NAME=true`, `--NAME=false`.

    Attributes:
        environment: The variable that turns it on.
    """

    name: str
    help: str
    default: bool | None = False
    environment: str = ""


class Group:
    """Options under one heading of help; without a title, of which only one may be given."""

    def __init__(self, title: str, *options: Option | Flag | Group) -> None:
        self.title, self.options = title, options


Options: TypeAlias = tuple[Option | Flag | Group, ...]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float:
    """Read a duration as Go writes it: `30s`, `1m30s`, `0`.

    Raises:
        ArgumentTypeError: It is not one.
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
    from opsconsole.drift import report

    try:
        return report.read_shard(text)
    except UserError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def read_port(text: str) -> int:
    """Read a TCP port; 0 is one of them.

    Raises:
        ArgumentTypeError: It is not one.
    """
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is not a port")
    return number


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
