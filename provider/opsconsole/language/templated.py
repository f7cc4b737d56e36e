"""Evaluates a JSON value in which strings are templates, and collects what it refers to.

Which local values a local value needs first is found here, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from opsconsole.language.conversion import convert
from opsconsole.language.documents import COMMENT, Repeated
from opsconsole.language.failures import EvaluationError, ExpressionFailure
from opsconsole.language.marks import NO_MARKS, mark, unmark
from opsconsole.language.parsing import parse_template
from opsconsole.language.syntax import Reference, Scope
from opsconsole.language.value_types import STRING, normalised
from opsconsole.values import UNKNOWN


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
