"""Attributes of definitions in the words of the constructs' source: names, types, bounds."""

from __future__ import annotations

from scripts.generate.layout import wrap

from opsconsole.definition import Attribute, Kind

MEMBERS = {
    Kind.STRING: "text",
    Kind.INTEGER: "whole",
    Kind.NUMBER: "number",
    Kind.BOOLEAN: "flag",
    Kind.STRING_SET: "text_set",
    Kind.STRING_LIST: "texts",
    Kind.STRING_MAP: "text_map",
    Kind.OBJECT: "ObjectArgument",
    Kind.OBJECT_LIST: "ObjectsArgument",
}
TYPES = {
    Kind.STRING: "str",
    Kind.INTEGER: "int | cdktf.IResolvable",
    Kind.NUMBER: "int | float",
    Kind.BOOLEAN: "bool | cdktf.IResolvable",
    Kind.STRING_SET: "Sequence[str]",
    Kind.STRING_LIST: "Sequence[str]",
    Kind.STRING_MAP: "Mapping[str, str]",
}
ROW_TYPES = {
    Kind.STRING: "str",
    Kind.INTEGER: "int",
    Kind.NUMBER: "float",
    Kind.BOOLEAN: "bool",
    Kind.STRING_SET: "list[str]",
    Kind.STRING_LIST: "list[str]",
}


def camel(name: str) -> str:
    """Return a name of words joined by underscores as a class name."""
    return "".join(part.capitalize() for part in name.split("_"))


def type_name(owner: str, attribute: Attribute) -> str:
    """Return the type of one object, or one of several strings, of an attribute of `owner`."""
    return owner + camel(attribute.name)


def reference_name(owner: str, attribute: Attribute) -> str:
    """Return the class that holds the tokens of one object of a nested attribute."""
    return f"{type_name(owner, attribute)}OutputReference"


def declaration_name(owner: str, attribute: Attribute) -> str:
    """Return the name of the type of what is declared for a nested attribute of `owner`."""
    return f"{type_name(owner, attribute)}Declaration"


def declared_type(owner: str, attribute: Attribute) -> str:
    """Return the type of what is declared for an attribute, None aside."""
    if attribute.kind.is_nested:
        return declaration_name(owner, attribute)
    if attribute.bounds.allowed:
        return f"{type_name(owner, attribute)} | cdktf.IResolvable"
    return TYPES[attribute.kind]


def explained(attribute: Attribute) -> str:
    """Return the entry of a class's docstring that explains an attribute."""
    return wrap(f"{attribute.name}: {attribute.full_description}", 8, 12)
