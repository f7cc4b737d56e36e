"""The names of a program: variables, local values, resources, settings, `each`.

A reference to a resource is resolved in constant time. A reference to one instance looks up only
that instance, and the value that stands for all instances of a block is made once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from graphlib import CycleError
from typing import Any, Final

from opsconsole.clock import utc_now
from opsconsole.definition import Attribute
from opsconsole.diagnostics import AttributePath
from opsconsole.language import remote_states
from opsconsole.language.constraints import attribute_constraint
from opsconsole.language.conversion import convert, from_wire
from opsconsole.language.failures import (
    MAX_INSTANCES,
    BeyondBounds,
    EvaluationError,
    ExpressionFailure,
    NotKnownYet,
    try_step,
)
from opsconsole.language.graph import block_address, is_literal, order_locals
from opsconsole.language.model import Block, Program
from opsconsole.language.nodes import (
    Names,
    PathStep,
    Quoted,
    Reference,
    Scope,
    Work,
    get_element,
    get_path,
    make_object,
)
from opsconsole.language.numbers import int64
from opsconsole.language.parser import parse_template
from opsconsole.language.values import (
    IS_SENSITIVE,
    NO_MARKS,
    NULL,
    NUMBER,
    STRING,
    DuplicateKeys,
    Marked,
    Value,
    from_python,
    items_of,
    members_of,
    object_type,
    object_value,
    pack,
    tuple_value,
    unknown,
    unpack,
)
from opsconsole.state import InstanceKey, format_key, workspace_of
from opsconsole.text import did_you_mean, to_nfc
from opsconsole.values import UNKNOWN, Values

Lookup = Callable[[str], Any]
"""Returns the Values of an instance by its full address; None or UNKNOWN if not known yet."""
PresentKeys = Callable[[Block], Iterable[InstanceKey] | None]
"""Returns the keys of the instances that a block stands for; None: of those it declares."""

_WHOLE: Final = re.compile(r"[0-9]{1,400}")
"""A whole number in text, of no more digits than `int` takes."""
_NEEDS: Final = {"each": "for_each", "count": "count", "self": "a provisioner"}
"""The argument of a block that gives its expressions a name."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a block.

    Attributes:
        key: An int with count, a str with for_each, else None.
        each: The value of `each.value`.
    """

    block: Block
    address: str
    key: InstanceKey = None
    each: Value = NULL

    @property
    def names(self) -> dict[str, Value]:
        """The names that only this instance of the block has: `each` or `count`."""
        if isinstance(self.key, str):
            return each_names(self.key, self.each)
        if self.key is None:
            return {}
        return {"count": object_value({"index": Value(NUMBER, int64(self.key))})}


class NameResolver(Names):
    """The names of one program in one phase, and the instances of its blocks."""

    def __init__(
        self,
        program: Program,
        variables: Mapping[str, Any],
        lookup: Lookup,
        *,
        sensitive: Callable[[str], Iterable[AttributePath]] = lambda address: (),
        present: PresentKeys = lambda block: None,
        applying: bool = False,
        checking: bool = False,
        workspace: str | None = None,
        planned_at: datetime | None = None,
    ) -> None:
        """Make a resolver.

        Args:
            variables: The values of all variables, as `resolve_variables` returns them.
            lookup: Returns the value of an instance by its full address: a wire value, or None or
                UNKNOWN if the value is not known yet.
            sensitive: Returns the sensitive paths, from state, of an instance whose configuration
                was not evaluated here.
            present: Returns the keys of the instances that a block stands for.
            applying: Whether this is an apply. Before an apply, `timestamp()` and `uuid()` are
                unknown.
            checking: Whether the program is checked for mistakes. No state of another stack is then
                read, and references to missing names, which `build_graph` reports, are unknown.
            workspace: Terraform's workspace; None is the workspace selected for the program.
            planned_at: The time of the plan, for `plantimestamp()`.
        """
        self.program = program
        self.work = Work()
        self.root = program.root
        self.applying = applying
        self.planned_at = planned_at or utc_now()
        self._declared = program.declared
        self._variables: Mapping[str, Value] = variables
        self._lookup = lookup
        self._sensitive_in_state = sensitive
        self._present = present
        self._checking = checking
        workspace = workspace_of(program.root) if workspace is None else workspace
        self._settings: Mapping[str, Value] = {
            "path": from_python({"module": ".", "root": ".", "cwd": str(program.root)}),
            "terraform": from_python({"workspace": workspace}),
        }
        self._expanded: dict[str, Mapping[InstanceKey, Instance]] = {}
        self._visible: dict[str, Mapping[InstanceKey, Instance]] = {}
        self._sensitive: dict[str, tuple[AttributePath, ...]] = {}
        self._locals: dict[str, Value | ExpressionFailure] = {}
        self._provisional_locals: set[str] = set()
        self._depth = 0
        self._objects: dict[str, tuple[Values, Value]] = {}
        self._all_instances: dict[str, Value] = {}
        self._remote_states: dict[str, Value] = {}
        self._unknown_lookups = 0

    def scope(self, names: Mapping[str, Value] | None = None) -> Scope:
        """Return the scope of expressions of an instance with these names, or outside of all."""
        return Scope(self, names or {})

    def instances(self, block: Block) -> Mapping[InstanceKey, Instance]:
        """Return the instances of a block by key, in order.

        Raises:
            UserError: `count` or `for_each` is wrong, or not known yet.
        """
        if block.address not in self._expanded:
            self._expanded[block.address] = self._expand(block)
        return self._expanded[block.address]

    def _expand(self, block: Block) -> Mapping[InstanceKey, Instance]:
        address = block.address
        if not block.has_keys:
            return {None: Instance(block, address)}
        name, raw = ("count", block.count) if block.counted else ("for_each", block.for_each)
        read = count_entries if block.counted else each_entries
        entries = evaluate_argument(block.title, name, raw, self.scope(), read)
        return {
            key: Instance(block, address + format_key(key), key, each)
            for key, each in entries.items()
        }

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        # Imported at the first call, because most synthesised programs call no function.
        from opsconsole.language import functions

        return functions.call(name, arguments, self)

    def resolve(self, reference: Reference, key: Value | None = None) -> Value:
        """Return the value of a reference, or the element `key` of that value."""
        if key is not None:
            return self._resolve_index(reference, key)
        steps = reference.steps
        root, name = str(steps[0]), str(steps[1]) if len(steps) > 1 else ""
        if root in _NEEDS:
            needed = f"has a meaning only with {_NEEDS[root]}"
            raise EvaluationError(f"{reference.source_text()} {needed}")
        if root == "var" and name in self.program.variables:
            return get_path(self._variables[name], steps[2:])
        if root == "local" and name in self.program.locals:
            return get_path(self._resolve_local(name), steps[2:])
        if root in self._settings and name:
            return get_path(self._settings[root], steps[1:])
        block, rest = self._block_at(steps)
        if block is not None:
            return self._resolve_block(block, rest)
        if self._checking:
            return unknown()
        declared = {"var": self.program.variables, "local": self.program.locals}
        hint = f". {did_you_mean(name, declared[root])}" if root in declared else ""
        raise EvaluationError(f"there is no {reference.source_text()}{hint}")

    def _resolve_index(self, reference: Reference, key: Value) -> Value:
        """Return `reference[key]`: one instance of a block, without evaluating the others."""
        block, rest = self._block_at(reference.steps)
        plain = key.data
        if block is None or rest or not block.has_keys or plain is UNKNOWN or plain is None:
            return get_element(self.resolve(reference), key)
        plain = Quoted(plain) if isinstance(plain, str) else plain
        return self._resolve_block(block, (plain,)).mark(key.marks)

    def _block_at(self, steps: tuple[PathStep, ...]) -> tuple[Block | None, tuple[PathStep, ...]]:
        """Return the block that a reference names, and the other steps."""
        block = self._declared.get(block_address(steps) or "")
        return block, steps[3 if steps[0] == "data" else 2 :]

    def _resolve_local(self, name: str) -> Value:
        if name in self._provisional_locals:
            # It may depend on an unknown value: a local value that uses it must not be kept.
            self._unknown_lookups += 1
        value = self._locals[name] if name in self._locals else self._evaluate_locals(name)
        if isinstance(value, ExpressionFailure):
            raise value
        return value

    def _evaluate_locals(self, name: str) -> Value | ExpressionFailure:
        """Return a local value, or its failure, after evaluating the local values it refers to."""
        self._depth += 1
        value: Value | ExpressionFailure = NULL
        try:
            # Evaluate each after its references, so that a long chain needs no deep recursion.
            for item in order_locals(name, self.program.locals, self._locals):
                before = self._unknown_lookups
                try:
                    value = evaluate_json(self.program.locals[item], self.scope())
                except ExpressionFailure as problem:
                    value = problem
                self._locals[item] = value
                # A value that depends on unknown values may be known the next time. So it is kept
                # only until the outermost local value is evaluated.
                if isinstance(value, ExpressionFailure) or before != self._unknown_lookups:
                    self._provisional_locals.add(item)
        except CycleError as problem:
            # `build_graph` names all of them.
            if not self._checking:
                raise EvaluationError(f"local.{name} refers to itself") from problem
            value = unknown()
        finally:
            self._depth -= 1
            if not self._depth:
                for item in self._provisional_locals:
                    del self._locals[item]
                self._provisional_locals.clear()
        return value

    def _resolve_block(self, block: Block, steps: tuple[PathStep, ...]) -> Value:
        if not block.has_keys:
            return self._resolve_instance(self.instances(block)[None], steps)
        instances = self._visible_instances(block)
        if not steps:
            return self._resolve_all_instances(block, instances)
        return self._resolve_instance(_instance_at(block, steps[0], instances), steps[1:])

    def _visible_instances(self, block: Block) -> Mapping[InstanceKey, Instance]:
        """Return the instances that references see: all declared, or all that exist."""
        if block.address not in self._visible:
            keys = self._present(block)
            if keys is None:
                return self.instances(block)
            self._visible[block.address] = _instances_at(block, keys)
        return self._visible[block.address]

    def _resolve_instance(self, instance: Instance, steps: tuple[PathStep, ...]) -> Value:
        block, address = instance.block, instance.address
        if block.is_remote_state:
            return self._resolve_remote_state(instance, steps)
        definition = block.definition
        values = self._lookup(address)
        if values is None or values is UNKNOWN:
            # Counted, because results based on it are not kept.
            self._unknown_lookups += 1
            values = None
        if not steps:
            return self._instance_object(block, address, values)
        name = str(steps[0])
        if name not in definition.by_name:
            hint = did_you_mean(name, definition.names)
            raise EvaluationError(f'{block.address} has no attribute "{name}". {hint}')
        attribute = definition.by_name[name]
        return get_path(self._instance_attribute(address, values, attribute), steps[1:])

    def _resolve_remote_state(self, instance: Instance, steps: tuple[PathStep, ...]) -> Value:
        block, address = instance.block, instance.address
        value = self._remote_states.get(address)
        if value is None:
            # Unknown meanwhile, because the arguments may refer to it, which the graph reports.
            value = self._remote_states[address] = unknown()
            try:
                # Evaluated during the search for mistakes too, because there may be some in them.
                scope = self.scope(instance.names)
                arguments = {key: evaluate_json(raw, scope) for key, raw in block.arguments.items()}
                if not self._checking:
                    value = remote_states.read(block, arguments, self.program)
                    self._remote_states[address] = value
            finally:
                if value.data is UNKNOWN:
                    del self._remote_states[address]
        names_output = len(steps) > 1 and steps[0] == "outputs" and value.data is not UNKNOWN
        if names_output and steps[1] not in value.data["outputs"]:
            raise remote_states.no_output_error(block, str(steps[1]))
        return get_path(value, steps)

    def _instance_attribute(
        self, address: str, values: Values | None, attribute: Attribute
    ) -> Value:
        if values is None:
            return unknown(attribute_constraint(attribute).type)
        value = _attribute_value(values.get(attribute.name), attribute)
        for path in self._sensitive_paths(address):
            if path and path[0] == attribute.name:
                value = unpack(value.type, _mark_below(value.data, path[1:]), value.marks)
        return value

    def _instance_object(self, block: Block, address: str, values: Values | None) -> Value:
        if values is None:
            types = ((item.name, attribute_constraint(item).type) for item in block.definition)
            return unknown(object_type(dict(types)))
        cached = self._objects.get(address)
        if cached is None or cached[0] is not values:
            resource = {
                attribute.name: self._instance_attribute(address, values, attribute)
                for attribute in block.definition.attributes
            }
            cached = (values, object_value(resource))
            self._objects[address] = cached
        return cached[1]

    def mark(self, address: str, paths: Iterable[AttributePath]) -> None:
        """Take the values of an instance at `paths` as sensitive, and no others."""
        self._sensitive[address] = tuple(paths)

    def _sensitive_paths(self, address: str) -> Iterable[AttributePath]:
        if address not in self._sensitive:
            self._sensitive[address] = tuple(self._sensitive_in_state(address))
        return self._sensitive[address]

    def _resolve_all_instances(
        self, block: Block, instances: Mapping[InstanceKey, Instance]
    ) -> Value:
        if block.address in self._all_instances:
            return self._all_instances[block.address]
        values = {key: self._resolve_instance(instance, ()) for key, instance in instances.items()}
        if block.counted:
            result = tuple_value(values.values())
        else:
            result = object_value({str(key): item for key, item in values.items()})
        # During an apply, the instances become known one after another.
        if not any(value.data is UNKNOWN for value in values.values()):
            self._all_instances[block.address] = result
        return result


def _instances_at(block: Block, keys: Iterable[InstanceKey]) -> dict[InstanceKey, Instance]:
    """Return the instances of a block with keys that it may not declare."""
    fitting: Iterable[InstanceKey] = sorted(key for key in keys if isinstance(key, str))
    if block.counted:
        # As in Terraform, an element stands for each index that is missing.
        fitting = range(1 + max((key for key in keys if isinstance(key, int)), default=-1))
    return {key: Instance(block, block.address + format_key(key), key) for key in fitting}


def each_names(key: str, value: Value) -> dict[str, Value]:
    return {"each": object_value({"key": Value(STRING, key), "value": value})}


def count_entries(value: Value) -> dict[InstanceKey, Value]:
    """Return the keys of the instances that `count = value` makes."""
    # As in Terraform, a sensitive number is no secret: the number of instances shows it.
    _check_known(value.unmark() if value.marks == IS_SENSITIVE else value)
    number = convert(value, NUMBER).data
    if isinstance(number, Fraction) or number < 0:
        raise EvaluationError("it must be a whole number from 0 on")
    _check_instances(number)
    return dict.fromkeys(range(number), NULL)


def each_entries(value: Value) -> dict[str, Value]:
    """Return the keys and values of `for_each = value`, a map or a set of strings, sorted."""
    _check_known(value)
    if value.kind not in ("map", "object", "set"):
        raise EvaluationError(f"it must be a map or a set of strings, not a {value.type}")
    _check_instances(len(value.data))
    if value.kind != "set":
        return members_of(value)
    if not value.is_known:
        raise NotKnownYet("it holds a value that is known only after apply")
    if None in value.data:
        raise EvaluationError("it must not hold null")
    if value.data and value.type.element != STRING:
        raise EvaluationError(f"it must be a map or a set of strings, not a {value.type}")
    return {item.data: item for item in items_of(value)}


def _check_known(value: Value) -> None:
    if value.marks:
        raise EvaluationError("it must not be sensitive, because the keys of instances are shown")
    if value.data is UNKNOWN:
        raise NotKnownYet(
            "it depends on values that are known only after apply; apply what it depends on first"
        )
    if value.is_null:
        raise EvaluationError("it must not be null")


def _check_instances(number: int) -> None:
    if number > MAX_INSTANCES:
        raise BeyondBounds(f"there would be more than {MAX_INSTANCES:,} instances")


def _instance_at(
    block: Block, key: PathStep, instances: Mapping[InstanceKey, Instance]
) -> Instance:
    if block.counted and isinstance(key, str) and _WHOLE.fullmatch(key):
        key = int(key)
    elif block.repeated and isinstance(key, int):
        key = Quoted(key)
    # True is not an index, although Python treats it as an int. A name that is not quoted is an
    # attribute, which the instances have and not their collection.
    is_attribute = block.repeated and isinstance(key, str) and not isinstance(key, Quoted)
    fitting = isinstance(key, str | int) and not isinstance(key, bool) and not is_attribute
    instance = instances.get(key) if fitting else None
    if instance is not None:
        return instance
    example = next((item.address for item in instances.values()), f'{block.address}["KEY"]')
    if is_attribute:
        raise EvaluationError(f"{block.address} has for_each: name an instance, such as {example}")
    if not instances:
        raise EvaluationError(f"{block.address} has no instances")
    meta = "count" if block.counted else "for_each"
    raise EvaluationError(
        f"{block.address} has {meta}, and no instance {key!r}: name one, such as {example}"
    )


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


def _attribute_value(data: Any, attribute: Attribute) -> Value:
    """Return a wire value of `attribute` as a value of the language, marked if it is sensitive."""
    type = attribute_constraint(attribute).type
    made = _mark_nested(data, attribute) if attribute.attributes else from_wire(data, type)
    return Value(type, made, IS_SENSITIVE if attribute.sensitive else NO_MARKS)


def _mark_nested(data: Any, attribute: Attribute) -> Any:
    if isinstance(data, list):
        return [_mark_nested(item, attribute) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        item.name: pack(_attribute_value(data.get(item.name), item))
        for item in attribute.attributes
    }


def evaluate_json(value: Any, scope: Scope) -> Value:
    """Return the value of a JSON value in `scope`."""
    if isinstance(value, str) and not is_literal(value):
        try:
            result = parse_template(value).evaluate(scope)
        except ExpressionFailure as problem:
            # A smaller template may be set already.
            problem.expression = problem.expression or value
            raise
        if isinstance(result.data, str):
            return Value(STRING, to_nfc(result.data), result.marks)
        return result
    if isinstance(value, list):
        return tuple_value(evaluate_json(item, scope) for item in value)
    if isinstance(value, dict):
        members = value.pairs if isinstance(value, DuplicateKeys) else value.items()
        pairs = ((evaluate_json(name, scope), evaluate_json(raw, scope)) for name, raw in members)
        return make_object(pairs, 'the key "{}" is declared twice')
    return from_python(value)


def evaluate_argument(
    title: str, name: str, raw: Any, scope: Scope, then: Callable[[Any], Any] = lambda value: value
) -> Any:
    """Evaluate a JSON value and convert the result with `then`.

    Args:
        title: The owner of the value: the construct's path and the address.

    Raises:
        UserError: The value cannot be evaluated.
    """
    scope.work.parts = 0
    return try_step(title, name, lambda raw: then(evaluate_json(raw, scope)), raw)
