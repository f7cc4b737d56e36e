"""Gives the instances of a state their addresses in a program.

As in Terraform, `moved` blocks change addresses, and so does a resource that gains or loses
`count`. Chained blocks may be in any order. No move overwrites an address that holds an object.
State itself changes only when a plan is applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import UserError
from opsconsole.language import Evaluator, Moved, Program
from opsconsole.local_terraform import cli_of
from opsconsole.reconcile.prior import PriorInstance, read_prior
from opsconsole.state import Address, State, config_address


def present_addresses(state: State, program: Program) -> frozenset[str]:
    """Return the addresses of the instances in state after the program's moves."""
    return frozenset(apply_moves(read_prior(state), program)[0])


def apply_moves(
    prior: Mapping[str, PriorInstance], program: Program
) -> tuple[dict[str, PriorInstance], list[Diagnostic]]:
    """Return the instances under their addresses in a program, and warnings of blocked moves.

    Raises:
        UserError: `moved` blocks contradict each other.
    """
    moved = dict(prior)
    of_resource: dict[str, dict[str, None]] = {}
    for text in moved:
        of_resource.setdefault(config_address(text), {})[text] = None
    blocked: list[tuple[str, str]] = []
    for move in _order_moves(
        [*_explicit_moves(program.moved), *_implied_moves(of_resource, program)]
    ):
        occupied = move.whole and of_resource.get(str(move.target))
        instances = of_resource.get(move.source.config, {})
        single = str(move.source)
        # A copy, as the loop removes moved instances.
        for text in list(instances) if move.whole else [single] if single in instances else ():
            key = Address.parse(text).key
            new = str(move.target._replace(key=key) if move.whole else move.target)
            if occupied or new in moved:
                # Nobody has asked for an implied move.
                if not move.implied:
                    blocked.append((text, new))
                continue
            item = moved.pop(text)
            # In a chain of moves, state knows the first address only.
            moved[new] = item._replace(address=new, previous_address=item.previous_address or text)
            del of_resource[config_address(text)][text]
            of_resource.setdefault(config_address(new), {})[new] = None
    if not blocked:
        return moved, []
    listed = "\n".join(f"  {source} could not move to {target}" for source, target in blocked)
    taken = warning(
        "Moved blocks name addresses that are taken",
        f"State holds an object at both addresses:\n{listed}\nThe plan removes an object whose "
        "old address the program does not declare.",
    )
    return moved, [taken]


@dataclass(frozen=True, slots=True)
class _Move:
    """A move of an instance or of a whole resource to another address.

    `implied` moves follow from `count`, not from a block.
    """

    source: Address
    target: Address
    whole: bool = False
    implied: bool = False


def _explicit_moves(blocks: Sequence[Moved]) -> Iterator[_Move]:
    """Yield the moves of `moved` blocks, without duplicates.

    Raises:
        UserError: One source has two targets, or one target two sources.
    """
    # As in Terraform, the instance without a key and its resource are two addresses.
    targets: dict[tuple[Address, bool], Moved] = {}
    sources: dict[tuple[Address, bool], Moved] = {}
    for block in blocks:
        if block.source == block.target:
            raise UserError(
                f"{block.origin.file}: a moved block moves {block.source} to its own address.",
                "Remove the block.",
            )
        for address, others in ((block.source, targets), (block.target, sources)):
            other = others.setdefault((address, block.whole), block)
            if (other.source, other.target) != (block.source, block.target):
                raise UserError(
                    f"Two moved blocks contradict each other: {other.source} to {other.target}, "
                    f"and {block.source} to {block.target}.",
                    "One address has one source and one target.",
                )
        if targets[block.source, block.whole] is block:
            yield _Move(block.source, block.target, block.whole)


def _implied_moves(of_resource: Mapping[str, Collection[str]], program: Program) -> Iterator[_Move]:
    """Yield the moves of resources that gain or lose `count`, unless a block names them."""
    # The author of a block may want to keep another instance.
    named = {item for block in program.moved for item in (block.source.config, block.target.config)}
    for config, instances in of_resource.items():
        block = program.blocks.get(config)
        if block is None or config in named or block.repeated:
            continue
        single = Address.parse(config)
        first = single._replace(key=0)
        source, target = (single, first) if block.counted else (first, single)
        if str(source) in instances:
            yield _Move(source, target, implied=True)


def _order_moves(moves: Sequence[_Move]) -> list[_Move]:
    """Return moves in Terraform's order, independent of the order of their blocks.

    A move to an address precedes a move from it. The move of an instance precedes the move of the
    resource that it leaves or joins, and follows the move of the resource that becomes its own.

    Raises:
        UserError: They form a cycle.
    """
    to_resource: dict[Address, list[int]] = {}
    to_instance: dict[Address, list[int]] = {}
    within: dict[Address, list[int]] = {}
    for number, move in enumerate(moves):
        (to_resource if move.whole else to_instance).setdefault(move.target, []).append(number)
        if not move.whole:
            for resource in {move.source.resource, move.target.resource}:
                within.setdefault(resource, []).append(number)
    graph: dict[int, list[int]] = {}
    for number, move in enumerate(moves):
        before = [(to_resource, move.source), (within, move.source)]
        if not move.whole:
            before = [
                (to_instance, move.source),
                (to_resource, move.source.resource),
                (to_resource, move.target.resource),
            ]
        graph[number] = [first for leading, address in before for first in leading.get(address, ())]
    try:
        return [moves[number] for number in TopologicalSorter(graph).static_order()]
    except CycleError as problem:
        steps = ", ".join(f"{moves[n].source} to {moves[n].target}" for n in problem.args[1][1:])
        raise UserError(
            f"moved blocks form a cycle: {steps}.",
            "To exchange two resources, move one of them with "
            f"`{cli_of().command} state mv` first.",
        ) from None


def carry_out_moves(state: State, moved: Iterable[tuple[str, str]]) -> None:
    """Move instances in state; an object at a target address is moved away first.

    Raises:
        UserError: The target of the last move in a chain holds an object.
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


def declared_source_errors(evaluator: Evaluator) -> Iterator[Diagnostic]:
    """Yield an error for each block that moves a declared resource."""
    program = evaluator.program
    for block in program.moved:
        source, declared = block.source, program.blocks.get(block.source.config)
        if declared is None:
            continue
        # A plan that needs the keys reports why they are not known; a destroy plan needs none.
        with suppress(UserError):
            if block.whole or source.key in evaluator.instances(declared):
                yield error(
                    f"A moved block moves {source}, which is still declared",
                    f"Declare it as {block.target} instead, or remove the block.",
                )


def declared_removal_errors(program: Program) -> Iterator[Diagnostic]:
    """Yield an error for each block that removes a declared resource."""
    for removed in program.removed:
        if str(removed.source) in program.blocks:
            yield error(
                f"A removed block forgets {removed.source}, which is still declared",
                "Remove one of the two.",
            )
