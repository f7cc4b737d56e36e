"""Turns the failures of evaluation into errors that say whose expression it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from opsconsole.errors import UserError
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.syntax import Scope
from opsconsole.language.templated import evaluate_json
from opsconsole.language.unsupported import OnlyTerraform

T = TypeVar("T")
_SHOWN = 200


def evaluated(
    title: str, name: str, raw: Any, scope: Scope, then: Callable[[Any], Any] | None = None
) -> Any:
    """Return the value of a JSON value, taken through `then`.

    Args:
        title: What holds it: the construct's path and the address.
        name: The argument that it is the value of.

    Raises:
        UserError: It cannot be evaluated.
    """
    try:
        value = evaluate_json(raw, scope)
        return value if then is None else then(value)
    except (EvaluationError, UnsupportedExpression) as error:
        raise explanation(title, name, raw, error) from error


def guarded(title: str, name: str, step: Callable[..., T], *arguments: Any) -> T:
    """Return `step(*arguments)`; its failures are told as of the first argument.

    Raises:
        UserError: The step failed.
    """
    try:
        return step(*arguments)
    except (EvaluationError, UnsupportedExpression) as error:
        raise explanation(title, name, arguments[0], error) from error


def explanation(
    title: str, name: str, raw: Any, error: EvaluationError | UnsupportedExpression
) -> UserError:
    """Return the error that names place, expression and cause."""
    where = f"{title}: {name}" if name else title
    written = shortened(error.expression or raw)
    if isinstance(error, EvaluationError):
        stop = "" if str(error).endswith("?") else "."
        return UserError(f"{where}: {written} cannot be evaluated: {error}{stop}")
    return OnlyTerraform(
        f"{where}: {written} uses {error}, which the native engine has not.",
        f"{where}: {error}",
    )


def shortened(raw: Any) -> str:
    """Return a JSON value as one short text."""
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=float)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
