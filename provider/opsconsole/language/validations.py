"""What the program demands of its variables: the `validation` blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language.conversion import convert
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.explaining import evaluated, guarded
from opsconsole.language.marks import unmark_deep
from opsconsole.language.model import Program, Validation, Variable
from opsconsole.language.scopes import ProgramScope
from opsconsole.language.templated import references_in
from opsconsole.language.unsupported import refused
from opsconsole.language.value_types import BOOL, STRING

_KNOWN_BEFORE: Final = ("var", "path", "terraform")
"""What is known before anything is read, so that a rule may refer to it."""


def check_variables(program: Program, values: Mapping[str, Any]) -> None:
    """Check the values of all variables.

    Raises:
        UserError: A rule is broken, cannot be evaluated, or refers to what the native engine does
            not know this early.
    """
    if not any(variable.validations for variable in program.variables.values()):
        return
    scope = Evaluator(program, values, lambda address: None).scope()
    broken = [
        f"The value of the variable {variable.name} is not valid: {message}"
        for variable in program.variables.values()
        for rule in variable.validations
        if (message := _broken(variable, rule, scope))
    ]
    if broken:
        raise UserError("\n".join(broken), "The program's validation rules say so.")


def _broken(variable: Variable, rule: Validation, scope: ProgramScope) -> str:
    """Return what the rule says if the variable breaks it."""
    title = f"{variable.origin.path or variable.origin.file} (var.{variable.name})"
    references = guarded(title, "validation", lambda raw: [*references_in(raw)], rule.condition)
    if not any(item.steps[:2] == ("var", variable.name) for item in references):
        raise UserError(
            f"{title}: the condition of its validation does not refer to var.{variable.name}.",
            "Write a condition on the variable.",
        )
    for reference in references:
        if reference.steps[0] not in _KNOWN_BEFORE:
            what = f"a validation that refers to {reference.written()}"
            raise refused(what, variable.origin, f"var.{variable.name}")
    condition, _ = unmark_deep(evaluated(title, "validation", rule.condition, scope))
    if guarded(title, "validation", convert, condition, BOOL) is True:
        return ""
    if condition is None:
        raise UserError(f"{title}: the condition of its validation is null.", "Write a condition.")
    message, secret = unmark_deep(evaluated(title, "error_message", rule.error_message, scope))
    if secret:
        return "a validation rule is broken, whose message holds a sensitive value."
    return str(guarded(title, "error_message", convert, message, STRING))
