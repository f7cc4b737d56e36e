"""What the deletion of hosts takes along, and what stands in the way of other deletions. Pure.

The document: DELETE /api/v1/hosts/{id} archives the host's agents and their tasks; DELETE
/api/v1/specialties/{id} answers 409 while an agent carries the specialty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.lifecycle.interface import Removal
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reconcile.declaration import Known
from opsconsole.resources import AGENT, AGENT_PLUGIN, HOST, SPECIALTY

_REMOVING = (Action.DELETE, Action.REPLACE)


@dataclass
class Cascade:
    """The hosts that a plan deletes, by id, and what goes with them.

    Attributes:
        hosts: Host id to the address of the change that deletes it.
        agents: Agent id to the address of the host that takes it along.
    """

    hosts: dict[str, str]
    agents: dict[str, str]

    @classmethod
    def of(cls, leaving_hosts: Iterable[Known], known: Iterable[Known]) -> Cascade:
        """Return the cascade of hosts that go; one with deletion policy `abandon` stays."""
        hosts = {
            item.value["id"]: item.address
            for item in leaving_hosts
            if item.value is not None and item.value.get("deletion_policy") != "abandon"
        }
        agents = {
            item.value["id"]: hosts[item.value["host_id"]]
            for item in known
            if item.type_name == AGENT.type_name
            and item.value is not None
            and item.value.get("host_id") in hosts
        }
        return cls(hosts, agents)

    def host_of(self, item: Known) -> str:
        """Return the address of the host that takes an agent or attachment along, or nothing."""
        value = item.value
        if value is None:
            return ""
        if item.type_name == AGENT.type_name:
            return self.hosts.get(value.get("host_id") or "", "")
        if item.type_name == AGENT_PLUGIN.type_name:
            return self.agents.get(value["agent_id"], "")
        return ""

    def removal_of(self, item: Known) -> Removal:
        """Return what is known of why an instance is removed."""
        return Removal.WITH_OWNER if self.host_of(item) else Removal.ALONE


def explained(
    changes: Sequence[Change], cascade: Cascade, known: Mapping[str, Known]
) -> list[Change]:
    """Return the changes with their cascades noted: what goes along costs no call."""
    found = []
    for change in changes:
        host = ""
        if change.action in _REMOVING and change.address in known:
            host = cascade.host_of(known[change.address])
        if host:
            note = f"archived by the deletion of {host}"
            change = replace(change, cascade=host, notes=(*change.notes, note))
        found.append(change)
    return found


def carried_specialties(
    changes: Sequence[Change], known: Iterable[Known], *, agents_deletable: bool
) -> list[Diagnostic]:
    """Refuse at plan time the deletion of a specialty that agents in state go on carrying.

    Args:
        agents_deletable: Whether the console can delete an agent by itself (`agent_delete`).
    """
    by_address = {change.address: change for change in changes}
    staying: dict[str, list[str]] = {}
    for item in known:
        if item.type_name != AGENT.type_name or item.value is None:
            continue
        change = by_address.get(item.address)
        carried = _carried_after(item, change, agents_deletable)
        if carried is not None:
            staying.setdefault(carried, []).append(item.address)
    return [
        error(
            f"{change.address} cannot be deleted: agents go on carrying it",
            f"{', '.join(sorted(staying[change.before['id']]))} would still carry the specialty "
            f"{change.before['id']}, and the console answers 409. Delete their hosts in the same "
            'run, give them another specialty, or set deletion_policy = "abandon".',
        )
        for change in changes
        if change.type_name == SPECIALTY.type_name
        and change.action in _REMOVING
        and change.before is not None
        and change.before.get("deletion_policy") != "abandon"
        and change.before["id"] in staying
    ]


def _carried_after(item: Known, change: Change | None, agents_deletable: bool) -> str | None:
    """Return the id of the specialty that an agent in state carries once the plan is applied."""
    assert item.value is not None
    held: str | None = item.value.get("specialty_id")
    if change is None:
        return held
    if change.action in _REMOVING:
        return None if change.cascade or agents_deletable else held
    planned = (change.after or {}).get("specialty_id")
    return planned if isinstance(planned, str) else held


def leaves_hosts(change: Change) -> bool:
    """Tell whether a change deletes a host."""
    return change.type_name == HOST.type_name and change.action in _REMOVING
