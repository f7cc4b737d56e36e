"""The constructs for cdktf: a module for each resource, for the data sources, the provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scripts.cdktn_twin import SOURCE
from scripts.generate import attributes as words
from scripts.generate.layout import TEMPLATES, format_modules
from scripts.generate.modules import Module, all_outputs, every_module

from opsconsole.definition import Attribute

_COMPOSITIONS = {
    "blacklist_policy": ["BlacklistPolicy", "BlacklistRule"],
    "fleet": ["BadRows", "Fleet"],
    "managed_host": ["ManagedHost"],
    "moved_blocks": ["MovedBlocks"],
    "tags": ["Tags"],
}
"""The modules of compositions, written by hand, and what the package shows of them."""

_COMPOSED = ("Host", "Agent")
"""The constructs whose arguments compositions pass on, and that rows of data declare."""

_NOT_IN_ROWS = ("jump_host_ids", "host_id", "specialty_id", "plugin_ids")
"""A row says these by the names of other rows, of specialties, of plugins."""


def construct_files() -> dict[str, str]:
    """Return every generated file of the constructs: path in the checkout to content."""
    modules = every_module()
    made = {
        f"{name}.py": _render(
            "module",
            name=name,
            modules=held,
            composed=_COMPOSED,
            outputs=all_outputs() if name == "data_sources" else {},
        )
        for name, held in modules.items()
    }
    models = {name: _row_attributes(modules[name.lower()][0]) for name in _COMPOSED}
    made["row_values.py"] = _render("row_values", models=models)
    made["__init__.py"] = _render("package", exported=_exported(modules))
    return {f"{SOURCE}/{name}": text for name, text in format_modules(made).items()}


def _render(template: str, **values: object) -> str:
    return TEMPLATES.get_template(f"{template}.py.j2").render({**vars(words), **values})


def _row_attributes(module: Module) -> list[Attribute]:
    return [
        attribute
        for attribute in module.arguments
        if attribute.kind in words.ROW_TYPES and attribute.name not in _NOT_IN_ROWS
    ]


def _exported(modules: Mapping[str, Sequence[Module]]) -> dict[str, list[str]]:
    """Return what the package shows of each of its modules."""
    exported = dict(_COMPOSITIONS)
    for name, held in modules.items():
        exported[name] = []
        for module in held:
            types = (
                words.type_name(module.class_name, attribute)
                for attribute in module.arguments
                if attribute.kind.is_nested or attribute.bounds.allowed
            )
            arguments = [f"{module.class_name}Arguments"] if module.class_name in _COMPOSED else []
            exported[name] += [module.class_name, *arguments, *types]
    return exported
