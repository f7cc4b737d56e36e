"""Functions on time, and functions whose results differ from call to call."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from opsconsole.clock import utc_now
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.functions.registry import Signature
from opsconsole.language.name_resolver import FunctionContext
from opsconsole.language.values import STRING, Value
from opsconsole.values import UNKNOWN

_UNITS = {"ns": -9, "us": -6, "µs": -6, "μs": -6, "ms": -3}
_LARGE_UNITS = {"s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def stamp(moment: datetime) -> str:
    """Return a time as Terraform writes it: RFC 3339, whole seconds."""
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _parse_time(text: str) -> datetime:
    # `fromisoformat` accepts more forms than RFC 3339.
    if not _STAMP.fullmatch(text):
        raise EvaluationError(f'"{text}" is not an RFC 3339 time')
    # Python's years begin at 1.
    if text.startswith("0000"):
        raise UnsupportedExpression("a time in the year 0")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise EvaluationError(f'"{text}" is not an RFC 3339 time') from error


def _duration(text: str) -> timedelta:
    body = text.lstrip("+-") if text[:1] in "+-" else text
    # In Go, 0 needs no unit.
    if body == "0":
        return timedelta()
    total = Fraction(0)
    end = 0
    for match in _DURATION.finditer(body):
        if match.start() != end:
            break
        end = match.end()
        amount = Fraction(match[1] + "0" if match[1].endswith(".") else match[1])
        unit = match[2]
        scale = Fraction(10) ** _UNITS[unit] if unit in _UNITS else _LARGE_UNITS[unit]
        total += amount * scale
    if not body or end != len(body):
        raise EvaluationError(f'"{text}" is not a duration')
    seconds = -total if text.startswith("-") else total
    return timedelta(microseconds=int(seconds * 1_000_000))


@Signature("timeadd", (STRING, STRING))
def _timeadd(moment: str, duration: str) -> str:
    try:
        return stamp(_parse_time(moment) + _duration(duration))
    except OverflowError as error:
        raise UnsupportedExpression("a time outside of the years 1 to 9999") from error


@Signature("timecmp", (STRING, STRING))
def _timecmp(left: str, right: str) -> int:
    first, second = _parse_time(left), _parse_time(right)
    return (first > second) - (first < second)


@Signature("plantimestamp", context=True)
def _plantimestamp(context: FunctionContext) -> str:
    return stamp(context.planned_at.astimezone(UTC))


@Signature("timestamp", context=True)
def _timestamp(context: FunctionContext) -> Any:
    return stamp(utc_now()) if context.applying else Value(STRING, UNKNOWN)


@Signature("uuid", context=True)
def _uuid(context: FunctionContext) -> Any:
    return str(uuid.uuid4()) if context.applying else Value(STRING, UNKNOWN)


_DATE_PARTS = {
    "YYYY": "%Y",
    "YY": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "DD": "%d",
    "EEEE": "%A",
    "EEE": "%a",
    "hh": "%H",
    "HH": "%I",
    "AA": "%p",
    "mm": "%M",
    "ss": "%S",
}
_DATE_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'")


@Signature("formatdate", (STRING, STRING))
def _formatdate(pattern: str, moment: str) -> str:
    time = _parse_time(moment)
    pieces = []
    for match in _DATE_TOKEN.finditer(pattern):
        if match[0] == "'":
            raise EvaluationError("a quoted part of the format is not closed")
        if match[1] is not None:
            pieces.append(match[1].replace("''", "'") or "'")
        elif match[2] is None:
            pieces.append(match[0])
        else:
            pieces.append(_date_part(match[0], time))
    return "".join(pieces)


def _date_part(verb: str, time: datetime) -> str:
    if verb in _DATE_PARTS:
        # On Linux, some Python builds write %Y without leading zeros.
        return time.strftime(_DATE_PARTS[verb]).rjust(len(verb) if verb == "YYYY" else 0, "0")
    numbers = {
        "M": time.month,
        "D": time.day,
        "h": time.hour,
        "H": time.hour % 12 or 12,
        "m": time.minute,
        "s": time.second,
    }
    if verb in numbers:
        return str(numbers[verb])
    if verb == "aa":
        return time.strftime("%p").lower()
    if verb in ("Z", "ZZZ", "ZZZZ", "ZZZZZ"):
        return _zone(verb, time)
    raise EvaluationError(f'"{verb}" is not part of a date format')


def _zone(verb: str, time: datetime) -> str:
    if not time.utcoffset() and verb in ("Z", "ZZZ"):
        return "Z" if verb == "Z" else "UTC"
    offset = time.strftime("%z")
    return offset if verb in ("ZZZ", "ZZZZ") else f"{offset[:3]}:{offset[3:]}"
