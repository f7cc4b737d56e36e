"""Host → specialty: a host depends on the specialties of its agents.

The console refuses to delete a specialty that an agent still carries, and archives agents only
with their host. Terraform must therefore destroy agents, then hosts, then specialties. The
references of agents are known from the tokens that were handed out. If they are not, or if a
specialty has references of its own, the synthesised stack is searched.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

import cdktf
import jsii
from constructs import Construct

from opsconsole_cdktf._declared import Declared, Resource
from opsconsole_cdktf._rules import is_token
from opsconsole_cdktf._trees import Tree

_LONGEST_CHAIN = 100


class AgentBase(Resource):
    """An agent, which joins a host and a specialty."""

    def __init__(self, scope: Construct, id_: str, **arguments: Any) -> None:
        super().__init__(scope, id_, **arguments)
        self._tree.carriers.append(self)


class HostBase(Resource):
    """A host: Terraform must destroy it before the specialties that its agents carry."""

    _implied: tuple[str, ...] = ()

    def __init__(self, scope: Construct, id_: str, **arguments: Any) -> None:
        super().__init__(scope, id_, **arguments)
        stack = _stack_of(self)
        if stack not in self._tree.ordered:
            self._tree.ordered.add(stack)
            _Dependencies(self._tree, stack)

    def depend_on_specialties(self) -> None:
        """Depend on the specialties that the host's agents carry now."""
        implied = tuple(
            address
            for address in _DependencyMap.current(self._tree).implied_addresses(self)
            if address not in self._declared_dependencies
        )
        if implied != self._implied:
            present = jsii.get(self, "dependsOn") or []
            # Only implied addresses are taken back: the program may have added others.
            kept = [address for address in present if address not in self._implied]
            jsii.set(self, "dependsOn", [*kept, *implied])
            self._implied = implied

    @cached_property
    def _declared_dependencies(self) -> set[str]:
        declared = self._meta.get("depends_on", ())
        return {_address(other) for other in declared if isinstance(other, SpecialtyBase)}


class _Dependencies(cdktf.TerraformElement):
    """Works out the dependencies of the hosts of a stack at each synthesis."""

    def __init__(self, tree: Tree, stack: cdktf.TerraformStack) -> None:
        self._tree = tree
        self._stack = stack
        # It renders nothing, so its id is in no address. With a space, no resource is called so:
        # Terraform's names hold none.
        super().__init__(stack, "opsconsole dependencies")

    @jsii.member(jsii_name="toMetadata")
    def to_metadata(self) -> Any:
        """Work out the dependencies, and return nothing; called by cdktf."""
        # cdktf asks every element for its metadata before it asks any for its block. A search
        # synthesises the stack too, and would come back here.
        if not self._tree.searching:
            for host in self._tree.declared:
                if isinstance(host, HostBase) and _stack_of(host) is self._stack:
                    host.depend_on_specialties()
        return {}


class SpecialtyBase(Resource):
    """A specialty. It may have references of its own, which only a search can tell."""

    _overridden = False

    def add_override(self, path: str, value: Any) -> None:
        """Set a property without an argument of its own."""
        self._overridden = True
        super().add_override(path, value)

    def is_independent(self) -> bool:
        """Return whether it certainly refers to nothing."""
        # An override and most meta-arguments may hold references that no attribute shows.
        return not (
            self._overridden
            or self._meta.keys() - {"provider"}
            or jsii.get(self, "dependsOn")
            or any(map(_has_token, self._values.values()))
        )


def _has_token(value: Any) -> bool:
    return any(map(_has_token, value.values())) if isinstance(value, dict) else is_token(value)


def _stack_of(construct: Declared) -> cdktf.TerraformStack:
    return construct._tree.stack_around(construct._scope)


_UNSEEN = object()
"""The target of a token that none of these constructs handed out."""


def origin(tree: Tree, value: Any) -> Any:
    """Return the construct whose `id` is `value`; None if it is certainly none; else _UNSEEN."""
    # An attribute may be declared by a reference to another; the bound ends a circle of these.
    for _ in range(_LONGEST_CHAIN):
        if not is_token(value):
            return None
        if not isinstance(value, str) or value not in tree.token_owners:
            return _UNSEEN
        construct, name = tree.token_owners[value]
        if not isinstance(construct, Declared):
            return _UNSEEN
        if name == "id":
            return construct
        value = construct._values.get(name)
    return _UNSEEN


def _address(construct: Resource) -> str:
    return f"{construct.TF_RESOURCE_TYPE}.{construct.friendly_unique_id}"


class _DependencyMap:
    """The dependencies of hosts on specialties, as of one revision of the declarations."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._revision = tree.revision
        self._searched: dict[cdktf.TerraformStack, dict[str, set[str]]] = {}
        self._addresses: dict[Resource, str] = {}

    @classmethod
    def current(cls, tree: Tree) -> _DependencyMap:
        latest: _DependencyMap | None = tree.dependency_map
        if latest is None or latest._revision != tree.revision:
            latest = tree.dependency_map = cls(tree)
        return latest

    @cached_property
    def _pairs(self) -> dict[HostBase, set[SpecialtyBase]]:
        pairs: dict[HostBase, set[SpecialtyBase]] = defaultdict(set)
        for agent in self._tree.carriers:
            host = origin(self._tree, agent._values.get("host_id"))
            specialty = origin(self._tree, agent._values.get("specialty_id"))
            # `depends_on` reaches resources of the same stack only.
            if (
                isinstance(host, HostBase)
                and isinstance(specialty, SpecialtyBase)
                and _stack_of(host) is _stack_of(specialty)
            ):
                pairs[host].add(specialty)
        return pairs

    @cached_property
    def _stacks_to_search(self) -> set[cdktf.TerraformStack]:
        stacks = {
            _stack_of(specialty)
            for specialty in set[SpecialtyBase]().union(*self._pairs.values())
            if not specialty.is_independent()
        }
        for agent in self._tree.carriers:
            origins = [
                origin(self._tree, agent._values.get(name)) for name in ("host_id", "specialty_id")
            ]
            # A search synthesises the whole stack, and would find nothing if one of the two is
            # certainly no construct.
            if _UNSEEN in origins and None not in origins:
                stacks.add(_stack_of(agent))
        return stacks

    def implied_addresses(self, host: HostBase) -> tuple[str, ...]:
        """Return the addresses of the specialties that `host` depends on, sorted."""
        if _stack_of(host) in self._stacks_to_search:
            addresses = self._search(_stack_of(host)).get(_address(host), set())
        else:
            addresses = {self._address(specialty) for specialty in self._pairs.get(host, ())}
        return tuple(sorted(addresses))

    def _address(self, construct: Resource) -> str:
        # Each address costs a call to Node.
        if construct not in self._addresses:
            self._addresses[construct] = _address(construct)
        return self._addresses[construct]

    def _search(self, stack: cdktf.TerraformStack) -> dict[str, set[str]]:
        if stack not in self._searched:
            pairs = [
                (self._address(host), self._address(specialty))
                for host, specialties in self._pairs.items()
                for specialty in specialties
                if _stack_of(host) is stack
            ]
            self._tree.searching = True
            try:
                synthesised = stack.to_terraform()
            finally:
                self._tree.searching = False
            self._searched[stack] = specialties_of_hosts(synthesised, pairs)
        return self._searched[stack]


HOST = "opsconsole_host"
AGENT = "opsconsole_agent"
SPECIALTY = "opsconsole_specialty"
BLACKLISTED_COMMAND = "opsconsole_blacklisted_command"

_REFERENCE = re.compile(r"(?:data\.)?[A-Za-z_][\w-]*\.[A-Za-z_][\w-]*")

Edges = Mapping[str, Collection[str]]
"""Address to the addresses that it refers to: resources, data sources, modules and locals."""


def _block_json(block: Any) -> str:
    if isinstance(block, dict):
        # The framework's own notes may hold text that looks like a reference.
        block = {key: value for key, value in block.items() if key != "//"}
    return json.dumps(block)


def reference_graph(stack: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the references between addresses in a stack's synthesised JSON."""
    blocks = {f"local.{name}": value for name, value in stack.get("locals", {}).items()}
    blocks |= {f"module.{name}": value for name, value in stack.get("module", {}).items()}
    for prefix, kind in (("", "resource"), ("data.", "data")):
        for type_name, named in stack.get(kind, {}).items():
            blocks |= {f"{prefix}{type_name}.{name}": block for name, block in named.items()}
    return {
        address: set(_REFERENCE.findall(_block_json(block))) & blocks.keys()
        for address, block in blocks.items()
    }


def reaches(graph: Edges, start: str, target: str) -> bool:
    """Return whether `start` refers to `target`, directly or through others."""
    return target in _walk(graph, [start])


def _walk(graph: Edges, starts: Iterable[str], through: str = "") -> set[str]:
    """Return `starts` and all that they lead to through addresses that begin with `through`."""
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        address = waiting.pop()
        if address not in seen:
            seen.add(address)
            waiting.extend(graph.get(address, ()) if address.startswith(through) else ())
    return seen


def _targets(graph: Edges, agent: Mapping[str, Any], name: str, type_name: str) -> set[str]:
    text = _block_json(agent.get(name))
    # `each.value` stands for what `for_each` refers to.
    if "each." in text:
        text += _block_json(agent.get("for_each"))
    seen = _walk(graph, set(_REFERENCE.findall(text)) & graph.keys(), "local.")
    return {address for address in seen if address.startswith(f"{type_name}.")}


def specialties_of_hosts(
    stack: Mapping[str, Any], pairs: Iterable[tuple[str, str]]
) -> dict[str, set[str]]:
    """Return the addresses of the specialties that a host's agents carry, by the host's address.

    A specialty that itself refers to the host is left out.

    Args:
        stack: A stack's synthesised JSON.
        pairs: Addresses of a host and a specialty of this stack that an agent elsewhere joins.
    """
    graph = reference_graph(stack)
    wanted = set(pairs)
    for agent in stack.get("resource", {}).get(AGENT, {}).values():
        hosts = _targets(graph, agent, "host_id", HOST)
        carried = _targets(graph, agent, "specialty_id", SPECIALTY)
        wanted |= {(host, specialty) for host in hosts for specialty in carried}
    specialties: dict[str, set[str]] = defaultdict(set)
    for host, specialty in sorted(wanted):
        # Terraform allows no cycle. Each new dependency counts for the next ones, as two of them
        # may form a cycle together.
        if not reaches(graph, specialty, host):
            graph[host].add(specialty)
            specialties[host].add(specialty)
    return specialties
