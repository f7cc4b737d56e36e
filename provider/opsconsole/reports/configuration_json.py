"""The `configuration` of Terraform's JSON plan format: what a program declares, and refers to.

Of a program in JSON syntax, Terraform prints each value as it is written, and the references that
the templates in it hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from opsconsole.language import (
    Block,
    Json,
    Output,
    Program,
    ProviderBlock,
    Reference,
    Variable,
    example_values,
    lasting_values,
    readable_references,
)
from opsconsole.resources import PROVIDER

SCHEMA_VERSION: Final = 0
_SHORTEST: Final = {"data": 3}
"""Steps of the shortest reference that means something, by its first word; else two."""

_SECRETS: Final = frozenset(item.name for item in PROVIDER.attributes if item.sensitive)
"""Left out, while Terraform prints them as they are written: no report holds a credential."""


def configuration(program: Program, provider_name: str) -> dict[str, Any]:
    """Return the configuration of a program.

    Args:
        provider_name: The provider's full source address.
    """
    root: dict[str, Any] = {}
    if program.outputs:
        root["outputs"] = {name: _output(program.outputs[name]) for name in sorted(program.outputs)}
    blocks = sorted(program.blocks.values(), key=lambda item: (item.mode == "data", item.address))
    if blocks:
        root["resources"] = [_resource(block) for block in blocks]
    if program.variables:
        found, defaults = program.variables, lasting_values(example_values(program))
        root["variables"] = {name: _variable(found[name], defaults) for name in sorted(found)}
    providers = {
        key: _provider(key, program, provider_name)
        for key in sorted({*program.providers, *(block.provider for block in blocks)})
    }
    return ({"provider_config": providers} if providers else {}) | {"root_module": root}


def _provider(key: str, program: Program, provider_name: str) -> dict[str, Any]:
    name, _, alias = key.partition(".")
    found: dict[str, Any] = {"name": name, "full_name": provider_name}
    if alias:
        found["alias"] = alias
    version = program.required_providers.get(name, {}).get("version")
    if version:
        found["version_constraint"] = version
    block: ProviderBlock | None = program.providers.get(key)
    if block is not None:
        shown = {name: item for name, item in block.arguments.items() if name not in _SECRETS}
        found |= {"expressions": _expressions(shown)} if shown else {}
    return found


def _resource(block: Block) -> dict[str, Any]:
    found: dict[str, Any] = {
        "address": block.address,
        "mode": block.mode,
        "type": block.type_name,
        "name": block.name,
        "provider_config_key": block.provider,
    }
    if block.arguments:
        found["expressions"] = _expressions(block.arguments)
    found["schema_version"] = SCHEMA_VERSION
    if block.counted:
        found["count_expression"] = _expression(block.count)
    if block.repeated:
        found["for_each_expression"] = _expression(block.for_each)
    if block.depends_on:
        found["depends_on"] = list(block.depends_on)
    return found


def _output(output: Output) -> dict[str, Any]:
    found: dict[str, Any] = {"sensitive": True} if output.sensitive else {}
    found["expression"] = _expression(output.value)
    if output.depends_on:
        found["depends_on"] = [str(item) for item in output.depends_on]
    if output.description:
        found["description"] = output.description
    return found


def _variable(variable: Variable, defaults: Mapping[str, Any]) -> dict[str, Any]:
    name = variable.name
    found: dict[str, Any] = {"default": defaults[name]} if name in defaults else {}
    if variable.description:
        found["description"] = variable.description
    if variable.sensitive:
        found["sensitive"] = True
    return found


def _expressions(arguments: Mapping[str, Json]) -> dict[str, Any]:
    return {name: _expression(arguments[name]) for name in sorted(arguments)}


def _expression(value: Json) -> dict[str, Any]:
    found: dict[str, Any] = {"constant_value": value}
    references = [part for item in readable_references(value) for part in _parts(item)]
    return found | ({"references": references} if references else {})


def _parts(reference: Reference) -> Iterator[str]:
    """Yield a reference, and what it leads through, down to the resource or the variable."""
    steps = reference.steps
    least = _SHORTEST.get(str(steps[0]), 2)
    for count in range(len(steps), min(least, len(steps)) - 1, -1):
        yield Reference(steps[:count]).written()
