"""Definitions as Terraform's schema messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from opsconsole.definition import (
    SCHEMA_VERSION,
    Attribute,
    DataSourceDefinition,
    Kind,
    ProviderDefinition,
    ResourceDefinition,
)
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.proto import tfplugin6_pb2 as pb

CAPABILITIES: Final = pb.ServerCapabilities(plan_destroy=True, get_provider_schema_optional=True)


def schema(definition: ResourceDefinition | DataSourceDefinition | ProviderDefinition) -> pb.Schema:
    """Return the schema of a resource, a data source, or the provider's settings."""
    return pb.Schema(
        version=SCHEMA_VERSION,
        block=pb.Schema.Block(
            version=SCHEMA_VERSION,
            attributes=_attributes(definition.attributes),
            description=definition.description,
            description_kind=pb.MARKDOWN,
        ),
    )


def _attributes(attributes: Iterable[Attribute]) -> list[pb.Schema.Attribute]:
    return [_attribute(attribute) for attribute in attributes]


def _attribute(attribute: Attribute) -> pb.Schema.Attribute:
    rendered = pb.Schema.Attribute(
        name=attribute.name,
        description=attribute.description,
        description_kind=pb.MARKDOWN,
        required=attribute.required,
        optional=attribute.optional,
        computed=attribute.computed,
        sensitive=attribute.sensitive,
    )
    kind = attribute.kind
    if kind.is_nested:
        mode = pb.Schema.Object.LIST if kind is Kind.OBJECT_LIST else pb.Schema.Object.SINGLE
        rendered.nested_type.nesting = mode
        rendered.nested_type.attributes.extend(_attributes(attribute.attributes))
    else:
        rendered.type = json.dumps(kind.terraform_type, separators=(",", ":")).encode()
    return rendered


def provider_schema() -> pb.GetProviderSchema.Response:
    return pb.GetProviderSchema.Response(
        provider=schema(PROVIDER),
        resource_schemas={name: schema(item) for name, item in RESOURCES.items()},
        data_source_schemas={name: schema(item) for name, item in DATA_SOURCES.items()},
        server_capabilities=CAPABILITIES,
    )
