"""A session with the console: one run, its settings, and the results of its earlier calls.

The lifecycles of all resources share it; a new run makes a new session. Further facts that only
one resource needs are in a class of that resource, such as `HostReader`; `singleton` returns this
run's object of it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar

from opsconsole.definition import ResourceDefinition
from opsconsole.lifecycle.interface import WriteRequest
from opsconsole.v1.console import Console, Listing
from opsconsole.v1.settings import Settings

Item = TypeVar("Item")
Result = TypeVar("Result")
Singleton = TypeVar("Singleton")


class BeforeWrite(Protocol):
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
            UserError: It cannot be made durable, so nothing may be sent.
        """


async def _note_nothing(*writes: Any, **named: Any) -> None:
    """Let writes be sent without a note of them."""


@dataclass
class DryRuns:
    """Knowledge about a console's dry runs.

    Attributes:
        honoured: Whether an answer has shown that the console imports nothing in a dry run.
        ignored: Whether the console imported the rows of a dry run.
        one_at_a_time: Held by the first dry run until it is known whether the console honours them.
    """

    honoured: bool = False
    ignored: bool = False
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class ConsoleSession:
    """The knowledge of one run about one console, under one provider configuration.

    Attributes:
        owned_by: Returns the resources that the deletion of an object of one resource takes along.
        gone_ids: Type to the ids that were deleted or found gone.
        names_by_id: Id to the words by which messages name an object that no address holds.
        holders: Type to the ids of objects in state, or of this run, each with the address or name
            that holds it; empty if the engine tells none.
        stopped: Whether the run was told to stop: nothing new is begun.
        dry_runs: The answers so far about dry runs of an import.
        before_write: Called before writes are sent, if the engine keeps a journal.
        command: The engine's own program, whose commands messages advise.
        command_run: The identity of this run of the command; empty if not known.
        sees_whole_plan: Whether the engine judges and orders a plan as a whole, after reading
            everything in state (unless the user asks for no reading). Terraform reads, plans and
            applies one resource a call, in no order.
        answers_about_others: The last answer about each object that came with a write of another
            resource, by type and id.
        adopted: Type and id of the objects that this run has attached, or taken over from another
            declaration.
        removals_begun: The number of calls so far to delete a resource, failed ones included.
        woken: Set, and replaced, when callers that wait should look again.
    """

    console: Console
    settings: Settings
    owned_by: Callable[[ResourceDefinition], Sequence[ResourceDefinition]] = lambda definition: ()
    gone_ids: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    answers_about_others: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    adopted: set[tuple[str, str]] = field(default_factory=set)
    names_by_id: dict[str, str] = field(default_factory=dict)
    holders: defaultdict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    stopped: bool = False
    dry_runs: DryRuns = field(default_factory=DryRuns)
    before_write: BeforeWrite = _note_nothing
    command: str = "terraform"
    command_run: str = ""
    sees_whole_plan: bool = False
    removals_begun: int = 0
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    _singletons: dict[Callable[[ConsoleSession], Any], Any] = field(default_factory=dict)
    _lists: defaultdict[str, dict[str, asyncio.Task[Listing]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def singleton(self, kind: Callable[[ConsoleSession], Singleton]) -> Singleton:
        """Return this run's only object of a class, such as its knowledge of hosts."""
        made: Singleton = self._singletons.get(kind) or kind(self)
        self._singletons[kind] = made
        return made

    def share(self, other: ConsoleSession) -> None:
        """Share the facts with a session of the same console that depend on no key or setting."""
        self.holders = other.holders
        self.dry_runs = other.dry_runs
        self.adopted = other.adopted

    def claim(self, type_name: str, object_id: str, address: str, name: str = "") -> str | None:
        """Hold an object by an address; return the address that holds it already, or None.

        Args:
            address: If empty, every holder counts as another one.
            name: Stands for an empty address.
        """
        holder = self.holders[type_name].get(object_id)
        if holder is None:
            self.holders[type_name][object_id] = address or name
        return None if address and holder == address else holder

    def release(self, type_name: str, object_id: str) -> None:
        self.holders[type_name].pop(object_id, None)

    async def list_once(self, operation: str, object_id: str = "") -> Listing:
        """Return a list of the console; all callers of one run share one read, and its error.

        Args:
            object_id: The id of the object that the list belongs to, if it belongs to one.

        Raises:
            ConsoleError: The list could not be read; NotFound: there is no such object.
        """
        reads = self._lists[operation]
        task = reads.get(object_id)
        if task is None:
            ids = (object_id,) if object_id else ()
            task = reads[object_id] = asyncio.create_task(self.console.list_all(operation, *ids))
            # Else asyncio prints an error that nobody waits for any more.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        # A caller may be cancelled: the read continues for the others.
        return await asyncio.shield(task)

    def lists_read(self, operation: str) -> dict[str, Listing]:
        """Return the lists read so far without errors, by the id of the object that each is of."""
        return {
            object_id: task.result()
            for object_id, task in self._lists[operation].items()
            if task.done() and not task.cancelled() and task.exception() is None
        }

    def forget_list(self, operation: str, object_id: str = "") -> None:
        """Note a write that may change a list: the list is read again when next asked for."""
        self._lists[operation].pop(object_id, None)

    async def cancel_reads(self) -> None:
        """Cancel pending reads, and wait until they have ended; received answers stay."""
        tasks = [task for reads in self._lists.values() for task in reads.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def named_in(self, ids: Collection[str]) -> list[str]:
        """Return this run's names for the objects among `ids`, which an error may mention."""
        names = self.names_by_id
        named = [names[object_id] for object_id in ids if object_id in names]
        addressed = [
            f"{address}: {object_id}"
            for of_type in self.holders.values()
            for object_id in ids
            if (address := of_type.get(object_id))
        ]
        return sorted(named) + sorted(addressed)

    def wake(self) -> None:
        """Wake the callers that wait for other steps of the run."""
        # A new event replaces the old one: an event that stays set makes no caller wait.
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
