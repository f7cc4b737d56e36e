"""The rules of worlds: what the console, the files and the words of a command must never show.

The console's own log and rows are the judge, never the engine's word.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from opsconsole.cli.main import main
from opsconsole.emulator import API_KEY
from opsconsole.emulator.store import Row
from simulated_disk import Process

if TYPE_CHECKING:
    from simulation import World

OURS = ("hosts", "agents")
"""The collections whose objects have names."""
READING = ("plan", "drift", "adopt", "import", "state", "force-unlock")
"""The commands that write nothing to the console."""

_ENDINGS = [
    re.compile(rf"^\S+(?: \(deposed \w+\))?: (?:{ending})", re.M)
    for ending in ("Creation complete", "Modifications complete", "Destruction complete|Archived")
]
_BEGUN, _MADE = (
    re.compile(rf"^(\S+): {words}", re.M) for words in ("Creating", "Creation complete")
)
_SUM = re.compile(r"Resources: .*?(\d+) added, (\d+) changed, (\d+) destroyed")
_CREATED = re.compile(r"^opsconsole_(?:host|agent)\.\S+: Creation complete .*\[id=(\S+)\]$", re.M)
_ADOPTED = re.compile(r"\((hst_\w+)\) existed already and is adopted$", re.M)


class BrokenRule(AssertionError):
    """Something happened that must not happen in any world."""


def check_words(world: World, text: str, before: Set[str]) -> None:
    """What is said is what the console shows, and no key is said."""
    if API_KEY in text:
        raise BrokenRule("the key is in the output")
    for said in set(_CREATED.findall(text)) - set(_ADOPTED.findall(text)):
        there = said in world.deleted or any(world.store.tables[kind].get(said) for kind in OURS)
        if said in before or not there:
            raise BrokenRule(f"{said} is said to be created, and is not:\n{text}")
    if unannounced := set(_MADE.findall(text)) - set(_BEGUN.findall(text)):
        raise BrokenRule(f"the creation of {unannounced} ends and never began:\n{text}")
    counts = _SUM.search(text)
    said_each = [str(len(pattern.findall(text))) for pattern in _ENDINGS]
    if counts and list(counts.groups()) != said_each:
        raise BrokenRule(f"the counts are not those of the lines, {said_each}:\n{text}")


def check_nothing_is_lost(world: World, words: tuple[str, ...]) -> None:
    """What the console has is in state, in a journal, or was named to the user."""
    if API_KEY.encode() in b"\n".join(world.contents()):
        raise BrokenRule("the key is in a file")
    journals = world.journals()
    held = journals + b"".join(world.contents("terraform.tfstate"))
    held += world.place.state if world.place is not None else b""
    # An unsettled create is in state by its name; a journal holds objects as JSON in a text.
    written = held if b"outcome-unknown" in held else journals
    written = written.replace(b'\\"', b'"')
    named = world.declared.unmanaged | world.named_unknown
    for kind in OURS:
        for row in world.store.tables[kind]:
            gone = row.get("status") == "archived" or row["id"] in world.said_ids
            if gone or row["name"] not in world.created - named:
                continue
            if row["id"].encode() in held or json.dumps(row["name"]).encode() in written:
                continue
            raise BrokenRule(f"{row['name']} is nowhere after {' '.join(words)}")


def judge_request(world: World, process: Process, method: str, target: str, content: bytes) -> None:
    """A process sends what it may, and its journal knows of each write before."""
    if process.interrupted_at is not None and world.clock.now > process.interrupted_at + 1.0:
        raise BrokenRule(f"{method} {target} is begun after an interrupt")
    path = target.partition("?")[0]
    body = json.loads(content) if content else {}
    asks = method == "GET" or body.get("dry_run")
    if process.words[0] in READING and not asks and (body or method == "DELETE"):
        raise BrokenRule(f"{process.words[0]} sends {method} {target}")
    if method == "DELETE" and path.startswith("/api/v1/hosts/"):
        row = world.store.hosts.get(path.rpartition("/")[2])
        if row and world.declared.keeps(row) and not world.deleting:
            raise BrokenRule(f"{row['name']} is deleted, and no plan can have shown it")
    if asks or not (body or method == "DELETE"):
        return
    creates = method == "POST" and path.endswith(("/agents", "/hosts/batch"))
    if process.lost_lock_at is not None and world.clock.now > process.lost_lock_at + 1.0:
        raise BrokenRule(f"{method} {target} is begun after the lock was lost")
    journals = world.journals()
    if process.lost_lock_at is not None and world.place is not None:
        # The run that took the lock found the call open, and has it in its state.
        journals += world.place.state
    if not creates:
        named = path.split("/")[4]
        # What is adopted has no id in the journal: the next plan adopts it again.
        adopts = not named.startswith(("hst_", "agt_"))
        if process.program is main and not adopts and named.encode() not in journals:
            raise BrokenRule(f"{method} {target} is sent, and the journal knows nothing of it")
        return
    kind = "agents" if path.endswith("/agents") else "hosts"
    for row in [body] if kind == "agents" else body["rows"]:
        if process.program is main and json.dumps(row["name"]).encode() not in journals:
            raise BrokenRule(f"{row['name']} is created, and the journal knows nothing of it")
        world.created.add(row["name"])
        twice = row["name"] in [
            other["name"] for other in world.store.tables[kind] if other.get("status") != "archived"
        ]
        # A frozen run's row in flight: the console refuses the second of a name.
        refused = process.lost_lock_at is not None and kind == "hosts"
        if twice and not refused and row["name"] not in world.named_unknown:
            raise BrokenRule(f"{row['name']} is created a second time")


def check_at_rest(world: World) -> None:
    """The console is as declared, state holds each thing once, and nothing is left over."""
    _check_agents(world, _check_hosts(world))
    left = [
        file.name
        for file in world.folder.rglob("*")
        if "-journal" in file.name or file.suffix == ".opsconsole-copy"
    ]
    if world.place is not None and world.place.lock:
        raise BrokenRule("the shared state is still locked")
    if world.place is not None and world.place.journal:
        left.append("the journal of the shared state")
    # The deletion of a host that cannot be read stays open; each run names it.
    if left and world.profile.hosts_readable:
        raise BrokenRule(f"left over: {left}")
    held: Counter[tuple[str, str]] = Counter()
    for stack, declared in zip(world.stacks, world.declared.addresses(), strict=True):
        with world.within(stack):
            found = world.instances()
        held.update((address.partition(".")[0], item["id"]) for address, item in found)
        addresses = sorted(address for address, _ in found)
        if addresses != declared:
            raise BrokenRule(f"state holds {addresses}, declared are {declared}")
    if twice := [item for item, count in held.items() if count > 1]:
        raise BrokenRule(f"twice in state: {twice}")
    shown = world.profile.hosts_readable and world.profile.keeps_values_as_sent
    asks = shown and world.instances() and world.random.random() < 0.3
    drift = world.run("drift") if asks else None
    if drift is not None and drift.code != 0:
        raise BrokenRule(f"nothing differs, and drift says:\n{drift.text}")


def _check_hosts(world: World) -> dict[str, Row]:
    """Each declared host is there once, and no other; return those that are, by name."""
    wanted = world.declared.hosts_by_name()
    # One whose outcome was unknown may be there besides: the user was told so.
    spared = world.declared.unmanaged | world.named_unknown
    count = Counter(row["name"] for row in world.store.hosts)
    for name in {*count, *wanted} - spared:
        if count[name] != (name in wanted):
            raise BrokenRule(f"the console has {name} {count[name]} times")
    if missing := wanted.keys() - count.keys():
        raise BrokenRule(f"the console has no {sorted(missing)}")
    hosts = {row["name"]: row for row in world.store.hosts if count[row["name"]] == 1}
    for name, host in wanted.items():
        if host.tags and name in hosts and tuple(hosts[name].get("tags", ())) != host.tags:
            raise BrokenRule(f"{name} has {hosts[name].get('tags')}, declared are {host.tags}")
    return hosts


def _check_agents(world: World, hosts: Mapping[str, Row]) -> None:
    """Each declared agent lives once, with its plugins; those of the other stack on their hosts."""
    declared, unknown = world.declared, world.named_unknown
    living: dict[str, list[Row]] = {}
    for row in world.store.agents:
        if row.get("status") != "archived":
            living.setdefault(row["name"], []).append(row)
    for agent in declared.agents.values():
        rows = living.get(agent.name, [])
        if len(rows) != 1 and not (rows and agent.name in unknown):
            raise BrokenRule(f"{agent.name} lives {len(rows)} times")
        attached = {
            row["plugin_id"]
            for row in world.store.attachments
            if row["agent_id"] in [agent["id"] for agent in rows]
        }
        if len(rows) == 1 and attached != {*(agent.plugins or ()), *agent.attached}:
            raise BrokenRule(f"{agent.name} has {sorted(attached)}, not what is declared")
    for label in declared.outputs() if declared.is_read else ():
        name, host = f"reader-{label}", hosts.get(declared.hosts[label].name)
        ids = [row["host_id"] for row in living.get(name, ())]
        if name not in unknown and host and ids != [host["id"]]:
            raise BrokenRule(f"{name} lives on {ids}, the host is {host}")
