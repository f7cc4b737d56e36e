"""Decides from a program's text alone, before any other step, whether it can be run here.

`reading` refuses unsupported blocks. This module checks the expressions: it parses every expression
and looks up every function called, whether or not the value is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.json_values import (
    OnlyTerraform,
    expression_error,
    only_terraform_error,
    templates_in,
)
from opsconsole.language.model import Json, Program
from opsconsole.language.nodes import Call, Node, Reference
from opsconsole.language.parser import parse_template

SETTINGS: Final = {"path": ("module", "root", "cwd"), "terraform": ("workspace",)}
"""The properties of the running engine that expressions may use, by the root of their names."""

ROOTS: Final = frozenset(("var", "local", "each", "count", "self", "data", *SETTINGS))
"""The first parts of names that do not refer to resources."""


def is_foreign(reference: Reference) -> bool:
    """Return whether a reference has no meaning here, but may have one in Terraform or OpenTofu.

    Examples are `module.m`, `ephemeral.x_y.z`, `tofu.workspace` and `terraform.applying`.
    """
    root, *rest = map(str, reference.steps)
    if not rest:
        return False
    if root in SETTINGS:
        return rest[0] not in SETTINGS[root]
    # A resource type always contains an underscore.
    return root not in ROOTS and "_" not in root


def foreign_name_error(reference: Reference, where: str) -> OnlyTerraform:
    """Return the error about a foreign reference at `where`."""
    named = f"{where}: the name {reference.source_text()}"
    return OnlyTerraform(f"{named} is not known to the native engine.", named)


def check_support(program: Program) -> None:
    """Refuse a program that only Terraform can run. Mistakes are reported at its evaluation.

    Raises:
        OnlyTerraform: An expression uses a feature that this engine lacks, or an import block asks
            for generated configuration.
    """
    for title, name, value in _values(program):
        try:
            for text in templates_in(value):
                _check(parse_template(text))
        except (UnsupportedExpression, RecursionError) as error:
            raise expression_error(title, name, value, error) from error
        except EvaluationError:
            # Evaluation reports this mistake; only constructs that need Terraform are reported
            # here.
            continue
    for block in program.imports:
        target = block.to.partition("[")[0]
        # A resource with a mistake is not among the blocks either.
        if target.count(".") == 1 and target not in program.blocks and not program.unread:
            raise only_terraform_error(
                "an import block whose resource is to be generated", block.origin, target
            )


def _values(program: Program) -> Iterator[tuple[str, str, Json]]:
    for block in program.blocks.values():
        for name, value in block.expressions.items():
            yield block.title, name, value
    for name, value in program.locals.items():
        yield f"local.{name}", "", value
    for provider in program.providers.values():
        yield f"provider {provider.key}", "", dict(provider.arguments)
    for output in program.outputs.values():
        yield output.origin.path or f"output.{output.name}", "value", output.value
    for item in program.imports:
        yield item.origin.path or f"import of {item.to}", "", [item.id, item.for_each]
    for variable in program.variables.values():
        for rule in variable.validations:
            yield f"var.{variable.name}", "validation", [rule.condition, rule.error_message]


def _check(node: Node) -> None:
    """Refuse unknown functions and references anywhere in a node's tree."""
    for reference in node.references():
        if is_foreign(reference):
            raise UnsupportedExpression(f"the name {reference.source_text()}")
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Call):
            from opsconsole.language import functions  # most programs call none

            if not functions.is_known(current.name):
                raise functions.unknown_function_error(current.name)
        waiting.extend(current.children())
