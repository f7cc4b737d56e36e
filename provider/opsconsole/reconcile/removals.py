"""What of state is to be removed: what the program no longer declares, or all of it."""

from __future__ import annotations

from opsconsole.language import Program
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reconcile.decisions import decide_removals, prevented
from opsconsole.reconcile.declaration import PriorInstance, instance_and_key
from opsconsole.reconcile.order import config_address
from opsconsole.reconcile.providers import key_of
from opsconsole.reconcile.walk import Walk
from opsconsole.state import Address


async def decide_removals_of(walk: Walk, *, destroy: bool) -> None:
    """Add to the changes of a walk the removal of what is in state and not declared.

    Args:
        destroy: Whether everything goes, declared or not.
    """
    program = walk.evaluator.program
    leaving = [
        item
        for item in walk.known.values()
        if item.value is not None
        and item.address in walk.targets
        and (destroy or item.address not in walk.declared)
    ]
    forgotten = [] if destroy else [item for item in leaving if walk.lets_go(item)]
    for item in forgotten:
        walk.changes[item.address] = _forget(item, _reason(item, program))
    names = {item.address for item in forgotten}
    groups: dict[tuple[str, str], list[PriorInstance]] = {}
    for item in leaving:
        if item.address not in names:
            groups.setdefault((key_of(item.held.provider), item.type_name), []).append(item)
    cascade = walk.cascade(item for items in groups.values() for item in items)
    for (provider, _), items in groups.items():
        reasons = {} if destroy else {item.address: _reason(item, program) for item in items}
        steps = walk.providers.of(provider).resources[items[0].type_name]
        for decision in await decide_removals(steps, items, cascade.removal_of, reasons, provider):
            walk.take(decision)
            if instance_and_key(decision.change.address)[1]:
                # prevent_destroy protects an instance; as in core, not what was put aside.
                continue
            block = program.blocks.get(config_address(decision.change.address))
            if block is not None and block.lifecycle.prevent_destroy:
                address = decision.change.address
                walk.diagnostics.append((address, prevented(address)))


def _forget(item: PriorInstance, reason: str) -> Change:
    return Change(
        item.address,
        item.type_name,
        Action.FORGET,
        item.value,
        None,
        reason=reason,
        sensitive=item.sensitive,
        provider=key_of(item.held.provider),
        previous_address=item.previous_address,
        depends_on=tuple(item.held.dependencies),
    )


def _reason(item: PriorInstance, program: Program) -> str:
    address, deposed = instance_and_key(item.address)
    if deposed:
        return ""
    block = program.blocks.get(config_address(address))
    key = Address.parse(address).key
    if block is None:
        if item.previous_address:
            return "delete_because_no_move_target"
        return "delete_because_no_resource_config"
    if block.counted:
        return "delete_because_count_index" if isinstance(key, int) else _REPETITION
    if block.repeated:
        return "delete_because_each_key" if isinstance(key, str) else _REPETITION
    return _REPETITION


_REPETITION = "delete_because_wrong_repetition"
