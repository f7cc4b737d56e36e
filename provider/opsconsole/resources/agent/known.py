"""The agents that one run has met, the plugins that their lists have shown, and doubtful ids.

An id in a program is doubtful if no list of the run shows it; the console decides about it. No
operation lists all plugins, so an id that no agent has may be right. A complete list of specialties
proves absence, but a key may still use a specialty that it cannot see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import Forbidden
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import NOT_PERMITTED, ReadOutcome, ReadRequest
from opsconsole.lifecycle.missing import outcome_of_refused_read
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.resources import AGENT, HOST
from opsconsole.text import first_items, join_words
from opsconsole.v1.console import Listing
from opsconsole.values import Values

PLUGINS_NOT_PERMITTED = (
    f"{NOT_PERMITTED}, the list of the agent's plugins; use a key that may read it"
)
_ALIKE = 0.8

Names = frozenset[tuple[str, tuple[str, ...]]]
"""An id, and other names that people may use for its object."""


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent that this run has met."""

    id: str
    name: str | None = None
    host_id: str | None = None
    specialty_id: str | None = None
    address: str = ""

    def __str__(self) -> str:
        named = f'"{self.name}" ({self.id})' if self.name else self.id
        return f"{self.address}: {named}" if self.address else named


class KnownAgents:
    """The agents that one run has met, so that messages can name the carriers of a specialty.

    Attributes:
        by_id: The agents by id.
        plugin_sets: The full plugin sets that agents of this run declare, by agent id.
        shown_plugins: Id to name of the plugins that lists of this run have shown, of any agent.
    """

    def __init__(self, session: ConsoleSession) -> None:
        self.by_id: dict[str, KnownAgent] = {}
        self.plugin_sets: dict[str, frozenset[str]] = {}
        self.shown_plugins: dict[str, str] = {}
        self._session = session

    def note_agent(self, state: Values, address: str = "") -> KnownAgent:
        """Note an existing agent, and return its known values."""
        agent = KnownAgent(
            state["id"], state.get("name"), state.get("host_id"), state.get("specialty_id"), address
        )
        self.by_id[agent.id] = agent
        self._session.names_by_id[agent.id] = str(agent)
        return agent

    def is_gone(self, agent_id: str) -> bool:
        """Return whether an agent was missing or deleted, with its host or by itself."""
        known = self.by_id.get(agent_id)
        gone_ids = self._session.gone_ids
        return agent_id in gone_ids[AGENT.type_name] or (
            known is not None and known.host_id in gone_ids[HOST.type_name]
        )

    async def plugins(self, agent_id: str) -> Listing:
        """Return an agent's plugins, read once in a run unless a write came between."""
        listing = await self._session.list_once("plugin_list", agent_id)
        for entry in listing.entries:
            self.shown_plugins[entry["id"]] = str(entry.get("name") or "")
        return listing


def unlisted_id_warnings(
    session: ConsoleSession, config: Values, prior: Values | None = None
) -> list[Diagnostic]:
    """Warn of ids that an agent is about to take on and that no list of the run shows."""
    known = prior or {}
    plugin_ids = config.get("plugin_ids")
    declared = plugin_ids if isinstance(plugin_ids, list) else []
    kept = known.get("plugin_ids") or ()
    diagnostics = unlisted_plugin_warnings(
        session, (i for i in declared if i not in kept), "plugin_ids"
    )
    specialty_id = config.get("specialty_id")
    # One in state that was never seen is sent nowhere.
    seen = prior is None or known.get("specialty_id") is not None
    if isinstance(specialty_id, str) and seen and specialty_id != known.get("specialty_id"):
        diagnostics += _unlisted_specialty_warnings(session, specialty_id)
    return diagnostics


def unlisted_plugin_warnings(
    session: ConsoleSession, plugin_ids: Iterable[Any], attribute: str
) -> list[Diagnostic]:
    """Warn of ids that no list of the run shows."""
    shown = session.singleton(KnownAgents).shown_plugins
    unlisted = [item for item in plugin_ids if isinstance(item, str) and item not in shown]
    if not unlisted or not shown:
        return []
    names = frozenset((key, (name,)) for key, name in shown.items())
    complete = all(listing.complete for listing in session.lists_read("plugin_list").values())
    diagnostics = []
    for plugin_id in unlisted:
        near = near_ids(plugin_id, names)
        # When Terraform plans, further lists may still be read, and an incomplete list proves
        # nothing. In these cases only an id that is similar to a listed one is doubted.
        if not near and not (complete and session.sees_whole_plan):
            continue
        advice = f"Did you mean {near}?" if near else f"They have {first_items(sorted(shown))}."
        summary = (
            f"No agent that was read has the plugin {plugin_id}"
            if complete
            else f"No list that was read shows the plugin {plugin_id}"
        )
        detail = (
            f"{advice} No operation lists all plugins: the console decides when it is attached."
        )
        diagnostics.append(warning(summary, detail, (attribute,)))
    return diagnostics


def _unlisted_specialty_warnings(session: ConsoleSession, specialty_id: str) -> list[Diagnostic]:
    """Warn of an id that a complete search of this run does not show."""
    listing = session.lists_read("specialty_search").get("")
    if listing is None or not listing.complete:
        return []
    if any(entry["id"] == specialty_id for entry in listing.entries):
        return []
    names = frozenset(
        (entry["id"], tuple(str(entry[n]) for n in ("key", "name") if entry.get(n)))
        for entry in listing.entries
    )
    near = near_ids(specialty_id, names)
    known = f"There are {first_items(sorted(entry['id'] for entry in listing.entries))}."
    advice = f"Did you mean {near}?" if near else known if names else "There is none."
    return [
        warning(
            f"There is no specialty {specialty_id} that this key can see",
            f"{advice} The console decides when the agent is created.",
            ("specialty_id",),
        )
    ]


@lru_cache(maxsize=256)
def near_ids(name: str, names: Names) -> str:
    """Return at most three similar ids, or ids of objects with a similar name, as a phrase."""
    from difflib import get_close_matches  # needed for mistakes only

    spellings: dict[str, tuple[str, str]] = {}
    for key, also in sorted(names):
        spellings.setdefault(key, (key, f'"{key}"'))
        for text in (key, key.partition("_")[2]):
            spellings.setdefault(_normalise(text), (key, f'"{key}"'))
        for text in also:
            spellings.setdefault(_normalise(text), (key, f'{key} ("{text}")'))
    near = get_close_matches(name, spellings, cutoff=_ALIKE)
    near += get_close_matches(_normalise(name), spellings, cutoff=_ALIKE)
    phrases: dict[str, str] = {}
    for spelling in near:
        phrases.setdefault(*spellings[spelling])
    return join_words([*phrases.values()][:3], "or")


def _normalise(text: str) -> str:
    """Return a name as people write it in an id: "Disk usage" as "disk-usage"."""
    return re.sub(r"[\W_]+", "-", text.casefold()).strip("-")


def outcome_of_forbidden(
    lifecycle: BaseLifecycle, request: ReadRequest, problem: Forbidden, reason: str
) -> ReadOutcome:
    """Return the outcome of reading an agent or an attachment that this key may not read.

    Raises:
        Forbidden: It is being imported: state must not hold an object that nothing has shown.
    """
    known = (name for name, value in request.prior.items() if value is not None)
    # An object that is being imported has no more than its ids.
    if not request.private and {"id", "agent_id", "plugin_id"}.issuperset(known):
        raise problem
    return outcome_of_refused_read(lifecycle, request, reason, problem)
