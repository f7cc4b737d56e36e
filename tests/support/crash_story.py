"""Stories: a folder and a console as they are before a command, and what they are after it.

The command is killed or interrupted on its way. The apply makes, adopts, changes, replaces and
removes something of every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

Program = dict[str, Any]

FRESH = 9
"""How many hosts, each with an agent and an attachment, the second program adds."""

SETTINGS = {"import_chunk_size": 2}


def _host(name: str) -> str:
    return f"${{opsconsole_host.{name}.id}}"


def _agent(name: str, host: str, specialty: str = "spc_linux", **rest: Any) -> Program:
    return {"name": name, "host_id": _host(host), "specialty_id": specialty, **rest}


def _attached(agent: str, plugin: str) -> Program:
    return {"agent_id": f"${{opsconsole_agent.{agent}.id}}", "plugin_id": plugin}


def first() -> Program:
    """Return the program that was applied before."""
    return {
        "resource": {
            "opsconsole_host": {
                "steady": {"name": "steady", "is_jump_host": True},
                "changed": {"name": "changed", "knowledge": "before"},
                "swapped": {"name": "swapped", "external_id": "swapped-1"},
                "turned": _turned(1),
                "gone": {"name": "gone", "depends_on": ["opsconsole_specialty.database"]},
            },
            "opsconsole_agent": {
                "steady": _agent("steady-agent", "steady", plugin_ids=["plg_disk"]),
                "open": _agent("open-agent", "steady"),
                "swapped": _agent("swapped-agent", "swapped"),
                "gone": _agent("gone-agent", "gone", "${opsconsole_specialty.database.id}"),
            },
            "opsconsole_agent_plugin": {
                "moved": _attached("open", "plg_disk"),
                "swapped": _attached("swapped", "plg_disk"),
                "gone": _attached("gone", "plg_disk"),
            },
            "opsconsole_specialty": {"database": {"key": "database"}},
        }
    }


def _turned(number: int) -> Program:
    return {
        "name": f"turned-{number}",
        "external_id": f"turned-{number}",
        "lifecycle": {"create_before_destroy": True},
    }


def second() -> Program:
    """Return the program whose apply is killed."""
    fresh = "${opsconsole_%s.fresh[count.index].id}"
    return {
        "resource": {
            "opsconsole_host": {
                "steady": {"name": "steady", "is_jump_host": True},
                "changed": {"name": "changed", "knowledge": "after"},
                "swapped": {"name": "swapped", "external_id": "swapped-2"},
                "turned": _turned(2),
                "fresh": {
                    "count": FRESH,
                    "name": "fresh-${count.index}",
                    "jump_host_ids": [_host("steady")],
                },
            },
            "opsconsole_agent": {
                "steady": _agent("steady-agent", "steady", plugin_ids=["plg_disk", "plg_logs"]),
                "open": _agent("open-agent", "steady"),
                "swapped": _agent("swapped-agent", "swapped"),
                "fresh": {
                    "count": FRESH,
                    "name": "fresh-agent-${count.index}",
                    "host_id": fresh % "host",
                    "specialty_id": "${opsconsole_specialty.container.id}",
                },
            },
            "opsconsole_agent_plugin": {
                "moved": _attached("open", "plg_logs"),
                "swapped": _attached("swapped", "plg_disk"),
                "fresh": {"count": FRESH, "agent_id": fresh % "agent", "plugin_id": "plg_metrics"},
            },
            "opsconsole_specialty": {"container": {"key": "container-runtime"}},
            "opsconsole_blacklisted_command": {
                "format": {"id": "blk_format", "pattern": "mkfs.*", "org_id": "org_main"}
            },
        },
        "output": {"fresh": {"value": "${opsconsole_host.fresh[*].id}"}},
    }


HOSTS = {"steady", "changed", "swapped", "turned-2", *(f"fresh-{n}" for n in range(FRESH))}
"""The hosts that the console has in the end."""

AGENTS = {
    "steady-agent": {"plg_disk", "plg_logs"},
    "open-agent": {"plg_logs"},
    "swapped-agent": {"plg_disk"},
    **{f"fresh-agent-{n}": {"plg_metrics"} for n in range(FRESH)},
}
"""The agents that the console has in the end, and the plugins attached to each."""


@dataclass(frozen=True)
class Story:
    """One command in its surroundings. The console also has a host and an agent of nobody.

    Attributes:
        words: The command.
        before: Makes the program that is applied before.
        program: Makes the program that is there when the command runs.
        hosts: The managed hosts that the console has in the end.
        agents: The managed agents that the console has in the end, each with its plugins.
        adopts: The host of nobody is in state in the end.
    """

    words: tuple[str, ...]
    before: Callable[[], Program]
    program: Callable[[], Program]
    hosts: Set[str] = frozenset()
    agents: Mapping[str, Set[str]] = field(default_factory=dict)
    adopts: bool = False

    @property
    def destroys(self) -> bool:
        """Whether the command removes everything."""
        return self.words[0] == "destroy"


def _small() -> Program:
    """Return the program of what is destroyed, imported or compared."""
    return {
        "resource": {
            "opsconsole_host": {
                "one": {"name": "one", "is_jump_host": True},
                "two": {"name": "two", "jump_host_ids": [_host("one")]},
            },
            "opsconsole_agent": {
                "one": _agent("one-agent", "one", plugin_ids=["plg_logs"]),
                "two": _agent("two-agent", "two", "${opsconsole_specialty.database.id}"),
            },
            "opsconsole_agent_plugin": {"two": _attached("two", "plg_disk")},
            "opsconsole_specialty": {"database": {"key": "database"}},
        }
    }


def _with_nobodys() -> Program:
    """Return the small program, and a declaration of the host of nobody."""
    program = _small()
    program["resource"]["opsconsole_host"]["nobodys"] = {"name": NOBODYS}
    return program


NOBODYS = "nobodys"
NOBODYS_ID = "hst_nobodys"
_SMALL = {"hosts": {"one", "two"}, "agents": {"one-agent": {"plg_logs"}, "two-agent": {"plg_disk"}}}

STORIES: dict[str, Story] = {
    "apply": Story(("apply", "-auto-approve", "-force", "-no-color"), first, second, HOSTS, AGENTS),
    "destroy": Story(("destroy", "-auto-approve", "-no-color"), _small, _small),
    "import": Story(
        ("import", "-no-color", "opsconsole_host.nobodys", NOBODYS_ID),
        _small,
        _with_nobodys,
        {*_SMALL["hosts"], NOBODYS},
        _SMALL["agents"],
        adopts=True,
    ),
    "drift": Story(("drift",), _small, _small, **_SMALL),
}
