"""Changes of addresses: `moved` blocks, and the moves that core makes without a block.

One object of the console has one address: an object with two is refused before any request.

A chain of blocks is followed whatever their order. A move never goes to an address that holds an
object already.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import UserError
from opsconsole.language import Moved, Program
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reconcile.declaration import Place, PriorInstance, config_address
from opsconsole.resources import RESOURCES
from opsconsole.state import Address, State


@dataclass(frozen=True, slots=True)
class Move:
    """Takes an instance, or where neither side has a key all of a resource, to another address.

    Attributes:
        implied: Whether `count` says so and no block does.
    """

    source: Address
    target: Address
    implied: bool = False

    @property
    def whole(self) -> bool:
        """Whether it takes a resource and not one instance."""
        return not self.implied and self.source.key is None and self.target.key is None

    def destination(self, address: Address) -> Address:
        """Return where it takes one of the instances that it is about."""
        return replace(self.target, key=address.key) if self.whole else self.target


def moved(
    known: Mapping[str, PriorInstance], program: Program
) -> tuple[dict[str, PriorInstance], list[Diagnostic]]:
    """Return the instances under the addresses that a program gives them, and what blocked it.

    Raises:
        UserError: `moved` blocks contradict each other.
    """
    found = dict(known)
    of_resource: dict[str, dict[str, None]] = {}
    for text in found:
        of_resource.setdefault(config_address(text), {})[text] = None
    blocked: list[tuple[str, str]] = []
    for move in _ordered([*_explicit(program.moved), *_implied(of_resource, program)]):
        occupied = move.whole and of_resource.get(str(move.target))
        held = of_resource.get(move.source.config, {})
        single = str(move.source)
        for text in list(held) if move.whole else [single] if single in held else ():
            new = str(move.destination(Address.parse(text)))
            if occupied or new in found:
                if not move.implied:
                    blocked.append((text, new))
                continue
            item = found.pop(text)
            found[new] = replace(item, address=new, previous_address=item.previous_address or text)
            del of_resource[config_address(text)][text]
            of_resource.setdefault(config_address(new), {})[new] = None
    return found, [_blocked(blocked)] if blocked else []


def _explicit(blocks: Sequence[Moved]) -> Iterator[Move]:
    """Yield what blocks say; two that say the same are one.

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
            yield Move(block.source, block.target)


def _implied(of_resource: Mapping[str, Collection[str]], program: Program) -> Iterator[Move]:
    """Yield the moves of what gets a `count`, or has none any more.

    A resource that a block names is left alone: its author may want to keep another instance.
    """
    named = {item for block in program.moved for item in (block.source.config, block.target.config)}
    for config, held in of_resource.items():
        block = program.blocks.get(config)
        if block is None or config in named or block.repeated:
            continue
        single = Address.parse(config)
        first = replace(single, key=0)
        source, target = (single, first) if block.counted else (first, single)
        if str(source) in held:
            yield Move(source, target, implied=True)


def _ordered(moves: Sequence[Move]) -> list[Move]:
    """Return moves so that a move from an address comes after the move to it.

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
            "To exchange two resources, move one of them with `terraform state mv` first.",
        ) from None


def carry_out_moves(state: State, moved: Iterable[tuple[str, str]]) -> None:
    """Move in state from address to address; an object at a target is moved away first.

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
        for source in reversed(chain):
            state.move(source, pending.pop(source))


def still_declared(program: Program, declared: Collection[str]) -> Iterator[Diagnostic]:
    """Yield an error for each block that moves or removes what the program still declares.

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


def left_out(moving: Sequence[PriorInstance], targets: Sequence[str]) -> Iterator[Diagnostic]:
    """Yield an error where `-target` names one end of a move and not the other."""
    wanted = {str(Address.parse(text)) for text in targets}
    if not wanted:
        return
    missing = sorted(
        address
        for item in moving
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


def _blocked(pairs: Sequence[tuple[str, str]]) -> Diagnostic:
    listed = "\n".join(f"  {source} could not move to {target}" for source, target in pairs)
    return warning(
        "Moved blocks name addresses that are taken",
        f"State holds an object at both addresses:\n{listed}\nThe plan removes an object whose "
        "old address the program does not declare.",
    )


def places_of(
    known: Iterable[PriorInstance], place_of: Callable[[PriorInstance], Place]
) -> dict[Place, list[str]]:
    """Return the addresses of each object that state holds, or an `import` block names.

    Args:
        place_of: Returns what the object of an instance is known by.
    """
    found: dict[Place, list[str]] = {}
    for item in known:
        object_id = item.before["id"]
        if isinstance(object_id, str) and not is_sentinel(object_id):
            found.setdefault(place_of(item), []).append(item.address)
    return found


def adopted_places(
    changes: Iterable[Change], console_of: Callable[[str], str]
) -> dict[Place, list[str]]:
    """Return the addresses of each object that creations adopt: its id is known in the plan.

    Args:
        console_of: Returns the console behind the key of a provider configuration.
    """
    found: dict[Place, list[str]] = {}
    for change in changes:
        object_id = (change.after or {}).get("id")
        if change.action is Action.CREATE and isinstance(object_id, str):
            place = (console_of(change.provider), change.type_name, object_id)
            found.setdefault(place, []).append(change.address)
    return found


def held_twice(places: Mapping[Place, list[str]]) -> Iterator[tuple[str, Diagnostic]]:
    """Yield an error, with its address, for each object that has several addresses.

    One that was gone and is created again under its id has the same address twice. Dropping one of
    several would delete what the other manages.
    """
    for (_, type_name, object_id), several in places.items():
        addresses = list(dict.fromkeys(several))
        if len(addresses) > 1:
            yield (
                several[-1],
                error(
                    f"{' and '.join(addresses)} are the same {RESOURCES[type_name].title}, "
                    f"{object_id}",
                    "One object has one address: removing one of the two would delete what the "
                    "other manages. Keep one of them. If the other is in state, `opsconsole state "
                    "rm ADDRESS` forgets it without a change to the console. If it is only "
                    "declared or imported, take it out of the program, or move it with a `moved` "
                    "block.",
                ),
            )
