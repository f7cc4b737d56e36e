"""The effects of instances on others: `-target`, deletion with the owner, blocked deletions. Pure.

The document: DELETE /api/v1/hosts/{id} archives the host's agents and their tasks; DELETE
/api/v1/specialties/{id} answers 409 while an agent carries the specialty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import UserError
from opsconsole.language import Graph
from opsconsole.lifecycle.interface import Removal
from opsconsole.reconcile.plan import Action, Change
from opsconsole.reconcile.prior import Identity, PriorInstance
from opsconsole.resources import RESOURCES, blockers_of, owner_of, owners_above, owning_types
from opsconsole.state import Address, config_address, instance_and_key, instance_of
from opsconsole.text import near_address

_SHOWN = 10
_REMOVING = (Action.DELETE, Action.REPLACE)

ConsoleHolding = Callable[[PriorInstance], str]
"""Returns the console that has an instance: ids are compared within one console only."""


class Targets:
    """Decides whether the plan covers an address."""

    def __init__(
        self,
        wanted: Iterable[str],
        graph: Graph,
        known: Mapping[str, PriorInstance],
        *,
        destroy: bool,
    ) -> None:
        """Take the targets and what each brings along.

        Args:
            wanted: Addresses of resources or instances; empty: everything.
            known: All instances in state, by address.
            destroy: Whether dependants come along instead of dependencies.

        Raises:
            UserError: a target is not an address, or names nothing.
        """
        self._exact: set[str] = set()
        self._of_exact: set[str] = set()
        self._resources: set[str] = set()
        self.all = not wanted
        # A target may name the former address of a move: `refuse_split_moves` asks for both.
        former = {item.previous_address for item in known.values()} - {""}
        addresses = {*graph.direct, *known, *former}
        configured = set(map(config_address, addresses))
        dependents = _dependents(known) if destroy else {}
        for text in wanted:
            address = str(Address.parse(text))
            config = config_address(address)
            if config not in configured:
                raise UserError(
                    f"-target names {text}, which is neither in the program nor in state.",
                    near_address(text, sorted(addresses))
                    or "Check the address: `opsconsole state list` shows those in state.",
                )
            if config == address:
                self._resources.add(config)
            else:
                self._exact.add(address)
                self._of_exact.add(config)
            if destroy:
                self._resources |= _reach(config, dependents)
            elif config in graph.direct:
                self._resources.update(graph.ancestors(config))

    def __contains__(self, address: str) -> bool:
        return (
            self.all
            # A deposed object goes with its instance.
            or instance_and_key(address)[0] in self._exact
            or config_address(address) in self._resources
        )

    def reach(self, config: str) -> bool:
        """Return whether the plan covers any instance of a configuration address."""
        return self.all or config in self._resources or config in self._of_exact

    def outputs(self, graph: Graph, *, destroy: bool) -> frozenset[str] | None:
        """Return the outputs that depend on targets alone; None: all."""
        if self.all:
            return None
        if destroy:
            # As in core, a targeted destruction leaves every output as it is.
            return frozenset()
        wanted = self._resources | self._of_exact
        # As in core, an output that refers to no resource stays as it is.
        return frozenset(
            name for name, needed in graph.outputs.items() if needed and wanted.issuperset(needed)
        )


def warn_undeclared_replacements(
    requested: Iterable[str], declared: Collection[str]
) -> Iterator[Diagnostic]:
    """Warn of each `-replace` that names no declared instance."""
    for address in requested:
        if address in declared:
            continue
        config = config_address(str(Address.parse(address)))
        like = [item for item in declared if config_address(item) == config]
        like.sort(key=lambda item: (len(item), item))
        remedy = "The program declares no such instance."
        if like:
            shown = "".join(f"\n  -replace='{item}'" for item in like[:_SHOWN])
            more = f"\n  and {len(like) - _SHOWN:,} more" if len(like) > _SHOWN else ""
            remedy = f"{remedy} It declares:{shown}{more}"
        yield warning(f"-replace={address} replaces nothing", remedy)


def refuse_undeclared_imports(
    known: Iterable[PriorInstance], targets: Targets, declared: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield an error for each import that no instance of the program takes."""
    for item in known:
        address = item.address
        # The plan would destroy the object, as it does anything in state that is not declared.
        if item.import_id and address in targets and address not in declared:
            summary = f"An import block names {address}, which the program does not declare"
            yield error(summary, "The resource has no instance with this key.").about(address)


def _dependents(known: Mapping[str, PriorInstance]) -> dict[str, set[str]]:
    """Return, by configuration address, the resources that depend on it in state."""
    found: dict[str, set[str]] = {}
    for address, item in known.items():
        for dependency in item.stored.dependencies:
            found.setdefault(dependency, set()).add(config_address(address))
    return found


def _reach(start: str, edges: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [start]
    while pending:
        for item in edges.get(pending.pop(), ()):
            if item not in found:
                found.add(item)
                pending.append(item)
    return found


@dataclass
class Cascade:
    """The owners that a plan deletes, and the instances deleted with them.

    Attributes:
        going: Maps each object to the address of the change that deletes it or its owner.
    """

    going: dict[Identity, str]
    console_holding: ConsoleHolding

    @classmethod
    def of(
        cls,
        leaving: Iterable[PriorInstance],
        known: Iterable[PriorInstance],
        console_holding: ConsoleHolding,
        moving: Collection[str] = (),
    ) -> Cascade:
        """Return the cascade of owners that go; one with deletion policy `abandon` stays.

        Args:
            leaving: The owners that are deleted.
            known: All instances in state.
            moving: Addresses of instances that get another owner, and stay.
        """
        cascade = cls(
            {
                (console_holding(item), item.type_name, item.value["id"]): item.address
                for item in leaving
                if item.value is not None and not RESOURCES[item.type_name].is_abandoned(item.value)
            },
            console_holding,
        )
        owned: dict[int, list[PriorInstance]] = {}
        if cascade.going:
            depth = {name: len(owners_above(item)) for name, item in RESOURCES.items()}
            for item in known:
                if depth[item.type_name]:
                    owned.setdefault(depth[item.type_name], []).append(item)
        # Owners come before what they own: an owner that goes along takes its own objects with it.
        for _, items in sorted(owned.items()):
            for item in items:
                owner = cascade.owner_of(item)
                if owner and item.value is not None and item.address not in moving:
                    identity = (console_holding(item), item.type_name, item.value["id"])
                    cascade.going[identity] = owner
        return cascade

    def owner_of(self, item: PriorInstance) -> str:
        """Return the address of the owner whose deletion deletes an instance, or nothing."""
        definition = RESOURCES[item.type_name]
        above = owner_of(definition)
        if item.value is None or above is None:
            return ""
        owner_id = item.value.get(definition.owner) or ""
        return self.going.get((self.console_holding(item), above.type_name, owner_id), "")

    def removal_of(self, item: PriorInstance) -> Removal:
        """Return why an instance is removed, as far as that is known."""
        return Removal.WITH_OWNER if self.owner_of(item) else Removal.ALONE


def note_cascades(
    changes: Sequence[Change], cascade: Cascade, known: Mapping[str, PriorInstance]
) -> list[Change]:
    """Return the changes, each with the owner that takes it along; this costs no call."""
    return [
        replace(change, cascade=cascade.owner_of(known[change.address]))
        if change.action in _REMOVING
        else change
        for change in changes
    ]


def refuse_taking_along(
    changes: Iterable[Change], cascade: Cascade, known: Iterable[PriorInstance]
) -> list[Diagnostic]:
    """Return an error for each owner whose deletion would take a kept instance along."""
    by_address = {change.address: change for change in changes}
    staying: dict[tuple[str, str], list[str]] = {}
    for item in known if cascade.going else ():
        owner = cascade.owner_of(item)
        change = by_address.get(item.address)
        leaves = change is not None and (
            change.action in (*_REMOVING, Action.FORGET) or moves_away(change)
        )
        if owner and not leaves:
            verb = RESOURCES[item.type_name].owner_deletion
            staying.setdefault((owner, verb), []).append(item.address)
    return [
        error(
            f"{owner} cannot be deleted: the deletion would {verb} resources that the plan keeps",
            f"The console would also {verb} {', '.join(sorted(names))}. Remove these too, "
            f"give them another {RESOURCES[instance_of(owner).type].title}, or name them in "
            f"-target too. If it is replaced, refer to it as {owner}.id, so that they move to its "
            "replacement.",
        ).about(owner)
        for (owner, verb), names in staying.items()
    ]


def deletes_owner(change: Change) -> bool:
    """Return whether a change deletes an instance whose type owns others."""
    return change.action in _REMOVING and change.type_name in owning_types()


def moves_away(change: Change) -> bool:
    """Return whether an update gives its instance another owner."""
    owner = RESOURCES[change.type_name].owner if change.action is Action.UPDATE else ""
    return bool((change.after or {}).get(owner) != (change.before or {}).get(owner))


def refuse_carried(
    changes: Sequence[Change],
    known: Collection[PriorInstance],
    can_delete: Callable[[PriorInstance], bool],
    console_holding: ConsoleHolding,
) -> list[Diagnostic]:
    """Refuse at plan time the deletion of an object that others in state continue to carry.

    Args:
        can_delete: Tells whether its console can delete an instance by itself.
    """
    by_address = {change.address: change for change in changes}
    consoles = {item.address: console_holding(item) for item in known}
    found = []
    for definition in RESOURCES.values():
        leaving = [
            (change, (consoles[change.address], change.before["id"]))
            for change in changes
            if change.type_name == definition.type_name
            and change.action in _REMOVING
            and change.before is not None
            and not definition.is_abandoned(change.before)
        ]
        for blocker, name in blockers_of(definition) if leaving else ():
            staying: dict[tuple[str, str], list[str]] = {}
            for item in known:
                if item.type_name == blocker.type_name and item.value is not None:
                    change = by_address.get(item.address)
                    goes = can_delete(item)
                    carried = _carried_after(item.value.get(name), change, name, goes)
                    key = (consoles[item.address], carried)
                    staying.setdefault(key, []).append(item.address)
            found += [
                _refuse_deletion(change.address, definition, key[1], blocker, staying[key])
                for change, key in leaving
                if key in staying
            ]
    return found


def _refuse_deletion(
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
        # If the console cannot delete the instance, it only leaves state and still carries the
        # object.
        return "" if change.cascade or can_delete else held or ""
    planned = (change.after or {}).get(name) if change is not None else None
    return planned if isinstance(planned, str) else held or ""
