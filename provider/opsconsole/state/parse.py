"""From the text of a state file to the parts that the model keeps: read once, checked whole.

Only reading lives here. Every byte is decoded once, so that damage is found before anything is
planned; the decoded values are thrown away again, because the model keeps text.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.state.notation import (
    Address,
    InstanceKey,
    OtherLayout,
    decode,
    find_array,
    is_name,
    join_fields,
    render,
    split_fields,
    split_items,
)
from opsconsole.terraform_binary import engine_of

FORMAT_VERSION = 4
_RESOURCES = '\n  "resources": '
INSTANCES = '\n      "instances": '

ResourceKey = tuple[str, str, str, str]
"""Module, mode, type and name: the order in which core sorts resources."""

ObjectKey = tuple[InstanceKey, str]
"""Instance key and deposed key; the latter is empty for the current object."""


@dataclass(slots=True)
class Resource:
    """A resource's text: what is before and after its instances, and the instances."""

    provider: str
    head: str
    tail: str
    objects: dict[ObjectKey, str] = field(default_factory=dict)


@dataclass(slots=True)
class Parts:
    """A state, cut open: its fields but `resources` and `outputs`, those two, and its header."""

    fields: dict[str, str]
    outputs: dict[str, str]
    resources: dict[ResourceKey, Resource]
    lineage: str
    serial: int


def parse(data: bytes, source: str) -> Parts:
    """Cut a state open.

    Args:
        source: What to call the state in an error: its path.

    Raises:
        UserError: It is not JSON, of another version than 4, encrypted, or not a state.
    """
    try:
        text = data.decode("utf-8").rstrip("\r\n ")
    except UnicodeDecodeError as error:
        raise _unreadable(source, "it is not UTF-8") from error
    try:
        try:
            return _parts(text, source)
        except OtherLayout:
            whole = decode(text)
            if not isinstance(whole, dict):
                raise _unreadable(source, "it is not a JSON object") from None
            _check_version(whole, source)
            return _parts(render(whole, 0), source)
    except OtherLayout as error:
        raise _unreadable(source, "its resources are not laid out as state version 4") from error
    except RecursionError as error:
        raise _unreadable(source, "it is nested too deeply") from error
    except ValueError as error:
        raise _unreadable(source, str(error)) from error


def _unreadable(source: str, why: str) -> UserError:
    return UserError(
        f"The state {source} cannot be read: {why}.",
        "Nothing was changed. Restore it from its backup, or from version control.",
    )


def _parts(text: str, source: str) -> Parts:
    start, end = find_array(text, _RESOURCES, 2)
    fields = split_fields(text if start < 0 else f"{text[:start]}[]{text[end:]}", 0)
    found = {name: _decoded(raw) for name, raw in fields.items()}
    _check_version(found, source)
    if found.get("resources") or (start >= 0 and "resources" not in found):
        raise OtherLayout
    resources: dict[ResourceKey, Resource] = {}
    for item in split_items(text, start, end, 2) if start >= 0 else ():
        key, resource = _resource(item, source)
        if resources.setdefault(key, resource) is not resource:
            raise _invalid(source, f"{_named(key)} appears twice")
    _check_outputs(found.get("outputs"), source)
    outputs_text = fields.get("outputs", "{}")
    outputs = {} if outputs_text == "null" else split_fields(outputs_text, 2)
    lineage, serial = found.get("lineage", ""), found.get("serial", 0)
    if not isinstance(lineage, str) or type(serial) is not int or serial < 0:
        raise _invalid(source, "its serial is not a positive number, or its lineage is not text")
    return Parts(fields, outputs, resources, lineage, serial)


def _check_outputs(outputs: Any, source: str) -> None:
    if not isinstance(outputs or {}, dict):
        raise _invalid(source, "its outputs are not an object")
    for name, output in (outputs or {}).items():
        if not isinstance(output, dict):
            raise _invalid(source, f"its output {name!r} is not an object")


def _decoded(raw: str) -> Any:
    """Decode a piece of a cut; a piece that is not JSON means that the cut was wrong."""
    try:
        return decode(raw)
    except ValueError as error:
        raise OtherLayout from error


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


def _invalid(source: str, why: str) -> UserError:
    return UserError(f"The state {source} is damaged: {why}.", "Nothing was changed.")


def _resource(text: str, source: str) -> tuple[ResourceKey, Resource]:
    start, end = find_array(text, INSTANCES, 6)
    if start < 0:
        found = _decoded(text)
        if not isinstance(found, dict) or found.get("instances"):
            raise OtherLayout
        text = join_fields([*split_fields(text, 4).items(), ("instances", "[]")], 4)
        start, end = find_array(text, INSTANCES, 6)
    head, tail = text[:start], text[end:]
    found = _decoded(f"{head}[]{tail}")
    if found.get("instances") != []:
        raise OtherLayout
    names = [found.get(name, "") for name in ("module", "mode", "type", "name")]
    provider = found.get("provider", "")
    if not all(isinstance(name, str) for name in (*names, provider)):
        raise _invalid(source, "a resource's type or name is not text")
    module, mode, type_name, name = names
    if not is_name(type_name) or not is_name(name):
        raise _invalid(source, f"{type_name!r}, {name!r} are not the type and name of a resource")
    if mode not in ("managed", "data"):
        raise _invalid(source, f"{type_name}.{name} has the unknown mode {mode!r}")
    key = (sys.intern(module), sys.intern(mode), sys.intern(type_name), name)
    resource = Resource(sys.intern(provider), head, tail)
    for item in split_items(text, start, end, 6):
        object_key = _object_key(_decoded(item), key, source)
        if object_key in resource.objects:
            raise _invalid(source, f"an instance of {_named(key)} appears twice")
        resource.objects[object_key] = item
    return key, resource


_SHAPES: Final[Mapping[str, tuple[type, ...]]] = {
    "attributes": (dict, type(None)),
    "schema_version": (int,),
    "private": (str, type(None)),
    "dependencies": (list, type(None)),
    "sensitive_attributes": (list, type(None)),
    "status": (str,),
    "deposed": (str, type(None)),
}


def _object_key(found: Any, owner: ResourceKey, source: str) -> ObjectKey:
    for name, kinds in _SHAPES.items():
        if name in found and not isinstance(found[name], kinds):
            raise _invalid(source, f"{name} of an instance of {_named(owner)} has a wrong type")
    if not all(isinstance(item, str) for item in found.get("dependencies") or ()):
        raise _invalid(source, f"a dependency of {_named(owner)} is not text")
    key = found.get("index_key")
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    if isinstance(key, bool) or not (key is None or isinstance(key, (str, int))):
        raise _invalid(source, f"{_named(owner)} has an instance with the key {key!r}")
    if found.get("status", "") not in ("", "tainted"):
        raise _invalid(source, f"{_named(owner)} has the unknown status {found['status']!r}")
    return key, str(found.get("deposed") or "")


def _named(key: ResourceKey) -> str:
    module, mode, type_name, name = key
    return str(Address(type_name, name, None, module, mode))
