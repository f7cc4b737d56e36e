"""Turns errors into diagnostics.

`code`, `message` and `request_id` always reach the user; `field` and `errors[]` become diagnostics
on those attributes (the document: Errors).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import replace

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import AttributePath, Diagnostic, error
from opsconsole.errors import ApiError, ConfigurationError, OpsconsoleError, Unauthorized

_log = logging.getLogger(__name__)


def diagnose(
    problem: BaseException, doing: str, definition: ResourceDefinition | None = None
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics for an error.

    Args:
        problem: Any unexpected error becomes one diagnostic, and its traceback is logged.
        doing: The attempted action, as it follows "Cannot": `create the host "web-1"`.
        definition: The resource at hand, by which fields find their attributes.
    """
    if isinstance(problem, ApiError):
        return tuple(_api_problem(problem, doing, definition))
    if isinstance(problem, ConfigurationError):
        path: AttributePath = (problem.setting,) if problem.setting else ()
        return (error(f"Cannot {doing}", path=path, cause=problem.cause),)
    if isinstance(problem, OpsconsoleError):
        return (error(f"Cannot {doing}", cause=problem.cause),)
    _log.error("unexpected error while trying to %s", doing, exc_info=problem)
    return (
        error(
            f"Cannot {doing}",
            f"An unexpected error, which is a defect of the provider: "
            f"{type(problem).__name__}. The log holds its traceback.",
        ),
    )


def _api_problem(
    problem: ApiError, doing: str, definition: ResourceDefinition | None
) -> Iterable[Diagnostic]:
    if isinstance(problem, Unauthorized):
        if problem.already_reported:
            refused = "The console refused the credentials; no call was made."
            yield error(f"Cannot {doing}", refused, cause=replace(problem.cause, text=""))
            return
        # One answer may be the answer to many resources, such as that of a search.
        problem.already_reported = True
    body = problem.answer
    at_fault = list(body.errors)
    if body.field is not None and all(field != body.field for field, _ in at_fault):
        at_fault.insert(0, (body.field, body.message))
    if not at_fault:
        yield error(f"Cannot {doing}", cause=problem.cause)
        return
    for field, message in at_fault:
        path = _path_of(field, definition)
        named = "" if path else f" ({field})"
        detail = f"{message}{named}" if message != body.message else named.strip(" ()")
        yield error(f"Cannot {doing}", detail, path, problem.cause)


_INDEX = re.compile(r"[0-9]{1,9}")
"""Not `isdigit`, which takes a superscript and any length: `int` takes neither."""


def _path_of(field: str, definition: ResourceDefinition | None) -> AttributePath:
    """Return the attribute path that the console's `field` names, or the empty path.

    Understood are `rows[3].name`, `credential_config.0.order` and plain names.
    """
    if definition is None:
        return ()
    # The document does not show how the place of a nested field is spelled.
    steps = [step for step in re.split(r"[.\[\]/]+", field) if step]
    while steps and steps[0] not in definition.by_name:
        steps.pop(0)
    if not steps:
        return ()
    attribute = definition[steps[0]]
    if not attribute.settable:
        return ()
    path: list[str | int] = [attribute.name]
    nested = {item.name for item in attribute.attributes}
    if nested and len(steps) > 1 and _INDEX.fullmatch(steps[1]):
        path.append(int(steps[1]))
        if len(steps) > 2 and steps[2] in nested:
            path.append(steps[2])
    return tuple(path)
