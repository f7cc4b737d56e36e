"""The agents that one run has met, and the plugins that their lists have shown."""

from __future__ import annotations

from dataclasses import dataclass

from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.resources import AGENT, HOST
from opsconsole.v1.console import Listing
from opsconsole.values import Values


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
    """The agents that one run has met, so that messages can name who carries a specialty.

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

    def meet(self, state: Values, address: str = "") -> KnownAgent:
        """Note an agent that exists, and return what is known of it."""
        agent = KnownAgent(
            state["id"], state.get("name"), state.get("host_id"), state.get("specialty_id"), address
        )
        self.by_id[agent.id] = agent
        self._session.names[agent.id] = str(agent)
        return agent

    def is_gone(self, agent_id: str) -> bool:
        """Return whether an agent was found gone, or was deleted, with its host or by itself."""
        known = self.by_id.get(agent_id)
        gone = self._session.gone
        return agent_id in gone[AGENT.name] or (
            known is not None and known.host_id in gone[HOST.name]
        )

    async def plugins(self, agent_id: str) -> Listing:
        """Return an agent's plugins, read once in a run unless a write came between.

        Raises:
            ConsoleError: the list could not be read; NotFound: there is no such agent.
        """
        listing = await self._session.list_once("plugin_list", agent_id)
        for entry in listing.entries:
            self.shown_plugins[entry["id"]] = str(entry.get("name") or "")
        return listing
