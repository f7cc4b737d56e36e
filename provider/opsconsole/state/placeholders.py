"""Placeholders: what the stored state shows for sent creates, until their outcome is known.

They serve a backend that stores one object only. The journal of a run is lost with its machine
there, so the state itself must say which creates may have taken effect. The state of the running
session never holds them: they are added to what is written, and taken out of what is read beside a
journal that knows more.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject, object_id
from opsconsole.state.records import Intent, Record

DETAIL = "placeholder"
"""The detail of an intent that says which placeholder stands for it."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One create that may take effect.

    Attributes:
        item: What is at `address` until the outcome is known.
        aside: The deposed key of the object that the create is to replace; empty: there is none.
    """

    address: str
    item: InstanceObject
    aside: str = ""

    @property
    def detail(self) -> dict[str, str]:
        """What an intent notes of it."""
        return {"id": str(self.item.attributes["id"]), "aside": self.aside}

    def put_into(self, state: State) -> None:
        """Let a state that is about to be written show it."""
        if self.aside and self.address in state:
            state.depose(self.address, self.aside)
        state.put(self.address, self.item)


_TIMES: Final = 4
_MOST: Final = 256


class Placeholders:
    """The placeholders of one session: those that must be stored, and those that are."""

    def __init__(self) -> None:
        self._open: dict[str, Placeholder] = {}
        self._stored: frozenset[str] = frozenset()
        self._added = 0
        self._began = 0.0

    def add(self, intent: str, placeholder: Placeholder) -> None:
        """Show a create in what is stored from now on."""
        self._began = self._began or time.monotonic()
        self._added += 1
        self._open[intent] = placeholder

    def worth(self, cost: float) -> int:
        """Return how many creates should share one write, at the rate of this session.

        So many that writing takes about a quarter of the time, up to a bound: after a crash, the
        outcome of each of them is unknown.

        Args:
            cost: Seconds that the last write took.
        """
        passed = time.monotonic() - self._began
        return min(_MOST, int(self._added / passed * cost * _TIMES)) if self._added else 0

    def drop(self, intent: str) -> None:
        """Stop showing a create: its outcome is known."""
        self._open.pop(intent, None)

    @property
    def changed(self) -> bool:
        """Whether what is stored shows others than it must."""
        return self._open.keys() != self._stored

    @property
    def open(self) -> frozenset[str]:
        """The intents whose placeholders must be stored."""
        return frozenset(self._open)

    def are_stored(self, intents: Collection[str]) -> bool:
        """Return whether every one of `intents` that is open still is shown in what is stored."""
        return all(intent in self._stored for intent in intents if intent in self._open)

    def note_stored(self, intents: frozenset[str]) -> None:
        """Note which intents the state that was stored just now shows."""
        self._stored = intents

    def shown_in(self, state: State) -> State:
        """Return what is to be written: `state`, or a copy with the placeholders."""
        if not self._open:
            return state
        twin = state.copy()
        for placeholder in self._open.values():
            placeholder.put_into(twin)
        return twin


def take_out(state: State, records: Sequence[Record]) -> None:
    """Take the placeholders of a run out of a state: its journal knows what became of them."""
    for record in records:
        detail = record.details.get(DETAIL) if isinstance(record, Intent) else None
        if not isinstance(record, Intent) or not isinstance(detail, dict):
            continue
        if object_id(state.image(record.address)) != detail.get("id"):
            continue
        state.remove(record.address)
        aside = str(detail.get("aside", ""))
        if aside and aside in state.deposed(record.address):
            state.restore(record.address, aside)
