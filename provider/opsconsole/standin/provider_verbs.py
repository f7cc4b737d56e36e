"""Verbs about providers and modules: the schema as Terraform prints it, and the rest.

These verbs do little, because the engine is the provider and reads no modules.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from opsconsole.address import SOURCE
from opsconsole.definition import (
    Attribute,
    DataSourceDefinition,
    ProviderDefinition,
    ResourceDefinition,
)
from opsconsole.errors import UserError
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.standin.command_line import Call
from opsconsole.terraform_binary import engine_of


def get(call: Call) -> int:
    """Install modules, of which there are none; a program with modules is for Terraform."""
    return 0


def lock(call: Call) -> int:
    """Lock providers; the native engine starts no provider and leaves the lock file unchanged."""
    sys.stdout.write("The native engine needs no provider: .terraform.lock.hcl is unchanged.\n")
    return 0


def providers(call: Call) -> int:
    """Print the providers of the program, which is this provider alone."""
    sys.stdout.write(f"\nProviders required by configuration:\n.\n└── provider[{_address()}]\n\n")
    return 0


def schema(call: Call) -> int:
    if not call.on("json"):
        raise UserError("`providers schema` prints JSON only.", "Add -json.")
    schemas = {
        "provider": _schema(PROVIDER),
        "resource_schemas": {name: _schema(item) for name, item in sorted(RESOURCES.items())},
        "data_source_schemas": {name: _schema(item) for name, item in sorted(DATA_SOURCES.items())},
    }
    document = {"format_version": "1.0", "provider_schemas": {_address(): schemas}}
    sys.stdout.write(json.dumps(document, separators=(",", ":")) + "\n")
    return 0


def _address() -> str:
    return f"{engine_of().host}/{SOURCE}"


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
    described: dict[str, Any] = {}
    if attribute.kind.is_nested:
        described["nested_type"] = {
            "attributes": _attributes(attribute.attributes),
            "nesting_mode": attribute.kind.terraform_type,
        }
    else:
        described["type"] = attribute.kind.terraform_type
    described |= {"description": attribute.description, "description_kind": "markdown"}
    facts = ("required", "optional", "computed", "sensitive")
    return described | {name: True for name in facts if getattr(attribute, name)}
