"""A story in two programs, whose second one is applied by a run that is killed on its way.

The second program makes, adopts, changes, replaces and removes something of every kind.
"""

from __future__ import annotations

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
