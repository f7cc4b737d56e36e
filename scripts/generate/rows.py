"""The module of values that rows of data may hold, as pydantic models. No rows here, no files."""

from __future__ import annotations

from scripts.generate import attributes as members
from scripts.generate.modules import Module
from scripts.generate.source import indented, quoted

from opsconsole.definition import Attribute, Kind

_TYPES = {
    Kind.STRING: "str",
    Kind.INTEGER: "int",
    Kind.NUMBER: "float",
    Kind.BOOLEAN: "bool",
    Kind.STRING_SET: "list[str]",
    Kind.STRING_LIST: "list[str]",
}
_LEFT_OUT = {"Host": ("jump_host_ids",), "Agent": ("host_id", "specialty_id", "plugin_ids")}
"""What a row says in another way: by the names of other rows, of specialties, of plugins."""


def row_values(modules: tuple[Module, ...]) -> str:
    """Return the source of the module: one model for each of `modules`."""
    lines = [
        '"""What rows of data may hold: generated from the definitions, not edited."""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "from typing import ClassVar",
        "",
        "from opsconsole.bounds import Bounds",
        "from opsconsole_cdktf._row import Row",
    ]
    for module in sorted(modules, key=lambda module: module.class_name):
        names = sorted(members.type_name(module.class_name, item) for item in module.chosen)
        lines.append(f"from opsconsole_cdktf.{module.class_name.lower()} import {', '.join(names)}")
    for module in modules:
        lines += ["", "", *_model(module)]
    return "\n".join(lines) + "\n"


def _fields(module: Module) -> list[Attribute]:
    left_out = _LEFT_OUT.get(module.class_name, ())
    return [
        attribute
        for attribute in module.arguments
        if attribute.name not in left_out and attribute.kind in _TYPES
    ]


def _model(module: Module) -> list[str]:
    fields = _fields(module)
    bounds = [(item.name, members.bounds(item)) for item in fields if not item.allowed]
    entries = [f"{quoted(name)}: {text}," for name, text in bounds if text]
    declared = "BOUNDS: ClassVar[Mapping[str, Bounds]] = {"
    return [
        f"class {module.class_name}Values(Row):",
        *indented([f'"""What a row may say of `{module.class_name}`."""', ""]),
        *(indented([declared, *indented(entries), "}", ""]) if entries else []),
        *indented(_field(module, item) for item in fields),
    ]


def _field(module: Module, attribute: Attribute) -> str:
    kind = _TYPES[attribute.kind]
    if attribute.allowed:
        kind = members.type_name(module.class_name, attribute)
    return f"{attribute.name}: {kind} | None = None"
