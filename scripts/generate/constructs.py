"""The constructs for cdktf: one module a resource, data source and the provider."""

from __future__ import annotations

import re
from collections.abc import Mapping

from scripts.generate import attributes as members
from scripts.generate.attributes import (
    declaration_name,
    reference_name,
    type_name,
)
from scripts.generate.modules import META_TYPES, Module, every_module
from scripts.generate.rows import row_values
from scripts.generate.source import WIDTH, indented, paragraph, quoted

from opsconsole.definition import Attribute, Kind

_BOUNDS = ("UNBOUNDED", "Bounds")
_TYPE_NAMES = ("Connection", "Count", "Lifecycle", "Provisioners")
COMPOSITIONS = {
    "blacklist_policy": ("BlacklistPolicy", "BlacklistRule"),
    "fleet": ("BadRows", "Fleet"),
    "managed_host": ("ManagedHost",),
    "moved_blocks": ("MovedBlocks",),
    "tags": ("Tags",),
}
"""The modules of compositions, written by hand, and what the package shows of them."""

COMPOSED = ("Agent", "Host")
"""The constructs whose arguments compositions pass on."""

_META_DOC = "as in every construct of cdktf."


def _struct(module: Module, attribute: Attribute) -> list[str]:
    name = type_name(module.class_name, attribute)
    one = f"{name} | Mapping[str, Any]"
    declared = [one]
    if attribute.kind is Kind.OBJECT_LIST:
        declared = ["(", *indented([f"Sequence[{one}] | cdktf.IResolvable"]), ")"]
    body = [
        f'"""One object of `{attribute.name}` of `{module.class_name}`.',
        "",
        "Attributes:",
        *indented(members.explained(attribute.attributes, 2)),
        '"""',
        "",
        "CHECKS: ClassVar[Mapping[str, objects.Check]] = {",
        *indented(line for part in attribute.attributes for line in members.check(part)),
        "}",
        "",
        *(members.field(part) for part in attribute.attributes),
    ]
    return [
        "@dataclass(frozen=True, slots=True, kw_only=True)",
        f"class {name}(objects.Struct):",
        *indented(body),
        "",
        "",
        f"{declaration_name(module.class_name, attribute)}: TypeAlias = {declared[0]}",
        *declared[1:],
        "",
        "",
    ]


def _reference(owner: str, attribute: Attribute) -> list[str]:
    """Return the class of one object of a nested attribute, after those nested in it."""
    name = type_name(owner, attribute)
    inner = [part for part in attribute.attributes if part.kind.is_nested]
    doc = f'"""The tokens of one object of `{attribute.name}` of `{owner}`."""'
    outputs = (line for part in attribute.attributes for line in members.output(name, part))
    return [
        *(line for part in inner for line in _reference(name, part)),
        f"class {reference_name(owner, attribute)}(objects.Fields):",
        *indented([doc, "", *outputs]),
        "",
        "",
    ]


def _members(module: Module) -> list[str]:
    lines: list[str] = []
    for attribute in module.attributes:
        if attribute.settable:
            lines += members.argument(module.class_name, attribute, module.suffix)
        else:
            lines += members.output(module.class_name, attribute)
    doc = f'"""The attributes of `{module.class_name}`."""'
    return [f"class {module.class_name}Attributes:", *indented([doc, "", *lines]), "", ""]


def _docstring(module: Module) -> list[str]:
    required = [attribute for attribute in module.arguments if attribute.required]
    optional = [attribute for attribute in module.arguments if not attribute.required]
    lines = [
        *paragraph(f'"""{module.description}', 1),
        "",
        "Args:",
        *indented(
            [
                "scope: The construct that it belongs to.",
                "id_: Its name within `scope`.",
                *members.explained([*required, *optional], 2),
            ]
        ),
    ]
    if module.meta:
        lines += indented(paragraph(f"{', '.join(module.meta)}: {_META_DOC}", 2, "    "))
    else:
        lines += indented(["alias: The name of a further provider, for resources to choose it."])
    lines += ["", *paragraph("Raises:", 1)]
    lines += indented(
        ["TypeError, ValueError: An argument is of a wrong type, or out of its bounds."]
    )
    return [*lines, '"""']


def _typed_arguments(module: Module) -> list[str]:
    fields = [
        f"{attribute.name}: {members.declared_type(module.class_name, attribute)} | None"
        for attribute in module.arguments
    ]
    fields += [f"{name}: {META_TYPES[name]} | None" for name in module.meta]
    doc = f'"""The arguments of `{module.class_name}`, none of them required."""'
    head = f"class {module.class_name}Arguments(TypedDict, total=False):"
    return [head, *indented([doc, "", *fields]), "", ""]


def _init(module: Module) -> list[str]:
    ordered = sorted(module.arguments, key=lambda attribute: not attribute.required)
    parameters = [members.parameter(module.class_name, attribute) for attribute in ordered]
    parameters += [f"{name}: {META_TYPES[name]} | None = None," for name in module.meta]
    if not module.meta:
        parameters.append("alias: str | None = None,")
    return [
        "def __init__(",
        *indented(["self,", "scope: Construct,", "id_: str,", "*,", *parameters]),
        ") -> None:",
        *indented(["super().__init__(scope, id_, locals())"]),
    ]


def _put(module: Module, attribute: Attribute) -> list[str]:
    # Not `self.NAME = value`: pyright would take it for the declaration of another attribute.
    name = type_name(module.class_name, attribute)
    doc = f'"""Declare `{attribute.name}`."""'
    if attribute.kind is Kind.OBJECT:
        fields = [members.field(part) for part in attribute.attributes]
        values = ", ".join(f"{part.name}={part.name}" for part in attribute.attributes)
        head = f"def put_{attribute.name}(self, *, {', '.join(fields)}) -> None:"
        return [
            "",
            head,
            *indented([doc, f"self._assign({quoted(attribute.name)}, {name}({values}))"]),
        ]
    declared = members.declared_type(module.class_name, attribute)
    return [
        "",
        f"def put_{attribute.name}(self, value: {declared}) -> None:",
        *indented([doc, f"self._assign({quoted(attribute.name)}, value)"]),
    ]


def _imports(module: Module, body: str) -> list[str]:
    abc = [name for name in ("Mapping", "Sequence") if f"{name}[" in body]
    typing = [
        name for name in ("Any", "ClassVar", "Literal", "TypeAlias", "TypedDict") if name in body
    ]
    lines = ["from __future__ import annotations", ""]
    lines += [f"from collections.abc import {', '.join(abc)}"] if abc else []
    lines += ["from dataclasses import dataclass"] if "@dataclass" in body else []
    lines += [f"from typing import {', '.join(typing)}"] if typing else []
    lines += [""] if lines[-1] else []
    lines += ["import cdktf"] if "cdktf." in body else []
    lines += ["from constructs import Construct", ""]
    limits = [name for name in _BOUNDS if re.search(rf"(?<!\w){name}[(),]", body)]
    lines += [f"from opsconsole.bounds import {', '.join(limits)}"] if limits else []
    shared = ["_attributes as attributes"] if "attributes." in body else []
    shared += ["_objects as objects"] if "objects." in body else []
    if shared:
        lines += [f"from opsconsole_cdktf import {name}" for name in shared]
    own = [(module.base_module, module.base)]
    own += [("_rules", "Kind")] if "Kind." in body else []
    own += [("_declared", name) for name in _TYPE_NAMES if f": {name} |" in body]
    for source in sorted({source for source, _ in own}):
        names = sorted(
            (name for other, name in own if other == source),
            key=lambda name: (not name.isupper(), name),
        )
        lines.append(f"from opsconsole_cdktf.{source} import {', '.join(names)}")
    return [*lines, "", ""]


def _module(module: Module) -> str:
    lines: list[str] = []
    for attribute in module.chosen:
        lines += members.choices(module.class_name, attribute)
    # A class follows two empty lines after the imports, anything else one.
    lines = [*lines, ""] if lines else [""]
    for attribute in module.nested:
        lines += _struct(module, attribute) if attribute.settable else []
        lines += _reference(module.class_name, attribute)
    if module.class_name in COMPOSED:
        lines += _typed_arguments(module)
    lines += _members(module)
    lines.append(f"class {module.class_name}({module.base}, {module.class_name}Attributes):")
    lines += indented(_docstring(module))
    if module.type_name is not None:
        constant = f"TF_RESOURCE_TYPE: ClassVar[str] = {quoted(module.type_name)}"
        lines += ["", *indented([constant])]
    lines += ["", *indented(_init(module))]
    for attribute in module.nested:
        lines += indented(_put(module, attribute)) if attribute.settable else []
    what = f"`{module.type_name}`" if module.type_name else "the provider"
    head = f'"""The construct of {what}: generated from the definitions, not edited."""'
    if len(head) > WIDTH:
        head = f'"""The construct of {what}: generated, not edited."""'
    body = "\n".join(lines)
    return "\n".join([head, "", *_imports(module, body)]) + body + "\n"


def _import_of(source: str, names: list[str]) -> list[str]:
    line = f"from {source} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {source} import (", *indented(f"{name}," for name in names), ")"]


def _package(every: Mapping[str, Module]) -> str:
    exported = {
        name: source
        for source, module in every.items()
        for name in (
            module.class_name,
            *(
                type_name(module.class_name, attribute)
                for attribute in module.arguments
                if attribute.kind.is_nested or attribute.allowed
            ),
        )
    }
    exported |= {name: source for source, names in COMPOSITIONS.items() for name in names}
    exported |= {f"{name}Arguments": name.lower() for name in COMPOSED}
    lines = [
        '"""CDKTF constructs for the operations console. Generated from the definitions."""',
        "",
    ]
    for source in sorted(set(exported.values())):
        names = sorted(name for name, other in exported.items() if other == source)
        lines += _import_of(f"opsconsole_cdktf.{source}", names)
    lines += ["", "__all__ = ["]
    lines += indented(f"{quoted(name)}," for name in sorted(exported))
    return "\n".join([*lines, "]"]) + "\n"


def construct_files() -> dict[str, str]:
    """Return every generated file of the constructs: path in the checkout to content."""
    every = every_module()
    made = {f"{name}.py": _module(module) for name, module in every.items()}
    made["row_values.py"] = row_values((every["host"], every["agent"]))
    made["__init__.py"] = _package(every)
    return {f"constructs/opsconsole_cdktf/{name}": text for name, text in made.items()}
