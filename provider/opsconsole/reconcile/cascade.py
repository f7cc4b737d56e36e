"""The deletion of an owner, and the instances that are deleted with it. Pure.

The document: DELETE /api/v1/hosts/{id} archives the host's agents and their tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from opsconsole.lifecycle.interface import RemovalReason
from opsconsole.reconcile.prior import Identity, PriorInstance
from opsconsole.resources import RESOURCES, owner_of, owners_above

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
            (console_holding(item), item.type_name, item.value["id"]): item.address
            for item in leaving
            if item.value is not None and not RESOURCES[item.type_name].is_abandoned(item.value)
        }
        if not self.deleted_by:
            return
        depth = {name: len(owners_above(item)) for name, item in RESOURCES.items()}
        owned = (item for item in prior if depth[item.type_name])
        # Owners come before their objects, which go with an owner that goes itself.
        for item in sorted(owned, key=lambda item: depth[item.type_name]):
            owner = self.owner_of(item)
            if owner and item.value is not None and item.address not in moving:
                self.deleted_by[console_holding(item), item.type_name, item.value["id"]] = owner

    def owner_of(self, item: PriorInstance) -> str:
        """Return the address of the owner whose deletion deletes an instance, or ""."""
        definition = RESOURCES[item.type_name]
        above = owner_of(definition)
        if item.value is None or above is None:
            return ""
        owner_id = item.value.get(definition.owner) or ""
        return self.deleted_by.get((self._console_holding(item), above.type_name, owner_id), "")

    def removal_of(self, item: PriorInstance) -> RemovalReason:
        return RemovalReason.WITH_OWNER if self.owner_of(item) else RemovalReason.ALONE
