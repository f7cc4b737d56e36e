"""What each generated module of constructs is made of, drawn from the definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Outputs:
    """Attributes that several data sources show, as the class that they inherit."""

    class_name: str = ""
    attributes: tuple[Attribute, ...] = ()
    definition: str = ""
    """The source of the definition that has these attributes."""

    def lacking(self, attributes: Iterable[Attribute]) -> list[Attribute]:
        """Return the attributes that a class must declare itself."""
        names = {attribute.name for attribute in self.attributes}
        return [attribute for attribute in attributes if attribute.name not in names]


@dataclass(frozen=True)
class Module:
    """What one generated construct is made of."""

    class_name: str
    base: str
    base_module: str
    type_name: str | None
    description: str
    attributes: tuple[Attribute, ...]
    definition: str
    """The source of the definition."""
    meta: str
    """The type of the arguments of every construct of its kind."""
    inherited: Outputs = Outputs()
    of_entries: Outputs = Outputs()
    """What the entries of a list inherit."""

    @property
    def arguments(self) -> list[Attribute]:
        return [attribute for attribute in self.attributes if attribute.settable]

    @property
    def demanded(self) -> list[Attribute]:
        return [item for item in self.arguments if item.required or item.needed_to_create]

    @property
    def options(self) -> list[Attribute]:
        return [item for item in self.arguments if item not in self.demanded]

    @property
    def needed(self) -> list[str]:
        """The names of the arguments that must be given, though None is allowed."""
        return [attribute.name for attribute in self.arguments if attribute.needed_to_create]

    @property
    def nested(self) -> list[Attribute]:
        return [attribute for attribute in self.attributes if attribute.kind.is_nested]


def _base_in_order(definition: ResourceDefinition) -> str:
    """Return the base of a construct that takes part in the order of destruction, or nothing."""
    if blockers_of(definition):
        return "SpecialtyBase"
    if any(attribute.blocks_deletion for attribute in definition):
        return "AgentBase"
    carried = (blocker for item in RESOURCES.values() for blocker, _ in blockers_of(item))
    if any(definition in owners_above(blocker) for blocker in carried):
        return "HostBase"
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
        definition=f'RESOURCES["{definition.type_name}"]',
        meta="MetaArguments",
    )


def _data_source(definition: DataSourceDefinition) -> Module:
    fields = _fields_of(definition.resource)
    return Module(
        class_name=f"Data{camel(definition.name)}",
        base="DataSource",
        base_module="_declared",
        type_name=definition.type_name,
        description=definition.description,
        attributes=definition.attributes,
        definition=_source_of(definition),
        meta="DataMetaArguments",
        inherited=_about_lists() if definition.is_list else fields,
        of_entries=fields,
    )


def _source_of(definition: DataSourceDefinition) -> str:
    return f'DATA_SOURCES["{definition.type_name}"]'


def _about_lists() -> Outputs:
    """Return what every data source shows of its list, beside the entries."""
    source = next(item for item in DATA_SOURCES.values() if item.is_list)
    shown = (item for item in source if not item.settable and not item.kind.is_nested)
    return Outputs("ListAttributes", tuple(shown), _source_of(source))


def _fields_of(resource: str) -> Outputs:
    """Return what the data sources of a resource show of one object, and of a list's entry."""
    for source in DATA_SOURCES.values():
        if source.resource == resource and not source.is_list:
            shown = tuple(attribute for attribute in source if not attribute.settable)
            return Outputs(f"{camel(resource)}Fields", shown, _source_of(source))
    return Outputs()


def all_outputs() -> Mapping[str, Outputs]:
    """Return the classes that data sources inherit, each by the resource or list that it is of."""
    fields = {camel(item.name): _fields_of(item.name) for item in RESOURCES.values()}
    return {"": _about_lists(), **{name: item for name, item in fields.items() if item.class_name}}


def _provider() -> Module:
    return Module(
        class_name="OpsconsoleProvider",
        base="Provider",
        base_module="_declared",
        type_name=None,
        description=PROVIDER.description,
        attributes=PROVIDER.attributes,
        definition="PROVIDER",
        meta="",
    )


def every_module() -> Mapping[str, Sequence[Module]]:
    """Return the constructs of every module, by the module's name."""
    return {
        "provider": [_provider()],
        **{definition.name: [_resource(definition)] for definition in RESOURCES.values()},
        "data_sources": [_data_source(item) for item in DATA_SOURCES.values()],
    }
