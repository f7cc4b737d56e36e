"""Evaluates a JSON value in which strings are templates, and collects what it refers to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opsconsole.language.characters import normalised
from opsconsole.language.conversion import convert
from opsconsole.language.documents import COMMENT, Repeated
from opsconsole.language.failures import EvaluationError, ExpressionFailure
from opsconsole.language.marks import NO_MARKS, mark, unmark
from opsconsole.language.parsing import parse_template
from opsconsole.language.syntax import Reference, Scope
from opsconsole.language.value_types import STRING
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
        return list(references_in(value))
    except (ExpressionFailure, RecursionError):
        # Its evaluation reports what is wrong with it.
        return []


def references_in(value: Any) -> Iterator[Reference]:
    """Yield every reference in a JSON value; raises as `evaluate_json`."""
    if isinstance(value, str):
        if "{" in value:
            yield from parse_template(value).references()
    elif isinstance(value, list):
        for item in value:
            yield from references_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != COMMENT:
                yield from references_in(key)
                yield from references_in(item)
