"""Evaluates a program, and finds all mistakes in it before any request to a console.

One Evaluator serves one phase (a plan or an apply) and keeps the values that it has evaluated. It
asks the engine for the values of resources, address by address.

Mistakes are references that lead nowhere, unknown or missing arguments, values that cannot be
evaluated, and exceeded bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from opsconsole.definition import Attribute, ProviderDefinition, ResourceDefinition
from opsconsole.diagnostics import AttributePath, Diagnostic, diagnostics_of
from opsconsole.errors import UserError
from opsconsole.language.constraints import attribute_constraint
from opsconsole.language.conversion import convert, to_wire
from opsconsole.language.failures import (
    EvaluationError,
    ExpressionFailure,
    NotKnownYet,
    OnlyTerraform,
    raise_any,
    try_step,
)
from opsconsole.language.graph import find_references, is_literal
from opsconsole.language.json_body import find_lines, read_text
from opsconsole.language.model import Block, BlockDefinition, Import, Program, location_in
from opsconsole.language.name_resolver import (
    Instance,
    NameResolver,
    each_entries,
    each_names,
    evaluate_argument,
)
from opsconsole.language.nodes import GetAttribute, Index, Node, Quoted, Reference, Scope
from opsconsole.language.parser import parse_expression
from opsconsole.language.values import (
    EPHEMERAL,
    SENSITIVE,
    STRING,
    pack,
    sensitive_paths,
    type_to_json,
)
from opsconsole.state import Address, InstanceKey, StateOutput
from opsconsole.text import did_you_mean, nearest
from opsconsole.values import UNKNOWN, Values

Definition = BlockDefinition | ProviderDefinition


@dataclass(frozen=True)
class Evaluated:
    """An evaluated configuration.

    Attributes:
        values: Every attribute of the definition: null if it is not declared, UNKNOWN if it is
            known only after apply.
        sensitive_paths: Paths of sensitive values, in addition to the definition's own.
    """

    definition: Definition
    values: Values
    sensitive_paths: tuple[AttributePath, ...] = ()

    @cached_property
    def declaration_problems(self) -> Sequence[Diagnostic]:
        """The problems of the declaration of a resource, by its definition."""
        if not isinstance(self.definition, ResourceDefinition):
            return ()
        return self.definition.problems(self.values)


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The target of one `import` block, or of one entry of the block's `for_each`.

    `provider_key` is the key of the provider block to use; empty for the resource's own provider.
    """

    address: Address
    id: str
    provider_key: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """The object that an entry of `replace_triggered_by` names.

    Attributes:
        address: Full address of the instance; None for any instance of the block.
        path: The attribute's path; empty for any change of the instance.
    """

    block: str
    address: str | None
    path: AttributePath


_LATER: Final = "(known when the plan is made)"
"""The placeholder for an import id during the search for mistakes."""


class Evaluator(NameResolver):
    """Evaluates the configurations and outputs of one program for one phase."""

    def config(self, instance: Instance) -> Evaluated:
        """Return the configuration of an instance.

        Raises:
            UserError: The configuration names an attribute that does not exist, lacks a required
                one, or has an expression that cannot be evaluated.
        """
        problems: list[UserError] = []
        configured = self.examine(instance, problems)
        raise_any(problems)
        self.mark(instance.address, configured.sensitive_paths)
        return configured

    def examine(self, instance: Instance, problems: list[UserError]) -> Evaluated:
        """Return the configuration of an instance, adding its problems to `problems`.

        An argument with a problem is unknown in the configuration.
        """
        block = instance.block
        literals: dict[str, Evaluated] = self.program.literals
        if (literal := literals.get(block.address)) is not None:
            return literal
        scope = self.scope(instance.names)
        configured = self._evaluate_arguments(
            block.title, block.arguments, block.definition, scope, problems
        )
        lacking = [
            attribute.name
            for attribute in block.definition.required
            if configured.values[attribute.name] is None
        ]
        if lacking:
            # Report a misspelt argument only once.
            misnamed = [name for name in block.arguments if name not in block.definition.by_name]
            misspelt = {nearest(name, block.definition.names) for name in misnamed}
            problems += (
                UserError(f"{block.title}: {name} is required.", "Declare it, and not as null.")
                for name in lacking
                if name not in misspelt
            )
        if not problems and all(map(is_literal, block.arguments.values())):
            literals[block.address] = configured
        return configured

    def provider_config(self, key: str) -> Evaluated:
        """Return the settings of a provider block.

        Without a block, the configuration without an alias sets nothing.

        Args:
            key: `opsconsole`, `opsconsole.alias`, or with `for_each` `opsconsole.alias["key"]`.

        Raises:
            UserError: As `config`, or the program does not declare the alias.
        """
        name, bracket, index = key.partition('["')
        block = self.program.providers.get(name)
        if block is None:
            # The environment's settings may name another console than the one with its objects.
            if "." in name:
                raise self._undeclared_error(key)
            return Evaluated(self.program.settings, self.program.settings.empty())
        title = block.origin.title(f"provider {key}")
        settings, scope = self.program.settings, self.scope()
        if bracket:
            entries = evaluate_argument(title, "for_each", block.for_each, scope, each_entries)
            entry = index.removesuffix('"]')
            if entry not in entries:
                raise self._undeclared_error(key)
            scope = self.scope(each_names(entry, entries[entry]))
        problems: list[UserError] = []
        configured = self._evaluate_arguments(
            title, block.arguments, settings, scope, problems, ephemeral=True
        )
        raise_any(problems)
        return configured

    def _undeclared_error(self, key: str) -> UserError:
        owner = f"Stack {self.program.stack}" if self.program.stack else "The program"
        return UserError(
            f"{owner} has no provider configuration {key}.",
            "Declare it until no object in state uses it, or correct the name.",
        )

    def outputs(self) -> dict[str, StateOutput]:
        """Return the outputs by name. Also evaluate every local value, even if it is unused.

        Raises:
            UserError: A value cannot be evaluated, or an output holds a sensitive value without
                being declared sensitive.
        """
        # Terraform evaluates unused local values too, and reports their errors.
        for name in self.program.locals:
            self.check_local(name)
        return {name: self.output(name) for name in self.program.outputs}

    def check_local(self, name: str) -> None:
        """Evaluate a local value; UserError if that fails."""
        reference, scope = Reference(("local", name)), self.scope()
        scope.work.parts = 0
        try_step(f"local.{name}", "", lambda _: scope.resolve(reference), self.program.locals[name])

    def output(self, name: str) -> StateOutput:
        """Return one output, which may be unknown in part; raises as `outputs` does."""
        output = self.program.outputs[name]
        title = output.origin.title(f"output.{name}")
        scope = self.scope()
        value = evaluate_argument(title, "value", output.value, scope)
        data, marks = value.unmark_deep()
        if EPHEMERAL in marks:
            raise UserError(f"{title}: its value is ephemeral.", "Declare the output `ephemeral`.")
        if SENSITIVE in marks and not output.sensitive:
            raise UserError(f"{title}: its value is sensitive.", "Declare the output `sensitive`.")
        return StateOutput(to_wire(data), type_to_json(value.type), output.sensitive)

    def imports(self) -> list[ImportTarget]:
        """Return the import targets of all `import` blocks, one per instance.

        Raises:
            UserError: An id is null, empty or not known yet, or `to` names no instance.
        """
        return [target for block in self.program.imports for target in self.targets_of(block)]

    def targets_of(self, block: Import) -> list[ImportTarget]:
        """Return the targets of one `import` block; raises as `imports` does."""
        scope = self.scope()
        if not block.repeated:
            return [self._import(block, scope)]
        entries = evaluate_argument(block.title, "for_each", block.for_each, scope, each_entries)
        scopes = (self.scope(each_names(key, value)) for key, value in entries.items())
        return [self._import(block, scope) for scope in scopes]

    def _import(self, block: Import, scope: Scope) -> ImportTarget:
        title = block.title
        target = try_step(title, "to", parse_instance, block.to, scope)
        if target.module:
            raise OnlyTerraform(f"{title}: it names a module.", f"{title}: a module")
        to_text = partial(convert, wanted=STRING)
        identifier, marks = evaluate_argument(title, "id", block.id, scope, to_text).unmark_deep()
        if identifier is UNKNOWN and self._checking:
            identifier = _LATER
        if not isinstance(identifier, str) or not identifier or marks:
            raise UserError(
                f"{title}: the id must be a known text that is neither empty nor sensitive.",
                "Write it out.",
            )
        return ImportTarget(target, identifier, block.provider_key)

    def triggers(self, instance: Instance) -> tuple[Trigger, ...]:
        """Return the objects that `replace_triggered_by` of an instance's block names."""
        scope = self.scope(instance.names)
        return tuple(
            try_step(instance.block.title, "replace_triggered_by", parse_trigger, text, scope)
            for text in instance.block.lifecycle_block.replace_triggered_by
        )

    def _evaluate_arguments(
        self,
        title: str,
        arguments: Mapping[str, Any],
        definition: Definition,
        scope: Scope,
        problems: list[UserError],
        *,
        ephemeral: bool = False,
    ) -> Evaluated:
        values: Values = definition.empty()
        sensitive: list[AttributePath] = []
        for name, raw in arguments.items():
            attribute = definition.by_name.get(name)
            if attribute is None or not attribute.settable:
                problems.append(_argument_error(title, name, attribute, definition))
                continue
            try:
                value = evaluate_argument(
                    title, name, raw, scope, attribute_constraint(attribute).apply
                )
            except UserError as problem:
                problems.append(problem)
                # With null instead, a required argument would also be reported as missing.
                values[name] = UNKNOWN
                continue
            data = value.data
            # A string without marks is a wire value already.
            if value.marks or type(data) is not str:
                data, marks = value.unmark_deep()
                if SENSITIVE in marks:
                    sensitive.extend(sensitive_paths(pack(value), (name,)))
                if EPHEMERAL in marks and not ephemeral:
                    problems.append(
                        UserError(
                            f"{title}: {name}: an ephemeral value cannot be kept in state.",
                            "Use it in provider settings only.",
                        )
                    )
                data = to_wire(data)
            values[name] = data
        return Evaluated(definition, values, tuple(sensitive))


def _argument_error(
    title: str, name: str, attribute: Attribute | None, definition: Definition
) -> UserError:
    if attribute is not None:
        return UserError(f"{title}: {name} is read only.", "Leave it out: the console supplies it.")
    settable = [item.name for item in definition.attributes if item.settable]
    return UserError(f'{title}: there is no argument "{name}".', did_you_mean(name, settable))


def parse_instance(text: str, scope: Scope) -> Address:
    """Parse an instance's address, evaluating an index in it."""
    address, rest = _split(_steps(parse_expression(text), scope))
    if rest:
        raise EvaluationError(f"{text} names more than an instance")
    return address


def parse_trigger(text: str, scope: Scope) -> Trigger:
    """Parse an entry of `replace_triggered_by`."""
    address, rest = _split(_steps(parse_expression(text), scope))
    if address.mode == "data" or address.type in ("var", "local", "each", "count"):
        raise EvaluationError(f"{text} names no resource")
    return Trigger(address.config, None if address.key is None else str(address), rest)


def _steps(node: Node, scope: Scope) -> tuple[Any, ...]:
    if isinstance(node, Reference):
        return node.steps
    if isinstance(node, GetAttribute):
        return (*_steps(node.source, scope), node.name)
    if isinstance(node, Index):
        key = node.key.evaluate(scope).data
        # In Python, a bool is an int.
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise EvaluationError("an index must be a known text or a whole number")
        return (*_steps(node.source, scope), Quoted(key) if isinstance(key, str) else key)
    raise EvaluationError("an address is required")


def _split(steps: tuple[Any, ...]) -> tuple[Address, AttributePath]:
    """Split steps into an instance's address and the path of an attribute."""
    own = 3 if steps and steps[0] == "data" else 2
    names = steps[:own]
    if len(names) < own or not all(isinstance(name, str) for name in names):
        raise EvaluationError("an address is required")
    if names[0] == "module":
        # Callers refuse every address in a module.
        return Address(names[1], names[1], module=f"module.{names[1]}"), ()
    rest = steps[own:]
    key: InstanceKey = None
    if rest and isinstance(rest[0], int | Quoted):
        key = str(rest[0]) if isinstance(rest[0], Quoted) else rest[0]
        rest = rest[1:]
    mode = "data" if own == 3 else "managed"
    return Address(names[-2], names[-1], key, mode=mode), tuple(rest)


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
    return list(search.mistakes.values())


class _Search:
    """One search for mistakes.

    `mistakes` are by cause, because one local value may affect many blocks.
    """

    def __init__(
        self, evaluator: Evaluator, present: Callable[[], Container[str]] | None, folder: Path
    ) -> None:
        self.mistakes: dict[object, Diagnostic] = {}
        self._evaluator = evaluator
        self._present = present
        self._folder = folder
        self._imported: set[str] = set()
        self._lines: dict[str, Mapping[tuple[str, ...], int]] = {}

    def run(self) -> None:
        evaluator = self._evaluator
        program = evaluator.program
        for problem, owner in find_references(program).problems.values():
            self._add(problem, owner)
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
        """Add a problem. If its cause is known already, only add the address to that mistake."""
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
            item = replace(item.about(block.address), location=self._location_of(block))
        known = self.mistakes.setdefault(key, item)
        addresses = dict.fromkeys((*known.addresses, *item.addresses))
        self.mistakes[key] = replace(known, addresses=tuple(addresses))

    def _location_of(self, block: Block) -> str:
        """Return `FILE:LINE` of a block: in the app, or in a file that no app wrote."""
        file = block.origin.file
        # An app writes its file again, so a line of it is no place to correct the program.
        if block.origin.path or block.origin.trace:
            return block.origin.location(self._folder)
        if file not in self._lines:
            try:
                self._lines[file] = find_lines(read_text(Path(file)))
            except (UserError, ValueError, IndexError):
                # The file is gone or has changed. A saved plan has its files in the plan.
                self._lines[file] = {}
        mode = "data" if block.mode == "data" else "resource"
        line = self._lines[file].get((mode, block.type_name, block.name))
        return location_in(self._folder, file, line) if line else ""

    def _note_targets(self, block: Import) -> None:
        # The instances that the block names may be known only when the plan is made.
        self._imported.add(block.to.partition("[")[0])
        self._imported.update(str(item.address) for item in self._evaluator.targets_of(block))

    def _check_block(self, block: Block) -> None:
        for instance in self._evaluator.instances(block).values():
            problems: list[UserError] = []
            configured = self._evaluator.examine(instance, problems)
            for problem in problems:
                self._add(problem, block)
            for item in self._find_in_declaration(instance, configured):
                self._note(replace(item, summary=f"{block.title}: {item.summary}"), block)

    def _find_in_declaration(
        self, instance: Instance, configured: Evaluated
    ) -> Iterable[Diagnostic]:
        """Yield the problems of a declaration, according to the definition of its resource."""
        block = instance.block
        definition = block.definition
        if not isinstance(definition, ResourceDefinition):
            return
        yield from configured.declaration_problems
        lacking = definition.find_undeclared(configured.values)
        if not lacking or not self._imported.isdisjoint((block.address, instance.address)):
            return
        if self._present is None:
            yield from (item for item in lacking if item.path[0] not in block.arguments)
        elif instance.address not in self._known_addresses:
            yield from lacking

    @cached_property
    def _known_addresses(self) -> Container[str]:
        return self._present() if self._present is not None else ()
