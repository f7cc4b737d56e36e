"""The records of a journal, and the form of its lines.

A line is `CRC LENGTH DURABLE JSON`: the checksum and length of the rest, and how many bytes of the
journal were durable when the line was written. DURABLE distinguishes a damaged line from a torn
one, because no line written after a torn line can count it as durable.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from opsconsole.errors import UserError
from opsconsole.state.document import WrittenNumber, encode
from opsconsole.state.objects import StateChange


class Base(msgspec.Struct, frozen=True, array_like=True, tag="base"):
    """The state to which the following records belong; the first record of a journal.

    Attributes:
        run: The run that writes the journal.
        digest: The digest of the state's content.
        empty: Whether the state holds nothing, so that nothing is lost if it is missing.
    """

    run: str
    lineage: str
    serial: int
    digest: str
    empty: bool


class Intent(msgspec.Struct, frozen=True, array_like=True, tag="intent"):
    """A call is about to be made that cannot safely be repeated; open while nothing settles it.

    Attributes:
        address: The resource that the call is for.
        operation: The request, in the API's words, such as `POST /api/v1/agents`.
        details: Information that helps to determine the outcome later; nothing secret.
    """

    id: str
    address: str
    operation: str
    details: dict[str, Any]
    at: str


class Changes(msgspec.Struct, frozen=True, array_like=True, tag="outcome"):
    """Changes of the state, and the intents that they settle; either may be empty."""

    changes: tuple[StateChange, ...]
    settles: tuple[str, ...] = ()


class Writing(msgspec.Struct, frozen=True, array_like=True, tag="writing"):
    """The state is about to be written. The content may lack changes of the records before this."""

    serial: int
    digest: str


Record = Base | Intent | Changes | Writing

_DECODER = msgspec.json.Decoder(Record, float_hook=WrittenNumber)


def encode_line(record: Record, durable: int) -> bytes:
    """Write a record as one line of a journal."""
    body = b"%d %b" % (durable, encode(record))
    return b"%08x %d %b\n" % (zlib.crc32(body), len(body), body)


def encode_records(records: Iterable[Record]) -> bytes:
    """Encode all records of a journal, to be put in place by one rename."""
    written = bytearray()
    for record in records:
        # The rename makes all lines durable together, so each line may count the lines before it.
        # Damage to one of them then never passes for a torn end.
        written += encode_line(record, len(written))
    return bytes(written)


def _decode_line(line: bytes) -> tuple[int, bytes] | None:
    """Return a line's durable count and its record's text, or None if the line is damaged."""
    crc, _, rest = line.partition(b" ")
    length, _, body = rest.partition(b" ")
    if length != b"%d" % len(body) or crc != b"%08x" % zlib.crc32(body):
        return None
    durable, _, text = body.partition(b" ")
    return (int(durable), text) if durable.isdigit() else None


def decode_lines(data: bytes, source: str) -> tuple[list[Record], int]:
    """Read a journal; return its records and how many bytes they take up.

    A torn end is left out.

    Raises:
        UserError: The journal is damaged before its end, or of an unknown version.
    """
    records: list[Record] = []
    good = 0
    for start, line in _lines(data):
        decoded = _decode_line(line)
        # A torn end was never reported as durable. The lines after it tell whether this is one.
        if decoded is None:
            break
        try:
            records.append(_DECODER.decode(decoded[1]))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise UserError(
                f"The journal {source} cannot be read at byte {start}: {error}.",
                "If a newer opsconsole wrote it, use that one. Nothing was changed.",
            ) from error
        good = start + len(line) + 1
    for _, line in _lines(data[good:]):
        decoded = _decode_line(line)
        # A later line counts these bytes as durable, so they are damaged, not torn.
        if decoded is not None and decoded[0] > good:
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
    """Return all changes, in the order in which they were made."""
    return [
        change for record in records if isinstance(record, Changes) for change in record.changes
    ]


def open_intents(records: Sequence[Record]) -> list[Intent]:
    """Return the intents without a recorded outcome, in the order in which they were written."""
    waiting: dict[str, Intent] = {}
    for record in records:
        if isinstance(record, Intent):
            waiting[record.id] = record
        elif isinstance(record, Changes):
            for settled in record.settles:
                waiting.pop(settled, None)
    return list(waiting.values())
