"""Values in Terraform's JSON: known, unknown and sensitive parts, and the tree of modules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from opsconsole.definition import Kind
from opsconsole.diagnostics import Diagnostic
from opsconsole.errors import Cause
from opsconsole.state import Address
from opsconsole.values import UNKNOWN, Value, Values, holds_unknown


def without_empty(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return `members` without nulls and empty texts, lists and objects."""
    return {name: item for name, item in members.items() if item not in (None, "", [], {})}


def known_part(value: Value) -> Any:
    """Return `value` without its unknown parts: left out of objects, null in lists."""
    if value is UNKNOWN:
        return None
    if isinstance(value, list):
        return [known_part(item) for item in value]
    if isinstance(value, dict):
        return {name: known_part(item) for name, item in value.items() if item is not UNKNOWN}
    return value


def after_unknown(value: Value) -> Any:
    """Return the shape of `value` with true for each unknown; known leaves of objects are left out.

    The shape is empty if everything is known, or if nothing is left.
    """
    return _unknown(value) if value is not None and holds_unknown(value) else {}


def _unknown(value: Value) -> Any:
    return True if value is UNKNOWN else _shape(value, _unknown)


def sensitive(value: Values | None, names: frozenset[str], kinds: Mapping[str, Kind]) -> Any:
    """Return the shape of `value` with true for each of `names`; false if there is no value."""
    if value is None:
        return False
    shape = {
        name: True if name in names else _insensitive(item, kinds.get(name))
        for name, item in value.items()
    }
    return {name: item for name, item in shape.items() if item is not False}


def _insensitive(value: Value, kind: Kind | None = None) -> Any:
    if value is UNKNOWN:
        # Terraform writes an empty collection for an unknown collection, and leaves out other
        # unknowns.
        return _EMPTY.get(kind, False) if kind else False
    return _shape(value, _insensitive)


_EMPTY: dict[Kind, Any] = {
    Kind.STRING_SET: [],
    Kind.STRING_LIST: [],
    Kind.OBJECT_LIST: [],
    Kind.STRING_MAP: {},
    Kind.OBJECT: {},
}


def _shape(value: Value, leaf: Any) -> Any:
    if isinstance(value, list):
        return [leaf(item) for item in value]
    if isinstance(value, dict):
        shape = {name: leaf(item) for name, item in value.items()}
        return {name: item for name, item in shape.items() if item is not False}
    return False


def cause_json(cause: Cause) -> dict[str, Any]:
    """Return the error behind a diagnostic or a finding; unknown members are left out."""
    answer = cause.answer
    return without_empty(
        {
            "kind": cause.kind.value,
            "message": cause.message,
            "operation": cause.operation,
            "status": answer.status if answer else cause.status,
            "code": answer and answer.code,
            "request_id": answer and answer.request_id,
            "details": answer and dict(answer.details),
        }
    )


def diagnostic_json(item: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as in Terraform's JSON, with additional members of our own."""
    members: dict[str, Any] = {
        "severity": item.severity.value,
        "summary": item.summary,
        "detail": item.text,
    }
    if item.addresses:
        members["address"] = item.addresses[0]
    file, _, line = item.location.rpartition(":")
    if file and line.isdecimal():
        # Synthesis notes lines, not columns.
        start = {"line": int(line), "column": 1, "byte": 0}
        members["range"] = {"filename": file, "start": start, "end": dict(start)}
    cause = item.cause and cause_json(item.cause)
    return members | without_empty({"path": list(item.path), "cause": cause})


def instance_json(address: Address, text: str) -> dict[str, Any]:
    index = {} if address.key is None else {"index": address.key}
    return {
        "address": text,
        **without_empty({"module_address": address.module}),
        "mode": address.mode,
        "type": address.type,
        "name": address.name,
        **index,
    }


def values_json(outputs: dict[str, Any], resources: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the outputs and the tree of modules of a state or of planned values."""
    return without_empty({"outputs": outputs}) | {"root_module": module_tree(resources)}


_STEP = re.compile(r'module\.[^.\["]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?')


def module_tree(resources: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the root module, with each resource in the module of its `module_address`."""
    root: dict[str, Any] = {}
    modules = {"": root}
    for resource in resources:
        plain = dict(resource)
        # In the tree, the position of a resource shows its module, as in Terraform's JSON.
        module = _find_module(modules, str(plain.pop("module_address", "")))
        module.setdefault("resources", []).append(plain)
    for module in modules.values():
        if "child_modules" in module:
            module["child_modules"].sort(key=lambda child: child["address"])
    return root


def _find_module(modules: dict[str, dict[str, Any]], address: str) -> dict[str, Any]:
    if address in modules:
        return modules[address]
    steps = _STEP.findall(address)
    parent = _find_module(modules, ".".join(steps[:-1]))
    modules[address] = {"address": address}
    parent.setdefault("child_modules", []).append(modules[address])
    return modules[address]
