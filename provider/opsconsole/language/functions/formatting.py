"""`format` and `formatlist`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

from opsconsole.language.conversion import convert, to_text
from opsconsole.language.failures import (
    MAX_WIDTH,
    BeyondBounds,
    EvaluationError,
    UnsupportedExpression,
)
from opsconsole.language.functions.collections import LIST_OF_TEXT, require_integer
from opsconsole.language.functions.encoding import to_json
from opsconsole.language.functions.registry import Signature
from opsconsole.language.numbers import Number, format_number, is_negative
from opsconsole.language.values import (
    BOOL,
    CHARACTERS_PER_PART,
    DYNAMIC,
    NUMBER,
    STRING,
    Value,
    check_length,
    check_size,
    clusters,
    is_sequence,
    items_of,
    unknown,
)
from opsconsole.text import to_nfc
from opsconsole.values import UNKNOWN, holds_unknown

_VERB = re.compile(
    r"%(?:(?P<percent>%)|(?P<flags>[-+ #0]*)(?P<width>[1-9]\d*)?(?:\.(?P<precision>\d*))?"
    r"(?:\[(?P<index>[1-9]\d*)\])?(?P<mode>[A-Za-z]))"
)
_ALL_DIGITS: Final = 10_000
"""More digits than any number has."""


@dataclass(frozen=True, slots=True)
class _Verb:
    raw: str
    flags: str
    width: int
    precision: int | None
    mode: str

    def pad(self, text: str) -> str:
        """Pad with zeros or spaces up to the width, which counts characters as users see them."""
        padding = max(self.width - len(clusters(text)), 0)
        filling = ("0" if "0" in self.flags else " ") * padding
        return text + filling if "-" in self.flags else filling + text


def _has_untyped_null(pattern: Any, arguments: Iterable[Value]) -> bool:
    """Return whether an argument is a null without a type, of which go-cty makes an unknown."""
    if pattern is None:
        raise EvaluationError("an argument must not be null")
    return any(item.is_null and item.type == DYNAMIC for item in arguments)


@Signature("format", (STRING,), rest=DYNAMIC, nulls=True, unknown_if="never", returns=STRING)
def _format(pattern: Any, *arguments: Any) -> Any:
    if _has_untyped_null(pattern, arguments):
        return unknown()
    if pattern is UNKNOWN or any(holds_unknown(argument.data) for argument in arguments):
        return UNKNOWN
    return apply_format(pattern, arguments)


@Signature(
    "formatlist", (STRING,), rest=DYNAMIC, nulls=True, unknown_if="never", returns=LIST_OF_TEXT
)
def _formatlist(pattern: Any, *arguments: Any) -> Any:
    if _has_untyped_null(pattern, arguments):
        return unknown()
    if pattern is UNKNOWN or any(argument.data is UNKNOWN for argument in arguments):
        return UNKNOWN
    if not arguments:
        return [apply_format(pattern, ())]
    columns = [items_of(i) if is_sequence(i) and not i.is_null else i for i in arguments]
    lengths = {len(column) for column in columns if isinstance(column, list)}
    if len(lengths) > 1:
        raise EvaluationError("the lists must be of one length")
    results: list[Any] = []
    length = 0
    for at in range(lengths.pop() if lengths else 1):
        row = [column[at] if isinstance(column, list) else column for column in columns]
        has_unknown = any(holds_unknown(item.data) for item in row)
        results.append(UNKNOWN if has_unknown else apply_format(pattern, row))
        length += 0 if has_unknown else len(results[-1])
        check_size(length // CHARACTERS_PER_PART)
    return results


def apply_format(pattern: str, arguments: Any) -> str:
    """Return `pattern` with its verbs replaced by `arguments`."""
    pieces: list[str] = []
    position = following = highest = length = 0
    while (start := pattern.find("%", position)) >= 0:
        pieces.append(pattern[position:start])
        match = _VERB.match(pattern, start)
        if match is None:
            raise EvaluationError(f"unrecognized format verb at position {start}")
        position = match.end()
        if match["percent"]:
            pieces.append("%")
            continue
        # Nine digits exceed the number of arguments of any call.
        following = int(match["index"][:9]) if match["index"] else following + 1
        highest = max(highest, following)
        if following > len(arguments):
            raise EvaluationError(f'there is no argument {following} for "{match[0]}"')
        precision = None if match["precision"] is None else _size(match["precision"])
        verb = _Verb(match[0], match["flags"], _size(match["width"]), precision, match["mode"])
        pieces.append(_format_value(verb, arguments[following - 1]))
        length += len(pieces[-1])
        check_length(length)
    if highest < len(arguments):
        raise EvaluationError(f"{len(arguments)} arguments are given, but {highest} are used")
    return to_nfc("".join([*pieces, pattern[position:]]))


def _size(digits: str | None) -> int:
    if digits and (len(digits) > len(str(MAX_WIDTH)) or int(digits) > MAX_WIDTH):
        raise BeyondBounds(f"a format wider than {MAX_WIDTH:,}")
    return int(digits or 0)


def _format_value(verb: _Verb, value: Any) -> str:
    if verb.mode == "v":
        return _format_plain(verb, value)
    if value.is_null:
        raise EvaluationError(f'null cannot be formatted with "{verb.raw}"')
    if verb.mode == "t":
        return to_text(convert(value, BOOL).data)
    if verb.mode in "sq":
        text = convert(value, STRING).data
        if verb.precision:
            text = "".join(clusters(text)[: verb.precision])
        return verb.pad(to_json(text) if verb.mode == "q" else text)
    if verb.mode in "bdoxX":
        return _integer(verb, require_integer(convert(value, NUMBER).data, large=True))
    if verb.mode in "eEfgG":
        return _floating(verb, convert(value, NUMBER).data)
    raise EvaluationError(f'there is no format verb "{verb.raw}"')


def _format_plain(verb: _Verb, value: Value) -> str:
    if "#" not in verb.flags:
        if value.type == STRING and not value.is_null:
            return verb.pad(value.data)
        if value.type == NUMBER and not value.is_null:
            return verb.pad(_general(value.data))
    return verb.pad(to_json(value.data))


def _general(value: Number) -> str:
    """Return Go's shortest form: an exponent from 7 digits before the point, or 4 zeros after."""
    text = format_number(value).removeprefix("-")
    sign = "-" if is_negative(value) else ""
    before, _, after = text.partition(".")
    digits = (before + after).strip("0")
    exponent = len(before) - 1 if before != "0" else len(after.lstrip("0")) - len(after) - 1
    if -4 <= exponent < 6:
        return sign + text
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{exponent:+03d}"


def _integer(verb: _Verb, number: int) -> str:
    if verb.precision is not None:
        raise UnsupportedExpression(f'the format "{verb.raw}"')
    digits = format(abs(number), verb.mode)
    prefixes = {"b": "0b", "o": "0", "x": "0x", "X": "0X"} if "#" in verb.flags else {}
    return _add_sign(verb, digits, prefixes.get(verb.mode, ""), negative=number < 0)


def _floating(verb: _Verb, number: Number) -> str:
    if "#" in verb.flags or (verb.mode in "gG" and verb.precision is not None):
        raise UnsupportedExpression(f'the format "{verb.raw}"')
    if verb.mode in "eEgG":
        general = verb.mode in "gG"
        text = _general(number) if general else _scientific(number, verb.precision)
        text = text.removeprefix("-").upper() if verb.mode.isupper() else text.removeprefix("-")
        return _add_sign(verb, text, negative=is_negative(number))
    places = 6 if verb.precision is None else verb.precision
    scaled = str(round(abs(Fraction(number)) * 10**places)).rjust(places + 1, "0")
    digits = f"{scaled[:-places]}.{scaled[-places:]}" if places else scaled
    return _add_sign(verb, digits, negative=is_negative(number))


def _scientific(number: Number, precision: int | None) -> str:
    form = f".{6 if precision is None else precision}e"
    if not number:
        return format(0.0, form)
    fraction = Fraction(number)
    with localcontext(prec=_ALL_DIGITS):
        text = format(Decimal(fraction.numerator) / Decimal(fraction.denominator), form)
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(2, '0')}"


def _add_sign(verb: _Verb, digits: str, prefix: str = "", *, negative: bool) -> str:
    sign = "-" if negative else "+" if "+" in verb.flags else " " if " " in verb.flags else ""
    sign += prefix
    padding = max(verb.width - len(sign) - len(digits), 0)
    if "-" in verb.flags:
        return sign + digits + " " * padding
    if "0" in verb.flags:
        return sign + "0" * padding + digits
    return " " * padding + sign + digits
