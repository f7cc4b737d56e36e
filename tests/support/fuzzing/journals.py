"""Journals: lines with their checksums, and taking them into a state."""

from msgspec import Raw

from fuzzing.states import SEEDS as STATES
from opsconsole.errors import OpsconsoleError
from opsconsole.state.document import encode
from opsconsole.state.journal import (
    Base,
    Changes,
    Intent,
    Writing,
    decode_lines,
    encode_line,
    open_intents,
)
from opsconsole.state.model import State
from opsconsole.state.objects import StateChange
from opsconsole.state.recovery import recover

_STATE = State.parse(STATES[0])
_IMAGE = _STATE.image("opsconsole_host.a") or _STATE.image('opsconsole_host.b["k"]')
_RECORDS = [
    Base("run", "4a1f", 0, _STATE.digest(), False),
    Intent("i", "opsconsole_host.a", "POST /x", {"name": "a"}, "now"),
    Changes((StateChange("instance", "opsconsole_host.c", _IMAGE, "p"),), ("i",)),
    Changes((StateChange("output", "o", '{\n      "value": 1,\n      "type": "number"\n    }'),)),
    Writing(1, "x"),
]
_WHOLE = b"\n".join(map(encode, _RECORDS))
_DAMAGED = _WHOLE.replace(b'hst_1\\"', b'hst_1\\"damaged')
_OF_ANOTHER_STATE = _DAMAGED.replace(_STATE.digest().encode(), b"another")
SEEDS = [_WHOLE, _OF_ANOTHER_STATE]


def check(data: bytes) -> None:
    """Read `data` as the texts of records, one a line, and as a journal as it is."""
    framed = bytearray()
    for line in data.split(b"\n"):
        framed += encode_line(Raw(line), len(framed))
    for content in (data, bytes(framed)):
        try:
            records, _ = decode_lines(content, "fuzz")
            open_intents(records)
            state = State.parse(STATES[0])
            if records:
                state = recover(records, [], STATES[0], b"", "fuzz").state
            State.parse(state.to_bytes())
        except OpsconsoleError as error:
            str(error)
