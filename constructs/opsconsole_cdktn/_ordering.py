"""Host → specialty: a host depends on the specialties of its agents. Nothing else belongs here.

The console refuses to delete a specialty that an agent still carries, and archives agents only
with their host. Terraform must therefore destroy agents, then hosts, then specialties. What
agents refer to is known from the tokens that were handed out; where it is not, or where a
specialty refers to something itself, the synthesised stack is searched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import cdktn
import jsii
from constructs import Construct

from opsconsole_cdktn._declared import Declared, Resource
from opsconsole_cdktn._references import specialties_of_hosts
from opsconsole_cdktn._rules import is_token
from opsconsole_cdktn._trees import Tree

_LONGEST_CHAIN = 100


class CarriesSpecialty(Resource):
    """An agent: it joins a host and a specialty."""

    def __init__(self, scope: Construct, id_: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(scope, id_, arguments)
        self._tree.carriers.append(self)


class DestroyedBeforeSpecialties(Resource):
    """A host: Terraform must destroy it before the specialties that its agents carry."""

    _implied: tuple[str, ...] = ()

    def __init__(self, scope: Construct, id_: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(scope, id_, arguments)
        stack = _stack_of(self)
        if stack not in self._tree.ordered:
            self._tree.ordered.add(stack)
            _Dependencies(self._tree, stack)

    def depend_on_specialties(self) -> None:
        """Depend on the specialties that the host's agents carry now."""
        implied = tuple(
            address
            for address in _Conclusions.current(self._tree).implied(self)
            if address not in self._declared_dependencies
        )
        if implied != self._implied:
            present = jsii.get(self, "dependsOn") or []
            kept = [address for address in present if address not in self._implied]
            jsii.set(self, "dependsOn", [*kept, *implied])
            self._implied = implied

    @cached_property
    def _declared_dependencies(self) -> set[str]:
        declared = self._meta.get("depends_on", ())
        return {_address(other) for other in declared if isinstance(other, Carried)}


class _Dependencies(cdktn.TerraformElement):
    """Works out what the hosts of a stack depend on, each time that the stack is synthesised."""

    def __init__(self, tree: Tree, stack: cdktn.TerraformStack) -> None:
        self._tree = tree
        self._stack = stack
        super().__init__(stack, "opsconsole-dependencies")

    @jsii.member(jsii_name="toMetadata")
    def to_metadata(self) -> Any:
        """Return nothing; cdktn asks every element for its metadata before any for its block."""
        if not self._tree.searching:
            for host in self._tree.declared:
                if isinstance(host, DestroyedBeforeSpecialties) and _stack_of(host) is self._stack:
                    host.depend_on_specialties()
        return {}


class Carried(Resource):
    """A specialty: it may refer to something itself, which only a search can tell."""

    _overridden = False

    def add_override(self, path: str, value: Any) -> None:
        """Set something that the construct has no argument for."""
        self._overridden = True
        super().add_override(path, value)

    def stands_alone(self) -> bool:
        """Return whether it certainly refers to nothing."""
        return not (
            self._overridden
            or self._meta.keys() - {"provider"}
            or jsii.get(self, "dependsOn")
            or any(map(_holds_token, self._values.values()))
        )


def _holds_token(value: Any) -> bool:
    return any(map(_holds_token, value.values())) if isinstance(value, dict) else is_token(value)


def _stack_of(construct: Declared) -> cdktn.TerraformStack:
    return construct._tree.stack_around(construct._scope)


class _Unseen:
    """What a token refers to that none of these constructs handed out."""


_UNSEEN = _Unseen()


def origin(tree: Tree, value: Any) -> Declared | _Unseen | None:
    """Return the construct whose `id` is `value`, or None where it is known to be none."""
    for _ in range(_LONGEST_CHAIN):
        if not is_token(value):
            return None
        if not isinstance(value, str) or value not in tree.handed_out:
            return _UNSEEN
        construct, name = tree.handed_out[value]
        if not isinstance(construct, Declared):
            return _UNSEEN
        if name == "id":
            return construct
        value = construct._values.get(name)
    return _UNSEEN


def _address(construct: Resource) -> str:
    return f"{construct.TF_RESOURCE_TYPE}.{construct.friendly_unique_id}"


class _Conclusions:
    """Which host depends on which specialties, as of one revision of what is declared."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._revision = tree.revision
        self._searched: dict[cdktn.TerraformStack, dict[str, set[str]]] = {}
        self._addresses: dict[Resource, str] = {}

    @classmethod
    def current(cls, tree: Tree) -> _Conclusions:
        """Return the conclusions from what is declared now."""
        latest: _Conclusions | None = tree.conclusions
        if latest is None or latest._revision != tree.revision:
            latest = tree.conclusions = cls(tree)
        return latest

    @cached_property
    def _pairs(self) -> dict[DestroyedBeforeSpecialties, set[Carried]]:
        pairs: dict[DestroyedBeforeSpecialties, set[Carried]] = defaultdict(set)
        for agent in self._tree.carriers:
            host = origin(self._tree, agent._values.get("host_id"))
            specialty = origin(self._tree, agent._values.get("specialty_id"))
            if (
                isinstance(host, DestroyedBeforeSpecialties)
                and isinstance(specialty, Carried)
                and _stack_of(host) is _stack_of(specialty)
            ):
                pairs[host].add(specialty)
        return pairs

    @cached_property
    def _doubtful(self) -> set[cdktn.TerraformStack]:
        stacks = {
            _stack_of(specialty)
            for specialty in set[Carried]().union(*self._pairs.values())
            if not specialty.stands_alone()
        }
        for agent in self._tree.carriers:
            origins = [
                origin(self._tree, agent._values.get(name)) for name in ("host_id", "specialty_id")
            ]
            if _UNSEEN in origins and None not in origins:
                stacks.add(_stack_of(agent))
        return stacks

    def implied(self, host: DestroyedBeforeSpecialties) -> tuple[str, ...]:
        """Return the addresses of the specialties that `host` depends on, sorted."""
        if _stack_of(host) in self._doubtful:
            found = self._search(_stack_of(host)).get(_address(host), set())
        else:
            found = {self._address(specialty) for specialty in self._pairs.get(host, ())}
        return tuple(sorted(found))

    def _address(self, construct: Resource) -> str:
        if construct not in self._addresses:
            self._addresses[construct] = _address(construct)
        return self._addresses[construct]

    def _search(self, stack: cdktn.TerraformStack) -> dict[str, set[str]]:
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
