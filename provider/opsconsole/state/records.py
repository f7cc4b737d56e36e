"""What a run notes of itself: the records of its journal with the form of their lines, and, where
nothing can be stored beside a state, placeholders in the state itself. No file is opened here.

A line is `CRC LENGTH DURABLE JSON`: the checksum and length of what follows, and how many bytes of
the journal were durable when it was written. This tells a damaged line from a torn one: no line
written after a torn one can count it as durable.

Placeholders show sent creates until their outcome is known. They serve a backend that stores one
object only. The journal of a run is lost with its machine there, so the state itself must say
which creates may have taken effect. The state of the running session never holds them: they are
added to what is written, and taken out of what is read beside a journal that knows more.
"""

from __future__ import annotations

import dataclasses
import json
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from opsconsole.errors import UserError
from opsconsole.state.model import State
from opsconsole.state.objects import InstanceObject, StateChange, object_id


@dataclass(frozen=True, slots=True)
class Started:
    """A run began to change things: the state it began from, and the digest of its content."""

    lineage: str
    serial: int
    digest: str
    empty: bool
    at: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A call is about to be made that cannot safely be repeated.

    Attributes:
        address: The resource it is for.
        call: What is called, in the API's words, such as `POST /api/v1/agents`.
        details: What helps to settle its outcome later; nothing secret.
    """

    id: str
    address: str
    call: str
    details: dict[str, Any]
    at: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Changes that belong together were completed, and with them the outcome of these intents."""

    changes: tuple[StateChange, ...]
    settles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome of an intent became known without a change, such as a refusal."""

    id: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Writing:
    """The state is about to be written, with this content. Changes noted near it may be in it."""

    serial: int
    digest: str


@dataclass(frozen=True, slots=True)
class Written:
    """The write that the last `Writing` announced is durable, under this serial and lineage."""

    serial: int
    lineage: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Every change is in state, every open intent in the list of unresolved calls."""


Record = Started | Intent | Changed | Settled | Writing | Written | Ended

_KINDS = {kind.__name__.lower(): kind for kind in get_args(Record)}


def encode_record(record: Record) -> str:
    """Write a record as compact JSON: its kind, then its fields in order."""
    fields = [getattr(record, name) for name in record.__slots__]
    return json.dumps([type(record).__name__.lower(), *fields], separators=(",", ":"))


def decode_record(text: str) -> Record:
    """Read what `encode_record` wrote.

    Raises:
        ValueError: It is not a record that this version knows.
    """
    try:
        name, *fields = json.loads(text)
        if name == "changed":
            changes, settles = fields
            record: Record = Changed(
                tuple(StateChange(*change) for change in changes), tuple(settles)
            )
        else:
            record = _KINDS[name](*fields)
    except (TypeError, LookupError, RecursionError) as error:
        raise ValueError("not a record of this version") from error
    if not _well_formed(record):
        raise ValueError("a record with a field of another type")
    return record


_TYPES = {"str": str, "int": int, "bool": bool, "dict[str, Any]": dict}


def _well_formed(record: Record) -> bool:
    """Return whether every field has the type that it is declared with."""
    if isinstance(record, Changed):
        return all(isinstance(item, str) for item in record.settles) and all(
            map(_well_formed_change, record.changes)
        )
    return all(
        type(getattr(record, item.name)) is _TYPES[str(item.type)]
        for item in dataclasses.fields(record)
    )


def _well_formed_change(change: StateChange) -> bool:
    texts = (change.address, change.provider, change.deposed, change.previous_mark)
    return (
        change.kind in ("instance", "output")
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(text, str | None) for text in (change.image, change.previous_id))
    )


def encode_line(text: str, durable: int) -> bytes:
    """Write a journal line around a record's text."""
    body = f"{durable} {text}".encode()
    return b"%08x %d %b\n" % (zlib.crc32(body), len(body), body)


def encode_records(records: Iterable[Record]) -> bytes:
    """Write a whole journal of these records, to be put in place by one rename.

    So each line knows that all before it are durable, and no damage passes for a torn end.
    """
    written = bytearray()
    for record in records:
        written += encode_line(encode_record(record), len(written))
    return bytes(written)


def _decode_line(line: bytes) -> tuple[int, str] | None:
    """Return what a line says was durable, and its record's text; None for a damaged line."""
    crc, _, rest = line.partition(b" ")
    length, _, body = rest.partition(b" ")
    if length != b"%d" % len(body) or crc != b"%08x" % zlib.crc32(body):
        return None
    try:
        durable, _, text = body.decode().partition(" ")
        return int(durable), text
    except ValueError:
        return None


def decode_lines(data: bytes, source: str) -> tuple[list[Record], int]:
    """Read a journal; return its records and how many bytes they take up.

    A torn end is left out: it was never reported as durable.

    Raises:
        UserError: It is damaged in its middle, or of a version that is not known.
    """
    records: list[Record] = []
    good = 0
    for start, line in _lines(data):
        found = _decode_line(line)
        if found is None:
            break
        try:
            records.append(decode_record(found[1]))
        except ValueError as error:
            raise UserError(
                f"The journal {source} cannot be read at byte {start}: {error}.",
                "If a newer opsconsole wrote it, use that one. Nothing was changed.",
            ) from error
        good = start + len(line) + 1
    for _, line in _lines(data[good:]):
        found = _decode_line(line)
        if found is not None and found[0] > good:
            raise UserError(
                f"The journal {source} is damaged at byte {good}, with good records behind it.",
                "Restore it, or remove it and bring what it held into state by import.",
            )
    return records, good


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield start, data[start:end]
        start = end + 1


def changes_of(records: Iterable[Record]) -> list[StateChange]:
    """Return every change in the order it was made."""
    return [
        change for record in records if isinstance(record, Changed) for change in record.changes
    ]


def open_intents(records: Sequence[Record]) -> list[Intent]:
    """Return the intents whose outcome no record says, in the order they were written."""
    waiting: dict[str, Intent] = {}
    for record in records:
        if isinstance(record, Intent):
            waiting[record.id] = record
        elif isinstance(record, Settled):
            waiting.pop(record.id, None)
        elif isinstance(record, Changed):
            for settled in record.settles:
                waiting.pop(settled, None)
    return list(waiting.values())


PLACEHOLDER_DETAIL = "placeholder"
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


_SHARE: Final = 0.25
"""The share of a session's time that writing may take."""
_MOST: Final = 256
"""Creates that share one write at most."""


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
        return min(_MOST, int(self._added / passed * cost / _SHARE)) if self._added else 0

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
        detail = record.details.get(PLACEHOLDER_DETAIL) if isinstance(record, Intent) else None
        if not isinstance(record, Intent) or not isinstance(detail, dict):
            continue
        if object_id(state.image(record.address)) != detail.get("id"):
            continue
        state.remove(record.address)
        aside = str(detail.get("aside", ""))
        if aside and aside in state.deposed(record.address):
            state.restore(record.address, aside)
