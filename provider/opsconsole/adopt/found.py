"""The objects to adopt: which they are, and what reading them shows. Only reads.

No documented operation lists hosts: for the hosts of a file, the verdicts of a dry run tell which
of them exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opsconsole.diagnostics import Diagnostic
from opsconsole.drift.inventory import inventory
from opsconsole.errors import ConsoleError, UserError
from opsconsole.lifecycle.file_import import FileImport, ReportedRow, Rows
from opsconsole.lifecycle.interface import Outcome, ReadRequest, Seen
from opsconsole.lifecycle.lifecycle import Lifecycle
from opsconsole.resources import (
    AGENT,
    AGENT_PLUGIN,
    BLACKLISTED_COMMAND,
    HOST,
    RESOURCES,
    SPECIALTY,
)
from opsconsole.values import Attributes

_PREFIXES: Final = (
    ("hst_", HOST),
    ("spc_", SPECIALTY),
    ("key=", SPECIALTY),
    ("blk_", BLACKLISTED_COMMAND),
)
LISTED: Final = (HOST.type_name, AGENT.type_name, BLACKLISTED_COMMAND.type_name)
"""Kinds that are looked up in lists. A specialty is managed only where its id is given: deleting
one cannot be undone."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """One object of the console.

    Attributes:
        import_id: The import id.
        values: What reading showed; empty where it could not be read.
        unread: Names of attributes that reading did not show.
        reason: Why it could not be read; empty: it was.
    """

    type_name: str
    import_id: str
    values: Attributes
    unread: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Findings:
    """Everything that was looked at.

    Attributes:
        specialties: Key of each specialty that the console's search shows, by its id.
        remarks: What there is to say beside the objects.
    """

    objects: Sequence[FoundObject]
    specialties: Mapping[str, str]
    remarks: Sequence[str]


def type_of(import_id: str) -> str:
    """Return the type that an import id is of, by its prefix.

    Raises:
        UserError: The API document shows no such prefix.
    """
    if import_id.startswith("agt_"):
        return AGENT_PLUGIN.type_name if "/" in import_id else AGENT.type_name
    for prefix, definition in _PREFIXES:
        if import_id.startswith(prefix):
            return definition.type_name
    forms = ", ".join(definition.import_id for definition in RESOURCES.values())
    raise UserError(f"{import_id!r} is not an import id.", f"Import ids are: {forms}.")


async def listed_ids(lifecycle: Lifecycle) -> tuple[list[str], list[str]]:
    """Return the ids that the console's list endpoints show, and what there is to say of them.

    Raises:
        UserError: No list endpoint is named, so nothing can be looked up.
    """
    console = lifecycle.session.console
    endpoints = {name: RESOURCES[name].lifted_by["list"] for name in LISTED}
    named = {name for name, endpoint in endpoints.items() if console.has(endpoint)}
    if not named:
        raise UserError(
            "No documented operation lists hosts, agents or blacklisted commands.",
            "Give ids, or a file of hosts with --inventory. If this console has operations that "
            f"list them ({', '.join(endpoints.values())}), name these: export "
            """OPSCONSOLE_EXTRA_ENDPOINTS='{"host_list": "GET /path"}'.""",
        )
    lists, diagnostics = await inventory(lifecycle.session, named)
    if diagnostics and not lists:
        raise UserError(
            f"None of the lists could be read: {'; '.join(map(_one_line, diagnostics))}",
            "Check the paths in the provider setting extra_endpoints, and the key.",
        )
    remarks = [_one_line(item) for item in diagnostics]
    remarks += [
        f"{endpoint} is not named, so no {RESOURCES[name].plural} were looked up."
        for name, endpoint in endpoints.items()
        if name not in named
    ]
    remarks += [
        f"The list of {RESOURCES[name].plural} has an end that was not seen: there may be more."
        for name, listing in lists.items()
        if not listing.complete
    ]
    entries = (entry for listing in lists.values() for entry in listing.entries)
    return [entry["id"] for entry in entries if entry.get("status") != "archived"], remarks


async def look(lifecycle: Lifecycle, import_ids: Iterable[str]) -> Findings:
    """Read the objects that import ids name, and the plugins of the agents among them."""
    wanted: dict[str, list[str]] = {name: [] for name in RESOURCES}
    for import_id in dict.fromkeys(import_ids):
        wanted[type_of(import_id)].append(import_id)
    found: list[FoundObject] = []
    remarks: list[str] = []
    for type_name, ids in wanted.items():
        if type_name != AGENT_PLUGIN.type_name:
            found += await _read(lifecycle, type_name, ids)
    attachments = wanted[AGENT_PLUGIN.type_name]
    for agent in [item for item in found if item.type_name == AGENT.type_name and not item.reason]:
        ids, remark = await _attached(lifecycle, agent.import_id)
        attachments += [one for one in ids if one not in attachments]
        remarks += remark
    found += [_attachment(import_id) for import_id in attachments]
    return Findings(found, await _specialties(lifecycle, found), remarks)


def without(import_ids: Iterable[str], managed: Collection[tuple[str, str]]) -> list[str]:
    """Return the import ids of what is not `managed`: types and ids of what a state holds."""
    return [one for one in import_ids if (type_of(one), one) not in managed]


async def _read(
    lifecycle: Lifecycle, type_name: str, import_ids: Sequence[str]
) -> list[FoundObject]:
    steps = lifecycle.resources[type_name]
    found: dict[str, FoundObject] = {}
    begun: list[tuple[str, ReadRequest]] = []
    for import_id in import_ids:
        outcome = await steps.import_state(import_id)
        if outcome.state is None:
            found[import_id] = _unread(type_name, import_id, outcome)
        else:
            begun.append((import_id, ReadRequest(outcome.state, outcome.private)))
    outcomes = await steps.read([request for _, request in begun])
    for (import_id, _), outcome in zip(begun, outcomes, strict=True):
        found[import_id] = _of(type_name, import_id, outcome)
    return [found[import_id] for import_id in import_ids]


def _of(type_name: str, import_id: str, outcome: Outcome) -> FoundObject:
    if outcome.failed or outcome.state is None or outcome.seen is not Seen.PRESENT:
        return _unread(type_name, import_id, outcome)
    values = outcome.shows or outcome.state
    needed = [a.name for a in RESOURCES[type_name] if a.required and values.get(a.name) is None]
    if needed:
        reason = f"the console shows no {' and no '.join(needed)}, and a declaration needs one"
        return FoundObject(type_name, import_id, {}, reason=reason)
    # What an agent's plugins are is read by itself: they are attachments.
    unread = tuple(name for name in outcome.unobserved if name != "plugin_ids")
    return FoundObject(type_name, import_id, values, unread)


def _unread(type_name: str, import_id: str, outcome: Outcome) -> FoundObject:
    reason = "; ".join(map(_one_line, outcome.diagnostics)) or outcome.why_unchecked
    return FoundObject(type_name, import_id, {}, reason=reason or f"it is {outcome.seen.value}")


async def _attached(lifecycle: Lifecycle, agent_id: str) -> tuple[list[str], list[str]]:
    try:
        listing = await lifecycle.session.plugins(agent_id)
    except ConsoleError as problem:
        return [], [f"The plugins of {agent_id} could not be read: {problem}"]
    ids = [f"{agent_id}/{entry['id']}" for entry in listing.entries]
    if listing.complete:
        return ids, []
    return ids, [f"The list of the plugins of {agent_id} has an end that was not seen."]


def _attachment(import_id: str) -> FoundObject:
    agent_id, _, plugin_id = import_id.partition("/")
    values = {"agent_id": agent_id, "plugin_id": plugin_id}
    return FoundObject(AGENT_PLUGIN.type_name, import_id, values)


async def _specialties(lifecycle: Lifecycle, found: Iterable[FoundObject]) -> dict[str, str]:
    if not any(item.values.get("specialty_id") for item in found):
        return {}
    try:
        listing = await lifecycle.session.specialties()
    except ConsoleError:
        return {}  # their ids are written as they are
    keys = [entry.get("key") for entry in listing.entries]
    return {
        entry["id"]: entry["key"]
        for entry in listing.entries
        if isinstance(entry.get("key"), str) and keys.count(entry["key"]) == 1
    }


def _one_line(diagnostic: Diagnostic) -> str:
    return " ".join(f"{diagnostic.summary}. {diagnostic.text}".split())


async def matched_ids(lifecycle: Lifecycle, rows: Rows) -> tuple[list[str], list[str]]:
    """Return the ids of the hosts that exist, and what there is to say of the other rows.

    Raises:
        OpsconsoleError: The dry run could not be made.
        UserError: The console may have imported a row all the same.
    """
    verdicts: list[ReportedRow] = []
    work = FileImport(lifecycle.session, True, False, verdicts.extend)
    await work.run(rows)
    if work.imported_all_the_same:
        made = ", ".join(row.id for row in verdicts if row.id) or "it names no id"
        raise UserError(
            "The console does not say that it honours dry_run, and may have imported a row: "
            f"{made}.",
            "Look at the console. Give ids in place of an inventory.",
        )
    if work.problem is not None:
        raise work.problem
    ids = [row.id for row in verdicts if row.id and not row.created]
    others = [row for row in verdicts if not row.id or row.created]
    remarks = [_unmatched(row) for row in others]
    if work.judged < len(rows.names):
        remarks.append(f"The dry run judged {work.judged:,} of {len(rows.names):,} rows.")
    return ids, remarks


def _unmatched(row: ReportedRow) -> str:
    name = f" ({row.name})" if row.name else ""
    if row.created:
        return f"The console knows no host for row {row.number}{name}."
    error = f": {row.error}" if row.error else ""
    return f"Row {row.number}{name} has no id in the dry run, which says {row.status!r}{error}."
