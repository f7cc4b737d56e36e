"""Small verbs: `version`, in the words that clients look for, `get`, and `providers`.

Clients call `version` several times at each start, so this module imports little.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opsconsole import __version__
from opsconsole.address import SOURCE
from opsconsole.errors import UserError
from opsconsole.local_terraform import TERRAFORM_VERSION, cli_of, platform_name
from opsconsole.standin.command_line import ProgramCall

if TYPE_CHECKING:
    from opsconsole.definition import (
        Attribute,
        DataSourceDefinition,
        ProviderDefinition,
        ResourceDefinition,
    )


def version(call: ProgramCall) -> int:
    selections = dict.fromkeys(_required_providers(Path.cwd()), __version__)
    system = platform_name(platform.system(), platform.machine())
    if call.is_on("json"):
        document = {
            "terraform_version": TERRAFORM_VERSION,
            "platform": system,
            "provider_selections": selections,
            "terraform_outdated": False,
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return 0
    lines = [f"Terraform v{TERRAFORM_VERSION}", f"on {system}"]
    lines += [f"+ provider {name} v{number}" for name, number in selections.items()]
    lines += [f"by opsconsole v{__version__}, its native engine"]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0


def _required_providers(directory: Path) -> Iterator[str]:
    """Yield the address of our provider, if the program in a directory requires it."""
    for path in directory.glob("*.tf.json"):
        try:
            document = json.loads(path.read_bytes())
            settings = document.get("terraform") or {}
            for body in settings if isinstance(settings, list) else [settings]:
                for wanted in body["required_providers"].values():
                    if f"/{wanted['source']}".endswith(f"/{SOURCE}"):
                        yield f"{cli_of(directory).host}/{SOURCE}"
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            # The verbs that need the file report its errors.
            continue


def get(call: ProgramCall) -> int:
    """Install modules; a program with modules is for Terraform."""
    return 0


def lock(call: ProgramCall) -> int:
    """Lock providers; the native engine needs none, so the lock file stays."""
    sys.stdout.write("The native engine needs no provider: .terraform.lock.hcl is unchanged.\n")
    return 0


def providers(call: ProgramCall) -> int:
    sys.stdout.write(
        f"\nProviders required by configuration:\n.\n└── provider[{_provider_address()}]\n\n"
    )
    return 0


def schema(call: ProgramCall) -> int:
    if not call.is_on("json"):
        raise UserError("`providers schema` prints JSON only.", "Add -json.")
    from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES

    schemas = {
        "provider": _schema_json(PROVIDER),
        "resource_schemas": {name: _schema_json(item) for name, item in sorted(RESOURCES.items())},
        "data_source_schemas": {
            name: _schema_json(item) for name, item in sorted(DATA_SOURCES.items())
        },
    }
    document = {"format_version": "1.0", "provider_schemas": {_provider_address(): schemas}}
    sys.stdout.write(json.dumps(document, separators=(",", ":")) + "\n")
    return 0


def _provider_address() -> str:
    return f"{cli_of().host}/{SOURCE}"


def _schema_json(
    definition: ResourceDefinition | DataSourceDefinition | ProviderDefinition,
) -> dict[str, Any]:
    from opsconsole.definition import SCHEMA_VERSION

    return {
        "version": SCHEMA_VERSION,
        "block": {
            "attributes": _attributes_json(definition.attributes),
            "description": definition.description,
            "description_kind": "markdown",
        },
    }


def _attributes_json(attributes: Iterable[Attribute]) -> dict[str, Any]:
    return {
        item.name: _attribute_json(item) for item in sorted(attributes, key=lambda item: item.name)
    }


def _attribute_json(attribute: Attribute) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if attribute.kind.is_nested:
        described["nested_type"] = {
            "attributes": _attributes_json(attribute.attributes),
            "nesting_mode": attribute.kind.terraform_type,
        }
    else:
        described["type"] = attribute.kind.terraform_type
    described |= {"description": attribute.description, "description_kind": "markdown"}
    facts = ("required", "optional", "computed", "sensitive")
    return described | {name: True for name in facts if getattr(attribute, name)}
