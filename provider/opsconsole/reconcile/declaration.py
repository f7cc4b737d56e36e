"""One instance as a program declares it and as state knows it: what the planner decides upon.

Deposed objects, which a replacement put aside and did not delete, have names here as well. A plan
deletes them whatever it does to their instance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from opsconsole.compare import normalise_set
from opsconsole.definition import Attribute, DataSourceDefinition, Kind, ResourceDefinition
from opsconsole.diagnostics import Path
from opsconsole.errors import UserError
from opsconsole.language import Block
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import Outcome
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, InstanceObject, State
from opsconsole.values import UNKNOWN, Attributes, Value

_SCALARS: Final[Mapping[Kind, type | tuple[type, ...]]] = {
    Kind.STRING: str,
    Kind.INTEGER: (int, float),
    Kind.NUMBER: (int, float),
    Kind.BOOLEAN: bool,
}


def has_shape(value: Value, attribute: Attribute) -> bool:
    """Return whether a value, or null, or an unknown one, can be that of an attribute."""
    if value is None or value is UNKNOWN:
        return True
    kind = attribute.kind
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return isinstance(value, scalar) and (kind is Kind.BOOLEAN or not isinstance(value, bool))
    if kind.holds_texts:
        return isinstance(value, list) and all(
            item is UNKNOWN or isinstance(item, str) for item in value
        )
    if kind is Kind.OBJECT_LIST:
        return isinstance(value, list) and all(_is_object(item, attribute) for item in value)
    if not attribute.attributes:
        return isinstance(value, dict) and all(
            item is UNKNOWN or isinstance(item, str) for item in value.values()
        )
    return _is_object(value, attribute)


def _is_object(value: Value, attribute: Attribute) -> bool:
    return value is UNKNOWN or (
        isinstance(value, dict)
        and all(has_shape(value.get(item.name), item) for item in attribute.attributes)
    )


def without_ignored(block: Block, config: Attributes, prior: Attributes) -> Attributes:
    """Return a declaration with what `ignore_changes` names taken from `prior`, if both have it."""
    if block.lifecycle.ignore_all:
        return config | {name: prior[name] for name in config if name in prior}
    found: Any = config
    for path in sorted(set(block.lifecycle.ignore_changes), key=str):
        found = _taken_over(found, prior, path)
    return cast("Attributes", found)


def _taken_over(value: Any, prior: Any, path: Path) -> Any:
    """Return `value` with what is at `path` in `prior`, where there is something in both."""
    if not path:
        return prior
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and isinstance(prior, dict) and step in value and step in prior:
        return value | {step: _taken_over(value[step], prior[step], rest)}
    if not (isinstance(value, list) and isinstance(prior, list) and isinstance(step, int)):
        return value
    if step >= min(len(value), len(prior)):
        return value
    return [*value[:step], _taken_over(value[step], prior[step], rest), *value[step + 1 :]]


Place = tuple[str, str, str]
"""What an object is known by: its console, its type and its id."""


@dataclass(frozen=True, slots=True)
class PriorInstance:
    """An instance in state, and what a read of it showed.

    Attributes:
        address: Full address.
        type_name: Terraform type name.
        held: The object as state holds it.
        before: Its value before the refresh.
        read: What the refresh showed; None where it was not refreshed.
        previous_address: Its address before a `moved` block, or empty.
    """

    address: str
    type_name: str
    held: InstanceObject
    before: Attributes
    read: Outcome | None = None
    previous_address: str = ""

    @property
    def value(self) -> Attributes | None:
        """Its value after the refresh; None: it is gone."""
        return self.before if self.read is None else self.read.state

    @property
    def unsettled(self) -> bool:
        """Whether it stands for a creation whose outcome is not known."""
        return is_sentinel(self.before.get("id"))

    @property
    def sensitive(self) -> frozenset[str]:
        """The attributes that were sensitive when state was written."""
        return sensitive_names(self.held.sensitive_attributes)

    @property
    def sensitive_paths(self) -> frozenset[Path]:
        """The paths of what was sensitive when state was written."""
        return paths_from_state(self.held.sensitive_attributes)

    @property
    def private(self) -> bytes:
        """The private bytes beside `value`."""
        return self.held.private if self.read is None else self.read.private


def leading_names(paths: Iterable[Path]) -> frozenset[str]:
    """Return the attributes that lead paths."""
    return frozenset(str(path[0]) for path in paths if path)


def sensitive_names(written: Sequence[Any] | None) -> frozenset[str]:
    """Return the attributes that lead the paths of `sensitive_attributes`."""
    return leading_names(paths_from_state(written))


def paths_from_state(written: Sequence[Any] | None) -> frozenset[Path]:
    """Return the paths that state writes as `sensitive_attributes` (state version 4)."""
    return frozenset(tuple(_steps(path)) for path in written or () if isinstance(path, list))


def _steps(path: Sequence[Any]) -> Iterator[str | int]:
    """Yield the steps of a path; what follows one of another form is not told apart."""
    for step in path:
        found = step.get("value") if isinstance(step, dict) else None
        if isinstance(found, dict):
            found = found.get("value")
        if not isinstance(found, str | int):
            return
        yield found


def paths_to_state(paths: Iterable[Path]) -> list[Any]:
    """Return paths as state writes them."""
    return [[_written(step) for step in path] for path in sorted(paths, key=str)]


def _written(step: str | int) -> dict[str, Any]:
    if isinstance(step, str):
        return {"type": "get_attr", "value": step}
    return {"type": "index", "value": {"value": step, "type": "number"}}


_RESTORE = "Nothing was changed. Restore the state from its backup, or from version control."


def from_state(
    definition: ResourceDefinition | DataSourceDefinition, attributes: Attributes
) -> Attributes:
    """Return the wire value of attributes as state writes them: sets sorted, every name present.

    Raises:
        UserError: An attribute is of another shape than its definition says.
    """
    value = definition.empty()
    for attribute in definition:
        found = attributes.get(attribute.name)
        if not has_shape(found, attribute):
            raise UserError(
                f"The state holds {attribute.name} of {definition.type_name} in a shape that it "
                "cannot have.",
                _RESTORE,
            )
        if attribute.kind is Kind.STRING_SET and isinstance(found, list):
            found = normalise_set(found)
        elif attribute.kind is Kind.OBJECT_LIST and isinstance(found, list):
            names = [nested.name for nested in attribute.attributes]
            found = [{name: entry.get(name) for name in names} for entry in found]
        value[attribute.name] = found
    if isinstance(definition, ResourceDefinition) and value.get("id", "") is None:
        raise UserError(f"The state holds no id of {definition.type_name}.", _RESTORE)
    return value


_NAMED = re.compile(r"(.+) \(deposed ([0-9a-f]{8})\)", re.DOTALL)


def deposed_name(address: str, key: str) -> str:
    """Return what plans call the object that waits under `key` beside an instance."""
    return f"{address} (deposed {key})"


def instance_and_key(address: str) -> tuple[str, str]:
    """Return the address of an instance and, where `address` names a deposed object, its key."""
    if address.endswith(")"):
        found = _NAMED.fullmatch(address)
        if found is not None:
            return found[1], found[2]
    return address, ""


def read_deposed(state: State, known: Mapping[str, PriorInstance]) -> dict[str, PriorInstance]:
    """Return the deposed objects of a state, by the names that plans give them.

    Args:
        known: The instances, under the addresses that `moved` blocks give them.
    """
    moved = {item.previous_address: item.address for item in known.values()}
    found = {}
    for address in state.addresses():
        for key in state.deposed(address):
            held = state.get(address, key)
            definition = RESOURCES.get(address.type)
            if held is None or definition is None or address.mode != "managed":
                continue
            text = str(address)
            name = deposed_name(moved.get(text, text), key)
            value = from_state(definition, held.attributes)
            found[name] = PriorInstance(name, address.type, held, value)
    return found


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
