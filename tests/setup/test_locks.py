"""The locks pin what pyproject.toml and package.json ask for, and name no place to get it from."""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from engines import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SHIPPED = [
    *PROJECT["project"]["dependencies"],
    *(text for extra in PROJECT["project"]["optional-dependencies"].values() for text in extra),
]
ASKED = [Requirement(text) for text in [*SHIPPED, *PROJECT["dependency-groups"]["dev"]]]
LOCK = (ROOT / "requirements.lock").read_text()
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==([\w.+!]+)", LOCK, re.MULTILINE)
}
NPM_LOCK: dict[str, Any] = json.loads((ROOT / "package-lock.json").read_text())


def packages() -> Iterator[tuple[str, dict[str, Any]]]:
    """The packages to download: not this checkout, nor what another package brings inside it."""
    entries = NPM_LOCK["packages"].items()
    return ((name, entry) for name, entry in entries if name and not entry.get("inBundle"))


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_each_dependency_is_pinned_within_its_bounds(asked):
    assert asked.specifier.contains(PINS[canonicalize_name(asked.name)])


def test_each_pin_has_a_hash():
    blocks = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)
    assert [block.split()[0] for block in blocks if block and "--hash=sha256:" not in block] == []


def test_no_lock_of_python_packages_names_a_place():
    assert "://" not in LOCK
    assert "index-url" not in LOCK


def test_the_npm_lock_holds_package_json():
    wanted = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    assert NPM_LOCK["packages"][""]["devDependencies"] == wanted
    for name, version in wanted.items():
        assert NPM_LOCK["packages"][f"node_modules/{name}"]["version"] == version


def test_no_npm_package_names_a_place_and_each_has_a_hash():
    assert [name for name, entry in packages() if "resolved" in entry] == []
    assert [name for name, entry in packages() if not entry.get("integrity")] == []


NAMESPACES = {
    "azure.core": "azure-core",
    "azure.identity": "azure-identity",
    "azure.storage": "azure-storage-blob",
    "google.api_core": "google-api-core",
    "google.auth": "google-auth",
    "google.cloud": "google-cloud-storage",
    "google.oauth2": "google-auth",
    "google.protobuf": "protobuf",
}
"""Modules of packages that many distributions share: the distribution that each comes from."""


def imported(folder: str) -> set[str]:
    """The distributions that the modules in `folder` import, wherever in the module."""
    trees = (ast.parse(path.read_text()) for path in (ROOT / folder).rglob("*.py"))
    modules: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules.add(node.module or "")
    providers = packages_distributions()
    roots = {
        next((NAMESPACES[start] for start in NAMESPACES if name.startswith(start)), None)
        or name.partition(".")[0]
        for name in modules
    }
    return {
        canonicalize_name(name)
        for root in roots
        for name in providers.get(root, [root])
        if root not in sys.stdlib_module_names
    }


@pytest.mark.parametrize(
    ("folder", "groups"),
    [("provider", "dependencies"), ("constructs", "dependencies"), ("tests", "all")],
)
def test_what_is_imported_is_asked_for_by_name(folder, groups):
    development = PROJECT["dependency-groups"]["dev"] if groups == "all" else []
    asked = [*SHIPPED, *development]
    names = {canonicalize_name(Requirement(text).name) for text in asked}
    own = {"opsconsole", "opsconsole-cdktf", "opsconsole-cdktn", "scripts"} | {
        canonicalize_name(path.stem)
        for path in (ROOT / "tests").rglob("*")
        if path.suffix == ".py" or path.is_dir()
    }
    assert imported(folder) - names - own == set()
