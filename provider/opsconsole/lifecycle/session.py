"""A session with the console: one run, its settings, and the results of its earlier calls.

Shared by the lifecycles of all resources; a new run makes a new session. Facts that only one
resource needs are in a class of that resource, such as `HostReader`; `get` returns this run's
object of it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Literal, Protocol, TypeVar

from opsconsole.errors import ApiError
from opsconsole.lifecycle.interface import WriteRequest
from opsconsole.v1.console import Console, Listing
from opsconsole.v1.settings import Settings
from opsconsole.values import Attributes

_HOST, _AGENT = "opsconsole_host", "opsconsole_agent"


Item = TypeVar("Item")
Result = TypeVar("Result")
Learned = TypeVar("Learned")


class SingleFlight(Generic[Result]):
    """Calls by key; all callers of one run share the answer of a call."""

    def __init__(self) -> None:
        self._answers: dict[str, asyncio.Task[Result]] = {}

    async def ask(self, key: str, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the answer under `key`, making `call` only where nobody asked before.

        An error is an answer too.
        """
        task = self._answers.get(key)
        if task is None:
            task = self._answers[key] = asyncio.create_task(call())
            # Else asyncio prints an error that nobody waits for any more.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        # A caller may be cancelled: the call continues for the others.
        return await asyncio.shield(task)

    def answers(self) -> dict[str, Result]:
        """Return the answers that came so far, by key; errors are left out."""
        return {
            key: task.result()
            for key, task in self._answers.items()
            if task.done() and not task.cancelled() and task.exception() is None
        }

    async def cancel(self) -> None:
        """Cancel pending calls, and wait until they have ended."""
        tasks = list(self._answers.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def forget(self, key: str) -> None:
        """Let the next caller that asks for `key` make a new call."""
        self._answers.pop(key, None)


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


class BeforeWrite(Protocol):
    """Called right before each write is sent."""

    async def __call__(
        self,
        verb: Literal["create", "update", "delete"],
        requests: Sequence[WriteRequest],
        dry_run_statuses: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Return once it is durable that these writes are about to be sent.

        Args:
            verb: The action on the resources; a plugin is attached by a `create`.
            dry_run_statuses: The status that a dry run gave each row of an import, by address.

        Raises:
            UserError: it cannot be made durable, so nothing may be sent.
        """


async def _note_nothing(*writes: Any, **named: Any) -> None:
    """Let writes be sent without a note of them."""


@dataclass
class DryRuns:
    """What this run has learned of a console's dry runs.

    Attributes:
        honoured: Whether an answer has shown that the console imports nothing in a dry run.
        ignored: Whether the console imported the rows of a dry run.
        first: Held while a dry run is sent before it is known whether the console honours dry
            runs, so that it goes alone.
    """

    honoured: bool = False
    ignored: bool = False
    first: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class ConsoleSession:
    """What one run knows about one console, under one provider configuration.

    Attributes:
        gone: Type to the ids that were deleted or found gone.
        released: Agents that left management in this run, by id.
        agents: Every agent that this run has met, by id.
        plugin_sets: The full plugin sets that agents of this run declare, by agent id.
        holders: Type and id of objects in state, or of this run, to the address or name that holds
            each; empty where the engine tells none.
        stopped: Whether the run was told to stop.
        dry_runs: What is known of the console's dry runs.
        before_write: Is called before writes are sent, where the engine keeps a journal.
        command: The program whose commands messages advise: the engine's own.
        gone_adopted: The values that state held of each specialty and blacklisted command that
            this run found gone, once by its key and once by its id.
        shown_plugins: Id to name of the plugins that the lists of this run have shown, of any
            agent.
        command_run: The identity of this run of the command; empty if not known.
        plans_whole: Whether the engine judges and orders a plan as a whole. It then reads
            everything in state before it plans, unless the user asks for no reading. Terraform
            reads, plans and applies one resource a call, in no order.
        answered_beside: The console's last answer about each object that came with a write of
            another resource, by type and id.
        adopted_hosts: Ids of hosts that creations of this run have taken under management.
        deletes_begun: How many deletions have begun, of any resource.
        woken: Set, and replaced, when callers that wait should look again.
    """

    console: Console
    settings: Settings
    gone: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    answered_beside: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    adopted_hosts: set[str] = field(default_factory=set)
    released: dict[str, KnownAgent] = field(default_factory=dict)
    agents: dict[str, KnownAgent] = field(default_factory=dict)
    plugin_sets: dict[str, frozenset[str]] = field(default_factory=dict)
    holders: dict[tuple[str, str], str] = field(default_factory=dict)
    stopped: bool = False
    dry_runs: DryRuns = field(default_factory=DryRuns)
    before_write: BeforeWrite = _note_nothing
    command: str = "terraform"
    command_run: str = ""
    plans_whole: bool = False
    gone_adopted: dict[str, Attributes] = field(default_factory=dict)
    deletes_begun: int = 0
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    _learned: dict[Callable[[ConsoleSession], Any], Any] = field(default_factory=dict)
    shown_plugins: dict[str, str] = field(default_factory=dict)
    _on_host: dict[str, set[str]] = field(default_factory=dict)
    _plugins: SingleFlight[Listing] = field(default_factory=SingleFlight)
    _specialties: SingleFlight[Listing] = field(default_factory=SingleFlight)

    def get(self, kind: Callable[[ConsoleSession], Learned]) -> Learned:
        """Return this run's only object of a class, such as what it has learned of hosts."""
        learned: Learned = self._learned.get(kind) or kind(self)
        self._learned[kind] = learned
        return learned

    def share(self, other: ConsoleSession) -> None:
        """Share with a session of the same console what depends on no key and no setting."""
        self.holders = other.holders
        self.dry_runs = other.dry_runs
        self.adopted_hosts = other.adopted_hosts

    def hold(self, type_name: str, object_id: str, address: str) -> str | None:
        """Hold an object for an address; return the other address that holds it, if one does.

        Args:
            address: May be empty: then no other call for this object is taken for the same one.
        """
        key = (type_name, object_id)
        if key in self.holders and not (address and self.holders[key] == address):
            return self.holders[key]
        self.holders[key] = address
        return None

    def release_host(self, host_id: str) -> None:
        """Note that nothing holds a host any more."""
        self.holders.pop((_HOST, host_id), None)

    @property
    def gone_hosts(self) -> set[str]:
        """Ids of hosts that were deleted or found gone."""
        return self.gone[_HOST]

    @property
    def gone_agents(self) -> set[str]:
        """Ids of agents that were found gone, or whose host is."""
        return self.gone[_AGENT]

    async def plugins(self, agent_id: str) -> Listing:
        """Return the agent's plugins, read once in a run unless a write came between.

        Raises:
            ConsoleError: the list could not be read; NotFound: there is no such agent.
        """
        listing = await self._plugins.ask(
            agent_id, lambda: self.console.list_all("plugin_list", agent_id)
        )
        for entry in listing.entries:
            self.shown_plugins[entry["id"]] = str(entry.get("name") or "")
        return listing

    def plugins_changed(self, agent_id: str) -> None:
        """Note a write to the agent: its list is read again when next asked for."""
        self._plugins.forget(agent_id)

    async def specialties(self) -> Listing:
        """Return every specialty that the search shows, searched once in a run.

        Raises:
            ConsoleError: the search failed.
        """
        return await self._specialties.ask("", lambda: self.console.list_all("specialty_search"))

    async def cancel_reads(self) -> None:
        """Cancel pending reads; received answers stay."""
        await self._plugins.cancel()
        await self._specialties.cancel()

    def listed_plugins(self) -> Mapping[str, Listing]:
        """Return the plugins of the agents whose list this run has read, by agent id."""
        return self._plugins.answers()

    def listed_specialties(self) -> Listing | None:
        """Return the result of the search, if this run has searched."""
        return self._specialties.answers().get("")

    def specialties_changed(self) -> None:
        """Note a write to a specialty: the next caller searches again."""
        self._specialties.forget("")

    def named_in(self, problem: ApiError) -> list[str]:
        """Return this run's names for the agents and hosts in the details of an error."""
        named = problem.problem.texts
        agents = [str(self.agents[agent_id]) for agent_id in named if agent_id in self.agents]
        hosts = [
            f"{holder}: {host_id}"
            for host_id in named
            if (holder := self.holders.get((_HOST, host_id))) is not None
        ]
        return sorted(agents) + sorted(hosts)

    def meet(self, agents: Sequence[KnownAgent]) -> None:
        """Note agents that exist, so that messages can name who carries a specialty."""
        for agent in agents:
            self.agents[agent.id] = agent
            if agent.host_id is not None:
                self._on_host.setdefault(agent.host_id, set()).add(agent.id)

    def note_host_gone(self, host_id: str) -> None:
        """Note that a host was deleted, and its agents with it."""
        self.gone_hosts.add(host_id)
        self.release_host(host_id)
        self.gone_agents.update(
            agent_id
            for agent_id in self._on_host.get(host_id, ())
            # An agent may have moved away since it was met on this host.
            if self.agents[agent_id].host_id == host_id
        )

    def note_stop(self) -> None:
        """Note that the run was told to stop, and wake the callers that wait."""
        self.stopped = True
        self.wake()

    def wake(self) -> None:
        """Wake the callers that wait for other steps of the run."""
        # A new event replaces the old one, as an event that stays set would never make a caller
        # wait.
        self.woken.set()
        self.woken = asyncio.Event()


async def map_limited(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], limit: int
) -> list[Result]:
    """Return the results of `work` on each item, in order, with at most `limit` at a time.

    The first exception cancels the rest and is raised.
    """
    if len(items) == 1:
        return [await work(items[0])]
    results: dict[int, Result] = {}
    # A few workers share one iterator: fifty thousand items do not become fifty thousand tasks.
    pending: Iterator[tuple[int, Item]] = iter(enumerate(items))

    async def worker() -> None:
        for index, item in pending:
            results[index] = await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(limit, len(items))):
                group.create_task(worker())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [results[index] for index in range(len(items))]
