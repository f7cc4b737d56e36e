"""Functions on time, and functions whose results differ from call to call."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from opsconsole.clock import utc_now
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.functions.registry import Signature
from opsconsole.language.name_resolver import NameResolver
from opsconsole.language.numbers import Number, int64
from opsconsole.language.values import STRING
from opsconsole.text import parse_duration
from opsconsole.values import UNKNOWN

_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)


def format_time(moment: datetime) -> str:
    """Return a time as Terraform writes it: RFC 3339, whole seconds."""
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _parse_time(text: str) -> tuple[datetime, int]:
    """Return a time in whole seconds, and its nanoseconds, of which `datetime` drops the last."""
    # `fromisoformat` accepts more forms than RFC 3339.
    match = _STAMP.fullmatch(text)
    if match is None:
        raise EvaluationError(f'"{text}" is not an RFC 3339 time')
    # Python's years begin at 1.
    if text.startswith("0000"):
        raise UnsupportedExpression("a time in the year 0")
    try:
        return datetime.fromisoformat(match[1] + match[3]), int((match[2] or "").ljust(9, "0")[:9])
    except ValueError as error:
        raise EvaluationError(f'"{text}" is not an RFC 3339 time') from error


@Signature("timeadd", (STRING, STRING))
def _timeadd(moment: str, duration: str) -> str:
    time, nanoseconds = _parse_time(moment)
    try:
        seconds = (nanoseconds + parse_duration(duration)) // 10**9
        return format_time(time + timedelta(seconds=seconds))
    except OverflowError as error:
        raise UnsupportedExpression("a time outside of the years 1 to 9999") from error


@Signature("timecmp", (STRING, STRING))
def _timecmp(left: str, right: str) -> Number:
    # Unlike the other functions, this one takes an hour of one digit, and a decimal comma.
    first, second = (
        _parse_time(re.sub(r"T(?=\d:)", "T0", text).replace(",", ".")) for text in (left, right)
    )
    return int64((first > second) - (first < second))


@Signature("plantimestamp", impure=True)
def _plantimestamp(resolver: NameResolver) -> str:
    return format_time(resolver.planned_at.astimezone(UTC))


@Signature("timestamp", impure=True, returns=STRING)
def _timestamp(resolver: NameResolver) -> Any:
    return format_time(utc_now()) if resolver.applying else UNKNOWN


@Signature("uuid", impure=True, returns=STRING)
def _uuid(resolver: NameResolver) -> Any:
    return str(uuid.uuid4()) if resolver.applying else UNKNOWN


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
_DATE_TOKEN = re.compile(r"''|'((?:[^']|'')+)'|([A-Za-z])\2*|[^A-Za-z']+|'")


@Signature("formatdate", (STRING, STRING))
def _formatdate(pattern: str, moment: str) -> str:
    time, _ = _parse_time(moment)
    pieces = []
    for match in _DATE_TOKEN.finditer(pattern):
        if match[0] == "'":
            raise EvaluationError("a quoted part of the format is not closed")
        if match[1] is not None:
            pieces.append(match[1].replace("''", "'"))
        elif match[2] is None:
            pieces.append(match[0].replace("''", "'"))
        else:
            pieces.append(_date_part(match[0], time))
    return "".join(pieces)


def _date_part(verb: str, time: datetime) -> str:
    if verb in _DATE_PARTS:
        # On Linux, some Python builds write %Y without leading zeros.
        return time.strftime(_DATE_PARTS[verb]).rjust(len(verb) if verb == "YYYY" else 0, "0")
    if verb in "MDhHms":
        return time.strftime(_DATE_PARTS[2 * verb]).lstrip("0") or "0"
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
