"""The console as the demo's reader sees it, and the colleague who changes it by hand."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from demo_steps.plans import plural
from opsconsole.emulator import Emulator
from opsconsole.resources import RESOURCES

HEADINGS = ("host", "address", "reached through", "agent", "plugins", "tags")


def declared(program: Mapping[str, Any]) -> list[str]:
    """Return what a synthesised program declares, as `8 hosts`."""
    return [
        plural(RESOURCES[name].title, len(resources))
        for name, resources in program["resource"].items()
    ]


def hosts(console: Emulator) -> list[list[str]]:
    """Return one row a host, as HEADINGS say."""
    rows = sorted(console.rows("hosts"), key=lambda host: (host["private_ip"], host["name"]))
    names = {host["id"]: host["name"] for host in rows}
    agents = {row["host_id"]: row for row in console.rows("agents") if row["status"] != "archived"}
    attached: dict[str, list[str]] = {}
    for row in console.rows("attachments"):
        attached.setdefault(row["agent_id"], []).append(row["plugin_id"].removeprefix("plg_"))
    table = []
    for host in rows:
        agent = agents.get(host["id"], {})
        table.append(
            [
                host["name"],
                host["private_ip"],
                ", ".join(names.get(jump, jump) for jump in host.get("jump_host_ids", ())),
                agent.get("name", ""),
                ", ".join(sorted(attached.get(agent.get("id", ""), ()))),
                ", ".join(sorted(host.get("tags", ()))),
            ]
        )
    return table


def requests(console: Emulator) -> str:
    """Say what the console has been asked since this was last called."""
    counts = console.request_counts()
    console.reset_log()
    imports = counts.get("host_import", 0)
    return f"{sum(counts.values())} requests; hosts went in {imports} bulk calls, half dry runs"


class Colleague:
    """Somebody who uses the console's API by hand."""

    def __init__(self, console: Emulator) -> None:
        self._console = console

    def retag(self, host: str, tags: list[str], port: int) -> None:
        """Change tags and port of a host."""
        self._ask("POST", f"hosts/{self._id('hosts', host)}", {"tags": tags, "target_port": port})

    def detach(self, agent: str, plugin_id: str) -> None:
        """Detach a plugin from an agent."""
        self._ask("DELETE", f"agents/{self._id('agents', agent)}/plugins/{plugin_id}")

    def delete_host(self, host: str) -> None:
        """Delete a host; the console archives its agents with it."""
        self._ask("DELETE", f"hosts/{self._id('hosts', host)}")

    def _id(self, collection: str, name: str) -> str:
        rows = self._console.rows(collection)
        living = (row for row in rows if row.get("status") != "archived")
        return next(str(row["id"]) for row in living if row["name"] == name)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        request = urllib.request.Request(
            f"{self._console.base_url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._console.api_key}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()
