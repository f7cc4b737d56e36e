"""Dependencies between the blocks of a program, and their order.

A block depends on the references in its arguments, directly or through local values. It also
depends on the blocks that `depends_on` and `replace_triggered_by` name, and on the references in
its provider's settings.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, TypeVar

from opsconsole.errors import UserError
from opsconsole.language.failures import (
    ExpressionFailure,
    OnlyTerraform,
    only_terraform_error,
    raise_any,
    try_step,
)
from opsconsole.language.model import REMOTE_STATE, Block, Json, Program
from opsconsole.language.nodes import Call, Node, Reference
from opsconsole.language.parser import parse_expression, parse_template
from opsconsole.text import did_you_mean

T = TypeVar("T")


def block_address(steps: tuple[str | int, ...]) -> str | None:
    """Return the address of the resource or data block at the start of a reference, if any."""
    if steps[0] == "data":
        return f"data.{steps[1]}.{steps[2]}" if len(steps) > 2 else None
    return f"{steps[0]}.{steps[1]}" if len(steps) > 1 else None


_PROPERTIES: Final = {"path": ("module", "root", "cwd"), "terraform": ("workspace",)}
"""The properties of the running engine that expressions may use, by the root of their names."""

NEVER_BLOCKS: Final = frozenset(("var", "local", "each", "count", "self", *_PROPERTIES))
"""The first parts of names that refer to no block."""


def is_foreign(reference: Reference) -> bool:
    """Return whether a reference has no meaning here, but may have one in Terraform or OpenTofu.

    Examples are `module.m`, `ephemeral.x_y.z`, `tofu.workspace` and `terraform.applying`.
    """
    root, *rest = map(str, reference.steps)
    if not rest:
        return False
    if root in _PROPERTIES:
        return rest[0] not in _PROPERTIES[root]
    # A resource type always contains an underscore.
    return root not in (*NEVER_BLOCKS, "data") and "_" not in root


def foreign_name_error(reference: Reference, where: str) -> OnlyTerraform:
    named = f"{where}: the name {reference.source_text()}"
    return OnlyTerraform(f"{named} is not known to the native engine.", named)


def trees_in(value: Json) -> Iterator[Node]:
    """Yield the tree of each template in a JSON value, names included."""
    if isinstance(value, str):
        # Every template sequence, even an escaped one, contains a brace.
        if "{" in value:
            try:
                tree = parse_template(value)
            except ExpressionFailure as problem:
                problem.expression = value
                raise
            yield tree
    elif isinstance(value, list):
        for item in value:
            yield from trees_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from trees_in(name)
            yield from trees_in(item)


def is_literal(value: Json) -> bool:
    """Return whether a JSON value holds no template, not even in a name."""
    if isinstance(value, str):
        return "{" not in value
    if isinstance(value, list):
        return all(map(is_literal, value))
    return not isinstance(value, dict) or all(map(is_literal, (*value, *value.values())))


def references_in(value: Json) -> list[Reference]:
    """Return every reference in a JSON value."""
    if is_literal(value):
        return []
    return [reference for tree in trees_in(value) for reference in tree.references()]


def readable_references(value: Json) -> list[Reference]:
    """Return every reference in a JSON value; empty if the value cannot be parsed."""
    try:
        return references_in(value)
    except (ExpressionFailure, RecursionError):
        # Evaluating the value reports the error.
        return []


def order_locals(name: str, values: Mapping[str, Json], done: Collection[str]) -> list[str]:
    """Return the local values to evaluate, each after its references and `name` last.

    Args:
        done: Names that are already evaluated.

    Raises:
        CycleError: Local values refer to each other in a cycle.
    """
    named: dict[str, list[str]] = {}
    # No recursion, because chains of local values may be long.
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in named or current in done:
            continue
        # A value that cannot be parsed fails when it is evaluated.
        paths = (reference.steps for reference in readable_references(values[current]))
        names = (str(steps[1]) for steps in paths if steps[0] == "local" and len(steps) > 1)
        named[current] = [other for other in names if other in values and other not in done]
        waiting += named[current]
    return [*TopologicalSorter(named).static_order()]


@dataclass(frozen=True)
class Graph:
    """The blocks of a program and their dependencies.

    Attributes:
        direct: For each address, the addresses that the block itself depends on, in order of
            mention.
        order: All addresses, each after its dependencies. Independent blocks keep the order of
            reading.
        outputs: For each output's name, the addresses that the output depends on.
        imports: The addresses that the import blocks themselves depend on.
        remote_states: The remote states that a block itself depends on, by its address.
    """

    direct: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]
    outputs: Mapping[str, tuple[str, ...]]
    imports: tuple[str, ...] = ()
    remote_states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def ancestors(self, address: str) -> tuple[str, ...]:
        """Return all dependencies of a block, sorted as in Terraform's state.

        Indirect ones are among them, and remote states.
        """
        return tuple(sorted(self._ancestors[address]))

    @cached_property
    def _ancestors(self) -> Mapping[str, frozenset[str]]:
        known: dict[str, frozenset[str]] = {}
        for address in self.order:
            direct = self.direct[address]
            own = frozenset(direct).union(self.remote_states.get(address, ()))
            known[address] = own.union(*(known[item] for item in direct))
        return known


def build_graph(program: Program) -> Graph:
    """Return the graph of a program, after checking every reference in it.

    Raises:
        OnlyTerraform: A name is not known here.
        UserError: A reference leads nowhere, or declarations refer to each other in a cycle. The
            message names all of them.
    """
    references = find_references(program)
    raise_any([problem for problem, _ in references.problems.values()])
    return references.graph


def find_references(program: Program) -> References:
    """Return the references of a program, which are found once."""
    if program.references is None:
        program.references = References(program)
    found: References = program.references
    return found


def check_support(program: Program) -> None:
    """Refuse a program that only Terraform can run. Mistakes are reported at its evaluation.

    Every expression counts, whether or not its value is needed.

    Raises:
        OnlyTerraform: An expression uses a feature that this engine lacks, or an import block asks
            for generated configuration.
    """
    for problem, _ in References(program, checks_calls=True).problems.values():
        if isinstance(problem, OnlyTerraform):
            raise problem
    for block in program.imports:
        target = block.to.partition("[")[0]
        # A resource with a mistake is not among the blocks either.
        if target.count(".") == 1 and target not in program.blocks and not program.unread:
            raise only_terraform_error(
                block.origin.place(target), "an import block whose resource is to be generated"
            )


def _check_calls(trees: Iterable[Node]) -> None:
    for node in trees:
        if isinstance(node, Call):
            from opsconsole.language import functions  # most programs call none

            if not functions.is_known(node.name):
                raise functions.unknown_function_error(node.name)
        _check_calls(node.children())


def named_resources(block: Block) -> frozenset[str]:
    """Return the resources that a block itself names, in `depends_on` or in an argument.

    As in Terraform, resources reached through a local value are left out.
    """
    named = {block_address(item.steps) for item in references_in(block.expressions)}
    return frozenset(
        address
        for address in (*named, *block.depends_on)
        if address and address.split(".")[0] not in NEVER_BLOCKS and address[:5] != "data."
    )


class References:
    """The references of a program's declarations.

    A declaration is a block, a local value or a provider configuration. Its name is its address,
    such as `local.x`, or `provider opsconsole.x`.

    Attributes:
        graph: All dependencies in the program. If there is a cycle, the graph is empty.
        problems: References that lead nowhere, and cycles, by their text, each with its block;
            also calls of unknown functions, if `checks_calls`.
    """

    def __init__(self, program: Program, *, checks_calls: bool = False) -> None:
        self.problems: dict[str, tuple[UserError, Block | None]] = {}
        self._checks_calls = checks_calls
        self._program = program
        self._declared = program.declared
        self._block: Block | None = None
        self.graph = self._find_in_program()

    def _find_in_program(self) -> Graph:
        program = self._program
        blocks = program.blocks
        named = {address: self._find_in_block(block) for address, block in self._declared.items()}
        self._block = None
        for key, provider in program.providers.items():
            title = f"provider {key}"
            named[title] = self._find_in_values(title, {"": dict(provider.arguments)})
        for name, value in program.locals.items():
            named[f"local.{name}"] = self._find_in_values(f"local.{name}", {"": value})
        outputs = {
            name: self._find_in_values(
                output.origin.title(f"output.{name}"), {"value": output.value}, output.depends_on
            )
            for name, output in program.outputs.items()
        }
        for variable in program.variables.values():
            for rule in variable.validations:
                title = variable.origin.title(f"var.{variable.name}")
                self._find_in_values(title, {"validation": [rule.condition, rule.error_message]})
        for item in program.imports:
            self._attempt(self._check_provider, item.provider_key)
        imports = dict.fromkeys(
            target
            for item in program.imports
            for target in self._find_in_values(item.title, {"": [item.id, item.for_each]})
        )
        order = self._attempt(_order, program, named)
        if order is None:
            return Graph({}, (), {})
        reached: dict[str, tuple[str, ...]] = {}

        def behind(targets: Iterable[str], of: Container[str] = blocks) -> tuple[str, ...]:
            """Return the blocks among declarations, and the blocks that the others lead to."""
            found: dict[str, None] = {}
            for target in targets:
                found.update({target: None} if target in blocks else dict.fromkeys(reached[target]))
            return tuple(address for address in found if address in of)

        for name in order:
            own = (name,) if name in program.remote_states else ()
            reached[name] = own + behind(named[name], self._declared)
        graph = Graph(
            {address: behind(named[address]) for address in blocks},
            tuple(name for name in order if name in blocks),
            {name: behind(targets) for name, targets in outputs.items()},
            behind(imports),
        )
        if remote := program.remote_states:
            found = {address: behind(named[address], remote) for address in blocks}
            return replace(graph, remote_states=found)
        return graph

    def _check_provider(self, key: str) -> None:
        if "." in key and key not in self._program.providers:
            raise UserError(
                f'There is no provider configuration "{key}".',
                did_you_mean(key, self._program.providers),
            )

    def _find_in_block(self, block: Block) -> dict[str, None]:
        self._block = block
        targets = self._find_in_values(block.title, block.expressions)
        for text in block.lifecycle_block.replace_triggered_by:
            targets |= self._find(text, block.title, "replace_triggered_by", _bare_references)
        named = (item for item in block.depends_on if item != block.address)
        targets |= self._find_in_values(block.title, {}, named)
        if block.provider_key in self._program.providers:
            targets[f"provider {block.provider_key}"] = None
        self._attempt(self._check_provider, block.provider_key)
        if block.address in targets:
            # Without the reference, it is not reported as a cycle too.
            del targets[block.address]
            self._note(
                UserError(
                    f"{block.title} refers to itself.",
                    "Leave the reference out, or use a local value.",
                )
            )
        return targets

    def _note(self, problem: UserError) -> None:
        self.problems.setdefault(str(problem), (problem, self._block))

    def _attempt(self, step: Callable[..., T], *arguments: Any) -> T | None:
        try:
            return step(*arguments)
        except UserError as problem:
            self._note(problem)
            return None

    def _find_in_values(
        self, title: str, values: Mapping[str, Json], depends_on: Iterable[str] = ()
    ) -> dict[str, None]:
        """Return the declarations that values refer to.

        Args:
            values: The values by the names of their arguments; a name may be empty.
        """
        targets: dict[str, None] = {}
        for name, value in values.items():
            targets |= self._find(value, title, name)
        for address in depends_on:
            reference = Reference(tuple(address.split(".")))
            target = self._attempt(self._target, reference, f"{title}: depends_on")
            if target and not target.startswith("local."):
                targets[target] = None
        return targets

    def _find(
        self,
        value: Json,
        title: str,
        name: str,
        read: Callable[[Json], list[Reference]] = references_in,
    ) -> dict[str, None]:
        """Return the declarations that one value refers to."""
        references = self._attempt(try_step, title, name, read, value)
        if self._checks_calls and references is not None and not is_literal(value):
            self._attempt(try_step, title, name, lambda value: _check_calls(trees_in(value)), value)
        targets: dict[str, None] = {}
        where = f"{title}: {name}" if name else title
        for reference in references or ():
            if target := self._attempt(self._target, reference, where):
                targets[target] = None
        return targets

    def _target(self, reference: Reference, where: str) -> str:
        """Return the declaration that a reference leads to; empty if none can be in a cycle."""
        program = self._program
        root = reference.steps[0]
        if is_foreign(reference):
            raise foreign_name_error(reference, where)
        if root in NEVER_BLOCKS and not reference.steps[1:]:
            raise UserError(
                f"{where}: {root} alone has no value.", f"Name a part of it, such as {root}.NAME."
            )
        address = block_address(reference.steps) or reference.source_text()
        # The declaration's own mistake is already reported.
        if address in program.unread:
            return ""
        if root in ("local", "var"):
            name = str(reference.steps[1])
            known: Mapping[str, Any] = program.locals if root == "local" else program.variables
            if name not in known:
                what = "local value" if root == "local" else "variable"
                raise UserError(f"{where}: there is no {what} {name}.", did_you_mean(name, known))
            return address if root == "local" else ""
        if root in NEVER_BLOCKS:
            return ""
        if address not in self._declared:
            is_state = reference.steps[:2] == ("data", REMOTE_STATE)
            raise UserError(
                f"{where} refers to {reference.source_text()}, but there is no {address}.",
                did_you_mean(address, program.remote_states if is_state else program.blocks),
            )
        return address


def _bare_references(text: str) -> list[Reference]:
    return list(parse_expression(text).references())


def _order(program: Program, named: Mapping[str, Iterable[str]]) -> list[str]:
    """Return all declarations, each after its dependencies."""
    sorter = TopologicalSorter(named)
    try:
        sorter.prepare()
    except CycleError as problem:
        # The sorter puts each declaration of the cycle before one that depends on it.
        cycle = [
            program.blocks[name].title if name in program.blocks else name
            for name in reversed(problem.args[1])
        ]
        raise UserError(
            f"These depend on each other in a cycle: {' → '.join(cycle)}.",
            "Take one of these references out.",
        ) from None
    # A heap of ranks, so that blocks that are ready together keep the order of reading. The other
    # declarations come first, because blocks may wait for them.
    rank = {address: index for index, address in enumerate(program.blocks)}
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, (rank.get(name, -1), name))
        order.append(heapq.heappop(ready)[1])
        sorter.done(order[-1])
    return order
