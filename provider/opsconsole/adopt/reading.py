"""Lists, matches and reads the objects to adopt, without any write.

No documented operation lists hosts: for the hosts in a file, a dry run shows which exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from opsconsole.diagnostics import Diagnostic
from opsconsole.drift.unmanaged import (
    console_lists,
    is_listed_by_owner,
    list_operation,
    read_console_lists,
)
from opsconsole.errors import ConsoleError, UserError
from opsconsole.lifecycle.interface import ReadOutcome, ReadRequest, ReadStatus
from opsconsole.lifecycle.session import map_limited
from opsconsole.resources import (
    AGENT,
    AGENT_PLUGIN,
    HOST,
    RESOURCES,
    resource_of_id,
)
from opsconsole.resources.agent.known import KnownAgents
from opsconsole.resources.host.file_import import FileImport, FileRows, ReportedRow
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.text import join_words
from opsconsole.values import Values


class ObjectId(NamedTuple):
    """An object to look at: its type and its import id."""

    type_name: str
    import_id: str


@dataclass(frozen=True, slots=True)
class ConsoleObject:
    """One object of the console.

    Attributes:
        import_id: The import id; of a read object, its id.
        values: The values that were read; empty if the object could not be read.
        unobserved: Names of attributes that no answer showed.
        reason: Why the object could not be read, or empty.
    """

    type_name: str
    import_id: str
    values: Values
    unobserved: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class ConsoleContents:
    """The objects to adopt.

    Attributes:
        specialties: The key of each specialty in the console's search, by id.
        remarks: Sentences for the user, apart from the objects.
    """

    objects: Sequence[ConsoleObject]
    specialties: Mapping[str, str]
    remarks: Sequence[str]


def parse_object_id(text: str) -> ObjectId:
    """Read an import id, or `KIND=ID` for ids without a prefix; raise UserError for other text."""
    kind, equals, import_id = text.partition("=")
    kinds = {definition.name: name for name, definition in RESOURCES.items()}
    # The prefixes below come from the document's examples, and a console may have others. So the
    # kind that a user names has precedence.
    if equals and import_id and kind in kinds:
        return ObjectId(kinds[kind], import_id)
    definition = resource_of_id(text)
    if definition is not None:
        return ObjectId(definition.type_name, text)
    forms = ", ".join(" or ".join(item.import_forms) for item in RESOURCES.values())
    raise UserError(
        f"{text!r} is not an import id.",
        f"Import ids are: {forms}. For an id of another form, name its kind: "
        f"{', '.join(f'{kind}=ID' for kind in kinds)}.",
    )


async def list_ids(provider: ConfiguredProvider) -> tuple[list[ObjectId], list[str]]:
    """Return the objects in the console's lists, and remarks; UserError if no list is named."""
    console = provider.session.console
    # Objects that a removal abandons by default, such as specialties, are also used by others. They
    # are adopted only if their ids are given.
    operations = {
        name: list_operation(definition)
        for name, definition in RESOURCES.items()
        if not definition.is_abandoned({}) and not is_listed_by_owner(definition)
    }
    named = {name for name, operation in operations.items() if console.has(operation)}
    if not named:
        raise UserError(
            "No documented operation lists "
            f"{join_words([RESOURCES[name].plural for name in operations], 'or')}.",
            "Give ids, or a file of hosts with --inventory. If this console has operations that "
            f"list them ({', '.join(filter(None, operations.values()))}), name these: export "
            """OPSCONSOLE_EXTRA_ENDPOINTS='{"host_list": "GET /path"}'.""",
        )
    diagnostics = await read_console_lists(provider.session, named)
    lists = {name: read for name, read in console_lists(provider.session).items() if name in named}
    if diagnostics and not lists:
        raise UserError(
            f"None of the lists could be read: {'; '.join(map(_on_one_line, diagnostics))}",
            "Check the paths in the provider setting extra_endpoints, and the key.",
        )
    remarks = [_on_one_line(item) for item in diagnostics]
    remarks += [
        f"{operation} is not named, so no {RESOURCES[name].plural} were looked up."
        if operation
        else f"No operation lists {RESOURCES[name].plural}, so none were looked up. Give their ids."
        for name, operation in operations.items()
        if name not in named
    ]
    remarks += [
        f"The list of {RESOURCES[name].plural} was not read to its end: there may be more."
        for name, listing in lists.items()
        if not listing.complete
    ]
    wanted = [
        ObjectId(name, entry["id"])
        for name, listing in lists.items()
        for entry in listing.unarchived_entries
    ]
    return wanted, remarks


async def read_objects(
    provider: ConfiguredProvider, objects: Iterable[ObjectId]
) -> ConsoleContents:
    """Read objects and their agents' plugins; UserError if objects of two kinds share an id."""
    wanted: dict[str, list[str]] = {name: [] for name in RESOURCES}
    kinds: dict[str, str] = {}
    for type_name, import_id in dict.fromkeys(objects):
        title = RESOURCES[type_name].title
        # A program is made by import id alone, so one of the two objects would replace the other.
        if (other := kinds.setdefault(import_id, title)) != title:
            raise UserError(
                f"{import_id!r} is the id of two objects: {other} and {title}.",
                "Adopt them in two runs, each with its own --output.",
            )
        wanted[type_name].append(import_id)
    objects_read: list[ConsoleObject] = []
    remarks: list[str] = []
    named = wanted.pop(AGENT_PLUGIN.type_name)
    for type_name, ids in wanted.items():
        objects_read += await _read_type(provider, type_name, ids)
    agents = [
        item.import_id
        for item in objects_read
        if item.type_name == AGENT.type_name and not item.reason
    ]
    list_attachments = partial(_list_attachments, provider)
    limit = provider.session.settings.max_concurrency
    listed: dict[str, ConsoleObject] = {}
    for ids, remark in await map_limited(agents, list_attachments, limit):
        for import_id in ids:
            # An attachment consists of these two ids, so there is nothing more to read.
            agent_id, _, plugin_id = import_id.partition("/")
            if "/" in plugin_id:
                # Nothing shows where the agent's id ends. The lookup of this id reports that.
                named.append(import_id)
                continue
            values = {"agent_id": agent_id, "plugin_id": plugin_id}
            listed[import_id] = ConsoleObject(AGENT_PLUGIN.type_name, import_id, values)
        remarks += remark
    unlisted = [import_id for import_id in named if import_id not in listed]
    alone = await _read_type(provider, AGENT_PLUGIN.type_name, unlisted)
    attachments = {item.import_id: item for item in alone} | listed
    objects_read += [attachments[import_id] for import_id in dict.fromkeys([*named, *listed])]
    # A specialty may be named by its key and by its id.
    objects_read = list({item.import_id: item for item in objects_read}.values())
    return ConsoleContents(objects_read, await _specialty_keys(provider, objects_read), remarks)


async def _read_type(
    provider: ConfiguredProvider, type_name: str, import_ids: Sequence[str]
) -> list[ConsoleObject]:
    lifecycle = provider.lifecycles[type_name]
    by_id: dict[str, ConsoleObject] = {}
    begun: list[tuple[str, ReadRequest]] = []
    for import_id in import_ids:
        imported = await lifecycle.import_state(import_id)
        if imported.state is None:
            refused = ReadOutcome(None, diagnostics=imported.diagnostics)
            by_id[import_id] = _unreadable_object(type_name, import_id, refused)
        else:
            begun.append((import_id, ReadRequest(imported.state, imported.private)))
    outcomes = await lifecycle.read([request for _, request in begun])
    for (import_id, _), outcome in zip(begun, outcomes, strict=True):
        by_id[import_id] = _object_of(type_name, import_id, outcome)
    # Keep the order of the request. Objects that cannot be looked up come first in the dictionary.
    return [by_id[import_id] for import_id in import_ids]


def _object_of(type_name: str, import_id: str, outcome: ReadOutcome) -> ConsoleObject:
    if outcome.failed or outcome.state is None or outcome.status is not ReadStatus.PRESENT:
        return _unreadable_object(type_name, import_id, outcome)
    values = outcome.state
    needed = [a.name for a in RESOURCES[type_name] if a.required and values.get(a.name) is None]
    if needed:
        reason = f"the console shows no {' and no '.join(needed)}, and a declaration needs it"
        return ConsoleObject(type_name, import_id, {}, reason=reason)
    # A specialty that was named by its key is the one that state and agents name by its id.
    import_id = values["id"]
    # The plugins of an agent are read separately, as attachments.
    unobserved = tuple(name for name in outcome.unobserved if name != "plugin_ids")
    return ConsoleObject(type_name, import_id, values, unobserved)


def _unreadable_object(type_name: str, import_id: str, outcome: ReadOutcome) -> ConsoleObject:
    # The details of these diagnostics are about state, and an adopted object is not in state.
    if outcome.status is ReadStatus.GONE:
        reason = "; ".join(item.summary for item in outcome.diagnostics)
    else:
        reason = outcome.why_unchecked or "; ".join(map(_on_one_line, outcome.diagnostics))
    return ConsoleObject(type_name, import_id, {}, reason=reason or f"it is {outcome.status.value}")


async def _list_attachments(
    provider: ConfiguredProvider, agent_id: str
) -> tuple[list[str], list[str]]:
    try:
        listing = await provider.session.singleton(KnownAgents).plugins(agent_id)
    except ConsoleError as problem:
        return [], [f"The plugins of {agent_id} could not be read: {problem}"]
    ids = [f"{agent_id}/{entry['id']}" for entry in listing.entries]
    if listing.complete:
        return ids, []
    return ids, [f"The list of the plugins of {agent_id} was not read to its end."]


async def _specialty_keys(
    provider: ConfiguredProvider, found: Iterable[ConsoleObject]
) -> dict[str, str]:
    if not any(item.values.get("specialty_id") for item in found):
        return {}
    try:
        listing = await provider.session.list_once("specialty_search")
    except ConsoleError:
        return {}  # their ids are written as they are
    # A lookup by a key that several specialties share could find the wrong one.
    keys = [entry.get("key") for entry in listing.entries]
    return {
        entry["id"]: entry["key"]
        for entry in listing.entries
        if isinstance(entry.get("key"), str) and keys.count(entry["key"]) == 1
    }


def _on_one_line(diagnostic: Diagnostic) -> str:
    return " ".join(f"{diagnostic.summary}. {diagnostic.text}".split())


async def match_inventory(
    provider: ConfiguredProvider, rows: FileRows
) -> tuple[list[ObjectId], list[str]]:
    """Return the hosts that exist, and remarks on the other rows.

    Raises:
        OpsconsoleError: The dry run could not be made.
        UserError: The console may have imported a row despite the dry run.
    """
    verdicts: list[ReportedRow] = []
    work = FileImport(provider.session, dry_run=True, ends_at_failure=False, report=verdicts.extend)
    await work.run(rows)
    # This comes before any other problem. The console may have changed, so the user must check it.
    if work.session.dry_runs.ignored:
        imported = ", ".join(row.id for row in verdicts if row.id) or "it names no id"
        raise UserError(
            "The console does not say that it honours dry_run, and may have imported a row: "
            f"{imported}.",
            "Look at the console. Give ids in place of an inventory.",
        )
    if work.problem is not None:
        raise work.problem
    ids = [ObjectId(HOST.type_name, row.id) for row in verdicts if row.id and not row.created]
    others = [row for row in verdicts if not row.id or row.created]
    remarks = [_describe_unmatched(row) for row in others]
    if work.judged < len(rows.names):
        remarks.append(f"The dry run judged {work.judged:,} of {len(rows.names):,} rows.")
    return ids, remarks


def _describe_unmatched(row: ReportedRow) -> str:
    name = f" ({row.name})" if row.name else ""
    if row.created:
        return f"The console knows no host for row {row.number}{name}."
    error = f": {row.error}" if row.error else ""
    return f"Row {row.number}{name} has no id in the dry run, which says {row.status!r}{error}."
