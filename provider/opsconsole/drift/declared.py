"""What a program says of the resources in state: construct, place, and what is not applied yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.drift.report import Bucket, Finding
from opsconsole.drift.stack import Stack
from opsconsole.errors import OpsconsoleError
from opsconsole.language import Block, Evaluator
from opsconsole.state import Address, config_address, instance_and_key
from opsconsole.values import Attributes


class Declarations:
    """The blocks of a stack's program, found by the addresses of state."""

    def __init__(self, stack: Stack, root: Path) -> None:
        """Take a stack; places are relative to `root`."""
        self._stack = stack
        self._root = root
        program = stack.program
        self._blocks: Mapping[str, Block] = program.blocks if program is not None else {}
        moved = program.moved if program is not None else ()
        self._moves = {str(block.source): str(block.target) for block in moved}

    def locate(self, finding: Finding) -> Finding:
        """Return a finding with the construct that declares its resource, and its place."""
        if finding.bucket is Bucket.UNMANAGED or not self._blocks:
            return finding
        block = self._blocks.get(config_address(self._now(finding.address)))
        if block is None:
            return finding
        origin = block.origin
        return replace(finding, construct_path=origin.path, location=origin.place(self._root))

    def _now(self, address: str) -> str:
        """Return the address after the program's `moved` blocks, without a deposed key."""
        address, _ = instance_and_key(address)
        return _follow_moves(self._moves, address) if self._moves else address

    def pending(self, values: Mapping[str, Attributes]) -> tuple[list[Finding], list[Diagnostic]]:
        """Return what the program declares and state does not hold, and what cannot be determined.

        Args:
            values: What state holds, by address: count and for_each may ask for it.
        """
        stack = self._stack
        if stack.program is None or not stack.pending:
            return [], []
        by_address = {self._now(address): value for address, value in values.items()}
        evaluator = Evaluator(
            stack.program, stack.variables, by_address.get, workspace=stack.workspace
        )
        found: list[Finding] = []
        diagnostics: list[Diagnostic] = []
        for block in stack.program.resources:
            try:
                found += self._pending_of(block, evaluator, by_address)
            except OpsconsoleError as problem:
                diagnostics.append(
                    warning(
                        f"{stack.name}: pending resources of {block.title} cannot be determined",
                        cause=problem.cause,
                    )
                )
        return found, diagnostics

    def _pending_of(
        self, block: Block, evaluator: Evaluator, present: Collection[str]
    ) -> Iterator[Finding]:
        for instance in evaluator.instances(block).values():
            if instance.address not in present:
                yield Finding(
                    self._stack.name,
                    instance.address,
                    block.type_name,
                    Bucket.PENDING,
                    reason="declared in the program, not applied yet",
                )


def _follow_moves(moves: Mapping[str, str], text: str) -> str:
    """Return where chains of `moved` blocks lead from an address, of an instance or a resource."""
    for _ in range(len(moves)):
        if text in moves:
            text = moves[text]
            continue
        address = Address.parse(text)
        target = moves.get(str(address.resource))
        if target is None:
            return text
        text = str(replace(Address.parse(target), key=address.key))
    return text
