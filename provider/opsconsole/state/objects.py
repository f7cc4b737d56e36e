"""What a state holds: instance objects, outputs, and changes to them; and their text, by address.

A change carries the whole text of an object after it, so that applying it twice is harmless.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from opsconsole.diagnostics import Path
from opsconsole.errors import UserError
from opsconsole.state.notation import (
    Address,
    InstanceKey,
    OtherLayout,
    decode,
    join_fields,
    quote,
    render,
    set_field,
    split_fields,
)
from opsconsole.state.parse import INSTANCES, ObjectKey, Resource, ResourceKey

INSTANCE_INDENT = 8
_INSTANCE_ORDER = (
    "index_key",
    "status",
    "deposed",
    "schema_version",
    "attributes",
    "attributes_flat",
    "sensitive_attributes",
    "identity_schema_version",
    "identity",
    "private",
    "dependencies",
    "create_before_destroy",
)
_ID_FIELD = "\n" + " " * 12 + '"id": '


class InstanceObject(NamedTuple):
    """One object of a resource instance, as core keeps it.

    Attributes:
        provider: The provider's address in state, `provider["registry.terraform.io/ns/name"]`.
        private: The provider's own bytes; opaque.
        dependencies: Configuration addresses, without keys.
        sensitive_attributes: Paths as state writes them; None leaves them as they are.
        create_before_destroy: None leaves it as it is.
    """

    provider: str
    attributes: dict[str, Any]
    schema_version: int = 0
    private: bytes = b""
    dependencies: Sequence[str] = ()
    tainted: bool = False
    sensitive_attributes: list[Any] | None = None
    create_before_destroy: bool | None = None

    @property
    def sensitive_paths(self) -> frozenset[Path]:
        """The paths of what is sensitive in it."""
        written = self.sensitive_attributes or ()
        return frozenset(tuple(_steps(path)) for path in written if isinstance(path, list))


class StateOutput(NamedTuple):
    """A root output. `type` is its type as state writes it: `"string"`, `["list", "string"]`."""

    value: Any
    type: Any
    sensitive: bool = False


class StateChange(NamedTuple):
    """One change of a state, by the text that it leaves.

    Attributes:
        kind: `instance`, or `output`.
        address: The instance's address, or the output's name.
        deposed: The deposed key, or empty for the current object.
        image: The object's text, or None when it was removed.
        previous_id: The `id` of the object before; empty when it has none; None: no object.
        previous_mark: What `mark` makes of the text before; empty: no object.
    """

    kind: Literal["instance", "output"]
    address: str
    image: str | None
    provider: str = ""
    deposed: str = ""
    previous_id: str | None = None
    previous_mark: str = ""


def read_instance(text: str, provider: str) -> InstanceObject:
    """Decode an instance's text.

    Raises:
        UserError: A field has another type than state version 4 gives it.
    """
    found = _object(text, "an instance")
    attributes = found.get("attributes") or {}
    dependencies = found.get("dependencies") or []
    if not isinstance(attributes, dict) or not isinstance(dependencies, list):
        raise UserError("The state holds an instance whose attributes are not an object.")
    try:
        private = base64.b64decode(found.get("private") or "", validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise UserError("The state holds an instance whose private data is not base64.") from error
    # OpenTofu writes it with each instance where instances have their own.
    own = found.get("provider")
    return InstanceObject(
        provider=own if isinstance(own, str) and own else provider,
        attributes=attributes,
        schema_version=found.get("schema_version", 0),
        private=private,
        dependencies=tuple(dependencies),
        tainted=found.get("status") == "tainted",
        sensitive_attributes=found.get("sensitive_attributes"),
        create_before_destroy=bool(found.get("create_before_destroy", False)),
    )


def write_instance(item: InstanceObject, key: InstanceKey, deposed: str, old: str | None) -> str:
    """Lay out an instance; fields of `old` that nobody here knows stay where they are."""
    inner = INSTANCE_INDENT + 2
    known: dict[str, str | None] = {
        "index_key": None if key is None else render(key, inner),
        "status": '"tainted"' if item.tainted else None,
        "deposed": quote(deposed) if deposed else None,
        "schema_version": str(item.schema_version),
        "attributes": render(item.attributes, inner, sort=True),
        "attributes_flat": None,
        "private": quote(base64.b64encode(item.private).decode()) if item.private else None,
        "dependencies": render(sorted(item.dependencies), inner) if item.dependencies else None,
    }
    if item.sensitive_attributes is not None or old is None:
        known["sensitive_attributes"] = render(item.sensitive_attributes or [], inner)
    if item.create_before_destroy is not None:
        known["create_before_destroy"] = "true" if item.create_before_destroy else None
    if old is None:
        listed = [(name, known.get(name)) for name in _INSTANCE_ORDER]
        return join_fields([(n, raw) for n, raw in listed if raw is not None], INSTANCE_INDENT)
    return _with_fields(old, known)


def with_field(text: str, name: str, value: Any) -> str:
    """Return an instance's text with one field set, or without it when `value` is None."""
    raw = None if value is None else render(value, INSTANCE_INDENT + 2)
    return _with_fields(text, {name: raw})


def _with_fields(text: str, changes: dict[str, str | None]) -> str:
    try:
        fields = split_fields(text, INSTANCE_INDENT)
    except OtherLayout:
        fields = split_fields(render(decode(text), INSTANCE_INDENT), INSTANCE_INDENT)
    for name, raw in changes.items():
        if raw is None:
            fields.pop(name, None)
        elif name in fields:
            fields[name] = raw
        else:
            fields = set_field(fields, name, raw, _INSTANCE_ORDER)
    return join_fields(fields.items(), INSTANCE_INDENT)


def _steps(path: Sequence[Any]) -> Iterator[str | int]:
    """Yield the steps of a path; what follows one of another form is not told apart."""
    for step in path:
        found = step.get("value") if isinstance(step, dict) else None
        if isinstance(found, dict):
            found = found.get("value")
        if not isinstance(found, str | int):
            return
        yield found


def paths_to_state(paths: Iterable[Path]) -> list[Any]:
    """Return paths as `sensitive_attributes` writes them (state version 4)."""
    return [[_written_step(step) for step in path] for path in sorted(paths, key=str)]


def _written_step(step: str | int) -> dict[str, Any]:
    if isinstance(step, str):
        return {"type": "get_attr", "value": step}
    return {"type": "index", "value": {"value": step, "type": "number"}}


def object_id(text: str | None) -> str | None:
    """Return the `id` attribute of an instance's text: empty without one, None without text.

    Raises:
        UserError: It is not JSON.
    """
    if text is None:
        return None
    at = text.find(_ID_FIELD)
    if at < 0:
        return ""
    line = text[at + len(_ID_FIELD) : text.find("\n", at + 1)].removesuffix(",")
    return str(_decoded(line, "an id")) if line.startswith('"') else ""


def mark(text: str | None) -> str:
    """Return a short digest of an object's text, to know it again; empty without text."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest() if text else ""


def _decoded(text: str, what: str) -> Any:
    try:
        return decode(text)
    except ValueError as error:
        raise UserError(f"The state holds {what} that is not JSON: {error}.") from error


def _object(text: str, what: str) -> dict[str, Any]:
    found = _decoded(text, what)
    if not isinstance(found, dict):
        raise UserError(f"The state holds {what} that is not an object.")
    return found


def read_output(text: str) -> StateOutput:
    """Decode an output's text."""
    found = _object(text, "an output")
    return StateOutput(found.get("value"), found.get("type"), bool(found.get("sensitive", False)))


def write_output(output: StateOutput) -> str:
    """Lay out an output."""
    fields = [("value", render(output.value, 6, sort=True)), ("type", render(output.type, 6))]
    if output.sensitive:
        fields.append(("sensitive", "true"))
    return join_fields(fields, 4)


class ObjectStore:
    """Every resource of a state; ordered as core orders them when it writes."""

    def __init__(self, resources: dict[ResourceKey, Resource]) -> None:
        self._resources = resources
        self._sorted: list[ResourceKey] | None = None

    def __len__(self) -> int:
        return sum(len(resource.objects) for resource in self._resources.values())

    def __bool__(self) -> bool:
        return bool(self._resources)

    def text(self, address: Address, deposed: str = "") -> str | None:
        """Return the text of an object, or None."""
        resource = self._resources.get(_key(address))
        return resource.objects.get((address.key, deposed)) if resource else None

    def provider(self, address: Address) -> str:
        """Return the provider's address of a resource; empty where there is none."""
        resource = self._resources.get(_key(address))
        return resource.provider if resource else ""

    def deposed(self, address: Address) -> tuple[str, ...]:
        """Return the deposed keys of an instance, sorted."""
        resource = self._resources.get(_key(address))
        keys = resource.objects if resource else ()
        return tuple(sorted(mark for key, mark in keys if mark and key == address.key))

    def addresses(self) -> Iterator[Address]:
        """Yield the address of every instance once, in core's order."""
        for resource_key in self._order():
            module, mode, type_name, name = resource_key
            for key in dict.fromkeys(key for key, _ in _ordered(self._resources[resource_key])):
                yield Address(type_name, name, key, module, mode)

    def objects(self) -> Iterator[tuple[Address, str]]:
        """Yield address and deposed key of every object, in core's order."""
        for resource_key in self._order():
            module, mode, type_name, name = resource_key
            for key, deposed in _ordered(self._resources[resource_key]):
                yield Address(type_name, name, key, module, mode), deposed

    def set(self, address: Address, deposed: str, provider: str, text: str | None) -> bool:
        """Set or, with None, remove an object; return whether that changed anything."""
        key = _key(address)
        resource = self._resources.get(key)
        if text is None:
            if resource is None or resource.objects.pop((address.key, deposed), None) is None:
                return False
            if not resource.objects:
                del self._resources[key]
                self._sorted = None
            return True
        if resource is None:
            resource = self._resources[key] = _new_resource(key, provider)
            self._sorted = None
        elif resource.provider != provider:
            _set_provider(resource, provider)
        elif resource.objects.get((address.key, deposed)) == text:
            return False
        resource.objects[address.key, deposed] = text
        return True

    def copy(self) -> ObjectStore:
        """Return a store that can be edited without this one noticing."""
        return ObjectStore(
            {
                key: Resource(item.provider, item.head, item.tail, dict(item.objects))
                for key, item in self._resources.items()
            }
        )

    def pieces(self) -> list[str]:
        """Return the text of the array of resources, in pieces."""
        if not self._resources:
            return ["[]"]
        pieces: list[str] = []
        opening = "[\n    "
        for key in self._order():
            resource = self._resources[key]
            pieces += (opening, resource.head)
            opening = ",\n    "
            inner = "[\n        "
            for object_key in _ordered(resource):
                pieces += (inner, resource.objects[object_key])
                inner = ",\n        "
            pieces += ("\n      ]" if resource.objects else "[]", resource.tail)
        pieces.append("\n  ]")
        return pieces

    def _order(self) -> list[ResourceKey]:
        if self._sorted is None:
            self._sorted = sorted(self._resources)
        return self._sorted


def _key(address: Address) -> ResourceKey:
    return address.module, address.mode, address.type, address.name


def _ordered(resource: Resource) -> list[ObjectKey]:
    """Return the keys as core sorts them: none, numbers, texts; the current object first."""
    if len(resource.objects) < 2:
        return list(resource.objects)
    return sorted(resource.objects, key=_rank)


def _rank(key: ObjectKey) -> tuple[int, int, str, str]:
    index, deposed = key
    if index is None:
        return 0, 0, "", deposed
    return (1, index, "", deposed) if isinstance(index, int) else (2, 0, index, deposed)


def _new_resource(key: ResourceKey, provider: str) -> Resource:
    module, mode, type_name, name = key
    fields = [("module", module)] if module else []
    fields += [("mode", mode), ("type", type_name), ("name", name), ("provider", provider)]
    quoted = join_fields([(field, quote(value)) for field, value in fields], 4)
    return Resource(provider, f"{quoted.removesuffix(_END)},{INSTANCES}", _END)


def _set_provider(resource: Resource, provider: str) -> None:
    fields = split_fields(f"{resource.head}[]{resource.tail}", 4)
    text = join_fields({**fields, "provider": quote(provider)}.items(), 4)
    before, after = text.split(f"{INSTANCES}[]", 1)
    resource.provider, resource.head, resource.tail = provider, f"{before}{INSTANCES}", after


_END = "\n    }"
