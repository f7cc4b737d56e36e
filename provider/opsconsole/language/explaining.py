"""The errors that users see: which expression failed and why, and what only Terraform can run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

from opsconsole.errors import UserError
from opsconsole.language.bounds import BeyondBounds, metered, size_of
from opsconsole.language.failures import EvaluationError, NotKnownYet, UnsupportedExpression
from opsconsole.language.model import Origin
from opsconsole.language.syntax import Scope
from opsconsole.language.templated import evaluate_json

T = TypeVar("T")
_SHOWN = 200


_REMEDY = "Terraform can run it: use `terraform` or `cdktf` with this program, or leave it out."

TERRAFORM_FUNCTIONS: Final = frozenset(
    (
        "abspath",
        "base64gzip",
        "bcrypt",
        "convert",
        "ephemeralasnull",
        "fileset",
        "pathexpand",
        "rsadecrypt",
        "templatestring",
        "textdecodebase64",
        "textencodebase64",
        "type",
        "yamldecode",
        "yamlencode",
    )
)
"""Functions that Terraform has and this evaluator does not."""


class OnlyTerraform(UserError):
    """The program is one for Terraform. `construct` names what in it this engine cannot run."""

    def __init__(self, message: str, construct: str) -> None:
        super().__init__(message, _REMEDY)
        self.construct = construct


def refused(what: str, origin: Origin, address: str = "") -> OnlyTerraform:
    """Return the error that says that `what`, at `origin`, is not supported here."""
    place = origin.path or origin.file
    named = f"{place} ({address})" if address else place
    return OnlyTerraform(
        f"{named}: {what}: not supported by the native engine.", f"{named}: {what}"
    )


class DependsOnUnknown(UserError):
    """`count` or `for_each` depends on a value that is not known yet."""


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
        with metered():
            value = evaluate_json(raw, scope)
            if isinstance(raw, list | dict):
                size_of(value)
            return value if then is None else then(value)
    except (EvaluationError, UnsupportedExpression) as error:
        raise explanation(title, name, raw, error) from error
    except RecursionError as error:
        raise nested_too_deeply(title, name) from error


def guarded(title: str, name: str, step: Callable[..., T], *arguments: Any) -> T:
    """Return `step(*arguments)`; its failures are reported with the first argument.

    Raises:
        UserError: The step failed.
    """
    try:
        with metered():
            return step(*arguments)
    except (EvaluationError, UnsupportedExpression) as error:
        raise explanation(title, name, arguments[0], error) from error
    except RecursionError as error:
        raise nested_too_deeply(title, name) from error


def explanation(
    title: str, name: str, raw: Any, error: EvaluationError | UnsupportedExpression
) -> UserError:
    """Return the error that names place, expression and cause."""
    where = f"{title}: {name}" if name else title
    written = shortened(error.expression or raw)
    if isinstance(error, EvaluationError):
        stop = "" if str(error).endswith("?") else "."
        kind = DependsOnUnknown if isinstance(error, NotKnownYet) else UserError
        return kind(f"{where}: {written} cannot be evaluated: {error}{stop}")
    if isinstance(error, BeyondBounds):
        return OnlyTerraform(f"{where}: {written} asks for too much: {error}.", f"{where}: {error}")
    return OnlyTerraform(
        f"{where}: {written} uses {error}, which the native engine does not support.",
        f"{where}: {error}",
    )


def nested_too_deeply(title: str, name: str) -> UserError:
    """Return the error for a value with more levels than can be followed."""
    where = f"{title}: {name}" if name else title
    return UserError(f"{where}: its value is nested too deeply.", "Use fewer levels.")


def shortened(raw: Any) -> str:
    """Return a JSON value as one short text."""
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=float)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
