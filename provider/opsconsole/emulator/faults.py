"""Faults on request: their kinds, the requests that they match, and spoilt answers."""

from __future__ import annotations

import asyncio
import random
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from opsconsole.emulator.bodies import BadBody, ControlBody, Refusal, read
from opsconsole.emulator.console import EmulatedConsole
from opsconsole.emulator.document import DOCUMENTED, EXTRA, KINDS

Ids = Literal["null", "number", "dots", "empty", "huge", "crossed"]
"""The value of every id in an answer; `crossed` hands the ids of a list round by one."""

_RATE_LIMITED = {"status": 429, "code": "RATE_LIMITED"}
_FAILURES: Mapping[str, Mapping[str, Any]] = {
    "request_timeout": {"status": 408, "code": "TIMEOUT"},
    "internal_error": {"status": 500, "code": "INTERNAL_ERROR"},
    "bad_gateway": {
        "status": 502,
        "text": "<html><h1>Bad gateway</h1></html>",
        "content_type": "text/html",
    },
    "unavailable": {"status": 503, "code": "UNAVAILABLE"},
    "gateway_timeout": {"status": 504, "code": "GATEWAY_TIMEOUT"},
}
"""A console or a proxy may answer this, before or after the console acted."""

FAULT_KINDS: Mapping[str, Mapping[str, Any]] = {
    # The connection.
    "reset_before": {"cut": "before"},
    "reset_after": {"cut": "after"},
    "cut_answer": {"truncate": 10},
    "late_answer": {"answer_delay": 1.5},
    "late_effect": {"delay": 1.5},
    # The console refuses, and does nothing.
    "bad_request": {"status": 400, "code": "BAD_REQUEST"},
    "bad_field": {"status": 400, "code": "VALIDATION_FAILED", "field": "name"},
    "bad_fields": {
        "status": 400,
        "code": "VALIDATION_FAILED",
        "errors": [{"field": "name", "message": "is bad"}, {"field": "tags", "message": "are bad"}],
    },
    "invalid_cursor": {"status": 400, "code": "INVALID_CURSOR"},
    "unauthorized": {"status": 401, "code": "UNAUTHORIZED"},
    "forbidden": {"status": 403, "code": "FORBIDDEN"},
    "org_denied": {"status": 403, "code": "ORG_ACCESS_DENIED"},
    "license_cap": {"status": 403, "code": "LICENSE_CAP_REACHED"},
    "license_expired": {"status": 403, "code": "LICENSE_EXPIRED"},
    "not_found": {"status": 404, "code": "NOT_FOUND"},
    "conflict": {"status": 409, "code": "CONFLICT", "details": {"agent_id": "agt_elsewhere"}},
    "too_large": {"status": 413, "code": "BAD_REQUEST"},
    "rate_limited": _RATE_LIMITED,
    "rate_limited_seconds": {**_RATE_LIMITED, "headers": {"Retry-After": "0"}},
    "rate_limited_date": {**_RATE_LIMITED, "retry_after_date": 0},
    **_FAILURES,
    **{f"{name}_after": {**members, "handled": True} for name, members in _FAILURES.items()},
    # The console acted, but gives a wrong answer.
    "wrong_shape": {"answer": "array"},
    "empty_object": {"answer": "bare"},
    "null_answer": {"answer": "null"},
    "other_object": {"answer": "other"},
    **{f"ids_{ids}": {"ids": ids} for ids in get_args(Ids)},
    "garbage": {"garbage": 256},
    "redirect_same": {"redirect": "same"},
    "redirect_other": {"redirect": "other"},
    "gzip_bomb": {"inflates_to": 1 << 30},
    "endless": {"endless": True},
}
"""The members of `Fault` for each name."""


def _check_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as problem:
        raise ValueError(f"not a regular expression ({problem})") from problem
    return text


def _check_operation(value: str) -> str:
    if value not in (known := DOCUMENTED | EXTRA):
        raise ValueError(f"not one of {', '.join(known)}")
    return value


Pattern = Annotated[str, AfterValidator(_check_pattern)]
Operation = Annotated[str, AfterValidator(_check_operation)]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
Printable = Annotated[str, Field(pattern=r"^[ -~]*$")]


class FieldError(ControlBody):
    """One entry of the error body's `errors`."""

    field: str
    message: str


class Fault(ControlBody):
    """One thing that goes wrong. `docs/guides/emulator.md` explains each member."""

    # The members of the kind are the defaults of the others.
    kind: str | None = None

    # Which requests it spoils, how many pass first, and how many it spoils (None: all).
    method: str = "*"
    operation: Operation | None = None
    path: Pattern = ""
    holds: Pattern = ""
    skip: Count = 0
    times: Annotated[int, Field(ge=1)] | None = 1

    # When the request is handled and answered. It is handled even if the client has gone away.
    delay: Seconds = 0.0
    handled: bool = False
    answer_delay: Seconds = 0.0
    hold: Literal["before", "after"] | None = None

    # The connection, cut with no answer or within it, and the connections that follow.
    cut: Literal["before", "after"] | None = None
    truncate: Count | None = None
    refuse: bool = False

    # An answer of its own: an error or a redirect.
    status: Annotated[int, Field(ge=200, le=599)] | None = None
    code: str = "INJECTED"
    message: str = "an injected fault"
    field: str | None = None
    errors: list[FieldError] = Field(default_factory=list)
    details: dict[str, Any] | None = None
    headers: dict[HeaderName, Printable] = Field(default_factory=dict)
    retry_after_date: Count | None = None
    redirect: Literal["same", "other"] | None = None

    # Another body, or a spoilt one.
    text: str | None = None
    content_type: Annotated[str, Field(pattern=r"^[ -~]+$")] = "application/json"
    answer: Literal["other", "array", "bare", "null"] | None = None
    ids: Ids | None = None
    garbage: Count = 0
    inflates_to: Count = 0
    endless: bool = False

    @property
    def lets_through(self) -> bool:
        instead = self.status is not None or self.cut == "before" or self.redirect is not None
        return self.handled or not instead

    @property
    def has_other_body(self) -> bool:
        """Whether the answer's body is neither the true one nor an error body."""
        instead = self.redirect or self.endless or self.garbage or self.inflates_to
        return self.text is not None or bool(instead)

    def problem(self, request_id: str) -> dict[str, Any]:
        errors = [(item.field, item.message) for item in self.errors]
        field, details = self.field or None, self.details or None
        refusal = Refusal(self.status or 500, self.code, self.message, field, errors, details)
        return refusal.body(request_id)


def read_fault(fields: Any) -> Fault:
    """Make a fault from its JSON form; raise BadBody for a wrong member."""
    if isinstance(fields, dict) and (kind := fields.get("kind")) is not None:
        if not isinstance(kind, str) or kind not in FAULT_KINDS:
            raise BadBody(f"fault: kind: one of {', '.join(FAULT_KINDS)}, not {kind!r}")
        fields = {**FAULT_KINDS[kind], **fields}
    return read("fault", Fault.model_validate, fields)


class Faults:
    """The faults of one console, in the order of their requests."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []
        self._forgotten = asyncio.Event()

    def forget(self) -> None:
        """Clear all faults, and let held requests continue."""
        self.waiting.clear()
        self._forgotten.set()
        # Requests that are held wait for the old event. Later ones need one that is not set.
        self._forgotten = asyncio.Event()

    async def hold(self) -> None:
        await self._forgotten.wait()

    def match(self, method: str, operation: str, path: str, body: bytes) -> Fault | None:
        for fault in self.waiting:
            if fault.method not in ("*", method) or not re.search(fault.path, path):
                continue
            if fault.operation not in (None, operation):
                continue
            if fault.holds and not re.search(fault.holds, body.decode("utf-8", "replace")):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            if fault.times is not None:
                fault.times -= 1
                if not fault.times:
                    self.waiting.remove(fault)
            return fault
        return None


_HUGE = "x" * 100_000
_IDS: dict[str, Any] = {"null": None, "number": 7, "dots": "..", "empty": "", "huge": _HUGE}
_BLOCK = 1 << 20
_OF_ONE = ("get", "create", "update", "attach", "detach")
"""The suffixes of operations whose answer is one object."""

_TELLING = ("id", "name", "key", "pattern", "host_id", "specialty_id")
"""Fields that identify an object."""


def spoil_answer(console: EmulatedConsole, operation: str, fault: Fault, body: Any) -> Any:
    """Return the decoded body of a success as a fault spoils it."""
    if fault.answer == "array":
        return [body]
    if fault.answer == "bare":
        return {}
    if fault.answer == "null":
        return None
    if fault.answer == "other":
        body = _answer_of_other(console, operation, body)
    return body if fault.ids is None else _replace_ids(body, fault.ids)


def _answer_of_other(console: EmulatedConsole, operation: str, body: Any) -> Any:
    """Return the answer about another object of the same kind."""
    kind, _, verb = operation.rpartition("_")
    kind = "agent" if kind == "plugin" else kind
    if kind in KINDS and verb in _OF_ONE:
        for row in console.store.tables[KINDS[kind].collection]:
            if row["id"] != body.get("id"):
                return console.rendering.render(kind, row)
        another = {name: f"{body[name]}-other" for name in _TELLING if body.get(name)}
        return {**body, **another}
    if operation == "host_import":
        others = [row["id"] for row in console.store.hosts]
        # The console may have fewer hosts than the answer has results.
        given = zip(body["results"], others * len(body["results"]), strict=False)
        results = [{**entry, "id": other} for entry, other in given]
        return {**body, "results": results}
    if isinstance(body.get("data"), list):
        other = "specialty" if operation == "plugin_list" else "plugin"
        rows = console.store.tables[KINDS[other].collection]
        return {**body, "data": [console.rendering.render(other, row) for row in rows]}
    return {**body, "id": f"{body.get('id')}-other"}


def _replace_ids(body: Any, ids: str) -> Any:
    """Return a body with other ids; `crossed` hands the ids of a list round by one."""
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
    """Return bytes that are invalid in every encoding of JSON, always the same."""
    return b"\xff\xfe\x80" + random.Random(size).randbytes(max(0, size - 3))


@lru_cache(maxsize=4)
def bomb(size: int) -> bytes:
    """Return a gzip body that decompresses to an object of about `size` bytes."""
    start, end = b'{"pad":"', b'"}'
    block = b"0" * _BLOCK
    blocks = max(1, size // _BLOCK)
    # gzip's header and checksum are added by hand, because the body repeats one block that zlib
    # sees only once.
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    # A block that ends with a full flush is independent, so it is compressed only once.
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    last = packer.compress(end) + packer.flush(zlib.Z_FINISH)
    checksum = zlib.crc32(start)
    for _ in range(blocks):
        checksum = zlib.crc32(block, checksum)
    checksum = zlib.crc32(end, checksum)
    # gzip stores the length in four bytes, and drops the higher ones.
    length = (len(start) + blocks * _BLOCK + len(end)) & 0xFFFFFFFF
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return head + first + middle * blocks + last + struct.pack("<II", checksum, length)


def endless_pieces() -> Iterator[bytes]:
    """Yield a JSON text that never ends, in pieces."""
    yield b'{"id":"endless","pad":"'
    piece = b"0" * 65_536
    while True:
        yield piece
