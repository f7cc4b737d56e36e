"""A host with its agents and their plugins in one declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import cdktf
from constructs import Construct

from opsconsole_cdktf._rules import is_token
from opsconsole_cdktf.agent import Agent, AgentArguments, AgentCredentialConfig
from opsconsole_cdktf.data_sources import DataSpecialty
from opsconsole_cdktf.host import Host, HostArguments
from opsconsole_cdktf.specialty import Specialty


class ManagedHost(Host):
    """A host that knows its agents and its jump hosts.

    It is a `Host`: it can be used in place of one, and its address is that of a `Host` of the same
    name. Its agents are declared inside it.

    Args:
        scope: The construct that it belongs to.
        id_: Its name within `scope`.
        arguments: As in `Host`. Without a `name` it is named by its path below the stack:
            `Construct(stack, "north")` and `"web"` make `north-web`.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, or out of its bounds.
    """

    _name: str | cdktf.IResolvable | None
    _jumps: list[Host]
    _agents: dict[str, Agent]

    def __init__(self, scope: Construct, id_: str, **arguments: Unpack[HostArguments]) -> None:
        given: dict[str, Any] = {key: item for key, item in arguments.items() if item is not None}
        if "name" not in given:
            given["name"] = _path_below_the_stack(scope, id_)
        self._jumps = []
        self._agents = {}
        super().__init__(scope, id_, **given)

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by the names that they have inside this host."""
        return dict(self._agents)

    def behind(self, *jump_hosts: Host) -> ManagedHost:
        """Reach this host through `jump_hosts`, in their order; return this host.

        Each of them is marked as a jump host, unless it declares that itself. Earlier
        `jump_host_ids` are replaced.

        Raises:
            TypeError: One of them is no host.
            ValueError: One of them is this host, is reached through this host itself, or is
                declared not to be a jump host.
        """
        path = self.node.path
        for jump in jump_hosts:
            if not isinstance(jump, Host):
                raise TypeError(
                    f"{path}: behind: expected a Host, got {type(jump).__name__}. Declare ids as "
                    "jump_host_ids"
                )
            if jump is self:
                raise ValueError(f"{path}: a host cannot be its own jump host")
            chain = _chain(jump, self)
            if chain is not None:
                route = " → ".join(host.node.path for host in (self, *chain))
                raise ValueError(f"{path}: the jump hosts form a cycle: {route}")
            if jump.is_jump_host_input is False:
                raise ValueError(
                    f"{path}: {jump.node.path} declares is_jump_host=False, and is not a jump host"
                )
        # Only once all of them are accepted: a call that is refused changes nothing.
        for jump in jump_hosts:
            if jump.is_jump_host_input is None:
                jump.is_jump_host = True
        self._jumps = list(jump_hosts)
        self.jump_host_ids = [jump.id for jump in jump_hosts]
        return self

    def add_agent(
        self,
        id_: str | None = None,
        *,
        specialty: Specialty | DataSpecialty | str | cdktf.IResolvable,
        plugins: Iterable[str] | cdktf.IResolvable | None = None,
        credentials: Sequence[AgentCredentialConfig | Mapping[str, Any]] | None = None,
        **arguments: Unpack[AgentArguments],
    ) -> Agent:
        """Declare an agent on this host.

        Args:
            id_: Its name inside this host; by default `agent`, `agent-2` and so on.
            specialty: The specialty that it carries, or its id.
            plugins: Ids of all its plugins; None leaves its plugins alone.
            credentials: The credentials that it uses.
            arguments: Further arguments of `Agent`. Without a `name` it is named after the host,
                with its name inside the host behind that.

        Raises:
            ValueError: Something is given in two ways, or an argument is out of its bounds.
        """
        given: dict[str, Any] = {key: item for key, item in arguments.items() if item is not None}
        own: dict[str, Any] = {
            "host_id": self.id,
            "specialty_id": specialty.id
            if isinstance(specialty, Specialty | DataSpecialty)
            else specialty,
            "plugin_ids": _plugin_ids(plugins),
            "credential_config": credentials,
        }
        twice = [key for key, item in own.items() if item is not None and key in given]
        if twice:
            raise ValueError(f"{self.node.path}: add_agent: {', '.join(twice)} is given twice")
        name = id_ or self._free_name()
        given.setdefault("name", f"{cdktf.Token.as_string(self.name_input)}-{name}")
        agent = Agent(self, name, **given, **own)
        self._agents[name] = agent
        return agent

    def _free_name(self) -> str:
        number = len(self._agents) + 1
        while (name := "agent" if number == 1 else f"agent-{number}") in self._agents:
            number += 1
        return name


def _plugin_ids(plugins: Iterable[str] | cdktf.IResolvable | None) -> Any:
    # A text is left to the check of types, and is not taken apart into characters.
    if plugins is None or is_token(plugins) or isinstance(plugins, str):
        return plugins
    assert isinstance(plugins, Iterable)
    # A set of Python has another order in each run, and the synthesised program would differ.
    return sorted(set(plugins), key=str)


def _path_below_the_stack(scope: Construct, id_: str) -> str:
    # The construct itself has no path before it is made.
    path: str = scope.node.path
    stack: str = cdktf.TerraformStack.of(scope).node.path
    below = path.removeprefix(stack).strip("/")
    return "-".join([*filter(None, below.split("/")), id_])


def _chain(start: Host, target: Host) -> list[Host] | None:
    """Return the jump hosts from `start` to `target`, both included, or None."""
    waiting = [[start]]
    while waiting:
        chain = waiting.pop()
        if chain[-1] is target:
            return chain
        # An ordinary `Host` keeps no list of its jump hosts.
        jumps = getattr(chain[-1], "_jumps", ())
        waiting.extend([*chain, jump] for jump in jumps if jump not in chain)
    return None
