"""A made-up fleet of any size, built from the definitions, for tests of what is shown of one.

Its resources are changes of a plan that change nothing; the functions at the end plan more.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from opsconsole.definition import ResourceDefinition
from opsconsole.reconcile.plan import Action, Change
from opsconsole.resources import AGENT, AGENT_PLUGIN, BLACKLISTED_COMMAND, HOST, SPECIALTY
from opsconsole.values import UNKNOWN

SPECIALTIES = (
    ("spc_linux", "linux-server", "Linux server"),
    ("spc_windows", "windows-server", "Windows server"),
    ("spc_database", "database", "Database"),
    ("spc_network", "network", "Network"),
)
PLUGINS = (("plg_disk", "Disk usage"), ("plg_logs", "Log reader"), ("plg_metrics", "Metrics"))
ROLES = ("web", "app", "db", "cache", "queue")
SITES = ("ams", "fra", "nyc", "sgp")
PER_JUMP_HOST = 25
STARTED = "2026-01-05T08:00:00.000000Z"
SHARED = {"tenant_id": "ten_1", "org_id": "org_main", "created_at": STARTED, "updated_at": STARTED}


def unchanged(
    address: str,
    definition: ResourceDefinition,
    path: str,
    depends_on: tuple[str, ...] = (),
    **own: Any,
) -> Change:
    """Return a resource of the fleet; its values are those that all share, and its own."""
    shared = {name: SHARED.get(name, value) for name, value in definition.empty().items()}
    values = shared | own
    return Change(
        address=address,
        type_name=definition.type_name,
        action=Action.NO_OP,
        before=values,
        after=values,
        config=values,
        construct_path=path,
        provider="opsconsole",
        depends_on=depends_on,
    )


def values_of(item: Change) -> Mapping[str, Any]:
    """Return what state holds of a resource."""
    return item.config or {}


def jump_host(number: int) -> Change:
    site = SITES[number % len(SITES)]
    return unchanged(
        f"opsconsole_host.jump_{number}",
        HOST,
        f"fleet/jump/{number}",
        id=f"hst_jump{number}",
        name=f"jump-{site}-{number}",
        public_ip=f"203.0.113.{number % 250 + 1}",
        target_type="ssh",
        target_port=22,
        is_jump_host=True,
        tags=["role:jump", f"site:{site}"],
        eligible_subnets=[f"10.{number % 250}.0.0/16"],
    )


def host(number: int) -> Change:
    jump = number // PER_JUMP_HOST
    site = SITES[jump % len(SITES)]
    role = ROLES[number % len(ROLES)]
    return unchanged(
        f'opsconsole_host.{role}["{number}"]',
        HOST,
        f"fleet/{site}/{role}/{number}/host",
        (f"opsconsole_host.jump_{jump}",),
        id=f"hst_{number:05}",
        name=f"{role}-{site}-{number:04}",
        private_ip=f"10.{jump % 250}.{number % 200}.{number % 250 + 1}",
        ip_connect_mode="private",
        target_type="ssh",
        target_port=22,
        skip_tls_verify=False,
        is_jump_host=False,
        jump_host_ids=[f"hst_jump{jump}"],
        tags=["env:prod", f"role:{role}", f"site:{site}"],
        knowledge=f"Runs {role}.\nRestart with systemctl restart {role}.\nOwner: platform.",
    )


def agent(number: int, owner: Change) -> Change:
    name = values_of(owner)["name"]
    specialty = SPECIALTIES[2] if "db" in name else SPECIALTIES[number % 2]
    credential = {
        "credential_id": "crd_1",
        "credential_role": "login",
        "order": 1,
        "is_required": True,
    }
    return unchanged(
        f'opsconsole_agent.ops["{number}"]',
        AGENT,
        owner.construct_path.removesuffix("host") + "agent",
        (owner.address, f"opsconsole_specialty.{specialty[1].replace('-', '_')}"),
        id=f"agt_{number:05}",
        name=f"{name}-{specialty[1]}",
        host_id=values_of(owner)["id"],
        specialty_id=specialty[0],
        main_engine="standard",
        status="idle",
        remote_execution=True,
        credential_config=[credential],
    )


def attachment(owner: Change, plugin: tuple[str, str]) -> Change:
    agent_id = values_of(owner)["id"]
    key = f"{agent_id.removeprefix('agt_')}-{plugin[0].removeprefix('plg_')}"
    return unchanged(
        f'opsconsole_agent_plugin.on["{key}"]',
        AGENT_PLUGIN,
        f"{owner.construct_path}/{plugin[0]}",
        (owner.address,),
        id=f"{agent_id}/{plugin[0]}",
        agent_id=agent_id,
        plugin_id=plugin[0],
        name=plugin[1],
        enabled=True,
    )


def specialties() -> Iterator[Change]:
    for row_id, key, name in SPECIALTIES:
        prompt = f"Look after {name}.\nAsk before a restart."
        own = {"id": row_id, "key": key, "name": name, "prompt": prompt}
        address = f"opsconsole_specialty.{key.replace('-', '_')}"
        yield unchanged(address, SPECIALTY, f"fleet/{key}", **own)


def blacklist() -> Iterator[Change]:
    for number, pattern in enumerate(("rm -rf /", "mkfs*", "shutdown*")):
        own = {"id": f"blk_{number}", "pattern": pattern, "tenant_wide": False}
        address = f"opsconsole_blacklisted_command.row[{number}]"
        yield unchanged(address, BLACKLISTED_COMMAND, f"fleet/row/{number}", **own)


def fleet(hosts: int) -> list[Change]:
    """Every resource of a fleet of `hosts` hosts behind jump hosts: an agent and plugins each."""
    found = [*specialties(), *blacklist()]
    found += [jump_host(number) for number in range((hosts - 1) // PER_JUMP_HOST + 1)]
    for number in range(hosts):
        machine = host(number)
        worker = agent(number, machine)
        found += [machine, worker, attachment(worker, PLUGINS[0])]
        if number % 2:
            found.append(attachment(worker, PLUGINS[1 + number % 2]))
    return found


def created(item: Change, **more: Any) -> Change:
    unknown = dict.fromkeys(("id", "created_at", "updated_at"), UNKNOWN)
    return replace(
        item, action=Action.CREATE, before=None, after={**values_of(item), **unknown, **more}
    )


def updated(item: Change, **new: Any) -> Change:
    after = {**values_of(item), "updated_at": UNKNOWN, **new}
    return replace(item, action=Action.UPDATE, after=after)


def replaced(item: Change, **new: Any) -> Change:
    unknown = dict.fromkeys(("id", "created_at", "updated_at"), UNKNOWN)
    return replace(
        item,
        action=Action.REPLACE,
        after={**values_of(item), **unknown, **new},
        replace_paths=tuple(new),
        reason="replace_because_cannot_update",
    )


def deleted(item: Change, reason: str = "delete_because_no_resource_config") -> Change:
    return replace(
        item, action=Action.DELETE, after=None, config=None, reason=reason, construct_path=""
    )


def with_host(item: Change, owner: Change) -> Change:
    return replace(deleted(item), cascade=owner.address)
