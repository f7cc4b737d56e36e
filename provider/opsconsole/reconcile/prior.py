"""The instances of a state before a plan, and the instances that are deleted with an owner. Pure.

Values in a state or a saved plan must have the shape of their definition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from opsconsole.definition import (
    SCHEMA_VERSION,
    Attribute,
    DataSourceDefinition,
    Kind,
    ResourceDefinition,
)
from opsconsole.diagnostics import Diagnostic, error, leading_names, warning
from opsconsole.errors import UserError
from opsconsole.language import PresentKeys
from opsconsole.lifecycle.interface import ReadOutcome, RemovalReason
from opsconsole.lifecycle.private_state import is_sentinel, may_hold_sentinel
from opsconsole.lifecycle.writes import unsettled_remedy
from opsconsole.local_terraform import cli_of
from opsconsole.resources import RESOURCES, owner_of, owners_above
from opsconsole.state import (
    Address,
    InstanceKey,
    InstanceObject,
    State,
    deposed_name,
    instance_of,
    split_deposed,
)
from opsconsole.values import UNKNOWN, Value, Values

Identity = tuple[str, str, str]
"""The identity of an object: its console, its type and its id."""
Name = tuple[str, str, str]
"""A console, a type, and the name by which an object of the type is recognised."""


class PriorInstance(NamedTuple):
    """An instance or deposed object in state, or an object to import, with the result of its read.

    Attributes:
        stored_values: Its values before the refresh.
        read: The result of the refresh; None: it was not refreshed.
        previous_address: Its address before a `moved` block, or empty.
        import_id: The id by which an import names it; empty if state holds it.
    """

    address: str
    type_name: str
    stored: InstanceObject
    stored_values: Values
    read: ReadOutcome | None = None
    previous_address: str = ""
    import_id: str = ""

    @property
    def values(self) -> Values | None:
        """Its values after the refresh; None: it is gone."""
        return self.stored_values if self.read is None else self.read.state

    @property
    def unsettled(self) -> bool:
        """Whether it stands for a creation whose outcome is not known."""
        return is_sentinel(self.stored_values.get("id"))

    @property
    def sensitive(self) -> frozenset[str]:
        """The attributes that were sensitive when state was written."""
        return leading_names(self.stored.sensitive_paths)

    @property
    def private(self) -> bytes:
        return self.stored.private if self.read is None else self.read.private


def read_prior(state: State) -> dict[str, PriorInstance]:
    """Return the managed instances of a state, by address.

    Raises:
        UserError: State holds an object of another provider, or of a newer schema.
    """
    instances = {}
    for address, deposed in state.objects():
        # `read_deposed` takes the deposed objects.
        stored = None if deposed or address.mode != "managed" else state.get(address)
        if stored is None:
            continue
        text = str(address)
        value = _value_in_state(text, address, stored)
        instances[text] = PriorInstance(text, address.type, stored, value)
    return instances


def read_deposed(state: State, prior: Mapping[str, PriorInstance]) -> dict[str, PriorInstance]:
    """Return the deposed objects of a state, by the names that plans give them.

    Args:
        prior: The instances, after `moved` blocks.

    Raises:
        UserError: State holds one of a module, or of a newer schema.
    """
    moved = {item.previous_address: item.address for item in prior.values()}
    objects = {}
    for address, key in state.objects():
        stored = state.get(address, key) if key else None
        # One of another provider stays in state: no plan touches it.
        if stored is None or address.mode != "managed" or address.type not in RESOURCES:
            continue
        text = str(address)
        value = _value_in_state(deposed_name(text, key), address, stored)
        name = deposed_name(moved.get(text, text), key)
        objects[name] = PriorInstance(name, address.type, stored, value)
    return objects


def read_all(state: State) -> dict[str, PriorInstance]:
    """Return the managed instances and the deposed objects of a state; raises as both reads do."""
    prior = read_prior(state)
    return prior | read_deposed(state, prior)


def _value_in_state(name: str, address: Address, stored: InstanceObject) -> Values:
    definition = RESOURCES.get(address.type)
    if definition is None or address.module:
        raise UserError(
            f"State holds {name}, which is not a resource of this provider's root module.",
            "The native engine works on states of this provider alone; "
            f"{cli_of().name} can run it.",
        )
    if stored.schema_version > SCHEMA_VERSION:
        raise UserError(
            f"State holds {name} in schema version {stored.schema_version}.",
            "A newer release of opsconsole wrote it: use that release.",
        )
    return values_from_state(name, definition, stored.attributes)


def name_of(console: str, type_name: str, values: Values | None) -> Name | None:
    """Return the name by which the console may recognise an object, or None."""
    definition = RESOURCES.get(type_name)
    if definition is None or not definition.recognised_by:
        return None
    name = (values or {}).get(definition.recognised_by)
    return (console, type_name, name) if isinstance(name, str) else None


def may_hold_unsettled(state: State) -> bool:
    """Return whether a state may hold an unsettled create, without decoding it."""
    return any(map(may_hold_sentinel, state.raw_objects()))


def unsettled_warning(address: str) -> Diagnostic:
    return warning(*_describe_unsettled(address, "no apply is complete until this is settled."))


def unsettled_error(address: str) -> Diagnostic:
    """Report a creation whose outcome stays unknown, which makes an apply incomplete."""
    return error(*_describe_unsettled(address, "nothing was done with it."))


def _describe_unsettled(address: str, after: str) -> tuple[str, str]:
    definition = RESOURCES[instance_of(address).type]
    way_out = unsettled_remedy(definition, address, "opsconsole")
    if split_deposed(address)[1]:
        after = "the next apply takes it out of the state."
        way_out = "Look it up in the console, and delete it there if it was created."
    return (
        f"It is not known whether {address} was created",
        f"An earlier run ended before it knew; {after} {way_out}",
    )


ConsoleHolding = Callable[[PriorInstance], str]
"""Returns the console that has an instance: ids are compared within one console only."""


class Cascade:
    """The owners that a plan deletes, and the instances deleted with them.

    `deleted_by` maps each object to the address of the change that deletes it or its owner.
    """

    def __init__(
        self,
        leaving: Iterable[PriorInstance],
        prior: Iterable[PriorInstance],
        console_holding: ConsoleHolding,
        moving: Collection[str] = (),
    ) -> None:
        """Collect the deleted objects; an owner with deletion policy `abandon` stays.

        Args:
            leaving: The owners that are deleted.
            prior: All instances in state.
            moving: Addresses of instances that get another owner, and stay.
        """
        self._console_holding = console_holding
        self.deleted_by: dict[Identity, str] = {
            (console_holding(item), item.type_name, item.values["id"]): item.address
            for item in leaving
            if item.values is not None and not RESOURCES[item.type_name].is_abandoned(item.values)
        }
        if not self.deleted_by:
            return
        depth = {name: len(owners_above(item)) for name, item in RESOURCES.items()}
        owned = (item for item in prior if depth[item.type_name])
        # Owners come before their objects, which go with an owner that goes itself.
        for item in sorted(owned, key=lambda item: depth[item.type_name]):
            owner = self.owner_of(item)
            if owner and item.values is not None and item.address not in moving:
                self.deleted_by[console_holding(item), item.type_name, item.values["id"]] = owner

    def owner_of(self, item: PriorInstance) -> str:
        """Return the address of the owner whose deletion deletes an instance, or ""."""
        definition = RESOURCES[item.type_name]
        above = owner_of(definition)
        if item.values is None or above is None:
            return ""
        owner_id = item.values.get(definition.owner) or ""
        return self.deleted_by.get((self._console_holding(item), above.type_name, owner_id), "")

    def removal_of(self, item: PriorInstance) -> RemovalReason:
        return RemovalReason.WITH_OWNER if self.owner_of(item) else RemovalReason.ALONE


_SCALARS: Final[Mapping[Kind, type | tuple[type, ...]]] = {
    Kind.STRING: str,
    Kind.INTEGER: (int, float),
    Kind.NUMBER: (int, float),
    Kind.BOOLEAN: bool,
}


def has_shape(value: Value, attribute: Attribute) -> bool:
    """Return whether an attribute can have a value, which may be null or unknown."""
    if value is None or value is UNKNOWN:
        return True
    kind = attribute.kind
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        # In Python, a bool is an int.
        return isinstance(value, scalar) and (kind is Kind.BOOLEAN or not isinstance(value, bool))
    if kind in (Kind.STRING_SET, Kind.STRING_LIST):
        return isinstance(value, list) and all(
            item is UNKNOWN or isinstance(item, str) for item in value
        )
    if kind is Kind.OBJECT_LIST:
        return isinstance(value, list) and all(_is_object(item, attribute) for item in value)
    return _is_object(value, attribute)


def _is_object(value: Value, attribute: Attribute) -> bool:
    return value is UNKNOWN or (
        isinstance(value, dict)
        and all(has_shape(value.get(item.name), item) for item in attribute.attributes)
    )


_RESTORE = "Nothing was changed. Restore the state from its backup, or from version control."


def keys_by_block(addresses: Iterable[Address]) -> PresentKeys:
    """Return a function from a block to the keys of its instances."""
    keys: dict[str, list[InstanceKey]] = {}
    for address in addresses:
        keys.setdefault(address.config, []).append(address.key)
    return lambda block: keys.get(block.address, ()) if block.mode == "managed" else None


def values_from_state(
    name: str, definition: ResourceDefinition | DataSourceDefinition, attributes: Values
) -> Values:
    """Return the wire value of attributes in state: sets sorted, every name present.

    Args:
        name: The name of their object in messages.

    Raises:
        UserError: An attribute does not have the shape of its definition.
    """
    value = definition.empty()
    for attribute_name, given in attributes.items():
        attribute = definition.by_name.get(attribute_name)
        # Most attributes are null.
        if given is None or attribute is None:
            continue
        if not has_shape(given, attribute):
            raise UserError(
                f"The state holds {attribute.name} of {name} in a shape that it cannot have.",
                _RESTORE,
            )
        given = attribute.normalise(given)
        if attribute.kind is Kind.OBJECT_LIST and isinstance(given, list):
            names = [nested.name for nested in attribute.attributes]
            given = [{name: entry.get(name) for name in names} for entry in given]
        value[attribute.name] = given
    if isinstance(definition, ResourceDefinition) and value.get("id", "") is None:
        raise UserError(f"The state holds no id of {name}.", _RESTORE)
    return value
