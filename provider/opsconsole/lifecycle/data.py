"""Reading data sources, from the lists and rows that the resources of the run read too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from opsconsole.definition import Attribute, DataSourceDefinition
from opsconsole.diagnostics import Diagnostic, Path, error, warning
from opsconsole.errors import Cause, NotFound, Stopped
from opsconsole.lifecycle.answers import shown
from opsconsole.lifecycle.blacklisted_command import whole_row
from opsconsole.lifecycle.gone import explained, list_not_whole
from opsconsole.lifecycle.interface import Outcome
from opsconsole.lifecycle.session import Session
from opsconsole.lifecycle.specialty import candidates, near_specialties
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources.data_sources import (
    AGENT_DATA,
    AGENT_PLUGINS_DATA,
    AGENTS_DATA,
    BLACKLISTED_COMMAND_DATA,
    BLACKLISTED_COMMANDS_DATA,
    HOST_DATA,
    HOSTS_DATA,
    SELECTORS,
    SPECIALTIES_DATA,
    SPECIALTY_DATA,
)
from opsconsole.v1.console import Listing
from opsconsole.values import Attributes

_Reader = Callable[[Session, Attributes], Awaitable[Outcome]]


async def read_data(
    session: Session, definition: DataSourceDefinition, config: Attributes
) -> Outcome:
    """Return the value of one data source, or why it has none."""
    try:
        return await _READERS[definition.type_name](session, config)
    except Stopped:
        return Outcome(None, begun=False)
    except Exception as problem:
        return Outcome(None, diagnostics=diagnose(problem, f"read {definition.type_name}"))


async def _specialty(session: Session, config: Attributes) -> Outcome:
    wanted = {name: config[name] for name in SELECTORS if config.get(name) is not None}
    if len(wanted) != 1:
        return _nothing(
            "A specialty is found by exactly one of id, key or name",
            f"The declaration sets {', '.join(wanted) or 'none of them'}.",
        )
    [(name, value)] = wanted.items()
    listing = await candidates(session, wanted)
    matches = [entry for entry in listing.entries if entry.get(name) == value]
    if len(matches) == 1 and (listing.complete or name != "name"):
        # A name may occur a second time in the part of the list that is not shown.
        return Outcome(SPECIALTY_DATA.empty() | shown(SPECIALTY_DATA, matches[0]))
    if len(matches) > 1:
        ids = ", ".join(str(entry.get("id")) for entry in matches)
        return _nothing(
            f"{len(matches)} specialties have the {name} {value!r}",
            f"Use the id of one: {ids}.",
            (name,),
        )
    if not listing.complete:
        summary = f"Cannot tell which specialty has the {name} {value!r}"
        refused = list_not_whole(summary, "specialties", listing, (name,))
        return Outcome(None, diagnostics=(refused,))
    return _nothing(
        f"There is no specialty with the {name} {value!r} that this key can see",
        f"{near_specialties(listing, wanted)}Check the value, and the key's org.",
        (name,),
    )


async def _specialties(session: Session, _: Attributes) -> Outcome:
    return _list(SPECIALTIES_DATA["specialties"], "specialties", await session.specialties())


async def _agent_plugins(session: Session, config: Attributes) -> Outcome:
    agent_id = config["agent_id"]
    try:
        listing = await session.plugins(agent_id)
    except NotFound as problem:
        return _nothing(
            f"There is no agent {agent_id} that this key can see", str(problem), ("agent_id",)
        )
    attribute = AGENT_PLUGINS_DATA["plugins"]
    return _list(attribute, "the agent's plugins", listing, agent_id=agent_id)


async def _blacklisted_command(session: Session, config: Attributes) -> Outcome:
    row_id = config["id"]
    try:
        answer = whole_row(await session.console.one("blacklist_get", row_id))
    except NotFound as problem:
        return _nothing(
            f"There is no blacklisted command {row_id} that this key can see",
            str(problem),
            ("id",),
        )
    values = BLACKLISTED_COMMAND_DATA.empty() | shown(BLACKLISTED_COMMAND_DATA, answer)
    return Outcome(values | {"tenant_wide": values["org_id"] is None})


async def _host(session: Session, config: Attributes) -> Outcome:
    if not session.can_read_hosts:
        return _nothing(
            "Hosts cannot be read under these settings",
            "Where the console has an operation that reads a host, name it in extra_endpoints as "
            'host_get; host_read = "empty_update" reads one by an update without a field.',
        )
    return await _one(HOST_DATA, config["id"], session.read_host(config["id"]))


async def _agent(session: Session, config: Attributes) -> Outcome:
    return await _one(AGENT_DATA, config["id"], session.console.one("agent_get", config["id"]))


async def _one(
    definition: DataSourceDefinition, wanted: str, call: Awaitable[Mapping[str, Any]]
) -> Outcome:
    try:
        answer = await call
    except NotFound as problem:
        return _nothing(
            f"There is no {definition.resource} {wanted} that this key can see",
            path=("id",),
            cause=problem.cause,
        )
    return Outcome(definition.empty() | shown(definition, answer))


def _listing_of(definition: DataSourceDefinition, endpoint: str) -> _Reader:
    entries = definition.attributes[0]

    async def read(session: Session, _: Attributes) -> Outcome:
        listing = await session.console.list_all(endpoint)
        return _list(entries, entries.name.replace("_", " "), listing)

    return read


_READERS: Mapping[str, _Reader] = {
    SPECIALTY_DATA.type_name: _specialty,
    SPECIALTIES_DATA.type_name: _specialties,
    AGENT_PLUGINS_DATA.type_name: _agent_plugins,
    BLACKLISTED_COMMAND_DATA.type_name: _blacklisted_command,
    BLACKLISTED_COMMANDS_DATA.type_name: _listing_of(BLACKLISTED_COMMANDS_DATA, "blacklist_list"),
    HOST_DATA.type_name: _host,
    HOSTS_DATA.type_name: _listing_of(HOSTS_DATA, "host_list"),
    AGENT_DATA.type_name: _agent,
    AGENTS_DATA.type_name: _listing_of(AGENTS_DATA, "agent_list"),
}


def _list(attribute: Attribute, listed: str, listing: Listing, **more: Any) -> Outcome:
    entries = [
        {**entry, "tenant_wide": entry["org_id"] is None} if "org_id" in entry else entry
        for entry in sorted(listing.entries, key=lambda entry: str(entry.get("id")))
    ]
    values = shown((attribute,), {attribute.name: entries}) | more
    diagnostics: tuple[Diagnostic, ...] = ()
    if not listing.complete:
        diagnostics = (warning("The list may not be complete", explained(listed, listing)[1]),)
    whole = {"complete": listing.complete, "total_count": listing.total_count}
    return Outcome(values | whole, diagnostics=diagnostics)


def _nothing(
    summary: str, detail: str = "", path: Path = (), cause: Cause | None = None
) -> Outcome:
    return Outcome(None, diagnostics=(error(summary, detail, path, cause),))
