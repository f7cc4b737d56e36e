"""True answers made untrue: another object's, another shape, other ids, too much of everything."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from opsconsole.emulator.console import EmulatedConsole
from opsconsole.emulator.document import TABLES
from opsconsole.emulator.faults import Fault

_HUGE = "x" * 100_000
_IDS: dict[str, Any] = {"null": None, "number": 7, "dots": "..", "empty": "", "huge": _HUGE}
_BLOCK = 1 << 20
_OF_ONE = ("get", "create", "update", "attach", "detach")
"""What an operation's name ends with where its answer is one object."""

_TELLING = ("id", "name", "key", "pattern", "host_id", "specialty_id")
"""Fields that identify an object."""


def distorted(console: EmulatedConsole, operation: str, fault: Fault, body: Any) -> Any:
    """Return what a fault makes of the decoded body of a success."""
    if fault.answer == "array":
        return [body]
    if fault.answer == "bare":
        return {}
    if fault.answer == "null":
        return None
    if fault.answer == "other":
        body = _other(console, operation, body)
    return body if fault.ids is None else _with_ids(body, fault.ids)


def _other(console: EmulatedConsole, operation: str, body: Any) -> Any:
    """Return the answer about another object of the same kind."""
    kind, _, verb = operation.partition("_")
    kind = "agent" if kind == "plugin" else kind
    if kind in TABLES and verb in _OF_ONE:
        for row in console.store.tables[TABLES[kind]]:
            if row["id"] != body.get("id"):
                return console.rendering.render(kind, row)
        another = {name: f"{body[name]}-other" for name in _TELLING if body.get(name)}
        return {**body, **another}
    if operation == "plugin_list":
        rows = [console.rendering.render("specialty", row) for row in console.store.specialties]
        return {**body, "data": rows}
    if operation == "host_import":
        others = [row["id"] for row in console.store.hosts]
        given = zip(body["results"], others * len(body["results"]), strict=False)
        results = [{**entry, "id": other} for entry, other in given]
        return {**body, "results": results}
    if isinstance(body.get("data"), list):
        rows = [console.rendering.render("plugin", row) for row in console.store.plugins]
        return {**body, "data": rows}
    return {**body, "id": f"{body.get('id')}-other"}


def _with_ids(body: Any, ids: str) -> Any:
    """Return a body with other ids in it; `crossed` hands those of a list round by one."""
    name = next((name for name in ("data", "results") if isinstance(body.get(name), list)), None)
    if ids != "crossed":
        other = {"id": _IDS[ids]}
        entries = [{**entry, **other} for entry in body[name]] if name else []
        return {**body, name: entries} if name else {**body, **other}
    if name is None:
        return body
    given = [entry.get("id") for entry in body[name]]
    crossed = [
        {**entry, "id": other} if other is not None else entry
        for entry, other in zip(body[name], given[1:] + given[:1], strict=True)
    ]
    return {**body, name: crossed}


def garbage(size: int) -> bytes:
    """Return bytes that are not text in any encoding that JSON may have; always the same ones."""
    return b"\xff\xfe\x80" + random.Random(size).randbytes(max(0, size - 3))


@lru_cache(maxsize=4)
def bomb(size: int) -> bytes:
    """Return a gzip body that decompresses to an object of about `size` bytes."""
    start, end = b'{"pad":"', b'"}'
    block = b"0" * _BLOCK
    blocks = max(1, size // _BLOCK)
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    # A block that ends with a full flush stands for itself, so it is compressed only once.
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    last = packer.compress(end) + packer.flush(zlib.Z_FINISH)
    checksum = zlib.crc32(start)
    for _ in range(blocks):
        checksum = zlib.crc32(block, checksum)
    checksum = zlib.crc32(end, checksum)
    length = (len(start) + blocks * _BLOCK + len(end)) & 0xFFFFFFFF
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return head + first + middle * blocks + last + struct.pack("<II", checksum, length)


def without_end() -> Iterator[bytes]:
    """Yield a JSON text that never ends, in pieces."""
    yield b'{"id":"endless","pad":"'
    piece = b"0" * 65_536
    while True:
        yield piece
