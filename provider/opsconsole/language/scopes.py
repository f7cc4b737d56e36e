"""What functions may see, and what names stand for in a template file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from opsconsole.language.access import attribute, element
from opsconsole.language.failures import EvaluationError
from opsconsole.language.syntax import Reference, Scope, Step


@dataclass(frozen=True, slots=True)
class FunctionContext:
    """What the impure functions may see.

    Attributes:
        root: The directory of the program; relative paths of files are relative to it.
        applying: Whether this is an apply: what only an apply knows is unknown before.
        planned_at: The time of the plan.
        render: Evaluates a template's text with the given names.
    """

    root: Path
    applying: bool
    planned_at: datetime
    render: Callable[[str, dict[str, Any]], Any]


class TemplateScope:
    """The scope of a template file: the names that the call gives, and functions."""

    __slots__ = ("_context", "names")

    def __init__(self, names: dict[str, Any], context: FunctionContext) -> None:
        self.names = names
        self._context = context

    def within(self, names: dict[str, Any]) -> Scope:
        return TemplateScope({**self.names, **names}, self._context)

    def resolve(self, reference: Reference) -> Any:
        root = str(reference.steps[0])
        if root not in self.names:
            raise EvaluationError(f"the template names {root}, which the call does not give")
        return follow(self.names[root], reference.steps[1:])

    def resolve_index(self, reference: Reference, key: Any) -> Any:
        return element(self.resolve(reference), key)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        if name in ("templatefile", "templatestring"):
            raise EvaluationError(f"a template cannot call {name}")
        return call(name, arguments, self._context)


def call(name: str, arguments: Sequence[Any], context: FunctionContext) -> Any:
    """Return the result of the function `name`.

    The functions are loaded with the first call: most programs that are synthesised have none.
    """
    from opsconsole.language import functions

    return functions.call(name, arguments, context)


def follow(value: Any, steps: Sequence[Step]) -> Any:
    """Return what `steps` lead to in `value`."""
    for step in steps:
        value = element(value, step) if isinstance(step, int) else attribute(value, step)
    return value
