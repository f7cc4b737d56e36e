"""Which addresses of a stack refer to which, and the specialties that its hosts depend on. Pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

HOST = "opsconsole_host"
AGENT = "opsconsole_agent"
SPECIALTY = "opsconsole_specialty"
BLACKLISTED_COMMAND = "opsconsole_blacklisted_command"

_REFERENCE = re.compile(r"(?:data\.)?[A-Za-z_][\w-]*\.[A-Za-z_][\w-]*")

Graph = Mapping[str, Collection[str]]
"""Address to the addresses that it refers to: resources, data sources, modules and locals."""


def _text(block: Any) -> str:
    if isinstance(block, dict):
        block = {key: value for key, value in block.items() if key != "//"}
    return json.dumps(block)


def reference_graph(stack: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return which addresses refer to which in a stack's synthesised JSON."""
    blocks = {f"local.{name}": value for name, value in stack.get("locals", {}).items()}
    blocks |= {f"module.{name}": value for name, value in stack.get("module", {}).items()}
    for prefix, kind in (("", "resource"), ("data.", "data")):
        for type_name, named in stack.get(kind, {}).items():
            blocks |= {f"{prefix}{type_name}.{name}": block for name, block in named.items()}
    return {
        address: set(_REFERENCE.findall(_text(block))) & blocks.keys()
        for address, block in blocks.items()
    }


def reaches(graph: Graph, start: str, target: str) -> bool:
    """Return whether `start` refers to `target`, directly or through others."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        address = waiting.pop()
        if address == target:
            return True
        if address not in seen:
            seen.add(address)
            waiting.extend(graph.get(address, ()))
    return False


def _targets(graph: Graph, agent: Mapping[str, Any], name: str, type_name: str) -> set[str]:
    text = _text(agent.get(name))
    if "each." in text:
        text += _text(agent.get("for_each"))
    waiting = list(set(_REFERENCE.findall(text)) & graph.keys())
    seen: set[str] = set()
    while waiting:
        address = waiting.pop()
        if address not in seen:
            seen.add(address)
            waiting.extend(graph[address] if address.startswith("local.") else ())
    return {address for address in seen if address.startswith(f"{type_name}.")}


def specialties_of_hosts(
    stack: Mapping[str, Any], pairs: Iterable[tuple[str, str]] = ()
) -> dict[str, set[str]]:
    """Return for each host's address those of the specialties that its agents carry.

    Args:
        stack: A stack's synthesised JSON.
        pairs: Addresses of a host and a specialty of this stack that an agent elsewhere joins.

    A specialty that itself refers to the host is left out: Terraform allows no cycle.
    """
    graph = reference_graph(stack)
    wanted = set(pairs)
    for agent in stack.get("resource", {}).get(AGENT, {}).values():
        hosts = _targets(graph, agent, "host_id", HOST)
        carried = _targets(graph, agent, "specialty_id", SPECIALTY)
        wanted |= {(host, specialty) for host in hosts for specialty in carried}
    found: dict[str, set[str]] = defaultdict(set)
    for host, specialty in sorted(wanted):
        if not reaches(graph, specialty, host):
            graph[host].add(specialty)
            found[host].add(specialty)
    return found
