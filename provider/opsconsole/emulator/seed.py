"""The first rows of a console: the starter rows, a made-up fleet, or a file of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opsconsole.emulator.catalogue import text_hash
from opsconsole.emulator.store import COLLECTIONS, MAIN_ORG, TENANT, Store, check_row

API_KEY = "svc_ak_emulator"
LAB_ORG = "org_lab"
STARTED = "2026-01-05T08:00:00.000000Z"
FLEET_HOSTS = 8

_SPECIALTIES = (
    ("spc_linux", "linux-server", "Linux server", "Keep Linux servers patched and tidy."),
    ("spc_windows", "windows-server", "Windows server", "Keep Windows servers patched and tidy."),
    ("spc_database", "database", "Database", "Watch databases and their backups."),
    ("spc_network", "network", "Network", "Watch switches and routers."),
    ("spc_container", "container-runtime", "Container runtime", "Watch container runtimes."),
    ("spc_identity", "identity", "Identity", "Watch directories and certificates."),
)
_PLUGINS = (
    ("plg_disk", "Disk usage", True),
    ("plg_logs", "Log reader", True),
    ("plg_metrics", "Metrics", True),
    ("plg_packages", "Packages", True),
    ("plg_backup", "Backups", True),
    ("plg_legacy", "Legacy inventory", False),
)
_BLACKLISTS: tuple[dict[str, Any], ...] = (
    {"id": "blk_format", "pattern": "mkfs*", "description": "formats", "org_id": MAIN_ORG},
    {"id": "blk_wipe", "pattern": "rm -rf /", "description": "wipes the machine"},
    {
        "id": "blk_shutdown",
        "pattern": "shutdown*",
        "org_id": LAB_ORG,
        "document_id": "doc_runbook",
        "source_section": "Safety / Power",
    },
)


class BadSeed(Exception):
    """The seed file cannot be used."""


def seed_store(store: Store, seed: str = "starter", api_key: str = API_KEY) -> None:
    """Fill an empty store.

    Args:
        seed: `starter`, `empty` (the key alone), `fleet`, `fleet:HOSTS`, or the path of a JSON
            file: collection to list of rows.
        api_key: The key with all rights.

    Raises:
        BadSeed: The seed is not one of these.
    """
    # A key with all rights in the tenant.
    store.keys.put(
        {
            "id": "key_main",
            "secret": api_key,
            "cookie": "session-key_main",
            "status": "active",
            "org_id": MAIN_ORG,
            "tenant_id": TENANT,
            "tenant_write": True,
        }
    )
    if seed == "empty":
        return
    if seed == "starter":
        _add_starter_rows(store)
    elif seed == "fleet" or seed.startswith("fleet:"):
        _add_starter_rows(store)
        count = seed.partition(":")[2] or str(FLEET_HOSTS)
        if not (count.isascii() and count.isdigit()):
            raise BadSeed(f"{seed}: fleet:HOSTS takes a number")
        _add_fleet(store, int(count))
    else:
        _add_file(store, Path(seed))


def _add_starter_rows(store: Store) -> None:
    shared = {"tenant_id": TENANT, "created_at": STARTED, "updated_at": STARTED}
    for row_id, key, name, prompt in _SPECIALTIES:
        store.specialties.put(
            {
                "id": row_id,
                "key": key,
                "name": name,
                "prompt": prompt,
                "description": f"{name} specialty",
                "execution_mode": "supervised",
                "owner_id": "usr_admin",
                "org_id": MAIN_ORG,
                **shared,
            }
        )
    for row_id, name, enabled in _PLUGINS:
        row = {"id": row_id, "name": name, "enabled": enabled, "org_id": MAIN_ORG, **shared}
        store.plugins.put(row)
    for entry in _BLACKLISTS:
        store.blacklists.put({**entry, "text_hash": text_hash(entry["pattern"]), **shared})


def _add_fleet(store: Store, count: int) -> None:
    jump = ""
    for number in range(1, count + 1):
        fields: dict[str, Any] = {
            "id": f"hst_fleet{number:05}",
            "name": f"host-{number:05}",
            "org_id": MAIN_ORG,
            "public_ip": f"198.51.{number // 250 % 250}.{number % 250 + 1}",
            "private_ip": f"10.{number // 62500}.{number // 250 % 250}.{number % 250 + 1}",
            "ip_connect_mode": "private",
            "target_type": "ssh",
            "target_port": 22,
            "skip_tls_verify": False,
            "is_jump_host": number % 20 == 1,
            "tags": ["env:demo", f"rack:{number % 40}"],
        }
        if fields["is_jump_host"]:
            jump = fields["id"]
        else:
            fields["jump_host_ids"] = [jump]
        store.add("hosts", fields)
        agent = {
            "id": f"agt_fleet{number:05}",
            "name": f"agent-{number:05}",
            "status": "idle",
            "org_id": MAIN_ORG,
            "host_id": fields["id"],
            "specialty_id": "spc_linux",
            "main_engine": "engine-a",
        }
        store.add("agents", agent)
        for plugin_id in ("plg_disk", "plg_logs"):
            store.add("attachments", {"agent_id": agent["id"], "plugin_id": plugin_id})
        store.add("tasks", {"agent_id": agent["id"], "status": "scheduled"})


def _add_file(store: Store, path: Path) -> None:
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as problem:
        named = "starter, empty, fleet and fleet:HOSTS are seeds too"
        raise BadSeed(f"{path}: {problem.strerror or problem}; {named}") from problem
    except ValueError as problem:
        raise BadSeed(f"{path}: {problem}") from problem
    if not isinstance(content, dict):
        raise BadSeed(f"{path}: must hold an object of collections")
    for collection, rows in content.items():
        if collection not in COLLECTIONS:
            raise BadSeed(f"{path}: {collection} is not one of {', '.join(COLLECTIONS)}")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise BadSeed(f"{path}: {collection} must be an array of objects")
        for row in rows:
            if wrong := check_row(row):
                raise BadSeed(f"{path}: {collection}: {wrong}")
            store.add(collection, row)
