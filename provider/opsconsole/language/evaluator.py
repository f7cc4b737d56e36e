"""Evaluates a program: instances, their configurations, provider settings and outputs.

One Evaluator serves one phase (a plan or an apply) and keeps the values that it has evaluated. It
asks the engine for the values of resources, address by address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from opsconsole.definition import Attribute, ProviderDefinition
from opsconsole.diagnostics import Path
from opsconsole.errors import UserError
from opsconsole.language.constraints import attribute_constraint
from opsconsole.language.conversion import convert, to_wire
from opsconsole.language.instances import (
    ImportTarget,
    Instance,
    Trigger,
    each_entries,
    each_names,
    instance_address,
    trigger,
)
from opsconsole.language.json_values import OnlyTerraform, evaluate_argument, raise_any, try_step
from opsconsole.language.model import BlockDefinition, Import
from opsconsole.language.name_resolver import NameResolver
from opsconsole.language.nodes import Reference, Scope
from opsconsole.language.values import (
    EPHEMERAL,
    SENSITIVE,
    STRING,
    Type,
    marked_paths,
    pack,
    type_to_json,
    unknown,
)
from opsconsole.text import did_you_mean, nearest
from opsconsole.values import UNKNOWN, Value, Values

Definition = BlockDefinition | ProviderDefinition


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluated configuration.

    Attributes:
        values: Every attribute of the definition: null if it is not declared, UNKNOWN if it is
            known only after apply.
        sensitive: Paths of sensitive values, in addition to those of the definition.
    """

    values: Values
    sensitive: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputValue:
    """An evaluated output.

    Attributes:
        value: A wire value; UNKNOWN, in whole or in part, if known only after apply.
        type: The type of the value.
        sensitive: Whether the output is declared sensitive.
    """

    name: str
    value: Value
    type: Type
    sensitive: bool
    description: str = ""

    @property
    def stored_type(self) -> Any:
        """The type in the form that states have, such as `["list", "string"]`."""
        return type_to_json(self.type)


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
        self._sensitive[instance.address] = configured.sensitive
        return configured

    def examine(self, instance: Instance, problems: list[UserError]) -> Evaluated:
        """Return the configuration of an instance, adding its problems to `problems`.

        An argument with a problem is unknown in the configuration.
        """
        block = instance.block
        scope = self.scope(instance.names)
        configured = self._evaluate_arguments(
            block.title, block.arguments, block.definition, scope, problems
        )
        lacking = [
            attribute.name
            for attribute in block.definition.attributes
            if attribute.required and configured.values[attribute.name] is None
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
        return configured

    def provider_config(self, key: str) -> Evaluated:
        """Return the settings of a provider block; without a block, no settings are set.

        Args:
            key: `opsconsole`, `opsconsole.alias`, or with `for_each` `opsconsole.alias["key"]`.

        Raises:
            UserError: As `config`.
        """
        name, bracket, index = key.partition('["')
        block = self.program.providers.get(name)
        if block is None:
            return Evaluated(self.program.settings.empty())
        title = block.origin.path or f"provider {key}"
        settings, scope = self.program.settings, self.scope()
        if bracket:
            entries = evaluate_argument(title, "for_each", block.for_each, scope, each_entries)
            entry = index.removesuffix('"]')
            scope = self.scope(each_names(entry, entries.get(entry, unknown())))
        problems: list[UserError] = []
        found = self._evaluate_arguments(
            title, block.arguments, settings, scope, problems, ephemeral=True
        )
        raise_any(problems)
        return found

    def outputs(self) -> dict[str, OutputValue]:
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
        """Evaluate a local value.

        Raises:
            UserError: The local value cannot be evaluated.
        """
        reference, scope = Reference(("local", name)), self.scope()
        scope.work.start()
        try_step(f"local.{name}", "", lambda _: scope.resolve(reference), self.program.locals[name])

    def output(self, name: str) -> OutputValue:
        """Return one output; raises as `outputs`."""
        output = self.program.outputs[name]
        title = output.origin.title(f"output.{name}")
        scope = self.scope()
        value = evaluate_argument(title, "value", output.value, scope)
        data, marks = value.unmark_deep()
        if EPHEMERAL in marks:
            raise UserError(f"{title}: its value is ephemeral.", "Declare the output `ephemeral`.")
        if SENSITIVE in marks and not output.sensitive:
            raise UserError(f"{title}: its value is sensitive.", "Declare the output `sensitive`.")
        return OutputValue(name, to_wire(data), value.type, output.sensitive, output.description)

    def imports(self) -> list[ImportTarget]:
        """Return the import targets of all `import` blocks, one per instance.

        Raises:
            UserError: An id is null, empty or not known yet, or `to` names no instance.
        """
        return [target for block in self.program.imports for target in self.targets_of(block)]

    def targets_of(self, block: Import) -> list[ImportTarget]:
        """Return the targets of one `import` block; raises as `imports`."""
        scope = self.scope()
        if not block.repeated:
            return [self._import(block, scope)]
        entries = evaluate_argument(block.title, "for_each", block.for_each, scope, each_entries)
        scopes = (self.scope(each_names(key, value)) for key, value in entries.items())
        return [self._import(block, scope) for scope in scopes]

    def _import(self, block: Import, scope: Scope) -> ImportTarget:
        title = block.title
        target = try_step(title, "to", instance_address, block.to, scope)
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
        return ImportTarget(target, identifier, block.provider, title)

    def triggers(self, instance: Instance) -> tuple[Trigger, ...]:
        """Return the objects that `replace_triggered_by` of an instance's block names.

        Raises:
            UserError: A reference cannot be evaluated, or names no resource.
        """
        scope = self.scope(instance.names)
        return tuple(
            try_step(instance.block.title, "replace_triggered_by", trigger, text, scope)
            for text in instance.block.lifecycle.replace_triggered_by
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
        sensitive: list[Path] = []
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
                sensitive.extend(marked_paths(pack(value), SENSITIVE, (name,)))
                data, marks = value.unmark_deep()
                if EPHEMERAL in marks and not ephemeral:
                    problems.append(
                        UserError(
                            f"{title}: {name}: an ephemeral value cannot be kept in state.",
                            "Use it in provider settings only.",
                        )
                    )
                data = to_wire(data)
            values[name] = data
        return Evaluated(values, tuple(sensitive))


def _argument_error(
    title: str, name: str, attribute: Attribute | None, definition: Definition
) -> UserError:
    if attribute is not None:
        return UserError(f"{title}: {name} is read only.", "Leave it out: the console supplies it.")
    settable = [item.name for item in definition.attributes if item.settable]
    return UserError(f'{title}: there is no argument "{name}".', did_you_mean(name, settable))
