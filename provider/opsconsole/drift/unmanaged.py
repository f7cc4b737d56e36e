"""Objects that the console shows and no state manages.

A refresh reads the plugins of managed agents and, by one search, the specialties. The other kinds
need a list of the whole console: where the document shows none, an operator may have named one. It
is read only if its kind counts as drift: otherwise a check sends only the requests of a refresh.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.drift.model import Bucket, Finding, console_digest
from opsconsole.drift.stack import StateObject
from opsconsole.errors import ConsoleError, Forbidden
from opsconsole.lifecycle.interface import ReadStatus
from opsconsole.lifecycle.session import ConsoleSession, map_limited
from opsconsole.resources import AGENT, AGENT_PLUGIN, RESOURCES
from opsconsole.resources.agent.known import KnownAgents
from opsconsole.text import plural
from opsconsole.v1.console import Listing
from opsconsole.v1.operations import OPERATIONS, documented_for
from opsconsole.values import text_of


def list_operation(definition: ResourceDefinition) -> str:
    """Return the operation that lists a resource; empty if there is none."""
    return definition.ways["list"][0].operation


def is_listed_by_owner(definition: ResourceDefinition) -> bool:
    """Return whether each list shows only the objects of one owner, whose id it takes."""
    operation = list_operation(definition)
    return bool(operation) and OPERATIONS[operation].takes_id


async def read_console_lists(session: ConsoleSession, types: Collection[str]) -> list[Diagnostic]:
    """Read a console's lists of `types`; return an error for each list that could not be read.

    Types that the console lists for one owner at a time are skipped.
    """
    diagnostics: list[Diagnostic] = []
    for type_name, definition in RESOURCES.items():
        if type_name not in types or is_listed_by_owner(definition):
            continue
        operation = list_operation(definition)
        if not session.console.has(operation):
            why = (
                "No documented operation lists them. If this console has one that does, name it "
                f'in the provider settings: extra_endpoints = {{ {operation} = "GET /path" }}.'
                if operation
                else f"No operation lists {definition.plural}: leave them out of --count-unmanaged."
            )
            diagnostics.append(error(f"Unmanaged {definition.plural} cannot be counted", why))
            continue
        try:
            await session.list_once(operation)
        except ConsoleError as problem:
            unread = f"{operation} was not read, so unmanaged {definition.plural} are not known"
            diagnostics.append(error(unread, cause=problem.cause))
    return diagnostics


def console_lists(session: ConsoleSession) -> Mapping[str, Listing]:
    """Return the lists of a whole console that this run has read, by their Terraform type."""
    lists = {name: session.lists_read(list_operation(item)) for name, item in RESOURCES.items()}
    return {name: read[""] for name, read in lists.items() if "" in read}


async def find_unmanaged(
    objects: Sequence[StateObject], counted_types: Collection[str], *, sharded: bool, tolerant: bool
) -> tuple[list[Finding], list[Diagnostic]]:
    """Read the lists of the counted types, of each console that has at least one object.

    Args:
        tolerant: Whether a 403 for the plugins of an agent is no error.

    Returns:
        The objects that no state manages, and diagnostics of incomplete or unread lists.
    """
    findings: dict[tuple[str, str, str], Finding] = {}
    unlisted: list[Diagnostic] = []
    incomplete: list[Diagnostic] = []
    for provider in filter(None, dict.fromkeys(item.provider for item in objects)):
        session, base_url = provider.session, provider.session.settings.base_url
        unlisted += await read_console_lists(session, counted_types)
        # An object whose console is not known may belong to this one.
        managed = [item for item in objects if item.base_url in (base_url, "")]
        on_console = [item for item in objects if item.provider is provider]
        if AGENT_PLUGIN.type_name in counted_types:
            unlisted += await _read_plugins(on_console, session, tolerant)
        incomplete += _explain_incomplete_lists(session, counted_types)
        where = console_digest(base_url) if sharded else ""
        for finding in _find_on_console(on_console, managed, session, counted_types):
            # The object may have been found already, under other settings of the same console.
            key = (base_url, finding.type_name, finding.id)
            findings.setdefault(key, replace(finding, undecided=sharded, console=where))
    return list(findings.values()), [*unlisted, *incomplete]


async def _read_plugins(
    objects: Sequence[StateObject], session: ConsoleSession, tolerant: bool
) -> list[Diagnostic]:
    """Read the plugins of the agents that were read by another operation.

    The list of an agent with attachments in state was read for these, or is reported with them.
    """
    attachments = _select_type(objects, AGENT_PLUGIN.type_name)
    owners = {item.instance.stored_values["agent_id"] for item in attachments}
    agents = [
        item.id
        for item in _select_type(objects, AGENT.type_name)
        if item.outcome.status is ReadStatus.PRESENT
        and item.instance.stored_values.get("plugin_ids") is None
        and item.id not in owners
    ]

    known = session.singleton(KnownAgents)

    async def read(agent_id: str) -> ConsoleError | None:
        try:
            await known.plugins(agent_id)
        except ConsoleError as problem:
            return problem
        return None

    found = await map_limited(agents, read, session.settings.max_concurrency)
    problems = [problem for problem in found if problem is not None]
    if not problems:
        return []
    whose = plural(len(problems), AGENT.title)
    summary = f"The plugins of {whose} were not read, so unmanaged ones are not reported"
    is_limit = tolerant and all(isinstance(problem, Forbidden) for problem in problems)
    return [(warning if is_limit else error)(summary, cause=problems[0].cause)]


def are_lists_read(objects: Iterable[StateObject]) -> bool:
    """Return whether every list that shows both managed and unmanaged objects was read."""
    lists = {documented_for(item, "list") for item in RESOURCES.values()} - {None}
    types = {name for name, item in RESOURCES.items() if documented_for(item, "read") in lists}
    return not any(item.is_unread and item.instance.type_name in types for item in objects)


def _find_on_console(
    objects: Sequence[StateObject],
    managed: Sequence[StateObject],
    session: ConsoleSession,
    counted_types: Collection[str],
) -> Iterator[Finding]:
    """Yield the objects that the lists read from one console show and no state manages.

    Args:
        objects: All objects in state that were read in this session.
        managed: All objects in state that may be on its console, under any settings.
        counted_types: Types that count as drift.
    """
    attached = {
        (item.instance.stored_values["agent_id"], item.instance.stored_values["plugin_id"])
        for item in _select_type(managed, AGENT_PLUGIN.type_name)
    }
    counted = AGENT_PLUGIN.type_name in counted_types
    yield from _unmanaged_plugins(objects, attached, session, counted)
    for name, listing in console_lists(session).items():
        counted = name in counted_types
        yield from _unmanaged_entries(objects, managed, name, listing.unarchived_entries, counted)


def _explain_incomplete_lists(
    session: ConsoleSession, counted_types: Collection[str]
) -> Iterator[Diagnostic]:
    """Report counted lists that were not read to their end: plugins warn, others are errors."""
    for type_name, listing in console_lists(session).items():
        if listing.gap is None or type_name not in counted_types:
            continue
        shown = f"The list shows {len(listing.entries)}."
        kind = RESOURCES[type_name].plural
        why = listing.gap.explain(kind)
        # An operator asked for this list: "nothing unmanaged" would be a false claim.
        yield error(f"Not all {kind} may have been seen: some may be unmanaged", f"{shown} {why}")
    gaps = [item.gap for item in session.lists_read("plugin_list").values() if item.gap]
    if gaps and AGENT_PLUGIN.type_name in counted_types:
        which = "An agent may have" if len(gaps) == 1 else f"{len(gaps):,} agents may have"
        # Plugins count by default, so a truncated list of plugins does not fail a check.
        yield warning(
            f"{which} more plugins than the list shows: some may be unmanaged",
            gaps[0].explain("the agent's plugins"),
        )


def _unmanaged_plugins(
    objects: Sequence[StateObject],
    attached: Collection[tuple[str, str]],
    session: ConsoleSession,
    counted: bool,
) -> Iterator[Finding]:
    lists = session.lists_read("plugin_list")
    for agent in _select_type(objects, AGENT.type_name):
        agent_id = agent.instance.stored_values["id"]
        # An agent in two states is handled once.
        listing = lists.pop(agent_id, None)
        if listing is None or session.singleton(KnownAgents).is_gone(agent_id):
            continue
        # A managed set of plugins is compared as an attribute of the agent.
        if agent.instance.stored_values.get("plugin_ids") is not None:
            continue
        for entry in listing.entries:
            if (agent_id, entry["id"]) not in attached:
                attachment_id = f"{agent_id}/{entry['id']}"
                yield Finding(
                    agent.stack,
                    attachment_id,
                    AGENT_PLUGIN.type_name,
                    Bucket.UNMANAGED,
                    attachment_id,
                    text_of(entry, "name"),
                    reason=f"attached to {agent.address}, and in no state of this check",
                    values={"id": attachment_id, "agent_id": agent_id, "plugin_id": entry["id"]},
                    counted=counted,
                )


def _unmanaged_entries(
    objects: Sequence[StateObject],
    managed: Sequence[StateObject],
    type_name: str,
    entries: Iterable[Mapping[str, Any]],
    counted: bool,
) -> Iterator[Finding]:
    """Yield the entries of one type that no state manages."""
    ids = {item.instance.stored_values["id"] for item in _select_type(managed, type_name)}
    # An unmanaged object is in no stack, but reports are by stack. A stack with its type fits best.
    stack = next(_select_type(objects, type_name), objects[0]).stack
    for entry in entries:
        if entry["id"] in ids:
            continue
        yield Finding(
            stack,
            entry["id"],
            type_name,
            Bucket.UNMANAGED,
            entry["id"],
            text_of(entry, RESOURCES[type_name].label),
            reason="on the console, and in no state of this check",
            values={"id": entry["id"]},
            counted=counted,
        )


def _select_type(objects: Iterable[StateObject], type_name: str) -> Iterator[StateObject]:
    return (item for item in objects if item.instance.type_name == type_name)
