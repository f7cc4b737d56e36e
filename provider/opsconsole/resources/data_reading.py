"""Reads data sources, from the lists and rows that the resources of the run read too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from operator import itemgetter
from typing import Any

from opsconsole.definition import DataSourceDefinition
from opsconsole.diagnostics import AttributePath, Diagnostic, error, warning
from opsconsole.errors import Cause, NotFound, Stopped
from opsconsole.lifecycle.answers import values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import Outcome
from opsconsole.lifecycle.missing import explain_gap
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources.agent.known import KnownAgents
from opsconsole.resources.blacklisted_command.lifecycle import add_tenant_wide
from opsconsole.resources.data_sources import SELECTORS
from opsconsole.resources.specialty.lifecycle import find_specialty
from opsconsole.v1.console import Listing
from opsconsole.values import Values

_Reader = Callable[[BaseLifecycle, DataSourceDefinition, Values], Awaitable[Outcome]]


async def read_data(
    lifecycle: BaseLifecycle, source: DataSourceDefinition, config: Values
) -> Outcome:
    """Return the value of one data source, or why it has none, by the resource's lifecycle."""
    try:
        read = _READERS.get(source.name, _read_list if source.is_list else _read_object)
        return await read(lifecycle, source, config)
    except Stopped:
        return Outcome(None, begun=False)
    except Exception as problem:
        return Outcome(None, diagnostics=diagnose(problem, f"read {source.type_name}"))


async def _read_specialty(
    lifecycle: BaseLifecycle, source: DataSourceDefinition, config: Values
) -> Outcome:
    selectors = {name: config[name] for name in SELECTORS if config.get(name) is not None}
    if len(selectors) != 1:
        return _refuse(
            "A specialty is found by exactly one of id, key or name",
            f"The declaration sets {', '.join(selectors) or 'none of them'}.",
        )
    advice = "Check the value, and the key's org."
    specialty = await find_specialty(lifecycle.session, selectors, selectors, advice)
    if isinstance(specialty, Diagnostic):
        return Outcome(None, diagnostics=(specialty,))
    return Outcome(source.empty() | specialty)


async def _read_specialties(
    lifecycle: BaseLifecycle, source: DataSourceDefinition, config: Values
) -> Outcome:
    return _outcome_of_list(
        source, "specialties", await lifecycle.session.list_once("specialty_search")
    )


async def _read_agent_plugins(
    lifecycle: BaseLifecycle, source: DataSourceDefinition, config: Values
) -> Outcome:
    agent_id = config["agent_id"]
    try:
        listing = await lifecycle.session.singleton(KnownAgents).plugins(agent_id)
    except NotFound as problem:
        return _refuse(
            f"There is no agent {agent_id} that this key can see", str(problem), ("agent_id",)
        )
    return _outcome_of_list(source, "the agent's plugins", listing, agent_id=agent_id)


async def _read_object(
    lifecycle: BaseLifecycle, source: DataSourceDefinition, config: Values
) -> Outcome:
    try:
        answer = await lifecycle.fetch(config["id"])
    except NotFound as problem:
        return _refuse(
            f"There is no {lifecycle.definition.title} {config['id']} that this key can see",
            path=("id",),
            cause=problem.cause,
        )
    return Outcome(source.empty() | values_shown(source, add_tenant_wide(answer)))


async def _read_list(
    lifecycle: BaseLifecycle, source: DataSourceDefinition, config: Values
) -> Outcome:
    listing = await lifecycle.session.console.list_all(source.operations[0])
    return _outcome_of_list(source, lifecycle.definition.plural, listing)


_READERS: Mapping[str, _Reader] = {
    "specialty": _read_specialty,
    "specialties": _read_specialties,
    "agent_plugins": _read_agent_plugins,
}


def _outcome_of_list(
    source: DataSourceDefinition, listed: str, listing: Listing, **more: Any
) -> Outcome:
    attribute = next(item for item in source if item.attributes)
    # A console that lists in another order must not make a difference in a plan.
    entries = sorted(listing.entries, key=itemgetter("id"))
    values = values_shown((attribute,), {attribute.name: [*map(add_tenant_wide, entries)]}) | more
    diagnostics: tuple[Diagnostic, ...] = ()
    if not listing.complete:
        diagnostics = (warning("The list may not be complete", explain_gap(listed, listing)),)
    whole = {"complete": listing.complete, "total_count": listing.total_count}
    return Outcome(values | whole, diagnostics=diagnostics)


def _refuse(
    summary: str, detail: str = "", path: AttributePath = (), cause: Cause | None = None
) -> Outcome:
    return Outcome(None, diagnostics=(error(summary, detail, path, cause),))
