"""What the names of a program stand for: variables, local values, resources, settings, `each`.

Resources are reached in constant time per reference: one instance is looked up for a reference to
one, and what stands for all instances of a block is made once.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opsconsole.definition import Attribute
from opsconsole.diagnostics import Path
from opsconsole.language import remote_states
from opsconsole.language.access import element
from opsconsole.language.block_reading import block_address
from opsconsole.language.conversion import from_wire
from opsconsole.language.failures import (
    EvaluationError,
    ExpressionFailure,
    UnsupportedExpression,
)
from opsconsole.language.instances import Instance
from opsconsole.language.json_values import LocalCycle, evaluate_json, in_order
from opsconsole.language.model import Block, Program
from opsconsole.language.scopes import FunctionContext, call, follow
from opsconsole.language.syntax import Reference, Scope, Step
from opsconsole.language.value_types import IS_SENSITIVE, mark, metered, size_of, unmark
from opsconsole.phrases import did_you_mean
from opsconsole.state import InstanceKey
from opsconsole.values import UNKNOWN, Attributes

Lookup = Callable[[str], Any]
"""What an instance holds, by its full address: Attributes; None or UNKNOWN: not known yet."""


class NameResolver:
    """The names of one program in one phase."""

    def __init__(
        self,
        *,
        program: Program,
        variables: Mapping[str, Any],
        lookup: Lookup,
        expand: Callable[[Block], Mapping[InstanceKey, Instance]],
        sensitive: Callable[[str], Iterable[Path]],
        context: FunctionContext,
        workspace: str,
        checking: bool = False,
    ) -> None:
        self.context = context
        self._program = program
        self._variables = variables
        self._lookup = lookup
        self._expand = expand
        self._sensitive = sensitive
        self._settings: Mapping[str, Mapping[str, str]] = {
            "path": {"module": ".", "root": ".", "cwd": str(program.root)},
            "terraform": {"workspace": workspace},
        }
        self._locals: dict[str, Any] = {}
        self._passing: dict[str, Any] = {}
        self._depth = 0
        self._whole: dict[str, Any] = {}
        self._remote_states: dict[str, Any] = {}
        self._missed = 0
        self._checking = checking

    def _absent(self, message: str) -> Any:
        """Return what stands for a name that leads nowhere.

        Raises:
            EvaluationError: Nothing does, unless mistakes are looked for.
        """
        if not self._checking:
            raise EvaluationError(message)
        self._missed += 1
        return UNKNOWN

    def named(self, reference: Reference) -> Any:
        """Return what a reference stands for.

        Raises:
            EvaluationError: Nothing has that name, or it lacks that attribute.
        """
        steps = reference.steps
        root = steps[0]
        if root == "var":
            return follow(self._variable(reference), steps[2:])
        if root == "local":
            return follow(self._local(reference), steps[2:])
        if root in self._settings:
            return self._setting(reference)
        if root == "module":
            raise UnsupportedExpression("modules")
        if steps[:2] == ("data", remote_states.TYPE) and len(steps) > 2:
            return self._remote_state(reference)
        address = block_address(steps)
        block = None if address is None else self._program.blocks.get(address)
        if block is None:
            return self._absent(f"there is no {reference.written()}")
        return self._of_block(block, steps[3 if block.mode == "data" else 2 :])

    def indexed(self, reference: Reference, key: Any) -> Any:
        """Return `reference[key]`, one instance of a block without making the others."""
        block = self._program.blocks.get(block_address(reference.steps) or "")
        own = 3 if block is not None and block.mode == "data" else 2
        plain, marks = unmark(key)
        if block is None or len(reference.steps) != own or plain is UNKNOWN or plain is None:
            return element(self.named(reference), key)
        if not (block.counted or block.repeated):
            return element(self.named(reference), key)
        return mark(self._of_block(block, (plain,)), marks)

    def _variable(self, reference: Reference) -> Any:
        name = _second(reference, "var.NAME")
        if name not in self._program.variables:
            return self._absent(
                f"there is no variable {name}. {did_you_mean(name, self._program.variables)}"
            )
        return self._variables[name]

    def _local(self, reference: Reference) -> Any:
        name = _second(reference, "local.NAME")
        if name in self._locals:
            return self._locals[name]
        if name not in self._program.locals:
            return self._absent(
                f"there is no local value {name}. {did_you_mean(name, self._program.locals)}"
            )
        if name in self._passing:
            self._missed += 1
            found = self._passing[name]
        else:
            found = self._evaluated_in_order(name)
        if isinstance(found, ExpressionFailure):
            raise found
        return found

    def _evaluated_in_order(self, name: str) -> Any:
        """Return a local value, or why it has none; those that it refers to come first.

        So a chain of them may be long. What fails, or rests on what is not known yet, is kept
        only until the outermost of them is evaluated.
        """
        self._depth += 1
        found: Any = None
        try:
            done = ChainMap(self._locals, self._passing)
            for item in in_order(name, self._program.locals, done):
                missed = self._missed
                found = self._evaluated_local(item)
                lasting = missed == self._missed and not isinstance(found, ExpressionFailure)
                (self._locals if lasting else self._passing)[item] = found
        except LocalCycle as cycle:
            raise EvaluationError(f"local values refer to each other in a cycle: {cycle}") from None
        finally:
            self._depth -= 1
            if not self._depth:
                self._passing.clear()
        return found

    def _evaluated_local(self, name: str) -> Any:
        try:
            with metered():
                value = evaluate_json(self._program.locals[name], ProgramScope(self))
                size_of(value)
                return value
        except ExpressionFailure as failure:
            return failure

    def _remote_state(self, reference: Reference) -> Any:
        name, rest = str(reference.steps[2]), reference.steps[3:]
        block = self._program.remote_states.get(name)
        if block is None:
            return self._absent(f"there is no {reference.written()}")
        instances = self._expand(block)
        several = block.counted or block.repeated
        if several and not rest:
            values = {key: self._outputs_of(item, ()) for key, item in instances.items()}
            return list(values.values()) if block.counted else values
        if not several:
            return self._outputs_of(instances[None], rest)
        return self._outputs_of(_instance_at(block, rest[0], instances), rest[1:])

    def _outputs_of(self, instance: Instance, rest: tuple[Step, ...]) -> Any:
        block = instance.block
        value = self._remote_states.get(instance.address, UNKNOWN)
        if value is UNKNOWN:
            scope = ProgramScope(self, instance)
            arguments = {key: evaluate_json(raw, scope) for key, raw in block.arguments.items()}
            if not self._checking:
                value = remote_states.read(
                    block, arguments, self._program.root, self._program.readings
                )
            self._remote_states[instance.address] = value
        if value is UNKNOWN:
            self._missed += 1
            return UNKNOWN
        if len(rest) > 1 and rest[0] == "outputs" and rest[1] not in value["outputs"]:
            raise remote_states.no_output(block, str(rest[1]))
        return follow(value, rest)

    def _setting(self, reference: Reference) -> Any:
        root, *rest = reference.steps
        known = self._settings[str(root)]
        if len(rest) != 1 or rest[0] not in known:
            raise EvaluationError(f"there is no {reference.written()}")
        return known[str(rest[0])]

    def _of_block(self, block: Block, steps: tuple[Step, ...]) -> Any:
        if not (block.counted or block.repeated):
            return self._of_instance(block, block.address, steps)
        instances = self._expand(block)
        if not steps:
            return self._all(block, instances)
        instance = _instance_at(block, steps[0], instances)
        return self._of_instance(block, instance.address, steps[1:])

    def _of_instance(self, block: Block, address: str, steps: tuple[Step, ...]) -> Any:
        values, definition = self._held(address), block.definition
        if not steps:
            return self._object(block, address, values)
        name = steps[0]
        attribute = definition.by_name.get(str(name))
        if attribute is None:
            hint = did_you_mean(str(name), definition.names)
            raise EvaluationError(f'{block.address} has no attribute "{name}". {hint}')
        if values is None:
            return UNKNOWN
        value = self._attribute(address, values, attribute)
        return follow(value, steps[1:]) if len(steps) > 1 else value

    def _attribute(self, address: str, values: Attributes, attribute: Attribute) -> Any:
        value = from_wire(values.get(attribute.name), attribute)
        for path in self._sensitive(address):
            if path and path[0] == attribute.name:
                value = _marked_below(value, path[1:])
        return value

    def _held(self, address: str) -> Attributes | None:
        """Return what an instance holds; None is counted, as nothing made of it may be kept."""
        values = self._lookup(address)
        if values is None or values is UNKNOWN:
            self._missed += 1
            return None
        held: Attributes = values
        return held

    def _object(self, block: Block, address: str, values: Attributes | None) -> Any:
        if values is None:
            return UNKNOWN
        found = self._whole.get(address)
        if found is None or found[0] is not values:
            whole = {
                attribute.name: self._attribute(address, values, attribute)
                for attribute in block.definition.attributes
            }
            found = (values, whole)
            self._whole[address] = found
        return found[1]

    def _all(self, block: Block, instances: Mapping[InstanceKey, Instance]) -> Any:
        """What stands for all instances: a tuple with count, an object with for_each."""
        known = self._whole.get(block.address)
        if known is not None:
            return known
        values = {
            key: self._object(block, instance.address, self._held(instance.address))
            for key, instance in instances.items()
        }
        result: Any = list(values.values()) if block.counted else values
        if not any(value is UNKNOWN for value in values.values()):
            self._whole[block.address] = result
        return result


class ProgramScope:
    """The scope of one instance, or of an expression outside of all resources."""

    __slots__ = ("_instance", "_program", "names")

    def __init__(
        self,
        program: NameResolver,
        instance: Instance | None = None,
        names: dict[str, Any] | None = None,
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


def _instance_at(block: Block, key: Step, instances: Mapping[InstanceKey, Instance]) -> Instance:
    # `e["a"]` is a Quoted text; True is not an index, though Python takes it for one.
    fitting = type(key) is int if block.counted else isinstance(key, str)
    instance = instances.get(key) if fitting else None
    if instance is None and (found := _as_key(block, key)) is not None:
        instance = instances.get(found)
    if instance is not None:
        return instance
    if not instances:
        raise EvaluationError(f"{block.address} has no instances")
    example = next(iter(instances.values())).address
    meta = "count" if block.counted else "for_each"
    raise EvaluationError(
        f"{block.address} has {meta}, and no instance {key!r}: name one, such as {example}"
    )


def _second(reference: Reference, form: str) -> str:
    if len(reference.steps) < 2:
        raise EvaluationError(f"{reference.written()} alone means nothing: write {form}")
    return str(reference.steps[1])


def _as_key(block: Block, key: Step) -> InstanceKey:
    """Return an index as the kind of key that the block's instances have, if it can be one."""
    if block.counted and isinstance(key, str) and key.isascii() and key.isdigit():
        return int(key)
    if block.repeated and isinstance(key, int):
        return str(key)
    return None


def _marked_below(value: Any, path: Path) -> Any:
    if not path or not isinstance(value, list | dict):
        return mark(value, IS_SENSITIVE)
    inner: Any = value
    try:
        part = inner[path[0]]
    except (LookupError, TypeError):
        return mark(value, IS_SENSITIVE)
    inner[path[0]] = _marked_below(part, path[1:])
    return inner
