"""Whether a program can be run here at all, decided from its text alone, before anything is done.

What reading refuses is refused there. Here are the expressions: every one is parsed, and every
function that it calls is looked up, whether its value is needed or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.json_values import (
    OnlyTerraform,
    explanation,
    nested_too_deeply,
    only_terraform,
    templates_in,
)
from opsconsole.language.model import Json, Program
from opsconsole.language.nodes import Call
from opsconsole.language.parser import parse_template
from opsconsole.language.syntax import Node, Reference

SETTINGS: Final = {"path": ("module", "root", "cwd"), "terraform": ("workspace",)}
"""What can be asked of the running engine, by the root of its names."""

ROOTS: Final = frozenset(("var", "local", "each", "count", "self", "data", *SETTINGS))
"""Names that a reference to no resource begins with."""


def is_foreign(reference: Reference) -> bool:
    """Return whether a reference may mean something to Terraform or OpenTofu, and does not here.

    Such are `module.m`, `ephemeral.x_y.z`, `tofu.workspace` and `terraform.applying`.
    """
    root, *rest = map(str, reference.steps)
    if not rest:
        return False
    if root in SETTINGS:
        return rest[0] not in SETTINGS[root]
    # The type of a resource always has an underscore.
    return root not in ROOTS and "_" not in root


def foreign_name(reference: Reference, where: str) -> OnlyTerraform:
    """Return the error about a foreign reference at `where`."""
    named = f"{where}: the name {reference.source_text()}"
    return OnlyTerraform(f"{named} is not known to the native engine.", named)


def check_support(program: Program) -> None:
    """Refuse a program that only Terraform can run; its evaluation reports mistakes.

    Raises:
        OnlyTerraform: An expression uses what this engine does not have, or an import block asks
            for configuration to be generated.
    """
    for title, name, value in _values(program):
        try:
            for text in templates_in(value):
                _check(parse_template(text))
        except UnsupportedExpression as error:
            raise explanation(title, name, value, error) from error
        except EvaluationError:
            # A mistake, which evaluation reports; here only what needs Terraform is reported.
            continue
        except RecursionError as error:
            raise nested_too_deeply(title, name) from error
    for block in program.imports:
        target = block.to.partition("[")[0]
        if target.count(".") == 1 and target not in program.blocks:
            raise only_terraform(
                "an import block whose resource is to be generated", block.origin, target
            )


def _values(program: Program) -> Iterator[tuple[str, str, Json]]:
    for block in program.blocks.values():
        yield block.title, "", dict(block.arguments)
        yield block.title, "count", block.count
        yield block.title, "for_each", block.for_each
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
    """Refuse functions and references that are not known here, anywhere below a node."""
    for reference in node.references():
        if is_foreign(reference):
            raise UnsupportedExpression(f"the name {reference.source_text()}")
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Call):
            from opsconsole.language import functions  # most programs call none

            if not functions.is_known(current.name):
                raise functions.unknown_function(current.name)
        waiting.extend(current.children())
