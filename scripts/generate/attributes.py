"""Attributes of definitions as members, parameters and fields of constructs' source text."""

from __future__ import annotations

from collections.abc import Iterable

from scripts.generate import tables
from scripts.generate.source import call, indented, paragraph, quoted, text_argument

from opsconsole.definition import Attribute, Kind

_MEMBERS = {
    Kind.STRING: "text",
    Kind.INTEGER: "whole",
    Kind.NUMBER: "number",
    Kind.BOOLEAN: "flag",
    Kind.STRING_SET: "text_set",
    Kind.STRING_LIST: "texts",
    Kind.STRING_MAP: "text_map",
}
_TYPES = {
    Kind.STRING: "str",
    Kind.INTEGER: "int | cdktf.IResolvable",
    Kind.NUMBER: "int | float",
    Kind.BOOLEAN: "bool | cdktf.IResolvable",
    Kind.STRING_SET: "Sequence[str]",
    Kind.STRING_LIST: "Sequence[str]",
    Kind.STRING_MAP: "Mapping[str, str]",
}
_FIELD_KINDS = {
    Kind.STRING: "Kind.TEXT",
    Kind.INTEGER: "Kind.WHOLE",
    Kind.NUMBER: "Kind.NUMBER",
    Kind.BOOLEAN: "Kind.FLAG",
    Kind.STRING_SET: "Kind.TEXTS",
    Kind.STRING_LIST: "Kind.TEXTS",
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


def choices(owner: str, attribute: Attribute) -> list[str]:
    """Return the definition of that type."""
    allowed = ", ".join(map(quoted, attribute.allowed))
    return [
        f"{type_name(owner, attribute)}: TypeAlias = Literal[{allowed}]",
        f'"""What `{attribute.name}` of `{owner}` may be."""',
        "",
    ]


def described(attribute: Attribute) -> str:
    """Return an attribute's description and its bounds."""
    return " ".join(filter(None, (attribute.description, tables.bounds(attribute))))


def bounds(attribute: Attribute) -> str | None:
    """Return the source of an attribute's `Bounds`, or None where it has none."""
    facts = {
        "allowed": f"({', '.join(map(quoted, attribute.allowed))})" if attribute.allowed else None,
        "minimum": attribute.minimum,
        "maximum": attribute.maximum,
        "min_length": attribute.min_length,
        "max_length": attribute.max_length,
        "pattern": f'r"{attribute.pattern}"' if attribute.pattern else None,
        "hint": quoted(attribute.pattern_hint) if attribute.pattern_hint else None,
    }
    given = ", ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
    return f"Bounds({given})" if given else None


def declared_type(owner: str, attribute: Attribute) -> str:
    """Return the type of what is declared for an attribute, None aside."""
    if attribute.kind.is_nested:
        return declaration_name(owner, attribute)
    if attribute.allowed:
        return f"{type_name(owner, attribute)} | cdktf.IResolvable"
    return _TYPES[attribute.kind]


def parameter(owner: str, attribute: Attribute) -> str:
    """Return an attribute's parameter of a construct's `__init__`."""
    declared = declared_type(owner, attribute)
    if attribute.required:
        return f"{attribute.name}: {declared},"
    return f"{attribute.name}: {declared} | None = None,"


def output(owner: str, attribute: Attribute) -> list[str]:
    """Return the member of an attribute that only the console supplies."""
    doc = text_argument(described(attribute), 2)
    if attribute.kind.is_nested:
        arguments = [doc, [reference_name(owner, attribute)]]
        return call(f"{attribute.name} = objects.objects_output", arguments, 1)
    head = f"{attribute.name} = attributes.{_MEMBERS[attribute.kind]}_output"
    return call(head, [doc], 1)


def argument(owner: str, attribute: Attribute, suffix: str = "") -> list[str]:
    """Return the members of an attribute that may be declared: itself, its input, its reset."""
    doc = text_argument(described(attribute), 2)
    if attribute.kind.is_nested:
        head = "ObjectArgument" if attribute.kind is Kind.OBJECT else "ObjectsArgument"
        arguments = [
            doc,
            [type_name(owner, attribute)],
            [reference_name(owner, attribute)],
        ]
        lines = call(f"{attribute.name} = objects.{head}", arguments, 1)
    else:
        head = f"{attribute.name} = attributes.{_MEMBERS[attribute.kind]}{suffix}"
        if attribute.allowed:
            kind = "ChosenSetting" if suffix else "Choice"
            head = f"{attribute.name} = attributes.{kind}[{type_name(owner, attribute)}]"
        limits = bounds(attribute)
        lines = call(head, [doc, [limits]] if limits else [doc], 1)
    declared = f"attributes.Declaration[{declared_type(owner, attribute)}]"
    if attribute.allowed:
        declared = f"attributes.DeclaredChoice[{type_name(owner, attribute)}]"
    lines.append(f"{attribute.name}_input = {declared}()")
    if not attribute.required:
        lines.append(f"reset_{attribute.name} = attributes.Reset()")
    return lines


def check(attribute: Attribute) -> list[str]:
    """Return the entry of a nested attribute in its dataclass's `CHECKS`."""
    kind, limits = _FIELD_KINDS[attribute.kind], bounds(attribute)
    if limits is None:
        return [f"{quoted(attribute.name)}: ({kind}, UNBOUNDED),"]
    return [f"{quoted(attribute.name)}: (", *indented([f"{kind},", f"{limits},"]), "),"]


def field(attribute: Attribute) -> str:
    """Return the field of a nested attribute in its dataclass."""
    return f"{attribute.name}: {_TYPES[attribute.kind]} | None = None"


def explained(attributes: Iterable[Attribute], depth: int) -> list[str]:
    """Return the entries of a docstring that explain `attributes`, without their indentation."""
    return [
        line
        for attribute in attributes
        for line in paragraph(f"{attribute.name}: {described(attribute)}", depth, "    ")
    ]
