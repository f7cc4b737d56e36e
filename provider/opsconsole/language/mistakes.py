"""Finds all mistakes in a program before any request to a console.

Mistakes are references that lead nowhere, unknown or missing arguments, values that cannot be
evaluated, and exceeded bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, diagnostics_of
from opsconsole.errors import UserError
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.failures import ExpressionFailure, NotKnownYet
from opsconsole.language.graph import build_graph
from opsconsole.language.instances import Instance
from opsconsole.language.json_values import OnlyTerraform
from opsconsole.language.model import Block, Import, Program
from opsconsole.values import Values


def find_mistakes(
    program: Program,
    variables: Mapping[str, Any],
    *,
    workspace: str | None = None,
    present: Callable[[], Container[str]] | None = None,
) -> list[Diagnostic]:
    """Return errors and warnings about a program, each once, without reading anything for it.

    Expressions that depend on a value not known yet are skipped.

    Args:
        variables: The values of the program's variables; UNKNOWN if not known.
        workspace: Terraform's workspace; None is the selected workspace.
        present: Returns the addresses of existing instances, if known. Existing and imported
            instances may leave out arguments that only a creation needs. If the addresses are not
            known, such an argument may be null.

    Raises:
        OnlyTerraform: Only Terraform or OpenTofu can say whether the program is correct.
    """
    evaluator = Evaluator(
        program, variables, lambda address: None, checking=True, workspace=workspace
    )
    search = _Search(evaluator, present, Path.cwd())
    try:
        search.run()
    except OnlyTerraform as refusal:
        refusal.program = program
        raise
    return list(search.found.values())


class _Search:
    """One search for mistakes.

    Attributes:
        found: The mistakes by cause, because one local value may affect many blocks.
    """

    def __init__(
        self, evaluator: Evaluator, present: Callable[[], Container[str]] | None, folder: Path
    ) -> None:
        self.found: dict[object, Diagnostic] = {}
        self._evaluator = evaluator
        self._present = present
        self._folder = folder
        self._imported: set[str] = set()

    def run(self) -> None:
        """Find the mistakes in references, local values, blocks, providers, imports and outputs."""
        evaluator = self._evaluator
        program = evaluator.program
        self._attempt(build_graph, program)
        for name in program.locals:
            self._attempt(evaluator.check_local, name)
        # Before the blocks, because an imported resource may lack arguments that a creation needs.
        for item in program.imports:
            self._attempt(self._note_targets, item)
        for block in program.blocks.values():
            self._attempt(self._check_block, block)
        for key in program.providers:
            self._attempt(evaluator.provider_config, key)
        for name in program.outputs:
            self._attempt(evaluator.output, name)

    def _attempt(self, step: Callable[[Any], object], argument: Any) -> None:
        try:
            step(argument)
        except UserError as problem:
            self._add(problem, argument if isinstance(argument, Block) else None)

    def _add(self, problem: UserError, block: Block | None = None) -> None:
        """Add a problem. If its cause is known already, only add the address to that mistake.

        Raises:
            OnlyTerraform: The problem is an OnlyTerraform.
        """
        if isinstance(problem, OnlyTerraform):
            raise problem
        failure = problem.__cause__
        if isinstance(failure, NotKnownYet):
            # Whether the expression is wrong shows only once the value is known.
            return
        cause: object = None
        if isinstance(failure, ExpressionFailure) and failure.expression:
            # An expression that fails for one reason is one mistake, even if several blocks use it.
            cause = (failure.expression, str(failure))
        for item in diagnostics_of(problem):
            self._note(item, block, cause)

    def _note(self, item: Diagnostic, block: Block | None, cause: object = None) -> None:
        key = cause or item
        if block is not None:
            item = replace(item.about(block.address), place=block.origin.place(self._folder))
        known = self.found.setdefault(key, item)
        addresses = dict.fromkeys((*known.addresses, *item.addresses))
        self.found[key] = replace(known, addresses=tuple(addresses))

    def _note_targets(self, block: Import) -> None:
        # The instances that the block names may be known only when the plan is made.
        self._imported.add(block.to.partition("[")[0])
        self._imported.update(str(item.address) for item in self._evaluator.targets_of(block))

    def _check_block(self, block: Block) -> None:
        for instance in self._evaluator.instances(block).values():
            problems: list[UserError] = []
            values = self._evaluator.examine(instance, problems).values
            for problem in problems:
                self._add(problem, block)
            for item in self._of_declaration(instance, values):
                self._note(replace(item, summary=f"{block.title}: {item.summary}"), block)

    def _of_declaration(self, instance: Instance, values: Values) -> Iterable[Diagnostic]:
        """Yield the problems of a declaration, according to the definition of its resource."""
        block = instance.block
        definition = block.definition
        if not isinstance(definition, ResourceDefinition):
            return
        yield from definition.problems(values)
        lacking = definition.find_undeclared(values)
        if not lacking or not self._imported.isdisjoint((block.address, instance.address)):
            return
        if self._present is None:
            yield from (item for item in lacking if item.path[0] not in block.arguments)
        elif instance.address not in self._known_addresses:
            yield from lacking

    @cached_property
    def _known_addresses(self) -> Container[str]:
        return self._present() if self._present is not None else ()
