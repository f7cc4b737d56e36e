"""What each generated module of constructs is made of, drawn from the definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scripts.generate.attributes import camel

from opsconsole.definition import Attribute, DataSourceDefinition, ResourceDefinition
from opsconsole.resources import (
    DATA_SOURCES,
    PROVIDER,
    RESOURCES,
    blockers_of,
    owners_above,
)

META_TYPES = {
    "connection": "Connection",
    "count": "Count",
    "depends_on": "Sequence[cdktf.ITerraformDependable]",
    "for_each": "cdktf.ITerraformIterator",
    "lifecycle": "Lifecycle",
    "provider": "cdktf.TerraformProvider",
    "provisioners": "Provisioners",
}
_DATA_META = ("count", "depends_on", "for_each", "lifecycle", "provider")


@dataclass(frozen=True)
class Module:
    """What one generated module is made of."""

    class_name: str
    base: str
    base_module: str
    type_name: str | None
    description: str
    attributes: tuple[Attribute, ...]
    meta: tuple[str, ...]
    suffix: str = ""

    @property
    def arguments(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.settable)

    @property
    def chosen(self) -> tuple[Attribute, ...]:
        """Those that hold one of several strings."""
        return tuple(attribute for attribute in self.arguments if attribute.allowed)

    @property
    def nested(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.kind.is_nested)


def _base_in_order(definition: ResourceDefinition) -> str:
    """Return the base of a construct that takes part in the order of destruction, or nothing."""
    if blockers_of(definition):
        return "Carried"
    if any(attribute.blocks_deletion for attribute in definition):
        return "CarriesSpecialty"
    carried = (blocker for item in RESOURCES.values() for blocker, _ in blockers_of(item))
    if any(definition in owners_above(blocker) for blocker in carried):
        return "DestroyedBeforeSpecialties"
    return ""


def _resource(definition: ResourceDefinition) -> Module:
    base = _base_in_order(definition)
    return Module(
        class_name=camel(definition.name),
        base=base or "Resource",
        base_module="_ordering" if base else "_declared",
        type_name=definition.type_name,
        description=definition.description,
        attributes=definition.attributes,
        meta=tuple(META_TYPES),
    )


def _data_source(definition: DataSourceDefinition) -> Module:
    return Module(
        class_name=f"Data{camel(definition.name)}",
        base="DataSource",
        base_module="_declared",
        type_name=definition.type_name,
        description=definition.description,
        attributes=definition.attributes,
        meta=_DATA_META,
    )


def _provider() -> Module:
    return Module(
        class_name="OpsconsoleProvider",
        base="Provider",
        base_module="_declared",
        type_name=None,
        description=PROVIDER.description,
        attributes=PROVIDER.attributes,
        meta=(),
        suffix="_setting",
    )


def every_module() -> Mapping[str, Module]:
    """Return what every module is made of, by the module's name."""
    return {
        "provider": _provider(),
        **{definition.name: _resource(definition) for definition in RESOURCES.values()},
        **{f"data_{item.name}": _data_source(item) for item in DATA_SOURCES.values()},
    }
