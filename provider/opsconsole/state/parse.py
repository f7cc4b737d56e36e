"""Reads a state file, checks all of it, and keeps each object as JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from msgspec import DecodeError

from opsconsole.errors import UserError
from opsconsole.state.address import Address, InstanceKey, is_name
from opsconsole.state.document import compact, decode, fields_of, items_of
from opsconsole.terraform_binary import engine_of

FORMAT_VERSION = 4
_OTHER_LAYOUT: Final = "its resources are not laid out as state version 4"

ResourceKey = tuple[str, str, str, str]
"""Module, mode, type and name: the order in which core sorts resources."""

ObjectKey = tuple[InstanceKey, str]
"""Instance key and deposed key; the deposed key is empty for the current object."""


@dataclass(slots=True)
class Resource:
    """A resource: its fields, including the place of `instances`, and its objects as JSON."""

    provider: str
    fields: dict[str, Any]
    objects: dict[ObjectKey, bytes] = field(default_factory=dict)


class Parts(NamedTuple):
    """The parts of a state; `fields` are the original top-level fields."""

    fields: dict[str, Any]
    outputs: dict[str, bytes]
    resources: dict[ResourceKey, Resource]
    lineage: str
    serial: int


class _Damaged(Exception):
    """The reason why a state of version 4 cannot be one that Terraform wrote."""


def parse(data: bytes, source: str) -> Parts:
    """Split a state into its parts.

    Args:
        source: The path of the state, for error messages.

    Raises:
        UserError: The data is not JSON, not a state, encrypted, or of a version other than 4.
    """
    try:
        data.decode()
        return _parts(compact(data), source)
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


def _unreadable(source: str, why: str) -> UserError:
    return UserError(
        f"The state {source} cannot be read: {why}.",
        "Nothing was changed. Restore it from its backup, or from version control.",
    )


def _parts(text: bytes, source: str) -> Parts:
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
    resources: dict[ResourceKey, Resource] = {}
    for item in items_of(fields.get("resources", b"null")) or ():
        key, resource = _resource(fields_of(item))
        if resources.setdefault(key, resource) is not resource:
            raise _Damaged(f"{_resource_name(key)} appears twice")
    texts = fields_of(fields["outputs"]) if outputs else {}
    return Parts(
        dict(fields), {name: bytes(raw) for name, raw in texts.items()}, resources, lineage, serial
    )


def _check_version(fields: dict[str, Any], source: str) -> None:
    version = fields.get("version")
    if version == FORMAT_VERSION:
        return
    if "encrypted_data" in fields:
        raise UserError(
            f"The state {source} is encrypted by OpenTofu, and only OpenTofu can read it."
        )
    if not isinstance(version, int) or isinstance(version, bool):
        raise _unreadable(source, 'it has no "version", so it is not a state')
    if version < FORMAT_VERSION:
        raise UserError(
            f"The state {source} has format version {version}; version 4 is needed.",
            f"Run `{engine_of().command} apply -refresh-only` once: it upgrades the state.",
        )
    writer = fields.get("terraform_version")
    by = f" (written by Terraform {writer})" if writer else ""
    raise UserError(
        f"The state {source} has format version {version}{by}, newer than this program knows.",
        f"Nothing was changed. Use a newer opsconsole, or {engine_of().name} itself.",
    )


def _resource(fields: dict[str, Any]) -> tuple[ResourceKey, Resource]:
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
    resource = Resource(sys.intern(provider), {**fields, "instances": None})
    for item in items_of(fields.get("instances", b"null")) or ():
        text = bytes(item)
        object_key = _object_key(decode(text), key)
        if object_key in resource.objects:
            raise _Damaged(f"an instance of {_resource_name(key)} appears twice")
        resource.objects[object_key] = text
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


def _object_key(fields: Any, owner: ResourceKey) -> ObjectKey:
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


def _resource_name(key: ResourceKey) -> str:
    module, mode, type_name, name = key
    return str(Address(type_name, name, None, module, mode))
