"""Journals: lines with their checksums, and taking them into a state."""

from __future__ import annotations

from fuzzing.states import SEEDS as STATES
from opsconsole.errors import OpsconsoleError
from opsconsole.state.fold import fold
from opsconsole.state.model import State
from opsconsole.state.objects import StateChange
from opsconsole.state.records import (
    Changed,
    Intent,
    Settled,
    Started,
    Writing,
    Written,
    decode_lines,
    encode_line,
    encode_record,
    open_intents,
)

_STATE = State.parse(STATES[0])
_IMAGE = _STATE.image("opsconsole_host.a") or _STATE.image('opsconsole_host.b["k"]')
_RECORDS = [
    Started("4a1f", 0, _STATE.digest(), False, "now"),
    Intent("i", "opsconsole_host.a", "POST /x", {"name": "a"}, "now"),
    Changed((StateChange("instance", "opsconsole_host.c", _IMAGE, "p"),), ("i",)),
    Changed((StateChange("output", "o", '{\n      "value": 1,\n      "type": "number"\n    }'),)),
    Settled("i", "done"),
    Writing(1, "x"),
    Written(1, "4a1f"),
]
_WHOLE = "\n".join(map(encode_record, _RECORDS)).encode()
_DAMAGED = _WHOLE.replace(b'hst_1\\"', b'hst_1\\"damaged')
_OF_ANOTHER_STATE = _DAMAGED.replace(_STATE.digest().encode(), b"another")
SEEDS = [_WHOLE, _OF_ANOTHER_STATE]


def check(data: bytes) -> None:
    """Read `data` as the texts of records, one a line, and as a journal as it is."""
    lines = [line.decode("utf-8", "replace") for line in data.split(b"\n")]
    framed = bytearray()
    for line in lines:
        framed += encode_line(line, len(framed))
    for content in (data, bytes(framed)):
        try:
            records, _ = decode_lines(content, "fuzz")
            open_intents(records)
            state = fold(records, STATES[0], b"", "fuzz").state
            State.parse(state.to_bytes())
        except OpsconsoleError as error:
            str(error)
