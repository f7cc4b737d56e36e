"""Plans and drift reports of a made-up fleet, of any size, that hold every kind of thing."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import warning
from opsconsole.drift.model import BaselineProblem, Bucket, Difference, DriftReport, Finding
from opsconsole.reconcile.plan import Action, Change, Drift, OutputChange, Plan
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
BY_SSH = {"target_type": "ssh", "target_port": 22}
STARTED = "2026-01-05T08:00:00.000000Z"
SHARED = {"tenant_id": "ten_1", "org_id": "org_main", "created_at": STARTED, "updated_at": STARTED}


def unchanged(
    address: str,
    definition: ResourceDefinition,
    path: str,
    dependencies: tuple[str, ...] = (),
    **own: Any,
) -> Change:
    """Return a resource of the fleet; its values are those that all share, and its own."""
    shared = {name: SHARED.get(name, value) for name, value in definition.empty().items()}
    values = shared | own
    facts = {"construct_path": path, "provider_key": "opsconsole", "dependencies": dependencies}
    type_name = definition.type_name
    return Change(address, type_name, Action.NO_OP, values, values, config=values, **facts)


def values_of(item: Change) -> Mapping[str, Any]:
    """Return what state holds of a resource."""
    return item.config or {}


def jump_host(number: int) -> Change:
    site = SITES[number % len(SITES)]
    named = {"id": f"hst_jump{number}", "name": f"jump-{site}-{number}", "is_jump_host": True}
    own = named | BY_SSH | {"tags": ["role:jump", f"site:{site}"]}
    own["public_ip"] = f"203.0.113.{number % 250 + 1}"
    own["eligible_subnets"] = [f"10.{number % 250}.0.0/16"]
    return unchanged(f"opsconsole_host.jump_{number}", HOST, f"fleet/jump/{number}", **own)


def host(number: int) -> Change:
    jump = number // PER_JUMP_HOST
    site = SITES[jump % len(SITES)]
    role = ROLES[number % len(ROLES)]
    knowledge = f"Runs {role}.\nRestart with systemctl restart {role}.\nOwner: platform."
    own = {"id": f"hst_{number:05}", "name": f"{role}-{site}-{number:04}", "knowledge": knowledge}
    own |= {"jump_host_ids": [f"hst_jump{jump}"], "skip_tls_verify": False, "is_jump_host": False}
    address, path = f'opsconsole_host.{role}["{number}"]', f"fleet/{site}/{role}/{number}/host"
    return unchanged(
        address,
        HOST,
        path,
        (f"opsconsole_host.jump_{jump}",),
        private_ip=f"10.{jump % 250}.{number % 200}.{number % 250 + 1}",
        ip_connect_mode="private",
        tags=["env:prod", f"role:{role}", f"site:{site}"],
        **own | BY_SSH,
    )


def agent(number: int, owner: Change) -> Change:
    name = values_of(owner)["name"]
    specialty = SPECIALTIES[2] if "db" in name else SPECIALTIES[number % 2]
    credential = {"credential_id": "crd_1", "credential_role": "login", "order": 1}
    own = {"id": f"agt_{number:05}", "name": f"{name}-{specialty[1]}", "main_engine": "standard"}
    own |= {"host_id": values_of(owner)["id"], "specialty_id": specialty[0]}
    path = owner.construct_path.removesuffix("host") + "agent"
    return unchanged(
        f'opsconsole_agent.ops["{number}"]',
        AGENT,
        path,
        (owner.address, f"opsconsole_specialty.{specialty[1].replace('-', '_')}"),
        status="idle",
        remote_execution=True,
        credential_config=[credential | {"is_required": True}],
        **own,
    )


def attachment(owner: Change, plugin: tuple[str, str]) -> Change:
    agent_id = values_of(owner)["id"]
    key = f"{agent_id.removeprefix('agt_')}-{plugin[0].removeprefix('plg_')}"
    own = {"id": f"{agent_id}/{plugin[0]}", "agent_id": agent_id, "enabled": True}
    own |= {"plugin_id": plugin[0], "name": plugin[1]}
    address, path = f'opsconsole_agent_plugin.on["{key}"]', f"{owner.construct_path}/{plugin[0]}"
    return unchanged(address, AGENT_PLUGIN, path, (owner.address,), **own)


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
    after, why = {**values_of(item), **unknown, **new}, "replace_because_cannot_update"
    return replace(item, action=Action.REPLACE, after=after, replace_paths=tuple(new), reason=why)


def deleted(item: Change, reason: str = "delete_because_no_resource_config") -> Change:
    return replace(
        item, action=Action.DELETE, after=None, config=None, reason=reason, construct_path=""
    )


def with_host(item: Change, owner: Change) -> Change:
    return replace(deleted(item), deleted_with=owner.address)


class Parts:
    """The resources of a fleet by type; `workers` holds each host's agent by host address."""

    def __init__(self, hosts: int) -> None:
        self.items = fleet(hosts)
        self.machines = [item for item in self.of("host") if not values_of(item)["is_jump_host"]]
        agents = self.of("agent")
        self.workers = {
            machine.address: worker for machine, worker in zip(self.machines, agents, strict=True)
        }

    def of(self, kind: str) -> list[Change]:
        return [item for item in self.items if item.type_name == f"opsconsole_{kind}"]


def host_changes(parts: Parts) -> list[Change]:
    """Hosts that change, go with what they carry, and are replaced with their agent."""
    found = [
        updated(
            item,
            tags=["env:staging", *values_of(item)["tags"][1:]],
            target_port=2222,
            knowledge=values_of(item)["knowledge"].replace("platform", "sre"),
        )
        for item in parts.machines[1:4]
    ]
    gone, moved = parts.machines[5:7]
    worker = parts.workers[gone.address]
    found += [deleted(gone, "delete_because_each_key"), with_host(worker, gone)]
    found += [
        with_host(item, gone)
        for item in parts.of("agent_plugin")
        if values_of(item)["agent_id"] == values_of(worker)["id"]
    ]
    note = "this archives every agent of the host, unmanaged ones too"
    follower = replaced(parts.workers[moved.address], host_id=UNKNOWN)
    return [
        *found,
        replace(replaced(moved, mac="52:54:00:12:34:56"), notes=(note,)),
        replace(follower, deleted_with=moved.address),
    ]


def additions() -> list[Change]:
    """A new jump host, a host behind it, an agent on that and a plugin on that."""
    new_jump = jump_host(900)
    new_host = replace(host(90001), address="opsconsole_host.new", dependencies=(new_jump.address,))
    ties = (new_host.address, new_jump.address, "opsconsole_specialty.windows_server")
    new_agent = replace(
        agent(90001, new_host), address="opsconsole_agent.new", dependencies=tuple(sorted(ties))
    )
    attached, needed = attachment(new_agent, PLUGINS[2]), tuple(sorted((new_agent.address, *ties)))
    new_plugin = replace(attached, address="opsconsole_agent_plugin.new", dependencies=needed)
    return [
        created(new_jump),
        created(new_host, jump_host_ids=[UNKNOWN]),
        created(new_agent, host_id=UNKNOWN, disabled_rule_ids=UNKNOWN),
        created(new_plugin, agent_id=UNKNOWN, id=UNKNOWN),
    ]


def quiet_changes(parts: Parts) -> list[Change]:
    """What imports, moves, leaves management and reads."""
    first, second, third = parts.of("blacklisted_command")
    imported = replace(updated(first, description="Wipes the machine"), import_id="blk_0")
    moved = replace(second, previous_address="opsconsole_blacklisted_command.old")
    name, after = "opsconsole_specialties", {"specialties": UNKNOWN, "complete": UNKNOWN}
    why = "read_because_dependency_pending"
    read = Change(f"data.{name}.all", name, Action.READ, None, after, reason=why)
    return [imported, moved, replace(deleted(third), action=Action.FORGET), read]


def make_plan(hosts: int = 60, **facts: Any) -> Plan:
    """A plan that holds every kind of change, on a fleet of `hosts` hosts."""
    parts = Parts(hosts)
    changes = {item.address: item for item in parts.items}
    for change in (*host_changes(parts), *additions(), *quiet_changes(parts)):
        changes[change.address] = change
    first, gone = parts.machines[0], parts.of("agent_plugin")[0]
    drifted = values_of(first) | {"target_port": 22022}
    defaults: dict[str, Any] = {
        "drift": (
            Drift(first.address, first.type_name, drifted, values_of(first)),
            Drift('opsconsole_agent_plugin.on["gone"]', gone.type_name, values_of(gone), None),
        ),
        "outputs": (
            OutputChange("host_ids", Action.UPDATE, ["hst_00001"], ["hst_00001", UNKNOWN]),
            OutputChange("token", Action.CREATE, None, "hush-hush", sensitive=True),
            OutputChange("same", Action.NO_OP, "a", "a"),
        ),
        "diagnostics": (
            warning("The row is adopted", "Its pattern was mkfs and becomes mkfs*.", ("pattern",)),
        ),
        "lineage": "3f0c5e0a-0000-4000-8000-000000000001",
        "serial": 7,
        "calls": {"host_update": hosts, "specialty_search": 1},
    }
    return Plan(changes=tuple(changes.values()), **(defaults | facts))


def finding(item: Change, bucket: Bucket = Bucket.IN_SYNC, **facts: Any) -> Finding:
    labels = {"opsconsole_specialty": "key", "opsconsole_blacklisted_command": "pattern"}
    defaults = {
        "stack": "fleet",
        "address": item.address,
        "type_name": item.type_name,
        "bucket": bucket,
        "id": values_of(item)["id"],
        "label": values_of(item)[labels.get(item.type_name, "name")],
        "construct_path": item.construct_path,
        "location": "main.py:42",
        "values": values_of(item),
    }
    return Finding(**(defaults | facts))


def changed_findings(parts: Parts) -> list[Finding]:
    """Hosts that changed: the last of them accepted, and one of them in secret."""
    found = []
    for number, item in enumerate(parts.machines[1:5]):
        tags, knowledge = values_of(item)["tags"], values_of(item)["knowledge"]
        differences = (
            Difference("target_port", 22, 2200 + number),
            Difference("tags", tags, [*tags[1:], "owner:me"]),
            Difference("knowledge", knowledge, "Gone\nfishing"),
        )
        why = "port moved for the audit, ticket 12" if number == 3 else ""
        found.append(finding(item, Bucket.CHANGED, differences=differences, accepted=why))
    secret = Difference("knowledge", "hush-hush", "hush-hush-too", sensitive=True)
    return [*found, finding(parts.machines[12], Bucket.CHANGED, differences=(secret,))]


def other_findings(parts: Parts) -> list[Finding]:
    """One or two in each of the other buckets."""
    machines, workers, plugins = parts.machines, parts.of("agent"), parts.of("agent_plugin")
    stray = f"{values_of(workers[10])['id']}/plg_metrics"
    archived = f"archived by the deletion of {machines[7].address}"
    refused = "reading it is refused (403 FORBIDDEN)"
    return [
        finding(machines[7], Bucket.MISSING, reason="status 404"),
        finding(workers[7], Bucket.ARCHIVED, reason=archived),
        finding(machines[8], Bucket.UNCHECKED, reason=refused, location=""),
        finding(plugins[9], Bucket.MISSING, reason="detached"),
        Finding(
            "fleet", stray, AGENT_PLUGIN.type_name, Bucket.UNMANAGED, id=stray, label="Metrics"
        ),
        finding(agent(90001, machines[11]), Bucket.PENDING, id="", values={}),
    ]


def make_report(hosts: int = 60, **facts: Any) -> DriftReport:
    """A report that holds every bucket, on a fleet of `hosts` hosts."""
    parts = Parts(hosts)
    found = {item.address: finding(item) for item in parts.items}
    for item in (*changed_findings(parts), *other_findings(parts)):
        found[item.address] = item
    defaults: dict[str, Any] = {
        "checked_at": "2026-03-01T02:00:00Z",
        "method": "Hosts were read by an update that changes nothing.",
        "diagnostics": (warning("One host may not be read", "Status 403.\nAsk for access."),),
        "baseline": (BaselineProblem("opsconsole_host.old: tags", "expired on 2026-02-01"),),
        "calls": {"host_update": hosts, "plugin_list": hosts},
        "seconds": 1.25,
        "required": ("opsconsole_host", "opsconsole_agent_plugin"),
        "min_coverage": 0.0,
    }
    return DriftReport(findings=tuple(found.values()), **(defaults | facts))


def make_creation(hosts: int) -> Plan:
    """A plan that creates a whole fleet, so that every row can be unfolded."""
    return Plan(changes=tuple(created(item) for item in fleet(hosts)))
