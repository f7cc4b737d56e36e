"""Values of input variables, from all of Terraform's sources in its order, and their validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from opsconsole.diagnostics import Diagnostic, diagnostics_of, warning
from opsconsole.errors import UserError
from opsconsole.language.constraints import LITERALS
from opsconsole.language.conversion import convert, to_wire
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.failures import (
    MAX_FILE,
    EvaluationError,
    ExpressionFailure,
    OnlyTerraform,
    UnsupportedExpression,
    expression_error,
    only_terraform_error,
    raise_any,
    try_step,
)
from opsconsole.language.graph import references_in
from opsconsole.language.json_body import COMMENT, read_json, read_text, replace_surrogates
from opsconsole.language.model import Program, Validation, Variable
from opsconsole.language.name_resolver import evaluate_argument
from opsconsole.language.nodes import Scope
from opsconsole.language.parser import parse_arguments, parse_expression
from opsconsole.language.values import (
    BOOL,
    EPHEMERAL,
    SENSITIVE,
    STRING,
    DuplicateKeys,
    from_python,
    unknown,
)
from opsconsole.text import did_you_mean
from opsconsole.values import UNKNOWN, Unknown

PREFIX: Final = "TF_VAR_"
_DEFAULT: Final = "its default"
_UNDECLARED_SHOWN: Final = 2
"""The number of undeclared variables that are named; Terraform counts the others."""


class _Text(str):
    """A value that is to be parsed by the type of its variable."""

    __slots__ = ()


def resolve_variables(
    program: Program,
    *,
    directory: Path,
    environment: Mapping[str, str],
    arguments: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Return the value of every variable; sensitive and ephemeral ones are marked.

    Later sources take precedence over earlier ones: environment, terraform.tfvars,
    terraform.tfvars.json, `*.auto.tfvars` and `*.auto.tfvars.json` by name, then `arguments` in
    their order. Values in files for undeclared variables are noted in the program.

    Args:
        directory: The directory of the tfvars files.
        environment: The process environment, of which `TF_VAR_name` is used.
        arguments: Pairs `("var", "name=value")` and `("var-file", "path")`, as on the command line.

    Raises:
        UserError: A variable without default has no value, a value does not fit its type or breaks
            a validation rule, or the command line sets a variable that does not exist.
    """
    given: dict[str, tuple[Any, str]] = {
        name: (_Text(environment[PREFIX + name]), PREFIX + name)
        for name in program.variables
        if PREFIX + name in environment
    }
    plain = [directory / "terraform.tfvars", directory / "terraform.tfvars.json"]
    automatic = [*directory.glob("*.auto.tfvars"), *directory.glob("*.auto.tfvars.json")]
    files = [*(path for path in plain if path.exists()), *sorted(automatic)]
    for kind, text in [*(("var-file", str(path)) for path in files), *arguments]:
        if kind == "var-file":
            read = read_values(Path(text))
            given.update({name: (value, text) for name, value in read.items()})
            undeclared = (name for name in read if name not in program.variables)
            program.undeclared.update(dict.fromkeys(undeclared, text))
            continue
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not name:
            raise UserError(
                f"--var {text}: a name and a value are required.", "Write --var NAME=VALUE."
            )
        if name not in program.variables:
            raise UserError(
                f"--var {name}: the program has no variable {name}.",
                did_you_mean(name, program.variables) if program.variables else "It has none.",
            )
        given[name] = _Text(value), f"--var {name}"
    values: dict[str, Any] = {}
    problems: list[UserError] = []
    for name, variable in program.variables.items():
        try:
            values[name] = _value(variable, given.get(name))
        except UserError as problem:
            problems.append(problem)
    raise_any(problems)
    check_variables(program, values)
    return values


def undeclared_warnings(program: Program) -> Iterator[Diagnostic]:
    """Yield Terraform's warnings of values in files for variables that are not declared."""
    for name, file in list(program.undeclared.items())[:_UNDECLARED_SHOWN]:
        yield warning(
            "Value for undeclared variable",
            f'{file} has a value for "{name}", and the program declares no variable of that name. '
            f"Declare it, or leave the value out. Several programs can share {PREFIX}{name} in the "
            "environment.",
        )
    more = len(program.undeclared) - _UNDECLARED_SHOWN
    if more > 0:
        yield warning(
            "Values for undeclared variables",
            f"Files have values for {more} more.",
        )


def example_values(program: Program) -> dict[str, Any]:
    """Return the variables' default values; UNKNOWN for a variable that must be set."""
    values = {}
    for variable in program.variables.values():
        values[variable.name] = unknown(variable.constraint.type)
        if variable.optional:
            with suppress(ExpressionFailure):
                values[variable.name] = variable.constraint.apply(from_python(variable.default))
    return values


def lasting_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a saved plan may keep, as JSON: known, non-ephemeral values."""
    plain = {name: value.unmark_deep() for name, value in values.items()}
    return {
        name: to_wire(value)
        for name, (value, marks) in plain.items()
        if EPHEMERAL not in marks and value is not UNKNOWN
    }


def read_values(path: Path) -> dict[str, Any]:
    """Return the values in a file of variables, `.tfvars` or JSON, by name.

    Raises:
        UserError: The file cannot be read, a value is not a literal, or a name is declared twice.
    """
    if path.suffix != ".json":
        return _read_tfvars(path)
    document = read_json(path)
    if not isinstance(document, dict):
        raise UserError(f"{path}: an object of values by name is required.")
    if isinstance(document, DuplicateKeys):
        raise UserError(f"{path}: {document.repeated_name} is declared twice.")
    return {name: value for name, value in document.items() if name != COMMENT}


def read_backend_options(options: Iterable[str]) -> dict[str, Any]:
    """Return the settings of `--backend-config`; each option is NAME=VALUE, or a file of values.

    Raises:
        UserError: An option is neither, or a file cannot be read.
    """
    settings: dict[str, Any] = {}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign and not Path(option).exists():
            raise UserError(
                f"--backend-config={option} is neither NAME=VALUE nor a file of settings.",
                "Check the path.",
            )
        if sign:
            settings[name.strip()] = value
        else:
            for key, item in read_values(Path(option)).items():
                literal = try_step(f"{option}: {key}", "", from_python, item)
                settings[key] = to_wire(literal.unmark_deep()[0])
    return settings


def _read_tfvars(path: Path) -> dict[str, Any]:
    """Read literal values, `name = value`, in Terraform's native syntax."""
    values: dict[str, Any] = {}
    try:
        for name, node in parse_arguments(read_text(path, MAX_FILE)):
            if name in values:
                raise UserError(f"{path}: {name} is declared twice.")
            values[name] = node.evaluate(LITERALS)
    except ExpressionFailure as problem:
        raise UserError(
            f"{path}: {problem}.", "Write one `name = value` a line; values must be written out."
        ) from problem
    return values


def _value(variable: Variable, given: tuple[Any, str] | None) -> Any:
    if given is None and not variable.optional:
        # cdktf and cdktn look for these two phrases.
        raise UserError(
            "No value for required variable\n\n"
            f'The root module input variable "{variable.name}" is not set, and has no default '
            "value.",
            f"Give one: --var {variable.name}=VALUE, {PREFIX}{variable.name} in the environment, "
            "or a terraform.tfvars file.",
        )
    value, source = given or (variable.default, _DEFAULT)
    if isinstance(value, _Text):
        # A byte that is not UTF-8 is a lone surrogate in Python.
        value = replace_surrogates(value)
        # Values of collection types are written as expressions.
        if not variable.textual:
            try:
                value = parse_expression(value).evaluate(LITERALS)
            except ExpressionFailure as problem:
                raise UserError(
                    f"The variable {variable.name} ({source}): {problem}.",
                    'Write a value of its type, such as ["a", "b"] or {a = "b"}.',
                ) from problem
    return _convert_to_variable(variable, value, source)


def _convert_to_variable(variable: Variable, value: Any, source: str) -> Any:
    title = f"The variable {variable.name} ({source})"
    try:
        fitted = variable.constraint.apply(from_python(value))
        # As in Terraform, null stands for the default if the variable does not allow null.
        if fitted.is_null and not variable.nullable and variable.optional:
            fitted = variable.constraint.apply(from_python(variable.default))
    except EvaluationError as problem:
        raise UserError(f"{title} does not fit its type: {problem}.") from problem
    except UnsupportedExpression as problem:
        raise expression_error(title, "", "its value", problem) from problem
    if fitted.is_null and not variable.nullable:
        raise UserError(f"{title} must not be null.", "Give a value.")
    marks = {SENSITIVE: variable.sensitive, EPHEMERAL: variable.ephemeral}
    return fitted.mark(frozenset(name for name, wanted in marks.items() if wanted))


_KNOWN_BEFORE: Final = ("var", "path", "terraform")
"""The names that are known before anything is read, to which a rule may refer."""


def find_variable_mistakes(program: Program) -> Iterator[Diagnostic]:
    """Yield the mistakes in defaults and in validation rules, which need no values.

    Raises:
        OnlyTerraform: Only Terraform or OpenTofu can say whether a rule is correct.
    """
    unset = {
        name: unknown(variable.constraint.type) for name, variable in program.variables.items()
    }
    scope = Evaluator(program, unset, lambda address: None, checking=True).scope()
    for variable in program.variables.values():
        try:
            if variable.optional:
                _convert_to_variable(variable, variable.default, _DEFAULT)
            for rule in variable.validations:
                _evaluate_condition(variable, rule, scope)
        except OnlyTerraform as refusal:
            refusal.program = program
            raise
        except UserError as problem:
            yield from diagnostics_of(problem)


def check_variables(program: Program, values: Mapping[str, Any]) -> None:
    """Check the values of all variables.

    Raises:
        UserError: A rule is broken, cannot be evaluated, or refers to a value that this engine does
            not know this early.
    """
    if not any(variable.validations for variable in program.variables.values()):
        return
    scope = Evaluator(program, values, lambda address: None).scope()
    try:
        broken = [
            f"The value of the variable {variable.name} is not valid: {message}"
            for variable in program.variables.values()
            for rule in variable.validations
            if (message := _check_rule(variable, rule, scope))
        ]
    except OnlyTerraform as refusal:
        refusal.program = program
        raise
    if broken:
        raise UserError("\n".join(broken), "The program's validation rules say so.")


def _evaluate_condition(variable: Variable, rule: Validation, scope: Scope) -> bool | Unknown:
    """Return whether the variable satisfies a rule; UNKNOWN if that is known only later."""
    title = variable.origin.place(f"var.{variable.name}")
    references = try_step(title, "validation", references_in, rule.condition)
    if not any(item.steps[:2] == ("var", variable.name) for item in references):
        raise UserError(
            f"{title}: the condition of its validation does not refer to var.{variable.name}.",
            "Write a condition on the variable.",
        )
    for reference in references:
        if reference.steps[0] not in _KNOWN_BEFORE:
            what = f"a validation that refers to {reference.source_text()}"
            raise only_terraform_error(title, what)
    result = evaluate_argument(
        title, "validation", rule.condition, scope, partial(convert, wanted=BOOL)
    )
    if result.is_null:
        raise UserError(f"{title}: the condition of its validation is null.", "Write a condition.")
    satisfied: bool | Unknown = result.data
    return satisfied


def _check_rule(variable: Variable, rule: Validation, scope: Scope) -> str:
    """Return the rule's message if the variable breaks it."""
    title = variable.origin.place(f"var.{variable.name}")
    satisfied = _evaluate_condition(variable, rule, scope)
    if satisfied is UNKNOWN:
        raise only_terraform_error(title, "a validation that is known only during the apply")
    if satisfied:
        return ""
    to_text = partial(convert, wanted=STRING)
    message, secret = evaluate_argument(
        title, "error_message", rule.error_message, scope, to_text
    ).unmark_deep()
    if secret:
        return "a validation rule is broken, whose message holds a sensitive value."
    return str(message)
