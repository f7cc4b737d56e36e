"""Taking one object of the console into state under an address: the import that a user commands."""

from __future__ import annotations

from dataclasses import replace

from opsconsole.diagnostics import Diagnostic, error, has_error
from opsconsole.errors import UserError
from opsconsole.language import Block
from opsconsole.lifecycle.sentinel import is_sentinel
from opsconsole.phrases import near_address
from opsconsole.reconcile.declaration import PriorInstance
from opsconsole.reconcile.planner import Workspace
from opsconsole.reconcile.prior import not_there, read_prior, refresh
from opsconsole.reconcile.providers import OnStop, Providers, in_state
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, InstanceObject, StateSession


async def import_instance(
    workspace: Workspace,
    session: StateSession,
    address: Address,
    import_id: str,
    on_stop: OnStop,
) -> list[Diagnostic]:
    """Import an object; return what the user is told. With an error nothing was changed.

    An instance whose creation is not settled may be imported over: this settles it.

    Args:
        on_stop: Takes what stops the reading.

    Raises:
        UserError: The address is not declared, or is in state already; or the object is, under
            another address.
        Stopped: The run was told to stop.
    """
    block = _declared(workspace, address)
    _check_free(session, address)
    providers = workspace.providers()
    on_stop(providers.stop)
    try:
        item, diagnostics = await _read(providers, workspace, block, address, import_id)
        providers.check_stopped()
    finally:
        await providers.close()
    if item is None or has_error(diagnostics):
        return diagnostics
    for other in read_prior(session.state).values():
        same = providers.place_of(other) == providers.place_of(item)
        if same and other.address != item.address:
            return [_taken_already(item, other.address)]
    kept = InstanceObject(
        item.held.provider,
        item.before,
        private=item.private,
        dependencies=workspace.graph.ancestors(block.address),
    )
    session.state.put(address, kept)
    session.record()
    await session.checkpoint()
    session.resolve(call.id for call in session.unresolved if call.address == str(address))
    return diagnostics


def _declared(workspace: Workspace, address: Address) -> Block:
    block = workspace.program.blocks.get(address.config)
    if block is None or address.mode != "managed" or address.module:
        raise UserError(
            f"The program declares no resource {address.config}.",
            near_address(address.config, workspace.program.blocks)
            or "Declare it first; `opsconsole adopt` writes programs for what a console has.",
        )
    return block


def _check_free(session: StateSession, address: Address) -> None:
    held = session.state.get(address)
    if held is not None and not is_sentinel(held.attributes.get("id")):
        raise UserError(
            f"{address} is in state already, as {held.attributes.get('id')}.",
            f"To import another object in its place: `opsconsole state rm '{address}'` first.",
        )


def _taken_already(item: PriorInstance, holder: str) -> Diagnostic:
    """Refuse to import what `holder` has."""
    title, address = RESOURCES[item.type_name].title, item.address
    return error(
        f"{holder} holds the {title} {item.before['id']} already",
        f"One object has one address: removing {address} or {holder} would delete what the other "
        f"manages. To give it the address {address}, use a `moved` block, or forget it first with "
        f"`opsconsole state rm '{holder}'`.",
    )


async def _read(
    providers: Providers, workspace: Workspace, block: Block, address: Address, import_id: str
) -> tuple[PriorInstance | None, list[Diagnostic]]:
    """Read what an import id names."""
    lifecycle = providers.of(block.provider)
    outcome = await lifecycle.resources[block.type_name].import_state(import_id)
    diagnostics = list(outcome.diagnostics)
    if outcome.state is None:
        return None, diagnostics
    provider = in_state(workspace.program, block.provider)
    held = InstanceObject(provider, outcome.state, private=outcome.private)
    known = PriorInstance(str(address), block.type_name, held, outcome.state)
    item = (await refresh([known], {provider: lifecycle}))[known.address]
    if item.read is not None:
        diagnostics += item.read.diagnostics
    if item.value is None:
        return None, [not_there(block.type_name, import_id)]
    return replace(item, before=item.value), diagnostics
