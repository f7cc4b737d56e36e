"""Evaluates a JSON value in which strings are templates, collects what it refers to, and makes the
errors that users see: which expression failed and why, and what only Terraform can run.

Which local values a local value needs first is found here, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeVar

from opsconsole.errors import UserError
from opsconsole.language.conversion import convert
from opsconsole.language.documents import COMMENT, Repeated
from opsconsole.language.failures import (
    BeyondBounds,
    EvaluationError,
    ExpressionFailure,
    NotKnownYet,
    UnsupportedExpression,
)
from opsconsole.language.model import Origin
from opsconsole.language.parsing import parse_template
from opsconsole.language.syntax import Reference, Scope
from opsconsole.language.value_types import (
    NO_MARKS,
    STRING,
    mark,
    metered,
    normalised,
    size_of,
    unmark,
)
from opsconsole.values import UNKNOWN

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


def evaluate_json(value: Any, scope: Scope) -> Any:
    """Return the value of a JSON value in `scope`.

    Raises:
        EvaluationError: A template in it cannot be evaluated.
        UnsupportedExpression: One uses what only Terraform has.
    """
    if isinstance(value, str):
        if "{" not in value:
            return normalised(value)
        return _template(value, scope)
    if isinstance(value, list):
        return [evaluate_json(item, scope) for item in value]
    if isinstance(value, dict):
        return _object(value, scope)
    return value


def _template(text: str, scope: Scope) -> Any:
    try:
        found = parse_template(text).evaluate(scope)
    except ExpressionFailure as failure:
        failure.at(text)
        raise
    return normalised(found) if isinstance(found, str) else found


def _object(value: dict[str, Any], scope: Scope) -> Any:
    if isinstance(value, Repeated):
        raise EvaluationError(f'the key "{value.twice()}" is declared twice')
    result: dict[str, Any] = {}
    marks = NO_MARKS
    unsettled = False
    for raw_key, raw in value.items():
        key, key_marks = unmark(evaluate_json(raw_key, scope))
        marks |= key_marks
        item = evaluate_json(raw, scope)
        if key is None:
            raise EvaluationError("null is not a key of an object")
        if key is UNKNOWN:
            unsettled = True
            continue
        name = convert(key, STRING)
        if name in result:
            raise EvaluationError(f'the key "{name}" is declared twice')
        result[name] = item
    return mark(UNKNOWN if unsettled else result, marks)


def readable_references(value: Any) -> list[Reference]:
    """Return every reference in a JSON value; none where it cannot be read."""
    try:
        return references_in(value)
    except (ExpressionFailure, RecursionError):
        # Its evaluation reports what is wrong with it.
        return []


def references_in(value: Any) -> list[Reference]:
    """Return every reference in a JSON value; raises as `evaluate_json`."""
    return [item for text in templates_in(value) for item in parse_template(text).references()]


def templates_in(value: Any) -> list[str]:
    """Return the texts in a JSON value, names included, that may be more than plain text."""
    if isinstance(value, str):
        return [value] if "{" in value else []
    found: list[str] = []
    if isinstance(value, list):
        for item in value:
            found += templates_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != COMMENT:
                found += templates_in(key)
                found += templates_in(item)
    return found


class LocalCycle(Exception):
    """Local values refer to each other in a cycle, which the text names."""


def in_order(name: str, values: Mapping[str, Any], done: Collection[str]) -> list[str]:
    """Return the local values to settle, `name` last; each comes after those that it refers to.

    Found without recursion, as chains may be long.

    Args:
        done: Names that are settled already.

    Raises:
        LocalCycle: Some of them refer to each other in a cycle.
    """
    order: list[str] = []
    settled: set[str] = set()
    path: dict[str, Iterator[str]] = {name: _named_in(values[name])}
    while path:
        current = next(reversed(path))
        following = next(path[current], None)
        if following is None:
            del path[current]
            settled.add(current)
            order.append(current)
        elif following in path:
            names = list(path)
            raise LocalCycle(" → ".join([*names[names.index(following) :], following]))
        elif following in values and following not in settled and following not in done:
            path[following] = _named_in(values[following])
    return order


def _named_in(value: Any) -> Iterator[str]:
    """Yield the local values that a value names; one that cannot be read fails when it is used."""
    for item in readable_references(value):
        if item.steps[0] == "local" and item.steps[1:]:
            yield str(item.steps[1])


class OnlyTerraform(UserError):
    """The program is one for Terraform. `construct` names what in it this engine cannot run."""

    def __init__(self, message: str, construct: str) -> None:
        super().__init__(message, _REMEDY)
        self.construct = construct


def only_terraform(what: str, origin: Origin, address: str = "") -> OnlyTerraform:
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
