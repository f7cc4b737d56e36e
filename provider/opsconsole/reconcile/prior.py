"""Begins a plan: gives the instances of a state their addresses in a program.

`moved` blocks change addresses. So does core if a resource gains or loses a `count`. A chain of
blocks may be in any order. No move goes to an address that already holds an object. State itself
changes only when a plan is applied. Values in a state or a saved plan must have the shape of their
definition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Final

from opsconsole.definition import Attribute, DataSourceDefinition, Kind, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, leading_names, warning
from opsconsole.errors import UserError
from opsconsole.language import Moved, Program
from opsconsole.lifecycle.answers import is_sentinel, mentions_sentinel
from opsconsole.lifecycle.interface import Outcome
from opsconsole.lifecycle.writes import remedy
from opsconsole.resources import RESOURCES
from opsconsole.state import (
    Address,
    InstanceObject,
    State,
    config_address,
    deposed_name,
    instance_of,
)
from opsconsole.terraform_binary import engine_of
from opsconsole.values import UNKNOWN, Value, Values

Identity = tuple[str, str, str]
"""The identity of an object: its console, its type and its id."""


@dataclass(frozen=True, slots=True)
class PriorInstance:
    """An instance or a deposed object in state, or an object that an import names.

    The result of its read is kept with it.

    Attributes:
        stored: The object as state holds it, or as an import names it.
        before: Its value before the refresh.
        read: The result of the refresh; None: it was not refreshed.
        previous_address: Its address before a `moved` block, or empty.
        import_id: The id by which an import names it; empty if state holds it.
    """

    address: str
    type_name: str
    stored: InstanceObject
    before: Values
    read: Outcome | None = None
    previous_address: str = ""
    import_id: str = ""

    @property
    def value(self) -> Values | None:
        """Its value after the refresh; None: it is gone."""
        return self.before if self.read is None else self.read.state

    @property
    def unsettled(self) -> bool:
        """Whether it stands for a creation whose outcome is not known."""
        return is_sentinel(self.before.get("id"))

    @property
    def sensitive(self) -> frozenset[str]:
        """The attributes that were sensitive when state was written."""
        return leading_names(self.stored.sensitive_paths)

    @property
    def private(self) -> bytes:
        """The private bytes beside `value`."""
        return self.stored.private if self.read is None else self.read.private


def read_prior(state: State) -> dict[str, PriorInstance]:
    """Return the managed instances of a state, by address.

    Raises:
        UserError: State holds an object of another provider, or of a newer schema.
    """
    found = {}
    for address in state.addresses():
        if address.mode != "managed":
            continue
        stored = state.get(address)
        # An address may hold only deposed objects, which `read_deposed` takes.
        if stored is None:
            continue
        definition = RESOURCES.get(address.type)
        if definition is None or address.module:
            raise UserError(
                f"State holds {address}, which is not a resource of this provider's root module.",
                "The native engine works on states of this provider alone; "
                f"{engine_of().name} can run it.",
            )
        if stored.schema_version > 0:
            raise UserError(
                f"State holds {address} in schema version {stored.schema_version}.",
                "A newer release of opsconsole wrote it: use that release.",
            )
        text = str(address)
        found[text] = PriorInstance(
            text, address.type, stored, from_state(definition, stored.attributes)
        )
    return found


def read_deposed(state: State, known: Mapping[str, PriorInstance]) -> dict[str, PriorInstance]:
    """Return the deposed objects of a state, by the names that plans give them.

    Args:
        known: The instances, under the addresses that `moved` blocks give them.
    """
    moved = {item.previous_address: item.address for item in known.values()}
    found = {}
    for address in state.addresses():
        for key in state.deposed_keys(address):
            stored = state.get(address, key)
            definition = RESOURCES.get(address.type)
            if stored is None or definition is None or address.mode != "managed":
                continue
            text = str(address)
            name = deposed_name(moved.get(text, text), key)
            value = from_state(definition, stored.attributes)
            found[name] = PriorInstance(name, address.type, stored, value)
    return found


def holds_unsettled(state: State) -> bool:
    """Return whether a state may hold an unsettled create, without decoding it."""
    return any(
        mentions_sentinel(state.image(address, deposed) or "")
        for address, deposed in state.objects()
    )


def warn_unsettled(address: str) -> Diagnostic:
    return warning(*_describe_unsettled(address, "no apply is complete until this is settled."))


def report_unsettled(address: str) -> Diagnostic:
    """Report a creation whose outcome stays unknown, which makes an apply incomplete."""
    return error(*_describe_unsettled(address, "nothing was done with it."))


def _describe_unsettled(address: str, after: str) -> tuple[str, str]:
    definition = RESOURCES[instance_of(address).type]
    return (
        f"It is not known whether {address} was created",
        f"An earlier run ended before it knew; {after} "
        + remedy(definition, address, "opsconsole"),
    )


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


def from_state(definition: ResourceDefinition | DataSourceDefinition, attributes: Values) -> Values:
    """Return the wire value of attributes as state writes them: sets sorted, every name present.

    Raises:
        UserError: An attribute is of another shape than its definition says.
    """
    value = definition.empty()
    for attribute in definition:
        given = attributes.get(attribute.name)
        if not has_shape(given, attribute):
            raise UserError(
                f"The state holds {attribute.name} of {definition.type_name} in a shape that it "
                "cannot have.",
                _RESTORE,
            )
        given = attribute.normalise(given)
        if attribute.kind is Kind.OBJECT_LIST and isinstance(given, list):
            names = [nested.name for nested in attribute.attributes]
            given = [{name: entry.get(name) for name in names} for entry in given]
        value[attribute.name] = given
    if isinstance(definition, ResourceDefinition) and value.get("id", "") is None:
        raise UserError(f"The state holds no id of {definition.type_name}.", _RESTORE)
    return value


def present_addresses(state: State, program: Program) -> frozenset[str]:
    """Return the addresses of the instances in state after the moves of a program."""
    return frozenset(apply_moves(read_prior(state), program)[0])


def apply_moves(
    known: Mapping[str, PriorInstance], program: Program
) -> tuple[dict[str, PriorInstance], list[Diagnostic]]:
    """Return the instances under their addresses in a program, and diagnostics of blocked moves.

    Raises:
        UserError: `moved` blocks contradict each other.
    """
    found = dict(known)
    of_resource: dict[str, dict[str, None]] = {}
    for text in found:
        of_resource.setdefault(config_address(text), {})[text] = None
    blocked: list[tuple[str, str]] = []
    for move in _order_moves(
        [*_explicit_moves(program.moved), *_implied_moves(of_resource, program)]
    ):
        occupied = move.whole and of_resource.get(str(move.target))
        held = of_resource.get(move.source.config, {})
        single = str(move.source)
        # A copy, as the loop takes out what moves.
        for text in list(held) if move.whole else [single] if single in held else ():
            key = Address.parse(text).key
            new = str(replace(move.target, key=key) if move.whole else move.target)
            if occupied or new in found:
                # Nobody has asked for an implied move.
                if not move.implied:
                    blocked.append((text, new))
                continue
            item = found.pop(text)
            # In a chain of moves, state knows the first address only.
            found[new] = replace(item, address=new, previous_address=item.previous_address or text)
            del of_resource[config_address(text)][text]
            of_resource.setdefault(config_address(new), {})[new] = None
    if not blocked:
        return found, []
    listed = "\n".join(f"  {source} could not move to {target}" for source, target in blocked)
    taken = warning(
        "Moved blocks name addresses that are taken",
        f"State holds an object at both addresses:\n{listed}\nThe plan removes an object whose "
        "old address the program does not declare.",
    )
    return found, [taken]


@dataclass(frozen=True, slots=True)
class _Move:
    """A move of an instance, or of a whole resource if neither side has a key, to another address.

    Attributes:
        implied: Whether the move follows from `count` and not from a block.
    """

    source: Address
    target: Address
    implied: bool = False

    @property
    def whole(self) -> bool:
        """Whether a whole resource is moved and not one instance."""
        return not self.implied and self.source.key is None and self.target.key is None


def _explicit_moves(blocks: Sequence[Moved]) -> Iterator[_Move]:
    """Yield the moves of `moved` blocks, without duplicates.

    Raises:
        UserError: One source has two targets, or one target two sources.
    """
    targets: dict[Address, Moved] = {}
    sources: dict[Address, Moved] = {}
    for block in blocks:
        if block.source == block.target:
            raise UserError(
                f"{block.origin.file}: a moved block moves {block.source} to its own address.",
                "Remove the block.",
            )
        for key, others in ((block.source, targets), (block.target, sources)):
            other = others.setdefault(key, block)
            if (other.source, other.target) != (block.source, block.target):
                raise UserError(
                    f"Two moved blocks contradict each other: {other.source} to {other.target}, "
                    f"and {block.source} to {block.target}.",
                    "One address has one source and one target.",
                )
        if targets[block.source] is block:
            yield _Move(block.source, block.target)


def _implied_moves(of_resource: Mapping[str, Collection[str]], program: Program) -> Iterator[_Move]:
    """Yield the moves of resources that get a `count`, or lose it, and that no block names."""
    # The author of a block may want to keep another instance.
    named = {item for block in program.moved for item in (block.source.config, block.target.config)}
    for config, held in of_resource.items():
        block = program.blocks.get(config)
        if block is None or config in named or block.repeated:
            continue
        single = Address.parse(config)
        first = replace(single, key=0)
        source, target = (single, first) if block.counted else (first, single)
        if str(source) in held:
            yield _Move(source, target, implied=True)


def _order_moves(moves: Sequence[_Move]) -> list[_Move]:
    """Return moves in an order in which a move to an address precedes a move from it.

    Raises:
        UserError: They form a cycle.
    """
    leading: dict[Address, list[int]] = {}
    for number, move in enumerate(moves):
        leading.setdefault(move.target, []).append(number)
    graph = {number: leading.get(move.source, ()) for number, move in enumerate(moves)}
    try:
        return [moves[number] for number in TopologicalSorter(graph).static_order()]
    except CycleError as problem:
        steps = ", ".join(f"{moves[n].source} to {moves[n].target}" for n in problem.args[1][1:])
        raise UserError(
            f"moved blocks form a cycle: {steps}.",
            "To exchange two resources, move one of them with "
            f"`{engine_of().command} state mv` first.",
        ) from None


def carry_out_moves(state: State, moved: Iterable[tuple[str, str]]) -> None:
    """Move instances in state; an object at a target address is moved away first.

    Raises:
        UserError: There is something at a target.
    """
    pending = {source: target for source, target in moved if source in state}
    while pending:
        chain = dict.fromkeys([next(iter(pending))])
        source = pending[next(iter(chain))]
        while source in pending and source not in chain:
            chain[source] = None
            source = pending[source]
        # The last of a chain moves first, as `move` refuses an address that holds something.
        for source in reversed(chain):
            state.move(source, pending.pop(source))


def refuse_declared_sources(program: Program, declared: Collection[str]) -> Iterator[Diagnostic]:
    """Yield an error for each block that moves or removes a declared resource.

    Args:
        declared: The addresses of all instances, as far as they are known.
    """
    for block in program.moved:
        source, target = str(block.source), str(block.target)
        whole = block.source.key is None and block.target.key is None
        if source in program.blocks if whole else source in declared:
            yield error(
                f"A moved block moves {source}, which is still declared",
                f"Declare it as {target} instead, or remove the block.",
            )
    for removed in program.removed:
        if str(removed.source) in program.blocks:
            yield error(
                f"A removed block forgets {removed.source}, which is still declared",
                "Remove one of the two.",
            )


def refuse_split_moves(
    known: Iterable[PriorInstance], targets: Sequence[str]
) -> Iterator[Diagnostic]:
    """Yield an error where `-target` names one end of a move and not the other."""
    wanted = {str(Address.parse(text)) for text in targets}
    if not wanted:
        return
    missing = sorted(
        address
        for item in known
        if item.previous_address
        for address in (item.previous_address, item.address)
        if wanted.isdisjoint((address, config_address(address)))
    )
    if missing:
        yield error(
            "-target leaves out a resource that moves",
            "A plan needs every move in it. Add "
            + " ".join(f"-target='{address}'" for address in missing)
            + ", or leave -target out.",
        )
