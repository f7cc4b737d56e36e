"""From blocks to instances: what `count` and `for_each` make of a block."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from opsconsole.language.bounds import MAX_INSTANCES, BeyondBounds
from opsconsole.language.conversion import convert
from opsconsole.language.failures import EvaluationError, NotKnownYet
from opsconsole.language.marks import unmark
from opsconsole.language.model import Block
from opsconsole.language.value_types import NUMBER, STRING, SetValue, describe, type_of
from opsconsole.state import InstanceKey
from opsconsole.values import UNKNOWN


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a block.

    Attributes:
        address: Full address, key included.
        key: An int with count, a str with for_each, else None.
        each: The value of `each.value`.
    """

    block: Block
    address: str
    key: InstanceKey = None
    each: Any = None


def count_entries(value: Any) -> dict[InstanceKey, None]:
    """Return the keys of what `count = value` makes.

    Raises:
        EvaluationError: The value is unknown, null, sensitive, or no whole number from 0 on.
    """
    number, marks = unmark(value)
    if marks:
        raise EvaluationError("count must not be sensitive")
    if number is UNKNOWN:
        raise NotKnownYet(
            "count depends on values that only apply settles; apply what it depends on first"
        )
    if number is None:
        raise EvaluationError("count must not be null")
    number = convert(number, NUMBER)
    if isinstance(number, Fraction) or number < 0:
        raise EvaluationError("count must be a whole number from 0 on")
    _check_instances(number)
    return dict.fromkeys(range(number))


def _check_instances(number: int) -> None:
    if number > MAX_INSTANCES:
        raise BeyondBounds(f"there would be more than {MAX_INSTANCES:,} instances")


def each_entries(value: Any) -> dict[str, Any]:
    """Return keys and values of what `for_each` goes over, sorted.

    Raises:
        EvaluationError: The value is unknown, null, sensitive, or neither a map nor a set of
            strings.
    """
    source, marks = unmark(value)
    if marks:
        raise EvaluationError("for_each must not be sensitive: its keys would be shown")
    if source is UNKNOWN:
        raise NotKnownYet(
            "for_each depends on values that only apply settles; apply what it depends on first"
        )
    if isinstance(source, list | dict):
        _check_instances(len(source))
    if isinstance(source, dict):
        return {key: source[key] for key in sorted(source)}
    if not isinstance(source, SetValue):
        kind = "null" if source is None else f"a {describe(type_of(source))}"
        raise EvaluationError(f"for_each must be a map or a set of strings, not {kind}")
    if not source.settled:
        raise NotKnownYet("for_each holds a value that only apply settles")
    if None in source:
        raise EvaluationError("for_each must not hold null")
    if source and source.element != STRING:
        raise EvaluationError(
            f"for_each must be a map or a set of strings, not a {describe(type_of(source))}"
        )
    return {item: item for item in source}
