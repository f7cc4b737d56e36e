"""The names of a program: variables, local values, resources, settings, `each`.

A reference to a resource is resolved in constant time. A reference to one instance looks up only
that instance, and the value that stands for all instances of a block is made once.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from opsconsole.definition import Attribute
from opsconsole.diagnostics import Path as AttributePath
from opsconsole.language import remote_states
from opsconsole.language.access import Quoted, Step, element, get_path
from opsconsole.language.block_reading import block_address
from opsconsole.language.conversion import attribute_type, attribute_value
from opsconsole.language.failures import EvaluationError, ExpressionFailure
from opsconsole.language.instances import Instance
from opsconsole.language.json_values import LocalCycle, evaluate_json, order_locals
from opsconsole.language.model import Block, Program
from opsconsole.language.nodes import Reference, Scope, Work
from opsconsole.language.values import (
    IS_SENSITIVE,
    NULL,
    STRING,
    Marked,
    Value,
    object_of,
    object_type,
    tuple_of,
    unknown,
    unpack,
)
from opsconsole.state import InstanceKey
from opsconsole.text import did_you_mean
from opsconsole.values import UNKNOWN, Values


@dataclass(frozen=True, slots=True)
class FunctionContext:
    """The context of the impure functions.

    Attributes:
        root: The directory of the program, which is the base of relative file paths.
        applying: Whether this is an apply. Values that only an apply knows are unknown before.
        planned_at: The time of the plan.
        work: The count of values made in this evaluation, with its bound.
    """

    root: Path
    applying: bool
    planned_at: datetime
    work: Work


class TemplateScope(Scope):
    """The scope of a template file: the names that the call passes, and functions."""

    __slots__ = ("_context",)

    def __init__(self, names: dict[str, Value], context: FunctionContext) -> None:
        super().__init__(names, context.work)
        self._context = context

    def within(self, names: dict[str, Value]) -> Scope:
        return TemplateScope({**self.names, **names}, self._context)

    def resolve_free(self, reference: Reference) -> Value:
        root = reference.steps[0]
        raise EvaluationError(f"the template names {root}, which the call does not give")

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        if name in ("templatefile", "templatestring"):
            raise EvaluationError(f"a template cannot call {name}")
        return call(name, arguments, self._context)


def call(name: str, arguments: Sequence[Value], context: FunctionContext) -> Value:
    """Return the result of the function `name`."""
    # Imported at the first call, because most synthesised programs call no function.
    from opsconsole.language import functions

    return functions.call(name, arguments, context)


Lookup = Callable[[str], Any]
"""Returns the Values of an instance by its full address; None or UNKNOWN if not known yet."""


class NameResolver:
    """The names of one program in one phase."""

    def __init__(
        self,
        *,
        program: Program,
        variables: Mapping[str, Value],
        lookup: Lookup,
        expand: Callable[[Block], Mapping[InstanceKey, Instance]],
        sensitive: Callable[[str], Iterable[AttributePath]],
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
        self._locals: dict[str, Value | ExpressionFailure] = {}
        self._provisional_locals: dict[str, Value | ExpressionFailure] = {}
        self._depth = 0
        self._objects: dict[str, tuple[Values, Value]] = {}
        self._all_instances: dict[str, Value] = {}
        self._remote_states: dict[str, Value] = {}
        self._unknown_lookups = 0
        self._checking = checking

    def _absent_value(self, message: str) -> Value:
        """Return the placeholder for a missing name while the program is checked for mistakes.

        Raises:
            EvaluationError: The program is not being checked.
        """
        if not self._checking:
            raise EvaluationError(message)
        return unknown()

    def value_of(self, reference: Reference) -> Value:
        """Return the value of a reference.

        Raises:
            EvaluationError: The name or the attribute does not exist.
        """
        steps = reference.steps
        root = steps[0]
        if len(steps) < 2:
            return self._absent_value(f"{root} alone has no value")
        if root == "var":
            return get_path(self._variable(reference), steps[2:])
        if root == "local":
            return get_path(self._local(reference), steps[2:])
        if root in self._settings:
            return self._setting(reference)
        if steps[:2] == ("data", remote_states.TYPE) and len(steps) > 2:
            return self._remote_state(reference)
        address = block_address(steps)
        block = None if address is None else self._program.blocks.get(address)
        if block is None:
            return self._absent_value(f"there is no {reference.source_text()}")
        return self._of_block(block, steps[3 if block.mode == "data" else 2 :])

    def instance_value(self, reference: Reference, key: Value) -> Value:
        """Return `reference[key]`: one instance of a block, without evaluating the others."""
        block = self._program.blocks.get(block_address(reference.steps) or "")
        own = 3 if block is not None and block.mode == "data" else 2
        plain, marks = key.data, key.marks
        if block is None or len(reference.steps) != own or plain is UNKNOWN or plain is None:
            return element(self.value_of(reference), key)
        if not (block.counted or block.repeated):
            return element(self.value_of(reference), key)
        plain = Quoted(plain) if isinstance(plain, str) else plain
        return self._of_block(block, (plain,)).mark(marks)

    def _variable(self, reference: Reference) -> Value:
        name = str(reference.steps[1])
        if name not in self._program.variables:
            return self._absent_value(
                f"there is no variable {name}. {did_you_mean(name, self._program.variables)}"
            )
        return self._variables[name]

    def _local(self, reference: Reference) -> Value:
        name = str(reference.steps[1])
        found = self._locals.get(name)
        if isinstance(found, Value):
            return found
        if name not in self._program.locals:
            return self._absent_value(
                f"there is no local value {name}. {did_you_mean(name, self._program.locals)}"
            )
        if name in self._provisional_locals:
            # The value may depend on an unknown value, so a local value that uses it must not be
            # kept either.
            self._unknown_lookups += 1
            found = self._provisional_locals[name]
        else:
            found = self._evaluate_locals(name)
        if isinstance(found, ExpressionFailure):
            raise found
        return found

    def _evaluate_locals(self, name: str) -> Value | ExpressionFailure:
        """Return a local value, or its failure, after evaluating the local values it refers to."""
        self._depth += 1
        found: Value | ExpressionFailure = NULL
        try:
            done = ChainMap(self._locals, self._provisional_locals)
            # Evaluate each after its references, so that a long chain needs no deep recursion.
            for item in order_locals(name, self._program.locals, done):
                before = self._unknown_lookups
                found = self._evaluate_local(item)
                # A value that depends on unknown values may be known the next time. So it is kept
                # only until the outermost local value is evaluated.
                lasting = isinstance(found, Value) and before == self._unknown_lookups
                (self._locals if lasting else self._provisional_locals)[item] = found
        except LocalCycle as cycle:
            found = self._absent_value(f"local values refer to each other in a cycle: {cycle}")
        finally:
            self._depth -= 1
            if not self._depth:
                self._provisional_locals.clear()
        return found

    def _evaluate_local(self, name: str) -> Value | ExpressionFailure:
        try:
            return evaluate_json(self._program.locals[name], ProgramScope(self, {}))
        except ExpressionFailure as failure:
            return failure

    def _remote_state(self, reference: Reference) -> Value:
        name, rest = str(reference.steps[2]), reference.steps[3:]
        block = self._program.remote_states.get(name)
        if block is None:
            return self._absent_value(f"there is no {reference.source_text()}")
        instances = self._expand(block)
        if not (block.counted or block.repeated):
            return self._outputs_of(instances[None], rest)
        if not rest:
            values = {key: self._outputs_of(item, ()) for key, item in instances.items()}
            return _of_instances(block, values)
        return self._outputs_of(_instance_at(block, rest[0], instances), rest[1:])

    def _outputs_of(self, instance: Instance, rest: tuple[Step, ...]) -> Value:
        block = instance.block
        value = self._remote_states.get(instance.address, unknown())
        if value.data is UNKNOWN:
            scope = ProgramScope(self, instance.properties)
            # Evaluated during the search for mistakes too, because the arguments may contain some.
            arguments = {key: evaluate_json(raw, scope) for key, raw in block.arguments.items()}
            if not self._checking:
                value = remote_states.read(
                    block, arguments, self._program.root, self._program.readings
                )
            self._remote_states[instance.address] = value
        if value.data is UNKNOWN:
            return unknown()
        if len(rest) > 1 and rest[0] == "outputs" and rest[1] not in value.data["outputs"]:
            raise remote_states.no_output_error(block, str(rest[1]))
        return get_path(value, rest)

    def _setting(self, reference: Reference) -> Value:
        root, *rest = reference.steps
        known = self._settings[str(root)]
        if len(rest) != 1 or rest[0] not in known:
            raise EvaluationError(f"there is no {reference.source_text()}")
        return Value(STRING, known[str(rest[0])])

    def _of_block(self, block: Block, steps: tuple[Step, ...]) -> Value:
        if not (block.counted or block.repeated):
            return self._of_instance(block, block.address, steps)
        instances = self._expand(block)
        if not steps:
            return self._all(block, instances)
        instance = _instance_at(block, steps[0], instances)
        return self._of_instance(block, instance.address, steps[1:])

    def _of_instance(self, block: Block, address: str, steps: tuple[Step, ...]) -> Value:
        values, definition = self._lookup_instance(address), block.definition
        if not steps:
            return self._object(block, address, values)
        name = steps[0]
        attribute = definition.by_name.get(str(name))
        if attribute is None:
            hint = did_you_mean(str(name), definition.names)
            raise EvaluationError(f'{block.address} has no attribute "{name}". {hint}')
        if values is None:
            value = unknown(attribute_type(attribute))
        else:
            value = self._attribute(address, values, attribute)
        return get_path(value, steps[1:])

    def _attribute(self, address: str, values: Values, attribute: Attribute) -> Value:
        value = attribute_value(values.get(attribute.name), attribute)
        for path in self._sensitive(address):
            if path and path[0] == attribute.name:
                value = unpack(value.type, _mark_below(value.data, path[1:]), value.marks)
        return value

    def _lookup_instance(self, address: str) -> Values | None:
        """Return an instance's value. Count each None, because results based on it are not kept."""
        values = self._lookup(address)
        if values is None or values is UNKNOWN:
            self._unknown_lookups += 1
            return None
        held: Values = values
        return held

    def _object(self, block: Block, address: str, values: Values | None) -> Value:
        if values is None:
            definition = block.definition
            return unknown(object_type({item.name: attribute_type(item) for item in definition}))
        found = self._objects.get(address)
        if found is None or found[0] is not values:
            whole = {
                attribute.name: self._attribute(address, values, attribute)
                for attribute in block.definition.attributes
            }
            found = (values, object_of(whole))
            self._objects[address] = found
        return found[1]

    def _all(self, block: Block, instances: Mapping[InstanceKey, Instance]) -> Value:
        known = self._all_instances.get(block.address)
        if known is not None:
            return known
        values = {
            key: self._object(block, instance.address, self._lookup_instance(instance.address))
            for key, instance in instances.items()
        }
        result = _of_instances(block, values)
        # During an apply, the instances become known one after another.
        if not any(value.data is UNKNOWN for value in values.values()):
            self._all_instances[block.address] = result
        return result


class ProgramScope(Scope):
    """The scope of one instance, or of an expression outside of all resources."""

    __slots__ = ("_program", "_properties")

    def __init__(
        self,
        program: NameResolver,
        properties: Mapping[str, Value],
        names: dict[str, Value] | None = None,
    ) -> None:
        """Make a scope; `properties` are those of an instance, such as `each.key`."""
        super().__init__(names or {}, program.context.work)
        self._program = program
        self._properties = properties

    def within(self, names: dict[str, Value]) -> Scope:
        return ProgramScope(self._program, self._properties, {**self.names, **names})

    def resolve_free(self, reference: Reference) -> Value:
        root = str(reference.steps[0])
        if root not in _NEEDS:
            return self._program.value_of(reference)
        name = ".".join(map(str, reference.steps[:2]))
        if name not in self._properties:
            written = reference.source_text()
            raise EvaluationError(f"{written} has a meaning only with {_NEEDS[root]}")
        return get_path(self._properties[name], reference.steps[2:])

    def resolve_index(self, reference: Reference, key: Value) -> Value:
        root = reference.steps[0]
        if root in self.names or root in _NEEDS:
            return super().resolve_index(reference, key)
        # One instance of a block is looked up without the others.
        return self._program.instance_value(reference, key)

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        return call(name, arguments, self._program.context)


_NEEDS: Final = {"each": "for_each", "count": "count", "self": "a provisioner"}
"""What a block needs so that its expressions may use a name."""


def _instance_at(block: Block, key: Step, instances: Mapping[InstanceKey, Instance]) -> Instance:
    if block.counted and isinstance(key, str) and key.isascii() and key.isdigit():
        key = int(key)
    elif block.repeated and isinstance(key, int):
        key = str(key)
    # True is not an index, although Python treats it as an int.
    fitting = isinstance(key, str | int) and not isinstance(key, bool)
    instance = instances.get(key) if fitting else None
    if instance is not None:
        return instance
    if not instances:
        raise EvaluationError(f"{block.address} has no instances")
    example = next(iter(instances.values())).address
    meta = "count" if block.counted else "for_each"
    raise EvaluationError(
        f"{block.address} has {meta}, and no instance {key!r}: name one, such as {example}"
    )


def _of_instances(block: Block, values: Mapping[InstanceKey, Value]) -> Value:
    """Return the value for all instances: a tuple with count, an object with for_each."""
    if block.counted:
        return tuple_of(values.values())
    return object_of({str(key): item for key, item in values.items()})


def _mark_below(data: Any, path: AttributePath) -> Any:
    if isinstance(data, Marked):
        return data
    if not path or type(data) not in (list, dict):
        return Marked(data, IS_SENSITIVE)
    try:
        inner = _mark_below(data[path[0]], path[1:])
    except (LookupError, TypeError):
        # The path leads nowhere in this value. Hide all of the value rather than nothing.
        return Marked(data, IS_SENSITIVE)
    changed = data.copy()
    changed[path[0]] = inner
    return changed
