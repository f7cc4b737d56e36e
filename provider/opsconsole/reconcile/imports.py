"""Imports objects into state by their import ids, for `import` blocks and for the command."""

from __future__ import annotations

from collections.abc import Sequence

from opsconsole.diagnostics import Diagnostic, error, has_error
from opsconsole.errors import UserError
from opsconsole.language import Block, Evaluator
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.reconcile.prior import PriorInstance, read_all, read_prior
from opsconsole.reconcile.providers import Providers, Watch, provider_in_state
from opsconsole.reconcile.stack import OpenedStack
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, InstanceObject, StateSession, split_deposed
from opsconsole.text import first_items, suggest_address
from opsconsole.values import Values


async def read_data_for_imports(
    stack: OpenedStack, evaluator: Evaluator, providers: Providers, values: dict[str, Values]
) -> tuple[dict[str, Values | None], list[Diagnostic]]:
    """Read the data sources that `import` blocks need.

    Args:
        values: Receives the values that could be read, for the evaluator.

    Returns:
        The value of each, None for a failed read, and diagnostics. The walk uses these values
        instead of a second read.
    """
    graph, blocks = stack.graph, stack.program.blocks
    needed = {*graph.imports}.union(*map(graph.ancestors, graph.imports))
    data: dict[str, Values | None] = {}
    diagnostics: list[Diagnostic] = []
    for address in filter(needed.__contains__, graph.order):
        # The id behind a data source that depends on a resource is not known before the walk.
        if not all(item.startswith("data.") for item in (address, *graph.ancestors(address))):
            continue
        for instance in evaluator.instances(blocks[address]).values():
            config = evaluator.config(instance).values
            provider = providers.of(instance.block.provider_key)
            outcome = await provider.read_data(instance.block.type_name, config)
            diagnostics += (item.about(instance.address) for item in outcome.diagnostics)
            data[instance.address] = outcome.state
            if outcome.state is not None:
                values[instance.address] = outcome.state
    return data, diagnostics


async def add_imports(
    prior: dict[str, PriorInstance], providers: Providers, evaluator: Evaluator
) -> list[Diagnostic]:
    """Add the objects of `import` blocks to `prior`; return diagnostics."""
    diagnostics: list[Diagnostic] = []
    addresses: set[str] = set()
    for target in evaluator.imports():
        address = str(target.address)
        if address in addresses:
            raise UserError(
                f"Two import blocks name {address}.", "An instance is one object: keep one of them."
            )
        addresses.add(address)
        # As in Terraform, a block whose object is already in state has no effect.
        if address in prior:
            continue
        config = providers.program.blocks.get(target.address.config)
        if config is None:
            diagnostics.append(
                error(
                    f"An import block names {address}, which the program does not declare",
                    "Declare the resource, or let "
                    f"`{providers.program.cli.command} plan -generate-config-out` write it.",
                )
            )
            continue
        provider_key = target.provider_key or config.provider_key
        named, problems = await resolve_import(
            providers, provider_key, address, config.type_name, target.id
        )
        diagnostics += problems
        if named is not None:
            prior[address] = named
    return diagnostics


async def resolve_import(
    providers: Providers, provider_key: str, address: str, type_name: str, import_id: str
) -> tuple[PriorInstance | None, Sequence[Diagnostic]]:
    """Return the object of an import id, before it is read."""
    outcome = await providers.of(provider_key).lifecycles[type_name].import_state(import_id)
    if outcome.state is None:
        return None, outcome.diagnostics
    written = provider_in_state(providers.program, provider_key)
    stored = InstanceObject(written, outcome.state, private=outcome.private)
    named = PriorInstance(address, type_name, stored, outcome.state, import_id=import_id)
    return named, outcome.diagnostics


def missing_object_error(type_name: str, import_id: str) -> Diagnostic:
    """Return the error for an import of no object; none is created instead."""
    return error(
        f"There is no {RESOURCES[type_name].title} {import_id} that this key can see",
        "Check the id, the key and the org. Nothing was changed.",
    )


async def import_instance(
    stack: OpenedStack, address: Address, import_id: str, watch: Watch
) -> list[Diagnostic]:
    """Import an object; return diagnostics. After an error, state is unchanged.

    An import to the address of an unsettled create settles it.

    Raises:
        UserError: The address is not declared or is already in state, or the object is in state
            under another address.
        Stopped: The run was told to stop.
    """
    state_session = stack.state_session
    block = _find_block(stack, address)
    _check_declared(stack, block, address)
    _check_free(state_session, address)
    async with stack.providers() as providers:
        watch(providers)
        item, diagnostics = await _read_import(providers, block, address, import_id)
        providers.check_stopped()
        if item is None or has_error(diagnostics):
            return diagnostics
        for other in read_all(state_session.state).values():
            same = providers.identity_of(other) == providers.identity_of(item)
            if same and other.address != item.address:
                return [_second_address_error(item, other.address)]
    imported = InstanceObject(
        item.stored.provider,
        item.stored_values,
        private=item.private,
        dependencies=stack.graph.ancestors(block.address),
    )
    state_session.state.put(address, imported)
    await state_session.checkpoint()
    # Do this only after state is durable. Until then, only the list of calls records the creation.
    state_session.mark_settled(
        intent.id for intent in state_session.open_intents if intent.address == str(address)
    )
    return diagnostics


def _second_address_error(item: PriorInstance, holder: str) -> Diagnostic:
    address, title = item.address, RESOURCES[item.type_name].title
    remedy = (
        f"One object has one address: removing {address} or {holder} would delete what the other "
        f"manages. To give it the address {address}, use a `moved` block, or forget it first with "
        f"`opsconsole state rm '{holder}'`."
    )
    if split_deposed(holder)[1]:
        remedy = (
            "It is left over from a replacement or a run that was interrupted, and the next apply "
            "destroys it. Import the object that was created in its place."
        )
    return error(f"{holder} holds the {title} {item.stored_values['id']} already", remedy)


def _find_block(stack: OpenedStack, address: Address) -> Block:
    block = stack.program.blocks.get(address.config)
    if block is None or address.mode != "managed" or address.module:
        raise UserError(
            f"The program declares no resource {address.config}.",
            suggest_address(address.config, stack.program.blocks)
            or "Declare it first; `opsconsole adopt` writes programs for what a console has.",
        )
    return block


def _check_declared(stack: OpenedStack, block: Block, address: Address) -> None:
    """Refuse an instance that the block does not have: the next apply would delete its object."""
    values = {item.address: item.values for item in read_prior(stack.state).values()}
    try:
        instances = stack.evaluator(values.get).instances(block).values()
    except UserError:
        # `count` or `for_each` may need a data source, or a value known only after apply.
        return
    declared = [instance.address for instance in instances]
    if str(address) in declared:
        return
    shown = first_items(declared, 10) or "none"
    raise UserError(
        f"The program declares no instance {address}.",
        f"The next apply would delete its object. Instances of {block.address}: {shown}.",
    )


def _check_free(state_session: StateSession, address: Address) -> None:
    stored = state_session.state.get(address)
    # An unsettled create leaves its address free: an import settles it.
    if stored is not None and not is_sentinel(stored.attributes.get("id")):
        raise UserError(
            f"{address} is in state already, as {stored.attributes.get('id')}.",
            f"To import another object in its place: `opsconsole state rm '{address}'` first.",
        )


async def _read_import(
    providers: Providers, block: Block, address: Address, import_id: str
) -> tuple[PriorInstance | None, list[Diagnostic]]:
    prior, diagnostics = await resolve_import(
        providers, block.provider_key, str(address), block.type_name, import_id
    )
    if prior is None:
        return None, list(diagnostics)
    item = (await providers.refresh([prior]))[prior.address]
    if item.values is None:
        return None, [missing_object_error(block.type_name, import_id)]
    of_read = item.read.diagnostics if item.read is not None else ()
    return item._replace(stored_values=item.values), [*diagnostics, *of_read]
