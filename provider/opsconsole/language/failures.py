"""Failures of an expression, the errors that report them, and bounds on a program's values.

Parsing, conversion and evaluation raise ExpressionFailure. It does not leave the package:
`expression_error` turns it into a UserError that names the owner of the expression.

Terraform has almost no bounds, so it may still run a program that exceeds one here. The error says
so, and `try` does not catch it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from opsconsole.diagnostics import Mistakes, diagnostics_of
from opsconsole.errors import UserError
from opsconsole.local_terraform import cli_of
from opsconsole.text import did_you_mean, shorten

if TYPE_CHECKING:
    from opsconsole.language.model import Program

T = TypeVar("T")

MAX_TEXT: Final = 16 * 2**20
"""Characters in one string."""
MAX_PARTS: Final = 2_000_000
"""The parts that one argument, output or local value may make in all.

Every element is a part, and so are every 16 characters of text.
"""
MAX_INSTANCES: Final = 200_000
"""Instances of one block with `count` or `for_each`."""
MAX_WIDTH: Final = 1_000_000
"""Width and precision in a format; Go's own formats have the same limit."""
MAX_EXPONENT: Final = 4_000
"""Numbers range from 10^-4000 to 10^4000, and their texts are not longer."""
MAX_FILE: Final = 16 * 2**20
"""Bytes of a file that a function reads."""
MAX_PROGRAM: Final = 512 * 2**20
"""Bytes of a file of a program: 200,000 resources fit."""
MAX_NESTING: Final = 100
"""Levels of nested brackets, unary operators, conditionals and quoted templates."""


class ExpressionFailure(Exception):
    """The base class of both failures; `expression` is the failing template, once known."""

    expression: str = ""


class EvaluationError(ExpressionFailure):
    """The expression is wrong, or wrong for these values. `try` and `can` catch it."""


class NotKnownYet(EvaluationError):
    """The value must be known here, but depends on a value that is not known yet."""


class UnsupportedExpression(ExpressionFailure):
    """The expression uses something that Terraform has and this evaluator does not."""


class DependsOnRelease(EvaluationError):
    """The expression is an error up to Terraform 1.11; newer releases and OpenTofu ignore it."""


class BeyondBounds(UnsupportedExpression):
    """A bound is exceeded."""


class OnlyTerraform(UserError):
    """The program is for Terraform or OpenTofu, or only they know whether it is correct.

    Attributes:
        construct: The part that this engine cannot run.
        program: The readable part of the program, if the program alone showed the error. Nothing
            was then asked of a console, and nothing was changed.
    """

    program: Program | None = None

    def __init__(self, message: str, construct: str, remedy: str = "") -> None:
        cli = cli_of()
        can = f"{cli.name} can run it: use `{cli.command}` or `cdktf` with this program"
        super().__init__(message, remedy or f"{can}, or leave it out.")
        self.construct = construct


def raise_any(problems: Sequence[UserError]) -> None:
    """Raise a problem alone, several as Mistakes; an OnlyTerraform takes precedence."""
    for problem in problems:
        if isinstance(problem, OnlyTerraform) or len(problems) == 1:
            raise problem
    if problems:
        raise Mistakes(item for problem in problems for item in diagnostics_of(problem))


def only_terraform_error(where: str, what: str) -> OnlyTerraform:
    return OnlyTerraform(f"{where}: the native engine does not support {what}.", f"{where}: {what}")


def unknown_name_error(what: str, name: str, known: Iterable[str], where: str) -> OnlyTerraform:
    """Return the error about a name that this engine does not know.

    Args:
        what: The kind of name, such as `block type`.
        known: The names that are known here.
    """
    named = f'{where}: the {what} "{name}"'
    # The name may be a slip, or belong to a release of Terraform or OpenTofu that this engine does
    # not follow. Terraform or OpenTofu decides.
    return OnlyTerraform(
        f"{named} is not known to the native engine.",
        f"{named}, which the native engine does not know",
        f"{did_you_mean(name, known)} If your release of Terraform or OpenTofu has it, use that.",
    )


def try_step(title: str, name: str, step: Callable[..., T], *arguments: Any) -> T:
    """Return `step(*arguments)`; its failures become a UserError that names the first argument."""
    try:
        return step(*arguments)
    except (ExpressionFailure, RecursionError) as error:
        raise expression_error(title, name, arguments[0], error) from error


def expression_error(
    title: str, name: str, raw: Any, error: ExpressionFailure | RecursionError
) -> UserError:
    """Return the error that names the place, the expression and the cause."""
    where = f"{title}: {name}" if name else title
    if isinstance(error, RecursionError):
        return UserError(f"{where}: its value is nested too deeply.", "Use fewer levels.")
    written = _json_text(error.expression or raw)
    stop = "" if str(error).endswith(("?", ".")) else "."
    if isinstance(error, DependsOnRelease):
        return OnlyTerraform(
            f"{where}: {written} cannot be evaluated as Terraform 1.11 does it: {error}; newer "
            "releases and OpenTofu pass over that.",
            f"{where}: {written}, which newer releases pass over",
            "Upgrade Terraform, or guard that operand by a conditional: `a ? b : false`.",
        )
    if isinstance(error, EvaluationError) and error.expression:
        return UserError(f"{where}: {written} cannot be evaluated: {error}{stop}")
    if isinstance(error, EvaluationError) and raw is None:
        return UserError(f"{where} must not be null.")
    if isinstance(error, EvaluationError):
        written = _json_text(raw, quoted="${" not in written)
        return UserError(f"{where} cannot be {written}: {error}{stop}")
    if isinstance(error, BeyondBounds):
        return OnlyTerraform(f"{where}: {written} asks for too much: {error}.", f"{where}: {error}")
    return OnlyTerraform(
        f"{where}: {written} uses {error}, which the native engine does not support.",
        f"{where}: {error}",
    )


def _json_text(raw: Any, *, quoted: bool = False) -> str:
    """Return a JSON value as one short text; a string stays as it is unless `quoted`."""
    text = raw
    if quoted or not isinstance(raw, str):
        # JSON has no fractions, so a message shows them as floats.
        text = json.dumps(raw, ensure_ascii=False, default=float)
    return shorten(text, 200)
