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

_META = {
    "connection": "Connection",
    "count": "Count",
    "depends_on": "Sequence[cdktf.ITerraformDependable]",
    "for_each": "cdktf.ITerraformIterator",
    "lifecycle": "Lifecycle",
    "provider": "cdktf.TerraformProvider",
    "provisioners": "Provisioners",
}
_NOT_OF_DATA = ("connection", "provisioners")


@dataclass(frozen=True)
class Module:
    """What one generated module is made of."""

    class_name: str
    base: str
    base_module: str
    type_name: str | None
    description: str
    attributes: tuple[Attribute, ...]
    meta: Mapping[str, str]
    """The arguments of every construct of its kind: name to type."""

    @property
    def title(self) -> str:
        """What the module's first line says of it."""
        if self.type_name is None:
            return "the provider: generated from the definitions"
        origin = " from the definitions" if len(self.type_name) <= 30 else ""
        return f"`{self.type_name}`: generated{origin}"

    @property
    def arguments(self) -> list[Attribute]:
        return [attribute for attribute in self.attributes if attribute.settable]

    @property
    def demanded_first(self) -> list[Attribute]:
        return sorted(self.arguments, key=_rank)

    @property
    def needed(self) -> list[str]:
        """The names of the arguments that must be given, though None is allowed."""
        return [attribute.name for attribute in self.arguments if attribute.needed_to_create]

    @property
    def nested(self) -> list[Attribute]:
        return [attribute for attribute in self.attributes if attribute.kind.is_nested]


def _rank(attribute: Attribute) -> int:
    return 0 if attribute.required else 1 if attribute.needed_to_create else 2


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
        meta=_META,
    )


def _data_source(definition: DataSourceDefinition) -> Module:
    return Module(
        class_name=f"Data{camel(definition.name)}",
        base="DataSource",
        base_module="_declared",
        type_name=definition.type_name,
        description=definition.description,
        attributes=definition.attributes,
        meta={name: kind for name, kind in _META.items() if name not in _NOT_OF_DATA},
    )


def _provider() -> Module:
    return Module(
        class_name="OpsconsoleProvider",
        base="Provider",
        base_module="_declared",
        type_name=None,
        description=PROVIDER.description,
        attributes=PROVIDER.attributes,
        meta={"alias": "str"},
    )


def every_module() -> Mapping[str, Module]:
    """Return what every module is made of, by the module's name."""
    return {
        "provider": _provider(),
        **{definition.name: _resource(definition) for definition in RESOURCES.values()},
        **{f"data_{item.name}": _data_source(item) for item in DATA_SOURCES.values()},
    }
