"""What names stand for while one expression is evaluated: each, count, bound names, the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from opsconsole.language.access import attribute, element
from opsconsole.language.failures import EvaluationError
from opsconsole.language.instances import Instance
from opsconsole.language.syntax import Reference, Scope, Step


@dataclass(frozen=True, slots=True)
class FunctionContext:
    """What the impure functions may see.

    Attributes:
        root: The directory of the program; relative paths of files are relative to it.
        settled: Whether this is an apply: what only an apply settles is unknown before.
        planned_at: The time of the plan.
        render: Evaluates a template's text with the given names.
    """

    root: Path
    settled: bool
    planned_at: datetime
    render: Callable[[str, dict[str, Any]], Any]


class Names(Protocol):
    """What is the same in every scope of a program."""

    context: FunctionContext

    def named(self, reference: Reference) -> Any:
        """Return what a reference to a variable, local value, resource or setting stands for."""

    def indexed(self, reference: Reference, key: Any) -> Any:
        """Return `reference[key]` without making all of what `reference` stands for."""


class ProgramScope:
    """The scope of one instance, or of an expression outside of all resources."""

    __slots__ = ("_instance", "_program", "names")

    def __init__(
        self, program: Names, instance: Instance | None = None, names: dict[str, Any] | None = None
    ) -> None:
        self._program = program
        self._instance = instance
        self.names = names or {}

    def within(self, names: dict[str, Any]) -> Scope:
        return ProgramScope(self._program, self._instance, {**self.names, **names})

    def resolve(self, reference: Reference) -> Any:
        root = reference.steps[0]
        if self.names and root in self.names:
            return follow(self.names[str(root)], reference.steps[1:])
        if root in ("each", "count", "self"):
            return self._of_instance(reference)
        return self._program.named(reference)

    def resolve_index(self, reference: Reference, key: Any) -> Any:
        root = reference.steps[0]
        if root in self.names or root in ("each", "count", "self"):
            return element(self.resolve(reference), key)
        return self._program.indexed(reference, key)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        return call(name, arguments, self._program.context)

    def _of_instance(self, reference: Reference) -> Any:
        instance = self._instance
        root, *rest = reference.steps
        if instance is not None and root == "each" and instance.block.repeated and rest:
            if rest[0] == "key":
                return follow(instance.key, tuple(rest[1:]))
            if rest[0] == "value":
                return follow(instance.each, tuple(rest[1:]))
        if instance is not None and rest == ["index"] and instance.block.counted:
            return instance.key
        needs = {"each": "for_each", "count": "count"}.get(str(root), "a provisioner")
        raise EvaluationError(f"{reference.written()} has a meaning only with {needs}")


class EntryScope(ProgramScope):
    """The scope of a block with `for_each` that is not a resource: only `each` is bound."""

    __slots__ = ("_key", "_value")

    def __init__(self, program: Names, key: str, value: Any) -> None:
        super().__init__(program)
        self._key = key
        self._value = value

    def resolve(self, reference: Reference) -> Any:
        if reference.steps[:2] == ("each", "key"):
            return self._key
        if reference.steps[:2] == ("each", "value"):
            return follow(self._value, reference.steps[2:])
        return super().resolve(reference)


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


def surrounding_settings(root: Path, workspace: str) -> Mapping[str, Mapping[str, str]]:
    """Return the values of `path` and `terraform`."""
    return {
        "path": {"module": ".", "root": ".", "cwd": str(root)},
        "terraform": {"workspace": workspace},
    }
