"""The removals of a plan: undeclared instances, cascades of owners, and blocked deletions.

The document: DELETE /api/v1/specialties/{id} answers 409 while an agent carries the specialty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, has_error, warning
from opsconsole.lifecycle.planning import counts_as_deletion, too_many_deletions_error
from opsconsole.reconcile.decisions import plan_removals, prevented_error
from opsconsole.reconcile.plan import Action, Change
from opsconsole.reconcile.prior import Cascade, Name, PriorInstance, name_of
from opsconsole.reconcile.providers import Providers, provider_key_of
from opsconsole.reconcile.walk import Walk
from opsconsole.resources import RESOURCES, blockers_of, owner_of
from opsconsole.state import Address, config_address, instance_of, split_deposed
from opsconsole.text import first_lines

_KEPT_DEPOSED: Final = (
    "The program declares no deposed object, so it cannot change this. To leave it on the console, "
    "forget both objects with `opsconsole state rm '{0}'`, and import the other one as {0} again."
)


async def remove_undeclared(walk: Walk, *, destroy: bool) -> list[Change]:
    """Remove instances in state that are not declared, or all; return all changes of the walk.

    The changes of instances that go with their owner name the owner.
    """
    prior, providers = walk.prior, walk.providers
    await _remove(walk, destroy=destroy)
    cascade = walk.cascade()
    changes = [
        replace(item, deleted_with=owner)
        if item.removes and (owner := cascade.owner_of(prior[item.address]))
        else item
        for item in walk.changes.values()
    ]
    # The dependents of a block that could not be planned are not known yet.
    judged = [item for item in prior.values() if not walk.is_skipped(item.address)]
    walk.diagnostics += _taking_along_errors(changes, cascade, judged)
    walk.diagnostics += _still_carried_errors(changes, judged, providers)
    return changes


def undeclared_import_errors(walk: Walk) -> Iterator[Diagnostic]:
    """Yield an error for each import to an instance that is not declared."""
    for item in walk.prior.values():
        address = item.address
        # An object in state without a declaration is destroyed.
        if item.import_id and walk.covers(address) and address not in walk.declared:
            summary = f"An import block names {address}, which the program does not declare"
            yield error(summary, "The resource has no instance with this key.").about(address)


async def _remove(walk: Walk, *, destroy: bool) -> None:
    blocks = walk.evaluator.program.blocks
    groups: dict[tuple[str, str], list[PriorInstance]] = {}
    reasons: dict[str, str] = {}
    for item in walk.prior.values():
        address = item.address
        if item.values is None or not walk.covers(address):
            continue
        if destroy:
            # Even a destroy only forgets an instance that is no longer declared, if state says so.
            own = config_address(split_deposed(address)[0])
            is_forgotten = item.stored.skip_destroy and own not in blocks
        elif address in walk.declared:
            continue
        else:
            reasons[address] = _removal_reason(walk, item)
            is_forgotten = walk.is_forgotten(item)
        if not is_forgotten:
            key = provider_key_of(item.stored.provider), item.type_name
            groups.setdefault(key, []).append(item)
            continue
        walk.changes[address] = _to_removal(item, Action.FORGET, reasons.get(address, ""))
        if item.stored.skip_destroy:
            forgotten = warning(
                f"{address} leaves management and is not deleted",
                "Its state says `skip_destroy`: OpenTofu noted `lifecycle { destroy = false }` "
                "there. To manage the object again, import it.",
            )
            walk.diagnostics.append(forgotten.about(address))
    cascade = walk.cascade(item for items in groups.values() for item in items)
    for (provider_key, type_name), items in groups.items():
        lifecycle = walk.providers.of(provider_key).lifecycles[type_name]
        plans = await plan_removals(lifecycle, [(item, cascade.removal_of(item)) for item in items])
        for item, plan in zip(items, plans, strict=True):
            reason = reasons.get(item.address, "")
            change = _to_removal(item, Action.DELETE, reason, plan.private)
            address, deposed = split_deposed(item.address)
            diagnostics = plan.diagnostics
            if deposed and has_error(diagnostics):
                way_out = _KEPT_DEPOSED.format(address)
                diagnostics = tuple(
                    replace(one, detail=f"{one.detail} {way_out}") for one in diagnostics
                )
            walk.add_change(change, diagnostics)
            block = blocks.get(config_address(address))
            # As in Terraform, prevent_destroy does not protect deposed objects.
            if not deposed and block is not None and block.lifecycle_block.prevent_destroy:
                walk.diagnostics.append(prevented_error(address).about(address))


def _to_removal(item: PriorInstance, action: Action, reason: str, private: bytes = b"") -> Change:
    return Change(
        item.address,
        item.type_name,
        action,
        item.values,
        None,
        reason=reason,
        private=private,
        sensitive=item.sensitive,
        provider_key=provider_key_of(item.stored.provider),
        previous_address=item.previous_address,
        dependencies=tuple(item.stored.dependencies),
    )


def _removal_reason(walk: Walk, item: PriorInstance) -> str:
    address, deposed = split_deposed(item.address)
    if deposed:
        return ""
    block = walk.evaluator.program.blocks.get(config_address(address))
    key = Address.parse(address).key
    if block is None:
        if item.previous_address:
            return "delete_because_no_move_target"
        return "delete_because_no_resource_config"
    if block.counted and isinstance(key, int):
        return "delete_because_count_index"
    if block.repeated and not block.counted and isinstance(key, str):
        return "delete_because_each_key"
    return "delete_because_wrong_repetition"


def _taking_along_errors(
    changes: Iterable[Change], cascade: Cascade, prior: Iterable[PriorInstance]
) -> list[Diagnostic]:
    """Return an error for each owner whose deletion would delete a kept instance."""
    by_address = {change.address: change for change in changes}
    staying: dict[tuple[str, str], list[str]] = {}
    for item in prior if cascade.deleted_by else ():
        owner = cascade.owner_of(item)
        change = by_address.get(item.address)
        leaves = change is not None and (
            change.removes or change.action is Action.FORGET or change.moves_to_other_owner
        )
        if owner and not leaves:
            verb = RESOURCES[item.type_name].owner_deletion
            staying.setdefault((owner, verb), []).append(item.address)
    return [
        error(
            f"{owner} cannot be deleted: the deletion would {verb} resources that the plan keeps",
            f"The console would also {verb} {', '.join(sorted(names))}. Remove these too, "
            f"give them another {RESOURCES[instance_of(owner).type].title}, or name them in "
            f"--target too. If it is replaced, refer to it as {owner}.id, so that they move to its "
            "replacement.",
        ).about(owner)
        for (owner, verb), names in staying.items()
    ]


def _still_carried_errors(
    changes: Sequence[Change], prior: Collection[PriorInstance], providers: Providers
) -> list[Diagnostic]:
    """Refuse to delete an object that others in state continue to carry."""
    by_address = {change.address: change for change in changes}
    in_state = {item.address: item for item in prior}
    diagnostics = []
    for definition in RESOURCES.values():
        for blocker, name in blockers_of(definition):
            leaving = [
                (change, (providers.console_holding(in_state[change.address]), change.before["id"]))
                for change in changes
                if change.type_name == definition.type_name
                and change.removes
                and change.before is not None
                and not definition.is_abandoned(change.before)
            ]
            staying: dict[tuple[str, str], list[str]] = {}
            for item in prior if leaving else ():
                if item.type_name == blocker.type_name and item.values is not None:
                    change = by_address.get(item.address)
                    opened = providers.by_key.get(provider_key_of(item.stored.provider))
                    operation = blocker.ways["delete"][0].operation
                    goes = opened is not None and opened.session.console.has(operation)
                    carried = _carried_after(item.values.get(name), change, name, goes)
                    key = (providers.console_holding(item), carried)
                    staying.setdefault(key, []).append(item.address)
            diagnostics += [
                _still_carried_error(change.address, definition, key[1], blocker, staying[key])
                for change, key in leaving
                if key in staying
            ]
    return diagnostics


def _still_carried_error(
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


def _carried_after(before: str | None, change: Change | None, name: str, can_delete: bool) -> str:
    """Return the id that an instance in state carries as `name` after the apply."""
    if change is not None and change.removes:
        # An instance that cannot be deleted only leaves state, and still carries the object.
        return "" if change.deleted_with or can_delete else before or ""
    planned = (change.after or {}).get(name) if change is not None else None
    return planned if isinstance(planned, str) else before or ""


def max_deletions_errors(changes: Iterable[Change], providers: Providers) -> Iterator[Diagnostic]:
    """Yield an error for each provider whose `max_deletions` a plan exceeds."""
    going: dict[str, list[str]] = {}
    for change in changes:
        if change.removes and counts_as_deletion(RESOURCES[change.type_name], change.before or {}):
            going.setdefault(change.provider_key, []).append(change.address)
    for key, addresses in going.items():
        settings = providers.of(key).session.settings
        refusal = too_many_deletions_error(addresses, settings.max_deletions)
        if refusal is not None:
            yield refusal


def apparent_move_warnings(
    changes: Iterable[Change], console_of: Callable[[str], str]
) -> Iterator[Diagnostic]:
    """Warn where objects of one name are deleted and created, as if they had moved."""
    leaving: dict[Name, list[Change]] = {}
    coming: dict[Name, list[Change]] = {}
    for change in changes:
        sides = {Action.DELETE: (leaving, change.before), Action.CREATE: (coming, change.after)}
        # A `moved` block cannot name a deposed object.
        is_deposed = bool(split_deposed(change.address)[1])
        if change.action in sides and not change.deleted_with and not is_deposed:
            side, values = sides[change.action]
            name = name_of(console_of(change.provider_key), change.type_name, values)
            if name is not None:
                side.setdefault(name, []).append(change)
    pairs = [
        (old, new)
        for name, old_ones in leaving.items()
        for old in old_ones
        for new in coming.get(name, ())
    ]
    if not pairs:
        return
    old, new = pairs[0]
    plural = RESOURCES[new.type_name].plural
    what = (
        f"{old.address} and {new.address} look like one {RESOURCES[new.type_name].title} that moved"
        if len(pairs) == 1
        else f"{len(pairs):,} {plural} look as if they had moved"
    )
    shown = "\n\n".join(first_lines([_moved_block(old, new) for old, new in pairs], 10))
    yield warning(
        what,
        "They have the same name. The old one is deleted with all that belongs to it, then the new "
        "one is created. If they are the same, declare the move, and nothing is "
        f"deleted:\n\n{shown}",
    )


def _moved_block(old: Change, new: Change) -> str:
    block = f"  moved {{\n    from = {old.address}\n    to   = {new.address}\n  }}"
    if not new.construct_path or Address.parse(new.address).key is not None:
        return block
    return f"{block}\n  in Python, of {new.construct_path}: move_from_id({old.address!r})"
