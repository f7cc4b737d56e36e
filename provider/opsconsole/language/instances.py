"""Instances that `count` and `for_each` make of a block, and addresses that name instances.

Such addresses are in import blocks and in `replace_triggered_by`. Their keys may be expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from opsconsole.diagnostics import Path
from opsconsole.language.access import Quoted
from opsconsole.language.conversion import convert
from opsconsole.language.failures import MAX_INSTANCES, BeyondBounds, EvaluationError, NotKnownYet
from opsconsole.language.model import Block
from opsconsole.language.nodes import GetAttribute, Index, Node, Reference, Scope
from opsconsole.language.numbers import int64
from opsconsole.language.parser import parse_expression
from opsconsole.language.values import NULL, NUMBER, STRING, Value, items_of, members_of, object_of
from opsconsole.state import Address, InstanceKey
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
    each: Value = NULL

    @property
    def names(self) -> dict[str, Value]:
        """The names that only this instance of the block has: `each` or `count`."""
        if isinstance(self.key, str):
            return each_names(self.key, self.each)
        if self.key is None:
            return {}
        return {"count": object_of({"index": Value(NUMBER, int64(self.key))})}


def each_names(key: str, value: Value) -> dict[str, Value]:
    """Return the name `each` for one entry of a `for_each`."""
    return {"each": object_of({"key": Value(STRING, key), "value": value})}


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The target of one `import` block, or of one entry of the block's `for_each`.

    Attributes:
        address: The instance to import to.
        id: The import id.
        provider: The key of the provider block to use; empty for the resource's own provider.
        title: The name of the import in messages.
    """

    address: Address
    id: str
    provider: str
    title: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """The object that an entry of `replace_triggered_by` names.

    Attributes:
        block: Address of the block.
        address: Full address of the instance; None for any instance of the block.
        path: The attribute's path; empty for any change of the instance.
    """

    block: str
    address: str | None
    path: Path


def count_entries(value: Value) -> dict[InstanceKey, Value]:
    """Return the keys of the instances that `count = value` makes.

    Raises:
        EvaluationError: The value is unknown, null or sensitive, or not a whole number of at least
            0.
    """
    if value.marks:
        raise EvaluationError("count must not be sensitive")
    _require_known(value, "count")
    if value.is_null:
        raise EvaluationError("count must not be null")
    number = convert(value, NUMBER).data
    if isinstance(number, Fraction) or number < 0:
        raise EvaluationError("count must be a whole number from 0 on")
    _check_instances(number)
    return dict.fromkeys(range(number), NULL)


def _require_known(value: Value, name: str) -> None:
    if value.data is UNKNOWN:
        raise NotKnownYet(
            f"{name} depends on values that are known only after apply; apply what it depends on "
            "first"
        )


def _check_instances(number: int) -> None:
    if number > MAX_INSTANCES:
        raise BeyondBounds(f"there would be more than {MAX_INSTANCES:,} instances")


def each_entries(value: Value) -> dict[str, Value]:
    """Return the keys and values of `for_each = value`, sorted.

    Raises:
        EvaluationError: The value is unknown, null, sensitive, or neither a map nor a set of
            strings.
    """
    if value.marks:
        raise EvaluationError("for_each must not be sensitive: its keys would be shown")
    _require_known(value, "for_each")
    if value.is_null or value.kind not in ("map", "object", "set"):
        kind = "null" if value.is_null else f"a {value.type}"
        raise EvaluationError(f"for_each must be a map or a set of strings, not {kind}")
    _check_instances(len(value.data))
    if value.kind == "set":
        if not value.is_known:
            raise NotKnownYet("for_each holds a value that is known only after apply")
        if None in value.data:
            raise EvaluationError("for_each must not hold null")
        if value.data and value.type.element != STRING:
            raise EvaluationError(f"for_each must be a map or a set of strings, not a {value.type}")
    if value.kind == "set":
        return {item.data: item for item in items_of(value)}
    return members_of(value)


def instance_address(text: str, scope: Scope) -> Address:
    """Parse an instance's address, evaluating an index in it.

    Raises:
        EvaluationError: `text` is not an address.
    """
    address, rest = _split(_steps(parse_expression(text), scope))
    if rest:
        raise EvaluationError(f"{text} names more than an instance")
    return address


def trigger(text: str, scope: Scope) -> Trigger:
    """Parse an entry of `replace_triggered_by`; raises as `instance_address`."""
    address, rest = _split(_steps(parse_expression(text), scope))
    if address.mode == "data" or address.type in ("var", "local", "each", "count"):
        raise EvaluationError(f"{text} names no resource")
    return Trigger(address.config, None if address.key is None else str(address), rest)


def _steps(node: Node, scope: Scope) -> tuple[Any, ...]:
    if isinstance(node, Reference):
        return node.steps
    if isinstance(node, GetAttribute):
        return (*_steps(node.source, scope), node.name)
    if isinstance(node, Index):
        key = node.key.evaluate(scope).data
        # In Python, a bool is an int.
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise EvaluationError("an index must be a known text or a whole number")
        return (*_steps(node.source, scope), Quoted(key) if isinstance(key, str) else key)
    raise EvaluationError("an address is required")


def _split(steps: tuple[Any, ...]) -> tuple[Address, Path]:
    """Split steps into an instance's address and the path of an attribute."""
    own = 3 if steps and steps[0] == "data" else 2
    names = steps[:own]
    if len(names) < own or not all(isinstance(name, str) for name in names):
        raise EvaluationError("an address is required")
    if names[0] == "module":
        # Callers refuse an address in a module, whatever else it names.
        return Address(names[1], names[1], module=f"module.{names[1]}"), ()
    rest = steps[own:]
    key: InstanceKey = None
    if rest and isinstance(rest[0], int | Quoted):
        key = str(rest[0]) if isinstance(rest[0], Quoted) else rest[0]
        rest = rest[1:]
    mode = "data" if own == 3 else "managed"
    return Address(names[-2], names[-1], key, mode=mode), tuple(rest)
