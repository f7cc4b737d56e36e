"""What functions may see, and what names stand for in a template file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from opsconsole.language.access import element, follow
from opsconsole.language.failures import EvaluationError
from opsconsole.language.syntax import Reference, Scope, Work
from opsconsole.language.values import Value


@dataclass(frozen=True, slots=True)
class FunctionContext:
    """The context of the impure functions.

    Attributes:
        root: The directory of the program; relative paths of files are relative to it.
        applying: Whether this is an apply: what only an apply knows is unknown before.
        planned_at: The time of the plan.
        render: Evaluates a template's text with the given names.
        work: The size of the values made in this evaluation.
    """

    root: Path
    applying: bool
    planned_at: datetime
    render: Callable[[str, dict[str, Value]], Value]
    work: Work


class TemplateScope:
    """The scope of a template file: the names that the call gives, and functions."""

    __slots__ = ("_context", "names")

    def __init__(self, names: dict[str, Value], context: FunctionContext) -> None:
        self.names = names
        self._context = context

    @property
    def work(self) -> Work:
        return self._context.work

    def within(self, names: dict[str, Value]) -> Scope:
        return TemplateScope({**self.names, **names}, self._context)

    def resolve(self, reference: Reference) -> Value:
        root = str(reference.steps[0])
        if root not in self.names:
            raise EvaluationError(f"the template names {root}, which the call does not give")
        return follow(self.names[root], reference.steps[1:])

    def resolve_index(self, reference: Reference, key: Value) -> Value:
        return element(self.resolve(reference), key)

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        if name in ("templatefile", "templatestring"):
            raise EvaluationError(f"a template cannot call {name}")
        return call(name, arguments, self._context)


def call(name: str, arguments: Sequence[Value], context: FunctionContext) -> Value:
    """Return the result of the function `name`.

    The functions are loaded with the first call: most programs that are synthesised have none.
    """
    from opsconsole.language import functions

    return functions.call(name, arguments, context)
