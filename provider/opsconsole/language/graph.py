"""Dependencies between the blocks of a program, and the order that follows from them.

A block depends on the references in its arguments, directly or through local values. It also
depends on the blocks that `depends_on` and `replace_triggered_by` name, and on the references in
its provider's settings.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language.failures import (
    ExpressionFailure,
    OnlyTerraform,
    expression_error,
    only_terraform_error,
    raise_any,
)
from opsconsole.language.model import REMOTE_STATE, Block, Json, Program
from opsconsole.language.nodes import Call, Node, Reference
from opsconsole.language.parser import parse_expression, parse_template
from opsconsole.text import did_you_mean


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
    """Return the error about a foreign reference at `where`."""
    named = f"{where}: the name {reference.source_text()}"
    return OnlyTerraform(f"{named} is not known to the native engine.", named)


def trees_in(value: Json) -> Iterator[Node]:
    """Yield the tree of each template in a JSON value, names included.

    Raises:
        EvaluationError: A template is not valid.
        BeyondBounds: A template is nested too deeply.
    """
    if isinstance(value, str):
        # Every template sequence, even an escaped one, contains a brace.
        if "{" in value:
            try:
                tree = parse_template(value)
            except ExpressionFailure as failure:
                failure.expression = value
                raise
            yield tree
    elif isinstance(value, list):
        for item in value:
            yield from trees_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from trees_in(name)
            yield from trees_in(item)


def references_in(value: Json) -> list[Reference]:
    """Return every reference in a JSON value; raises as `trees_in`."""
    return [reference for tree in trees_in(value) for reference in tree.references()]


def readable_references(value: Json) -> list[Reference]:
    """Return every reference in a JSON value; empty if the value cannot be parsed."""
    try:
        return references_in(value)
    except (ExpressionFailure, RecursionError):
        # Evaluating the value reports the error.
        return []


class LocalCycle(Exception):
    """Local values refer to each other in a cycle; the message names them."""


def order_locals(name: str, values: Mapping[str, Any], done: Collection[str]) -> list[str]:
    """Return the local values to evaluate, each after its references and `name` last.

    Args:
        done: Names that are already evaluated.

    Raises:
        LocalCycle: Local values refer to each other in a cycle.
    """
    order: list[str] = []
    listed: set[str] = set()
    # A stack instead of recursion, because chains may be long; the dict finds a cycle at once.
    path: dict[str, Iterator[str]] = {name: _named_in(values[name])}
    while path:
        current = next(reversed(path))
        following = next(path[current], None)
        if following is None:
            del path[current]
            listed.add(current)
            order.append(current)
        elif following in path:
            names = list(path)
            raise LocalCycle(" → ".join([*names[names.index(following) :], following]))
        elif following in values and following not in listed and following not in done:
            path[following] = _named_in(values[following])
    return order


def _named_in(value: Any) -> Iterator[str]:
    """Yield the local values that a value names. A value that cannot be parsed fails when used."""
    for item in readable_references(value):
        if item.steps[0] == "local" and item.steps[1:]:
            yield str(item.steps[1])


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
    """

    direct: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]
    outputs: Mapping[str, tuple[str, ...]]
    imports: tuple[str, ...] = ()

    def ancestors(self, address: str) -> tuple[str, ...]:
        """Return all direct and indirect dependencies of a block, sorted.

        Terraform's state lists these as `dependencies`.
        """
        return tuple(sorted(self._ancestors[address]))

    @cached_property
    def _ancestors(self) -> Mapping[str, frozenset[str]]:
        known: dict[str, frozenset[str]] = {}
        for address in self.order:
            direct = self.direct[address]
            known[address] = frozenset(direct).union(*(known[item] for item in direct))
        return known


def build_graph(program: Program) -> Graph:
    """Return the graph of a program, after checking every reference in it.

    Raises:
        OnlyTerraform: A name is not known here.
        UserError: A reference leads nowhere, or blocks depend on each other in a cycle. The message
            names all of them.
    """
    finder = _Finder(program)
    graph = finder.of_program()
    raise_any(list(finder.problems.values()))
    return replace(graph, order=_order_blocks(program, graph.direct))


def check_support(program: Program) -> None:
    """Refuse a program that only Terraform can run. Mistakes are reported at its evaluation.

    Every expression counts, whether or not its value is needed.

    Raises:
        OnlyTerraform: An expression uses a feature that this engine lacks, or an import block asks
            for generated configuration.
    """
    finder = _Finder(program, checks_calls=True)
    finder.of_program()
    for variable in program.variables.values():
        for rule in variable.validations:
            finder.of(f"var.{variable.name}", {"validation": [rule.condition, rule.error_message]})
    raise_any([item for item in finder.problems.values() if isinstance(item, OnlyTerraform)])
    for block in program.imports:
        target = block.to.partition("[")[0]
        # A resource with a mistake is not among the blocks either.
        if target.count(".") == 1 and target not in program.blocks and not program.unread:
            raise only_terraform_error(
                block.origin.where(target), "an import block whose resource is to be generated"
            )


def _check_calls(node: Node) -> None:
    """Refuse unknown functions anywhere in a node's tree."""
    if isinstance(node, Call):
        from opsconsole.language import functions  # most programs call none

        if not functions.is_known(node.name):
            raise functions.unknown_function_error(node.name)
    for child in node.children():
        _check_calls(child)


def named_resources(block: Block) -> frozenset[str]:
    """Return the resources that a block itself names, in `depends_on` or in an argument.

    As in core, resources reached through a local value are left out.
    """
    found = {block_address(item.steps) for item in references_in(block.expressions)}
    return frozenset(
        address
        for address in (*found, *block.depends_on)
        if address and address.split(".")[0] not in NEVER_BLOCKS and address[:5] != "data."
    )


class _Finder:
    """Finds the dependencies of values, looking through each local value and provider once.

    Attributes:
        problems: References that lead nowhere, each once; also calls of unknown functions, if
            those are checked.
    """

    def __init__(self, program: Program, *, checks_calls: bool = False) -> None:
        self.problems: dict[str, UserError] = {}
        self._checks_calls = checks_calls
        self._program = program
        self._locals: dict[str, tuple[str, ...]] = {}
        self._providers: dict[str, tuple[str, ...]] = {}
        self._remote_states: dict[str, tuple[str, ...] | None] = {}

    def of_program(self) -> Graph:
        """Return all dependencies in the program, without an order."""
        program = self._program
        direct = {address: self.of_block(block) for address, block in program.blocks.items()}
        outputs = {
            name: self.of(
                output.origin.title(f"output.{name}"), {"value": output.value}, output.depends_on
            )
            for name, output in program.outputs.items()
        }
        imports = dict.fromkeys(
            address
            for item in program.imports
            for address in self.of(item.title, {"": [item.id, item.for_each]})
        )
        # References in unused values may also lead nowhere.
        for name in program.locals:
            self.attempt(Reference(("local", name)), f"local.{name}")
        for block in program.remote_states.values():
            self.of_remote_state(block)
        for key in program.providers:
            self.of_provider(key)
        return Graph(direct, (), outputs, tuple(imports))

    def of_block(self, block: Block) -> tuple[str, ...]:
        """Return the dependencies of a block."""
        title = block.title
        found = dict.fromkeys(self.of(title, block.expressions))
        for text in block.lifecycle.replace_triggered_by:
            self._collect(text, title, "replace_triggered_by", found, _bare_references)
        named = (item for item in block.depends_on if item != block.address)
        found.update(dict.fromkeys(self.of(title, {}, named)))
        found.update(dict.fromkeys(self.of_provider(block.provider)))
        if block.address in found:
            self._note(
                UserError(
                    f"{title} refers to itself.", "Leave the reference out, or use a local value."
                )
            )
        return tuple(found)

    def of_remote_state(self, block: Block) -> tuple[str, ...] | None:
        """Return the dependencies of a `terraform_remote_state`; None while they are searched."""
        if block.address not in self._remote_states:
            self._remote_states[block.address] = None
            self._remote_states[block.address] = self.of_block(block)
        return self._remote_states[block.address]

    def _note(self, problem: UserError) -> None:
        self.problems.setdefault(str(problem), problem)

    def of(
        self, title: str, values: Mapping[str, Json], depends_on: Iterable[str] = ()
    ) -> tuple[str, ...]:
        """Return the dependencies of values, which have the names of their arguments or none."""
        found: dict[str, None] = {}
        for name, value in values.items():
            self._collect(value, title, name, found)
        for address in depends_on:
            reference = Reference(tuple(address.split(".")))
            targets = self.attempt(reference, f"{title}: depends_on")
            if reference.steps[0] not in NEVER_BLOCKS:
                found.update(dict.fromkeys(targets))
        return tuple(found)

    def of_provider(self, key: str) -> tuple[str, ...]:
        """Return the dependencies of a provider's settings."""
        if key not in self._providers:
            block = self._program.providers.get(key)
            if block is None and "." in key:
                self._note(
                    UserError(
                        f'There is no provider configuration "{key}".',
                        did_you_mean(key, self._program.providers),
                    )
                )
            self._providers[key] = (
                () if block is None else self.of(f"provider {key}", {"": dict(block.arguments)})
            )
        return self._providers[key]

    def of_local(self, name: str, user: str) -> tuple[str, ...]:
        """Return the dependencies of a local value."""
        known = self._locals.get(name)
        if known is not None:
            return known
        if name not in self._program.locals:
            raise UserError(
                f"{user}: there is no local value {name}.",
                did_you_mean(name, self._program.locals),
            )
        try:
            order = order_locals(name, self._program.locals, self._locals)
        except LocalCycle as cycle:
            # Keep an entry, so that the next reference to this value does not report the cycle
            # again.
            self._locals[name] = ()
            raise UserError(
                f"Local values refer to each other in a cycle: {cycle}.",
                "Take one of these references out.",
            ) from cycle
        for item in order:
            self._locals[item] = self.of(f"local.{item}", {"": self._program.locals[item]})
        return self._locals[name]

    def _collect(
        self,
        value: Json,
        title: str,
        name: str,
        found: dict[str, None],
        read: Callable[[Json], list[Reference]] = references_in,
    ) -> None:
        where = f"{title}: {name}" if name else title
        try:
            references = read(value)
            if self._checks_calls:
                for tree in trees_in(value):
                    _check_calls(tree)
        except (ExpressionFailure, RecursionError) as error:
            self._note(expression_error(title, name, value, error))
            return
        for reference in references:
            found.update(dict.fromkeys(self.attempt(reference, where)))

    def attempt(self, reference: Reference, where: str) -> tuple[str, ...]:
        """Return the blocks that a reference leads to. Add a problem if it leads nowhere."""
        try:
            return self._targets(reference, where)
        except UserError as problem:
            self._note(problem)
            return ()

    def _targets(self, reference: Reference, where: str) -> tuple[str, ...]:
        root = reference.steps[0]
        if is_foreign(reference):
            raise foreign_name_error(reference, where)
        if root in NEVER_BLOCKS and not reference.steps[1:]:
            raise UserError(
                f"{where}: {root} alone has no value.", f"Name a part of it, such as {root}.NAME."
            )
        named = block_address(reference.steps)
        # The declaration's own mistake is already reported.
        if named in self._program.unread:
            return ()
        if root == "local":
            return self.of_local(str(reference.steps[1]), where)
        if root == "var":
            name = str(reference.steps[1])
            if name not in self._program.variables:
                raise UserError(
                    f"{where}: there is no variable {name}.",
                    did_you_mean(name, self._program.variables),
                )
        if root in NEVER_BLOCKS:
            return ()
        written = reference.source_text()
        address = named or written
        remote_state = self._program.remote_states.get(address)
        if remote_state is not None:
            targets = self.of_remote_state(remote_state)
            if targets is None:
                raise UserError(f"{where}: {written} refers to itself.", "Take the reference out.")
            return targets
        if address not in self._program.blocks:
            is_state = reference.steps[:2] == ("data", REMOTE_STATE)
            known = self._program.remote_states if is_state else self._program.blocks
            raise UserError(
                f"{where} refers to {written}, but there is no {address}.",
                did_you_mean(address, known),
            )
        return (address,)


def _bare_references(text: str) -> list[Reference]:
    return list(parse_expression(text).references())


def _order_blocks(program: Program, direct: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    rank = {address: index for index, address in enumerate(program.blocks)}
    sorter = TopologicalSorter(direct)
    try:
        sorter.prepare()
    except CycleError as error:
        # The sorter puts each block of the cycle before one that depends on it.
        named = " → ".join(program.blocks[address].title for address in reversed(error.args[1]))
        raise UserError(
            f"These depend on each other in a cycle: {named}.", "Take one of these references out."
        ) from None
    # A heap of ranks, so that blocks that are ready together keep the order of reading.
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for address in sorter.get_ready():
            heapq.heappush(ready, (rank[address], address))
        order.append(heapq.heappop(ready)[1])
        sorter.done(order[-1])
    return tuple(order)
