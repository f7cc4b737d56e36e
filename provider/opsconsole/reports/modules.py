"""The tree of modules in Terraform's JSON, made from a flat list of resources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_STEP = re.compile(r'module\.[^.\["]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?')


def module_tree(resources: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the root module with each resource in the module that its address names.

    A resource's `module_address` is used up: the tree says it by position.
    """
    root: dict[str, Any] = {}
    modules = {"": root}
    for resource in resources:
        plain = dict(resource)
        module = _module(modules, str(plain.pop("module_address", "")))
        module.setdefault("resources", []).append(plain)
    for module in modules.values():
        if "child_modules" in module:
            module["child_modules"].sort(key=lambda child: child["address"])
    return root


def _module(modules: dict[str, dict[str, Any]], address: str) -> dict[str, Any]:
    if address in modules:
        return modules[address]
    steps = _STEP.findall(address)
    parent = _module(modules, ".".join(steps[:-1]))
    modules[address] = {"address": address}
    parent.setdefault("child_modules", []).append(modules[address])
    return modules[address]
