"""What is deleted with its owner, and what prevents other deletions. Pure.

The document: DELETE /api/v1/hosts/{id} archives the host's agents and their tasks; DELETE
/api/v1/specialties/{id} answers 409 while an agent carries the specialty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.lifecycle.gone import is_abandoned
from opsconsole.lifecycle.interface import Removal
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reconcile.declaration import Place, PriorInstance, instance_of
from opsconsole.resources import RESOURCES, blockers_of, owner_of, owners_above, owning_types

ConsoleOf = Callable[[PriorInstance], str]
"""Returns the console that has an instance: ids are compared within one console only."""

_REMOVING = (Action.DELETE, Action.REPLACE)


@dataclass
class Cascade:
    """The owners that a plan deletes, and what is deleted with them.

    Attributes:
        going: Each to the address of the change that deletes it, or takes it along.
        console_of: Returns the console that has an instance.
    """

    going: dict[Place, str]
    console_of: ConsoleOf

    @classmethod
    def of(
        cls,
        leaving: Iterable[PriorInstance],
        known: Iterable[PriorInstance],
        console_of: ConsoleOf,
        moving: Collection[str] = (),
    ) -> Cascade:
        """Return the cascade of owners that go; one with deletion policy `abandon` stays.

        Args:
            leaving: The owners that are deleted.
            known: All instances in state.
            console_of: Returns the console that has an instance.
            moving: Addresses of those that get another owner, and do not go.
        """
        cascade = cls(
            {
                (console_of(item), item.type_name, item.value["id"]): item.address
                for item in leaving
                if item.value is not None and not is_abandoned(item.value)
            },
            console_of,
        )
        owned: dict[int, list[PriorInstance]] = {}
        if cascade.going:
            depth = {name: len(owners_above(item)) for name, item in RESOURCES.items()}
            for item in known:
                if depth[item.type_name]:
                    owned.setdefault(depth[item.type_name], []).append(item)
        for _, items in sorted(owned.items()):
            for item in items:
                owner = cascade.owner_of(item)
                if owner and item.value is not None and item.address not in moving:
                    place = (console_of(item), item.type_name, item.value["id"])
                    cascade.going[place] = owner
        return cascade

    def owner_of(self, item: PriorInstance) -> str:
        """Return the address of the owner whose deletion deletes an instance, or nothing."""
        definition = RESOURCES[item.type_name]
        above = owner_of(definition)
        if item.value is None or above is None:
            return ""
        owner_id = item.value.get(definition.owner) or ""
        return self.going.get((self.console_of(item), above.type_name, owner_id), "")

    def removal_of(self, item: PriorInstance) -> Removal:
        """Return why an instance is removed, as far as that is known."""
        return Removal.WITH_OWNER if self.owner_of(item) else Removal.ALONE


def explained(
    changes: Sequence[Change], cascade: Cascade, known: Mapping[str, PriorInstance]
) -> list[Change]:
    """Return the changes with their cascades noted: what goes along costs no call."""
    found = []
    for change in changes:
        owner = ""
        if change.action in _REMOVING and change.address in known:
            owner = cascade.owner_of(known[change.address])
        if owner:
            note = f"archived by the deletion of {owner}"
            change = replace(change, cascade=owner, notes=(*change.notes, note))
        found.append(change)
    return found


def taken_along(
    changes: Iterable[Change], cascade: Cascade, known: Iterable[PriorInstance]
) -> list[tuple[str, Diagnostic]]:
    """Return an error, with its address, for each owner whose deletion archives what is kept."""
    by_address = {change.address: change for change in changes}
    staying: dict[str, list[str]] = {}
    for item in known if cascade.going else ():
        owner = cascade.owner_of(item)
        change = by_address.get(item.address)
        leaves = change is not None and (
            change.action in (*_REMOVING, Action.FORGET) or moves_away(change)
        )
        if owner and not leaves:
            staying.setdefault(owner, []).append(item.address)
    return [
        (
            owner,
            error(
                f"{owner} cannot be deleted: the deletion would archive resources that the plan "
                "keeps",
                f"The console would also archive {', '.join(sorted(names))}. Remove these too, "
                f"give them another {RESOURCES[instance_of(owner).type].title}, or name them in "
                f"-target too. If it is replaced, refer to it as {owner}.id, so that they move to "
                "its replacement.",
            ),
        )
        for owner, names in staying.items()
    ]


def moves_away(change: Change) -> bool:
    """Return whether an update gives its instance another owner."""
    owner = RESOURCES[change.type_name].owner if change.action is Action.UPDATE else ""
    if not owner or change.before is None or change.after is None:
        return False
    return bool(change.after.get(owner) != change.before.get(owner))


def still_needed(
    changes: Sequence[Change],
    known: Collection[PriorInstance],
    can_delete: Callable[[PriorInstance], bool],
    console_of: ConsoleOf,
) -> list[Diagnostic]:
    """Refuse at plan time the deletion of an object that others in state continue to carry.

    Args:
        can_delete: Tells whether its console can delete an instance by itself.
        console_of: Returns the console that has an instance.
    """
    by_address = {change.address: change for change in changes}
    consoles = {item.address: console_of(item) for item in known}
    found = []
    for definition in RESOURCES.values():
        leaving = [
            (change, (consoles[change.address], change.before["id"]))
            for change in changes
            if change.type_name == definition.type_name
            and change.action in _REMOVING
            and change.before is not None
            and not is_abandoned(change.before)
        ]
        for blocker, name in blockers_of(definition) if leaving else ():
            staying: dict[tuple[str, str], list[str]] = {}
            for item in known:
                if item.type_name == blocker.type_name and item.value is not None:
                    change = by_address.get(item.address)
                    goes = can_delete(item)
                    carried = _carried_after(item.value.get(name), change, name, goes)
                    place = (consoles[item.address], carried)
                    staying.setdefault(place, []).append(item.address)
            found += [
                _needed(change.address, definition, place[1], blocker, staying[place])
                for change, place in leaving
                if place in staying
            ]
    return found


def _needed(
    address: str,
    definition: ResourceDefinition,
    object_id: str,
    blocker: ResourceDefinition,
    by: Sequence[str],
) -> Diagnostic:
    owner = owner_of(blocker)
    away = (
        f"Delete their {owner.plural} in the same run" if owner else "Delete them in the same run"
    )
    return error(
        f"{address} cannot be deleted: {blocker.plural} still carry it",
        f"{', '.join(sorted(by))} would still carry the {definition.title} {object_id}, and the "
        f"console answers 409. {away}, give them another {definition.title}, or set "
        'deletion_policy = "abandon".',
    )


def _carried_after(held: str | None, change: Change | None, name: str, can_delete: bool) -> str:
    """Return the id that an instance in state carries as `name` once the plan is applied."""
    if change is not None and change.action in _REMOVING:
        return "" if change.cascade or can_delete else held or ""
    planned = (change.after or {}).get(name) if change is not None else None
    return planned if isinstance(planned, str) else held or ""


def leaves_owner(change: Change) -> bool:
    """Return whether a change deletes what takes others along."""
    return change.action in _REMOVING and change.type_name in owning_types()
