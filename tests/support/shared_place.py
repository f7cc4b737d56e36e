"""A shared place of states in memory: a lock, conditional writes, a journal beside the state."""

from collections.abc import Callable
from dataclasses import dataclass

from opsconsole.state import LockInfo, RunOptions, State
from opsconsole.state.backends.base import BackendSettings, LockLost, SharedBackend


def ids_of(state: State) -> dict[str, str]:
    """Return the ids of the objects of a state, by address."""
    items = {str(address): state.get(address) for address in state.addresses()}
    return {address: item.attributes["id"] for address, item in items.items() if item}


@dataclass
class Place:
    """What a shared place stores.

    Attributes:
        lock: The ID of the lock that is held.
        holder: What the holder says of itself.
        point: Is called with a name before and after each effect.
    """

    state: bytes = b""
    journal: bytes = b""
    lock: str = ""
    holder: LockInfo | None = None
    point: Callable[[str], None] = lambda name: None


class InMemory(SharedBackend):
    """A state in memory. Every request is a point of death, before its effect and after it."""

    _errors = (NotImplementedError,)

    def __init__(self, place: Place, options: RunOptions, *, embeds_journal: bool) -> None:
        super().__init__(BackendSettings("memory", {}), "default", options, "memory")
        self.embeds_journal, self.keeps_journal = embeds_journal, not embeds_journal
        self._shared = place
        self._embedded = b""

    def read_with_journal(self) -> tuple[bytes, bytes]:
        return (
            (self.read(), self._shared.journal)
            if self.embeds_journal
            else super().read_with_journal()
        )

    def write(self, data: bytes, journal: bytes = b"") -> None:
        self._embedded = journal
        super().write(data)

    def _read(self) -> bytes:
        self._seen = self._shared.state
        return self._shared.state

    def _write(self, data: bytes) -> None:
        if self._shared.state != self._seen:
            raise self._written_by_other()
        self._shared.point("write")
        self._shared.state = self._seen = data
        if self.embeds_journal:
            self._shared.journal = self._embedded
        self._shared.point("written")

    def _read_journal(self) -> bytes:
        return self._shared.journal

    def _store_journal(self, data: bytes) -> None:
        self._shared.point("store")
        self._shared.journal = data
        self._shared.point("stored")

    def _lock(self, info: LockInfo) -> None:
        if self._shared.lock:
            raise self._lock_held(self._shared.holder)
        self._shared.lock, self._shared.holder, self._info = info.id, info, info

    def _release(self, info: LockInfo) -> None:
        if self._shared.lock == info.id:
            self._shared.lock = ""

    def _check_lock(self, info: LockInfo) -> None:
        if self._shared.lock != info.id:
            raise LockLost(self.name, "someone released it")

    def _holder(self) -> LockInfo | None:
        return self._shared.holder if self._shared.lock else None

    def _workspaces(self) -> set[str]:
        raise NotImplementedError

    def _delete_all(self) -> None:
        raise NotImplementedError

    def _disconnect(self) -> None:
        """There is no connection."""
