"""Ansible inventories, read by Ansible's own command. Nothing else belongs here.

The command is a public interface of ansible-core, its Python modules are not.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from opsconsole_cdktn._placed import BadRows, Columns, Placed

_SECONDS = 120
_FIELDS = {"ansible_host": "private_ip", "ansible_port": "target_port"}
_PROTOCOLS = ("ssh", "winrm")
_NO_GROUPS = ("all", "ungrouped")


def inventory_rows(path: str | PathLike[str], columns: Columns) -> list[Placed]:
    """Return the hosts of an inventory.

    Args:
        path: An inventory in INI or YAML. Scripts and plugins are not run.
        columns: Further variables that are read, and the fields that they give.

    Raises:
        BadRows: Ansible is not installed, or cannot read the inventory.
    """
    if not Path(path).is_file():
        raise BadRows(f"{path}: there is no such file")
    inventory = _read(path)
    variables = inventory.get("_meta", {}).get("hostvars", {})
    groups = _groups_of_hosts(inventory)
    text = Path(path).read_text("utf-8", errors="replace")
    fields = {**_FIELDS, **columns}
    templates = [
        f"{_place(path, text, name)}: {variable}: {value!r} is a template, which Ansible fills in "
        "when it runs a play. Write the value."
        for name in sorted(groups)
        for variable, value in variables.get(name, {}).items()
        if fields.get(variable) is not None and "{{" in str(value)
    ]
    if templates:
        raise BadRows("\n".join(templates))
    return [
        Placed(_place(path, text, name), _row(name, variables.get(name, {}), groups[name], fields))
        for name in sorted(groups)
    ]


def _row(
    name: str, variables: Mapping[str, Any], groups: list[str], fields: Columns
) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "key": name, "groups": groups}
    if variables.get("ansible_connection") in _PROTOCOLS:
        row["target_type"] = variables["ansible_connection"]
    for variable, field in fields.items():
        if field is not None and variable in variables:
            row[field] = variables[variable]
    return row


def _groups_of_hosts(inventory: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return each host's groups, the innermost first and those of one depth by name."""
    parents: dict[str, list[str]] = {}
    for name, group in inventory.items():
        for child in group.get("children", ()):
            parents.setdefault(child, []).append(name)
    found: dict[str, list[str]] = {}
    for name, group in inventory.items():
        for host in group.get("hosts", ()):
            found.setdefault(host, []).append(name)
    for host, direct in found.items():
        ordered: list[str] = []
        level = sorted(direct)
        while level:
            ordered += [name for name in level if name not in ordered]
            level = sorted({other for name in level for other in parents.get(name, ())})
        found[host] = [name for name in ordered if name not in _NO_GROUPS]
    return found


def _place(path: str | PathLike[str], text: str, name: str) -> str:
    found = re.search(rf"^[ \t]*[\"']?{re.escape(name)}[\"']?(?=[\s:]|$)", text, re.MULTILINE)
    if found is None:
        return f"{path}: {name}"
    return f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {name}"


def _read(path: str | PathLike[str]) -> dict[str, Any]:
    if importlib.util.find_spec("ansible") is None:
        raise BadRows(
            f"{path}: reading it needs ansible-core: install it with pip install "
            "'opsconsole[ansible]'"
        )
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "ANSIBLE_HOME": home,
            "ANSIBLE_INVENTORY_ENABLED": "yaml,ini",
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
            "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
        }
        command = [sys.executable, "-m", "ansible", "inventory", "-i", str(path), "--list"]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    if done.returncode != 0:
        raise BadRows(f"{path}: Ansible cannot read it: {' '.join(done.stderr.split())[:500]}")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
