"""Programs from chance: a first one, and the next versions of it, with all kinds of resources."""

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

PLUGINS = ("plg_disk", "plg_logs", "plg_metrics")
PREFIX = {
    "spc_linux": "linux-server",
    "spc_database": "database",
    "spc_container": "container-runtime",
}


@dataclass(frozen=True)
class Host:
    """A declared host, or several: one for each key, or as many as `count`."""

    base: str
    revision: int = 1
    creates_first: bool = False
    jump_host: str = ""
    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    count: int = 0

    @property
    def name(self) -> str:
        """The name, another one for each revision where two may be there at once."""
        return f"{self.base}-r{self.revision}" if self.creates_first else self.base

    @property
    def indexes(self) -> list[str]:
        """The instances' indexes as an address ends with them."""
        if self.keys:
            return [f'["{key}"]' for key in self.keys]
        return [f"[{number}]" for number in range(self.count)] if self.count else [""]

    def names(self) -> list[str]:
        """The names that the console shows."""
        ends = self.keys or [str(number) for number in range(self.count)]
        return [f"{self.name}-{end}" for end in ends] or [self.name]

    def body(self) -> dict[str, Any]:
        """Return the block's body."""
        if self.keys:
            keys = {"for_each": f"${{toset({json.dumps(self.keys)})}}"}
            return {**keys, **self.attributes(f"{self.name}-${{each.key}}")}
        if self.count:
            return {"count": self.count, **self.attributes(f"{self.name}-${{count.index}}")}
        return self.attributes(self.name)

    def attributes(self, name: str) -> dict[str, Any]:
        """Return what is declared of the host of a name."""
        # A changed external id replaces the host.
        body: dict[str, Any] = {"name": name, "external_id": f"{name}-{self.revision}"}
        if self.jump_host:
            body["jump_host_ids"] = [f"${{opsconsole_host.{self.jump_host}.id}}"]
        if self.tags:
            body["tags"] = list(self.tags)
        if self.creates_first:
            body["lifecycle"] = {"create_before_destroy": True}
        return body


@dataclass(frozen=True)
class Agent:
    """A declared agent; without `plugins` its attachments are declared by themselves, or not."""

    name: str
    host: str
    index: str
    specialty: str
    plugins: tuple[str, ...] | None = None
    attached: tuple[str, ...] = ()


@dataclass
class Declared:
    """What the program declares."""

    random: random.Random
    order: random.Random
    settings: Mapping[str, Any]
    takes: Callable[[str], bool]
    hosts: dict[str, Host] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    specialties: dict[str, str] = field(default_factory=dict)
    pattern: str = ""
    moved: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unmanaged: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)
    is_read: bool = False
    """Whether another stack reads it, and declares an agent on each of its plain hosts."""
    creates_first: bool = False
    """Whether any version of it has a host that is created before its predecessor is destroyed."""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._names: dict[str, str] = {}

    def destroy_first(self) -> None:
        """Leave create_before_destroy out, and keep the names."""
        for label, host in self.hosts.items():
            self.hosts[label] = replace(host, base=host.name, creates_first=False)

    # The next version.

    def change(self) -> None:
        """Make the next version of the program."""
        chance = self.random
        self.moved, self.removed, self.imports = [], [], {}
        for label in list(self.hosts):
            self._change_host(label)
        for _ in range(chance.randrange(1, 4)):
            self._add_host()
        if not self.hosts:
            return
        for label, agent in list(self.agents.items()):
            if chance.random() < 0.3:
                self.agents[label] = self._with_plugins(agent)
        for _ in range(chance.randrange(3)):
            self._add_agent()
        deletable = "blacklist_delete" in self.settings.get("extra_endpoints", {})
        if chance.random() < 0.4 and not deletable:
            self.pattern = chance.choice(("mkfs.*", "rm -rf /.*", "dd if=.*"))
        for label, host in self.hosts.items():
            for index, name in zip(host.indexes, host.names(), strict=True):
                self._names[f"opsconsole_host.{label}{index}"] = name
            self._names[f'opsconsole_agent.reader["{label}"]'] = f"reader-{label}"
        for label, agent in self.agents.items():
            self._names[f"opsconsole_agent.{label}"] = agent.name

    def found(self) -> Iterator[Host]:
        """Declare a host or none that is there already, which the program imports."""
        number = next(self._numbers)
        if self.random.random() < 0.25 and self.takes(f"found {number}"):
            host = self.hosts[f"h{number}"] = Host(f"found-{number}")
            self._names[f"opsconsole_host.h{number}"] = host.name
            yield host

    def _change_host(self, label: str) -> None:
        chance, host = self.random, self.hosts[label]
        roll = chance.random()
        used = any(other.jump_host == label for other in self.hosts.values())
        if roll < 0.12 and not used:
            self._drop(label, forget=chance.random() < 0.3)
        elif roll < 0.2 and not used:
            new = f"h{next(self._numbers)}"
            self.hosts[new] = self.hosts.pop(label)
            self.moved.append((f"opsconsole_host.{label}", f"opsconsole_host.{new}"))
            for name, agent in self.agents.items():
                if agent.host == label:
                    self.agents[name] = replace(agent, host=new)
        elif roll < 0.45:
            self.hosts[label] = replace(host, tags=(f"role:{chance.randrange(5)}",))
        elif roll < 0.55 and not used:
            self.hosts[label] = replace(host, revision=host.revision + 1)
        elif roll < 0.65 and host.count:
            count = chance.randrange(1, 5)
            self.hosts[label] = replace(host, count=count)
            self._drop_agents(label, set(self.hosts[label].indexes))
        elif roll < 0.75 and host.keys:
            keys = tuple(sorted(chance.sample("abcdef", chance.randrange(1, 4))))
            self.hosts[label] = replace(host, keys=keys)
            self._drop_agents(label, set(self.hosts[label].indexes))

    def _drop(self, label: str, *, forget: bool) -> None:
        host = self.hosts.pop(label)
        agents = [agent.name for agent in self.agents.values() if agent.host == label]
        if forget and not agents:
            self.removed.append(f"opsconsole_host.{label}")
            self.unmanaged |= set(host.names())
        self._drop_agents(label, set())

    def _drop_agents(self, label: str, kept: Set[str]) -> None:
        for name, agent in list(self.agents.items()):
            if agent.host == label and agent.index not in kept:
                del self.agents[name]

    def _add_host(self) -> None:
        chance, number = self.random, next(self._numbers)
        host = Host(f"host-{number}")
        if not self.takes(host.name):
            return
        roll = chance.random()
        plain = [label for label, other in self.hosts.items() if other.indexes == [""]]
        if roll < 0.15:
            host = replace(host, count=chance.randrange(1, 4))
        elif roll < 0.3:
            host = replace(host, keys=tuple(sorted(chance.sample("abcdef", 2))))
        elif roll < 0.5 and plain:
            host = replace(host, jump_host=chance.choice(plain))
        creates_first = self.order.random() < 0.15
        # Its jump host would create first too, and that has one name in all its revisions.
        if creates_first and not host.jump_host and self.takes(f"{host.name} creates first"):
            host = replace(host, creates_first=True)
            self.creates_first = True
        self.hosts[f"h{number}"] = host

    def _add_agent(self) -> None:
        chance, number = self.random, next(self._numbers)
        host = chance.choice(list(self.hosts))
        index = chance.choice(self.hosts[host].indexes)
        specialty = chance.choice(list(PREFIX))
        if chance.random() < 0.5:
            self.specialties[specialty] = PREFIX[specialty]
        agent = Agent(f"agent-{number}", host, index, specialty)
        if not self.takes(agent.name):
            return
        if chance.random() < 0.4:
            agent = replace(agent, plugins=())
        self.agents[f"a{number}"] = self._with_plugins(agent)

    def _with_plugins(self, agent: Agent) -> Agent:
        chosen = tuple(self.random.sample(PLUGINS, self.random.randrange(3)))
        if agent.plugins is None:
            return replace(agent, attached=chosen)
        return replace(agent, plugins=chosen)

    # What it says.

    def program(self) -> dict[str, Any]:
        """Return the program in Terraform's JSON."""
        resources: dict[str, dict[str, Any]] = {
            "opsconsole_host": {label: host.body() for label, host in self.hosts.items()},
            "opsconsole_agent": {},
            "opsconsole_agent_plugin": {},
            "opsconsole_specialty": {name: {"key": key} for name, key in self.specialties.items()},
        }
        for label, agent in self.agents.items():
            declared = agent.specialty in self.specialties
            reference = f"${{opsconsole_specialty.{agent.specialty}.id}}"
            body: dict[str, Any] = {
                "name": agent.name,
                "main_engine": "engine-a",
                "host_id": f"${{opsconsole_host.{agent.host}{agent.index}.id}}",
                "specialty_id": reference if declared else agent.specialty,
            }
            if agent.plugins is not None:
                body["plugin_ids"] = list(agent.plugins)
            resources["opsconsole_agent"][label] = body
            for plugin in agent.attached:
                attached = {"agent_id": f"${{opsconsole_agent.{label}.id}}", "plugin_id": plugin}
                resources["opsconsole_agent_plugin"][f"{label}_{plugin}"] = attached
        if self.pattern:
            entry = {"id": "blk_format", "pattern": self.pattern, "org_id": "org_main"}
            resources["opsconsole_blacklisted_command"] = {"format": entry}
        required = {"opsconsole": {"source": "opsconsole/opsconsole"}}
        program: dict[str, Any] = {
            "terraform": {"required_providers": required},
            "provider": {"opsconsole": {"import_chunk_size": 2, **self.settings}},
            "resource": {kind: blocks for kind, blocks in resources.items() if blocks},
        }
        if self.is_read:
            program["output"] = {"ids": {"value": self.outputs()}}
        if self.imports:
            label_of = {host.name: label for label, host in self.hosts.items()}
            program["import"] = [
                {"to": f"opsconsole_host.{label_of[name]}", "id": found}
                for name, found in self.imports.items()
            ]
        if self.moved:
            program["moved"] = [{"from": source, "to": target} for source, target in self.moved]
        if self.removed:
            program["removed"] = [
                {"from": address, "lifecycle": {"destroy": False}} for address in self.removed
            ]
        return program

    def outputs(self) -> dict[str, str]:
        """Return references to the hosts that another stack reads."""
        plain = [label for label, host in self.hosts.items() if host.indexes == [""]]
        return {label: f"${{opsconsole_host.{label}.id}}" for label in plain}

    def reader(self, backend: str, config: Mapping[str, str]) -> dict[str, Any]:
        """Return the program of the stack that reads this one's state."""
        each = {"for_each": "${data.terraform_remote_state.hosts.outputs.ids}"}
        agent = {**each, "name": "reader-${each.key}", "host_id": "${each.value}"}
        agent |= {"main_engine": "engine-a", "specialty_id": "spc_linux"}
        program = self.program()
        return {
            "terraform": program["terraform"],
            "provider": program["provider"],
            "data": {"terraform_remote_state": {"hosts": {"backend": backend, "config": config}}},
            "resource": {"opsconsole_agent": {"reader": agent}},
        }

    def instances(self) -> dict[str, dict[str, Any]]:
        """Return what is declared of each instance; one that others refer to is before them."""
        blocks = self.program()["resource"]
        specialties = blocks.pop("opsconsole_specialty", {})
        found = {
            f"opsconsole_host.{label}{index}": host.attributes(name)
            for label, host in self.hosts.items()
            for index, name in zip(host.indexes, host.names(), strict=True)
        }
        blocks = {"opsconsole_specialty": specialties, **blocks, "opsconsole_host": {}}
        for kind, named in blocks.items():
            found |= {f"{kind}.{name}": body for name, body in named.items()}
        return found

    def addresses(self) -> list[list[str]]:
        """Return the sorted addresses of the instances that each stack declares."""
        read = [f'opsconsole_agent.reader["{label}"]' for label in self.outputs()]
        return [sorted(self.instances()), *([sorted(read)] if self.is_read else ())]

    def name_of(self, address: str) -> str:
        """Return the name of a host or agent that is declared or was."""
        return self._names.get(address, "")

    def has(self, address: str) -> bool:
        """Return whether an instance is declared."""
        return any(address in stack for stack in self.addresses())

    def hosts_by_name(self) -> dict[str, Host]:
        """Return the declared hosts by the names that the console shows."""
        return {name: host for host in self.hosts.values() for name in host.names()}

    def keeps(self, row: Mapping[str, Any]) -> bool:
        """Return whether no plan of this program may delete a host."""
        host = self.hosts_by_name().get(row["name"])
        if host is None:
            return row["name"] in self.unmanaged
        return row.get("external_id") == f"{row['name']}-{host.revision}"
