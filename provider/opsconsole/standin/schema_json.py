"""`providers schema -json`: the definitions as Terraform prints a provider's schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from opsconsole.address import full_address
from opsconsole.definition import (
    Attribute,
    DataSourceDefinition,
    Kind,
    ProviderDefinition,
    ResourceDefinition,
)
from opsconsole.errors import UserError
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.standin.command_line import Given
from opsconsole.standin.verbs import Verb

_TYPES: dict[Kind, Any] = {
    Kind.STRING: "string",
    Kind.INTEGER: "number",
    Kind.NUMBER: "number",
    Kind.BOOLEAN: "bool",
    Kind.STRING_SET: ["set", "string"],
    Kind.STRING_LIST: ["list", "string"],
    Kind.STRING_MAP: ["map", "string"],
}
_NESTING = {Kind.OBJECT: "single", Kind.OBJECT_LIST: "list"}


def run(verb: Verb, given: Given) -> int:
    """Print the schema; return the exit code."""
    if not given.on("json"):
        raise UserError("`providers schema` prints JSON only.", "Add -json.")
    sys.stdout.write(json.dumps(document(), separators=(",", ":")) + "\n")
    return 0


def document() -> dict[str, Any]:
    """Return the schema as the JSON value that is printed."""
    schemas = {
        "provider": _schema(PROVIDER),
        "resource_schemas": {name: _schema(item) for name, item in sorted(RESOURCES.items())},
        "data_source_schemas": {name: _schema(item) for name, item in sorted(DATA_SOURCES.items())},
    }
    return {"format_version": "1.0", "provider_schemas": {full_address(): schemas}}


def _schema(
    definition: ResourceDefinition | DataSourceDefinition | ProviderDefinition,
) -> dict[str, Any]:
    return {
        "version": 0,
        "block": {
            "attributes": _attributes(definition.attributes),
            "description": definition.description,
            "description_kind": "markdown",
        },
    }


def _attributes(attributes: Iterable[Attribute]) -> dict[str, Any]:
    return {item.name: _attribute(item) for item in sorted(attributes, key=lambda item: item.name)}


def _attribute(attribute: Attribute) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if attribute.kind in _NESTING:
        found["nested_type"] = {
            "attributes": _attributes(attribute.attributes),
            "nesting_mode": _NESTING[attribute.kind],
        }
    else:
        found["type"] = _TYPES[attribute.kind]
    found |= {"description": attribute.description, "description_kind": "markdown"}
    facts = ("required", "optional", "computed", "sensitive")
    return found | {name: True for name in facts if getattr(attribute, name)}
