"""A made-up fleet of any size, built from the definitions, for tests of what is shown of one.

Items are what state would hold; the functions at the end turn one into a planned change.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Item:
    """One resource of the fleet: where it stands in the program and what state holds of it."""

    address: str
    type_name: str
    values: dict[str, Any]
    path: str
    depends_on: tuple[str, ...] = ()


def values_of(definition: ResourceDefinition, **own: Any) -> dict[str, Any]:
    """Return the values of a resource: those that all share, and its own."""
    return definition.empty() | SHARED | own


def jump_host(number: int) -> Item:
    site = SITES[number % len(SITES)]
    values = values_of(
        HOST,
        id=f"hst_jump{number}",
        name=f"jump-{site}-{number}",
        public_ip=f"203.0.113.{number % 250 + 1}",
        target_type="ssh",
        target_port=22,
        is_jump_host=True,
        tags=["role:jump", f"site:{site}"],
        eligible_subnets=[f"10.{number % 250}.0.0/16"],
    )
    return Item(f"opsconsole_host.jump_{number}", HOST.type_name, values, f"fleet/jump/{number}")


def host(number: int) -> Item:
    jump = number // PER_JUMP_HOST
    site = SITES[jump % len(SITES)]
    role = ROLES[number % len(ROLES)]
    values = values_of(
        HOST,
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
    return Item(
        f'opsconsole_host.{role}["{number}"]',
        HOST.type_name,
        values,
        f"fleet/{site}/{role}/{number}/host",
        (f"opsconsole_host.jump_{jump}",),
    )


def agent(number: int, owner: Item) -> Item:
    specialty = SPECIALTIES[2] if "db" in owner.values["name"] else SPECIALTIES[number % 2]
    credential = {
        "credential_id": "crd_1",
        "credential_role": "login",
        "order": 1,
        "is_required": True,
    }
    values = values_of(
        AGENT,
        id=f"agt_{number:05}",
        name=f"{owner.values['name']}-{specialty[1]}",
        host_id=owner.values["id"],
        specialty_id=specialty[0],
        main_engine="standard",
        status="idle",
        remote_execution=True,
        credential_config=[credential],
    )
    return Item(
        f'opsconsole_agent.ops["{number}"]',
        AGENT.type_name,
        values,
        owner.path.removesuffix("host") + "agent",
        (owner.address, f"opsconsole_specialty.{specialty[1].replace('-', '_')}"),
    )


def attachment(owner: Item, plugin: tuple[str, str]) -> Item:
    agent_id = owner.values["id"]
    values = values_of(
        AGENT_PLUGIN,
        id=f"{agent_id}/{plugin[0]}",
        agent_id=agent_id,
        plugin_id=plugin[0],
        name=plugin[1],
        enabled=True,
    )
    values.pop("tenant_id")
    key = f"{agent_id.removeprefix('agt_')}-{plugin[0].removeprefix('plg_')}"
    return Item(
        f'opsconsole_agent_plugin.on["{key}"]',
        AGENT_PLUGIN.type_name,
        values,
        f"{owner.path}/{plugin[0]}",
        (owner.address,),
    )


def specialties() -> Iterator[Item]:
    for row_id, key, name in SPECIALTIES:
        values = values_of(
            SPECIALTY,
            id=row_id,
            key=key,
            name=name,
            prompt=f"Look after {name}.\nAsk before a restart.",
        )
        address = f"opsconsole_specialty.{key.replace('-', '_')}"
        yield Item(address, SPECIALTY.type_name, values, f"fleet/{key}")


def blacklist() -> Iterator[Item]:
    for number, pattern in enumerate(("rm -rf /", "mkfs*", "shutdown*")):
        values = values_of(
            BLACKLISTED_COMMAND, id=f"blk_{number}", pattern=pattern, tenant_wide=False
        )
        address = f"opsconsole_blacklisted_command.row[{number}]"
        yield Item(address, BLACKLISTED_COMMAND.type_name, values, f"fleet/row/{number}")


def fleet(hosts: int) -> list[Item]:
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


def unchanged(item: Item) -> Change:
    return Change(
        address=item.address,
        type_name=item.type_name,
        action=Action.NO_OP,
        before=item.values,
        after=item.values,
        config=item.values,
        construct_path=item.path,
        provider="opsconsole",
        depends_on=item.depends_on,
    )


def created(item: Item, **more: Any) -> Change:
    values = item.values | dict.fromkeys(("id", "created_at", "updated_at"), UNKNOWN) | more
    return replace(
        unchanged(item), action=Action.CREATE, before=None, after=values, config=item.values
    )


def updated(item: Item, **new: Any) -> Change:
    after = item.values | {"updated_at": UNKNOWN} | new
    return replace(unchanged(item), action=Action.UPDATE, after=after)


def replaced(item: Item, reason: str = "replace_because_cannot_update", **new: Any) -> Change:
    after = item.values | dict.fromkeys(("id", "created_at", "updated_at"), UNKNOWN) | new
    return replace(
        unchanged(item), action=Action.REPLACE, after=after, replace_paths=tuple(new), reason=reason
    )


def deleted(item: Item, reason: str = "delete_because_no_resource_config") -> Change:
    return replace(
        unchanged(item),
        action=Action.DELETE,
        after=None,
        config=None,
        reason=reason,
        construct_path="",
    )


def with_host(item: Item, owner: Item) -> Change:
    return replace(deleted(item), cascade=owner.address)
