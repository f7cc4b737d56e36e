"""A state (Terraform's state version 4), indexed by address and edited in memory.

Each object is kept as JSON and decoded when it is needed. So fields that this program does not know
survive in place, and 50,000 resources stay small.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import DecodeError, Raw

from opsconsole.errors import UserError
from opsconsole.local_terraform import cli_of
from opsconsole.state.address import Address, InstanceKey, is_name
from opsconsole.state.objects import (
    InstanceObject,
    StateChange,
    StateOutput,
    compact,
    decode,
    encode,
    fields_of,
    items_of,
    lay_out,
    object_id,
    read_instance,
    set_field,
    short_digest,
    with_fields,
    write_instance,
)

_FIELDS = (
    "version",
    "terraform_version",
    "serial",
    "lineage",
    "outputs",
    "resources",
    "check_results",
)
_FORMAT_VERSION: Final = 4
_OTHER_LAYOUT: Final = "its resources are not laid out as state version 4"

_ResourceKey = tuple[str, str, str, str]
"""Module, mode, type and name: the order in which Terraform sorts resources."""

_ObjectKey = tuple[InstanceKey, str]
"""Instance key and deposed key; the deposed key is empty for the current object."""


@dataclass(slots=True)
class _Resource:
    """A resource: its fields, including the place of `instances`, and its objects as JSON.

    `deposed` has the keys of its deposed objects, so that no caller searches all objects for them.
    """

    provider: str
    fields: dict[str, Any]
    objects: dict[_ObjectKey, bytes] = field(default_factory=dict)
    deposed: frozenset[_ObjectKey] = frozenset()


class State:
    """One snapshot of a state.

    `changed` says whether the content differs since `serial` was last raised. `on_change`, if set,
    is called with every change, in order.
    """

    def __init__(
        self,
        fields: dict[str, Any],
        outputs: dict[str, bytes],
        resources: dict[_ResourceKey, _Resource],
        lineage: str,
        serial: int,
    ) -> None:
        """Make a state of its parts; `fields` are the original top-level fields."""
        self._fields, self._outputs, self._resources = fields, outputs, resources
        self.lineage, self.serial = lineage, serial
        self.changed = False
        self.on_change: Callable[[StateChange], None] | None = None

    @classmethod
    def new(cls, lineage: str = "") -> State:
        """Make an empty state of serial 0, by default with a lineage of its own."""
        # No release of Terraform wrote this state. Terraform and OpenTofu read an empty version as
        # unknown and do not compare it.
        fields = fields_of(b'{"version":4,"terraform_version":"","check_results":null}')
        return cls(dict(fields), {}, {}, lineage or str(uuid.uuid4()), 0)

    @classmethod
    def parse(cls, data: bytes, source: str = "file") -> State:
        """Read a state file; an empty file is a new state, as it is for Terraform.

        Raises:
            UserError: The data is not a readable state of version 4. The error names `source`.
        """
        if not data.strip():
            return cls.new()
        try:
            data.decode()
            return _parse(compact(data), source)
        except _Damaged as error:
            why = f"The state {source} is damaged: {error}."
            raise UserError(why, "Nothing was changed.") from error
        except UnicodeDecodeError as error:
            raise _unreadable(source, "it is not UTF-8") from error
        except RecursionError as error:
            raise _unreadable(source, "it is nested too deeply") from error
        except DecodeError as error:
            raise _unreadable(source, _OTHER_LAYOUT) from error
        except ValueError as error:
            raise _unreadable(source, str(error)) from error

    @property
    def terraform_version(self) -> str:
        """The Terraform or OpenTofu release that wrote the state; empty if none has."""
        written = decode(self._fields.get("terraform_version", b'""'))
        return written if isinstance(written, str) else ""

    @property
    def empty(self) -> bool:
        return not self._resources and not self._outputs

    def __len__(self) -> int:
        return sum(len(resource.objects) for resource in self._resources.values())

    def __contains__(self, address: Address | str) -> bool:
        return self._text(_address(address)) is not None

    def get(self, address: Address | str, deposed: str = "") -> InstanceObject | None:
        """Return the object at `address`, newly decoded, or None."""
        address = _address(address)
        text = self._text(address, deposed)
        return None if text is None else read_instance(text, self._provider(address))

    def deposed_keys(self, address: Address | str) -> tuple[str, ...]:
        """Return the deposed keys of an instance, sorted."""
        address = _address(address)
        resource = self._resources.get(_resource_key(address))
        keys = resource.deposed if resource else ()
        return tuple(sorted(deposed for key, deposed in keys if key == address.key))

    def addresses(self) -> Iterator[Address]:
        """Yield the address of every instance once, in Terraform's order."""
        yield from dict.fromkeys(address for address, _ in self.objects())

    def objects(self) -> Iterator[tuple[Address, str]]:
        """Yield every object's address and deposed key (empty for the current object), in order."""
        for module, mode, type_name, name in sorted(self._resources):
            resource = self._resources[module, mode, type_name, name]
            for key, deposed in sorted(resource.objects, key=_rank):
                yield Address(type_name, name, key, module, mode), deposed

    def raw_objects(self) -> Iterator[bytes]:
        """Yield the JSON of every object, undecoded."""
        for resource in self._resources.values():
            yield from resource.objects.values()

    def object_json(self, address: Address | str, deposed: str = "") -> str | None:
        text = self._text(_address(address), deposed)
        return None if text is None else text.decode()

    def put(self, address: Address | str, instance: InstanceObject, deposed: str = "") -> None:
        """Set the object at `address`, keeping unknown fields of the object that it replaces."""
        address = _address(address)
        old = self._text(address, deposed)
        try:
            text = write_instance(instance, address.key, deposed, old)
        except RecursionError as error:
            raise UserError(f"The attributes of {address} are nested too deeply.") from error
        self._set(address, deposed, instance.provider, text)

    def remove(self, address: Address | str, deposed: str = "") -> None:
        self._set(_address(address), deposed, "", None)

    def taint(self, address: Address | str, tainted: bool = True) -> None:
        """Mark the current object as tainted, or as not tainted."""
        address = _address(address)
        text = with_fields(self._image_at(address), status="tainted" if tainted else None)
        self._set(address, "", self._provider(address), text)

    def depose(self, address: Address | str) -> str:
        """Set the current object aside under a new deposed key, and return the key."""
        address = _address(address)
        deposed = secrets.token_hex(4)
        text = with_fields(self._image_at(address), deposed=deposed)
        self._set(address, deposed, self._provider(address), text)
        self.remove(address)
        return deposed

    def move(self, source: Address | str, target: Address | str) -> None:
        """Move an instance, with its deposed objects, to another address.

        Raises:
            UserError: There is nothing at `source`, or something at `target`.
        """
        source, target = _address(source), _address(target)
        if target in self:
            raise UserError(f"{target} is in the state already, so {source} cannot move there.")
        objects = [*([""] if source in self else []), *self.deposed_keys(source)]
        if not objects:
            raise UserError(f"{source} is not in the state.")
        for deposed in objects:
            text = with_fields(self._image_at(source, deposed), index_key=target.key)
            self._set(target, deposed, self._provider(source), text)
            self.remove(source, deposed)

    @property
    def outputs(self) -> dict[str, StateOutput]:
        """The root outputs, newly decoded, sorted by name."""
        decoded = {name: decode(self._outputs[name]) for name in sorted(self._outputs)}
        return {
            name: StateOutput(each.get("value"), each.get("type"), bool(each.get("sensitive")))
            for name, each in decoded.items()
        }

    def set_output(self, name: str, output: StateOutput | None) -> None:
        """Set a root output, or remove it with None."""
        text = None if output is None else _write_output(output).decode()
        self.apply(StateChange("output", name, text))

    def apply(self, change: StateChange) -> None:
        """Make a change that was made in another state. Repeating it does no harm.

        Raises:
            UserError: The change's `object_json` is not JSON, so that no state could hold it.
        """
        text = (
            None
            if change.object_json is None
            else change.object_json.encode("utf-8", "surrogatepass")
        )
        try:
            decode(text or b"null")
        except ValueError as error:
            raise UserError(
                f"The journal is damaged: what it holds of {change.address} is not JSON."
            ) from error
        if change.kind == "instance":
            address = Address.parse(change.address)
            self._set(address, change.deposed, change.provider, text)
        elif self._outputs.get(change.address) != text:
            if text is None:
                del self._outputs[change.address]
            else:
                self._outputs[change.address] = text
            self._tell(change)

    def raise_serial(self) -> int:
        """Raise the serial if the content changed since the last call, and return the serial."""
        if self.changed:
            self.serial += 1
            self.lineage = self.lineage or str(uuid.uuid4())
            self.changed = False
        return self.serial

    def copy(self) -> State:
        """Return an unchanged copy; edits to it affect neither this state nor its listener."""
        resources = {
            key: _Resource(
                resource.provider, resource.fields, dict(resource.objects), resource.deposed
            )
            for key, resource in self._resources.items()
        }
        # Objects and outputs are copied because `put` and `remove` change them. Fields are never
        # changed in place, so both states may share them.
        return State(self._fields, dict(self._outputs), resources, self.lineage, self.serial)

    def to_bytes(self) -> bytes:
        document = self._fields
        for name, value in (
            ("serial", self.serial),
            ("lineage", self.lineage),
            ("outputs", self._written_outputs()),
            ("resources", self._written_resources()),
        ):
            document = set_field(document, name, value, _FIELDS)
        return lay_out(encode(document))

    def digest(self) -> str:
        """Return a digest of the content, which excludes serial, lineage and release."""
        rest = {name: self._fields[name] for name in sorted(self._fields.keys() - {*_FIELDS[:6]})}
        content = encode([rest, self._written_outputs(), self._written_resources()])
        return hashlib.blake2b(content, digest_size=16).hexdigest()

    def _written_outputs(self) -> dict[str, Raw]:
        return {name: Raw(self._outputs[name]) for name in sorted(self._outputs)}

    def _written_resources(self) -> list[Any]:
        resources = []
        for key in sorted(self._resources):
            resource = self._resources[key]
            in_order = sorted(resource.objects, key=_rank)
            instances = [Raw(resource.objects[object_key]) for object_key in in_order]
            resources.append({**resource.fields, "instances": instances})
        return resources

    def _text(self, address: Address, deposed: str = "") -> bytes | None:
        resource = self._resources.get(_resource_key(address))
        return resource.objects.get((address.key, deposed)) if resource else None

    def _image_at(self, address: Address, deposed: str = "") -> bytes:
        text = self._text(address, deposed)
        if text is None:
            raise UserError(f"{address} is not in the state.")
        return text

    def _provider(self, address: Address) -> str:
        return self._resources[_resource_key(address)].provider

    def _set(self, address: Address, deposed: str, provider: str, text: bytes | None) -> None:
        key, object_key = _resource_key(address), (address.key, deposed)
        old = self._text(address, deposed)
        resource = self._resources.get(key)
        if text is None:
            if resource is None or old is None:
                return
            del resource.objects[object_key]
            resource.deposed -= {object_key}
            if not resource.objects:
                del self._resources[key]
        else:
            if resource is None:
                module = {"module": address.module} if address.module else {}
                named = {"mode": address.mode, "type": address.type, "name": address.name}
                fields = {**module, **named, "provider": provider, "instances": None}
                resource = self._resources[key] = _Resource(provider, fields)
            elif resource.provider != provider:
                # Not changed in place, because a copy of this state shares the old fields.
                resource.provider, fields = provider, {**resource.fields, "provider": provider}
                resource.fields = fields
            elif old == text:
                return
            resource.objects[object_key] = text
            if deposed:
                resource.deposed |= {object_key}
        object_json = None if text is None else text.decode()
        self._tell(
            StateChange(
                "instance",
                str(address),
                object_json,
                provider,
                deposed,
                object_id(old),
                short_digest(old),
            )
        )

    def _tell(self, change: StateChange) -> None:
        self.changed = True
        if self.on_change is not None:
            self.on_change(change)


def _address(address: Address | str) -> Address:
    return Address.parse(address) if isinstance(address, str) else address


def _resource_key(address: Address) -> _ResourceKey:
    return address.module, address.mode, address.type, address.name


def _rank(key: _ObjectKey) -> tuple[bool, bool, Any, str]:
    """Return a key for Terraform's order: no key, numbers, strings; the current object first."""
    index, deposed = key
    return isinstance(index, str), isinstance(index, int), index, deposed


def _write_output(output: StateOutput) -> bytes:
    value = Raw(encode(output.value, sort=True))
    written = {"value": value, "type": output.type}
    return encode({**written, "sensitive": True} if output.sensitive else written)


class _Damaged(Exception):
    """The reason why Terraform cannot have written a state of version 4."""


def _unreadable(source: str, why: str) -> UserError:
    return UserError(
        f"The state {source} cannot be read: {why}.",
        "Nothing was changed. Restore it from its backup, or from version control.",
    )


def _parse(text: bytes, source: str) -> State:
    try:
        fields = fields_of(text)
    except DecodeError as error:
        raise ValueError("it is not a JSON object") from error
    values = {name: decode(raw) for name, raw in fields.items() if name != "resources"}
    _check_version(values, source)
    outputs = values.get("outputs") or {}
    if not isinstance(outputs, dict) or not all(isinstance(o, dict) for o in outputs.values()):
        raise _Damaged("its outputs are not objects by name")
    lineage, serial = values.get("lineage", ""), values.get("serial", 0)
    if not isinstance(lineage, str) or type(serial) is not int or serial < 0:
        raise _Damaged("its serial is not a whole number of 0 or more, or its lineage is not text")
    resources: dict[_ResourceKey, _Resource] = {}
    for raw in items_of(fields.get("resources", b"null")) or ():
        key, resource = _resource(fields_of(raw))
        if resources.setdefault(key, resource) is not resource:
            raise _Damaged(f"{_resource_name(key)} appears twice")
    texts = fields_of(fields["outputs"]) if outputs else {}
    return State(
        dict(fields), {name: bytes(raw) for name, raw in texts.items()}, resources, lineage, serial
    )


def _check_version(fields: dict[str, Any], source: str) -> None:
    version = fields.get("version")
    if version == _FORMAT_VERSION:
        return
    if "encrypted_data" in fields:
        raise UserError(
            f"The state {source} is encrypted by OpenTofu, and only OpenTofu can read it."
        )
    if not isinstance(version, int) or isinstance(version, bool):
        raise _unreadable(source, 'it has no "version", so it is not a state')
    if version < _FORMAT_VERSION:
        raise UserError(
            f"The state {source} has format version {version}; version 4 is needed.",
            f"Run `{cli_of().command} apply -refresh-only` once: it upgrades the state.",
        )
    writer = fields.get("terraform_version")
    by = f" (written by Terraform {writer})" if writer else ""
    raise UserError(
        f"The state {source} has format version {version}{by}, newer than this program knows.",
        f"Nothing was changed. Use a newer opsconsole, or {cli_of().name} itself.",
    )


def _resource(fields: dict[str, Any]) -> tuple[_ResourceKey, _Resource]:
    names = [decode(fields.get(name, b'""')) for name in ("module", "mode", "type", "name")]
    provider = decode(fields.get("provider", b'""'))
    if not all(isinstance(name, str) for name in (*names, provider)):
        raise _Damaged("a resource's type or name is not text")
    module, mode, type_name, name = names
    if not is_name(type_name) or not is_name(name):
        raise _Damaged(f"{type_name!r}, {name!r} are not the type and name of a resource")
    if mode not in ("managed", "data"):
        raise _Damaged(f"{type_name}.{name} has the unknown mode {mode!r}")
    # A large state repeats these for each resource. Interning keeps each text once.
    key = (sys.intern(module), sys.intern(mode), sys.intern(type_name), name)
    resource = _Resource(sys.intern(provider), {**fields, "instances": None})
    for raw in items_of(fields.get("instances", b"null")) or ():
        text = bytes(raw)
        object_key = _object_key(decode(text), key)
        if object_key in resource.objects:
            raise _Damaged(f"an instance of {_resource_name(key)} appears twice")
        resource.objects[object_key] = text
        if object_key[1]:
            resource.deposed |= {object_key}
    return key, resource


_SHAPES: Final[Mapping[str, tuple[type, ...]]] = {
    "attributes": (dict, type(None)),
    "schema_version": (int,),
    "provider": (str, type(None)),
    "private": (str, type(None)),
    "dependencies": (list, type(None)),
    "sensitive_attributes": (list, type(None)),
    "status": (str,),
    "deposed": (str, type(None)),
}


def _object_key(fields: Any, owner: _ResourceKey) -> _ObjectKey:
    if not isinstance(fields, dict):
        raise ValueError(_OTHER_LAYOUT)
    for name, kinds in _SHAPES.items():
        if name in fields and not isinstance(fields[name], kinds):
            raise _Damaged(f"{name} of an instance of {_resource_name(owner)} has a wrong type")
    if not all(isinstance(item, str) for item in fields.get("dependencies") or ()):
        raise _Damaged(f"a dependency of {_resource_name(owner)} is not text")
    key = fields.get("index_key")
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    if isinstance(key, bool) or not (key is None or isinstance(key, (str, int))):
        raise _Damaged(f"{_resource_name(owner)} has an instance with the key {key!r}")
    if fields.get("status", "") not in ("", "tainted"):
        raise _Damaged(f"{_resource_name(owner)} has the unknown status {fields['status']!r}")
    return key, str(fields.get("deposed") or "")


def _resource_name(key: _ResourceKey) -> str:
    module, mode, type_name, name = key
    return str(Address(type_name, name, None, module, mode))
