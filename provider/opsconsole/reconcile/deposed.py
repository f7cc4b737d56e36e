"""Objects that a replacement put aside and did not live to delete: how plans name them.

State keeps them under their instance and a key; a plan deletes them beside whatever it does to the
instance itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from opsconsole.reconcile.declaration import PriorInstance, from_state
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, State

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
        UserError: It is no address.
    """
    return Address.parse(instance_and_key(address)[0])
