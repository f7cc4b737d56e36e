"""One object of every kind, and the console that does not show any of them any more."""

from collections.abc import Mapping
from typing import Any

from opsconsole.emulator import Emulator

HIDDEN: Mapping[str, Mapping[str, Any]] = {
    "opsconsole_host": {"away": {"name": "away"}, "stays": {"name": "stays"}},
    "opsconsole_agent": {
        name: {
            "name": name,
            "main_engine": "engine-a",
            "host_id": "${opsconsole_host.stays.id}",
            "specialty_id": "spc_linux",
        }
        for name in ("away", "stays")
    },
    "opsconsole_agent_plugin": {
        "away": {"agent_id": "${opsconsole_agent.stays.id}", "plugin_id": "plg_disk"}
    },
    "opsconsole_specialty": {"away": {"key": "database"}},
    "opsconsole_blacklisted_command": {"away": {"id": "blk_format"}},
}

AWAY = frozenset(f"{type_name}.away" for type_name in HIDDEN)


def hide(console: Emulator) -> None:
    """Let the console show none of what is called `away`."""
    [host] = [row for row in console.rows("hosts") if row["name"] == "away"]
    [agent] = [row for row in console.rows("agents") if row["name"] == "away"]
    [attachment] = console.rows("attachments")
    console.delete("hosts", host["id"])
    console.delete("agents", agent["id"])
    console.delete("attachments", attachment["id"])
    console.delete("specialties", "spc_database")
    console.delete("blacklists", "blk_format")
