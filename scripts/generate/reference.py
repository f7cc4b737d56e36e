"""The reference in the Terraform Registry's layout: a page each resource, data source, provider.

Facts come from the definitions; examples and what else is worth knowing, from files beside each
other in `examples/reference/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scripts.generate.attributes import camel
from scripts.generate.layout import TEMPLATES

from opsconsole.definition import (
    LIFECYCLE_STEPS,
    Attribute,
    ChangeRule,
    DataSourceDefinition,
    Kind,
    ProviderDefinition,
    ResourceDefinition,
)
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.v1.operations import NAMEABLE, OPERATIONS, documented_for, missing_operation
from opsconsole.v1.settings import ENVIRONMENT

_TYPES = {
    Kind.STRING: "String",
    Kind.INTEGER: "Number",
    Kind.NUMBER: "Number",
    Kind.BOOLEAN: "Boolean",
    Kind.STRING_SET: "Set of String",
    Kind.STRING_LIST: "List of String",
    Kind.STRING_MAP: "Map of String",
    Kind.OBJECT: "Attributes",
    Kind.OBJECT_LIST: "Attributes List",
}
_CHANGES = {
    ChangeRule.REPLACE: "A change replaces the resource",
    ChangeRule.REFUSE: "The plan refuses a change",
    ChangeRule.LOCAL: "A change makes no call",
}


def reference_files(root: Path) -> dict[str, str]:
    """Return every page of the reference: path in the checkout to content.

    Args:
        root: The checkout, for the examples that the pages hold.
    """
    examples = root / "examples" / "reference"
    pages = {"docs/index.md": _page(PROVIDER, "opsconsole", examples / "provider")}
    for resource in RESOURCES.values():
        folder = examples / "resources" / resource.type_name
        pages[f"docs/resources/{resource.name}.md"] = _page(resource, resource.type_name, folder)
    for source in DATA_SOURCES.values():
        folder = examples / "data-sources" / source.type_name
        pages[f"docs/data-sources/{source.name}.md"] = _page(source, source.type_name, folder)
    return pages


def _page(
    definition: ProviderDefinition | ResourceDefinition | DataSourceDefinition,
    name: str,
    examples: Path,
) -> str:
    if isinstance(definition, ResourceDefinition):
        kind, construct = "Resource", camel(definition.name)
    elif isinstance(definition, DataSourceDefinition):
        kind, construct = "Data Source", f"Data{camel(definition.name)}"
    else:
        kind, construct = "Provider", "OpsconsoleProvider"
    notes = examples / "notes.md"
    return TEMPLATES.get_template("reference.md.j2").render(
        definition=definition,
        name=name,
        kind=kind,
        construct=construct,
        hcl=(examples / "main.tf").read_text("utf-8").rstrip("\n"),
        python=(examples / "main.py").read_text("utf-8").rstrip("\n"),
        notes=notes.read_text("utf-8").rstrip("\n") if notes.is_file() else "",
        groups={
            "Required": [item for item in definition if item.required],
            "Optional": [item for item in definition if item.settable and not item.required],
            "Read-Only": [item for item in definition if not item.settable],
        },
        effect_of_change=_effect_of_change,
        lifted=[
            (step, resource.type_name, NAMEABLE[way.operation])
            for resource in RESOURCES.values()
            for step in LIFECYCLE_STEPS
            for way in resource.ways[step]
            if way.operation in NAMEABLE and not NAMEABLE[way.operation].documented
        ],
        documented_for=documented_for,
        missing_operation=missing_operation,
        rests_on=_rests_on,
        TYPES=_TYPES,
        LIFECYCLE_STEPS=LIFECYCLE_STEPS,
        ENVIRONMENT=ENVIRONMENT,
    )


def _rests_on(names: Iterable[str]) -> str:
    """Return the best documented operation, and those better ones that can be named."""
    found: list[str] = []
    for operation in map(OPERATIONS.__getitem__, names):
        if operation.documented:
            return ", or on ".join([f"`{operation}`", *found])
        found.append(f"the operation that `extra_endpoints` names as `{operation.name}`")
    return ", or on ".join(found)


def _effect_of_change(attribute: Attribute) -> str:
    text = _CHANGES.get(attribute.change)
    if attribute.lifted_by and OPERATIONS[attribute.lifted_by].documented:
        return ""
    if text and attribute.lifted_by:
        return f"{text}, unless the extra endpoint `{attribute.lifted_by}` is named."
    return f"{text}." if text else ""
