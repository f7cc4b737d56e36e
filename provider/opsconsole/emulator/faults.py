"""Faults on request: what goes wrong with which requests, and how often."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, Literal


class BadFault(Exception):
    """A fault that cannot be read."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        method: The method that it meets; `*` meets all.
        path: A regular expression, searched for in the path (still encoded, without the query).
        holds: A regular expression, searched for in the request's body.
        skip: How many of the requests it meets are let through first.
        times: How many it spoils then; None spoils all.
        delay: Seconds to wait before anything else.
        handled: Whether the console does what was asked before it goes wrong.
        cut: Cut the connection instead of answering, `before` or `after` the request is handled.
        truncate: Cut the connection after so many bytes of the answer's body.
        status: The answer's status. With neither `status`, `text`, `cut` nor `truncate` the
            request is only delayed.
        code, message, field, errors, details: The members of the error body.
        headers: More headers, `Retry-After` for example.
        text: The body as it is sent, in place of an error body or of the true answer.
        content_type: The type of that body.
    """

    method: str = "*"
    path: str = ""
    holds: str = ""
    skip: int = 0
    times: int | None = 1
    delay: float = 0.0
    handled: bool = False
    cut: Literal["before", "after"] | None = None
    truncate: int | None = None
    status: int | None = None
    code: str = "INJECTED"
    message: str = "an injected fault"
    field: str | None = None
    errors: list[dict[str, str]] = dataclasses.field(default_factory=list)
    details: dict[str, Any] | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    text: str | None = None
    content_type: str = "application/json"

    def problem(self, request_id: str) -> dict[str, Any]:
        """Return the error body."""
        body: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "request_id": request_id,
        }
        for name in ("field", "errors", "details"):
            if getattr(self, name):
                body[name] = getattr(self, name)
        return body


def read_fault(fields: Mapping[str, Any]) -> Fault:
    """Make a fault of its JSON form.

    Raises:
        BadFault: A member is unknown, or of the wrong kind.
    """
    known = {item.name for item in dataclasses.fields(Fault)}
    if unknown := set(fields) - known:
        raise BadFault(f"no such member of a fault: {', '.join(sorted(unknown))}")
    fault = Fault(**fields)
    _check(fault)
    return fault


def _check(fault: Fault) -> None:
    texts = (fault.method, fault.path, fault.holds, fault.code, fault.message, fault.content_type)
    if not all(isinstance(value, str) for value in texts):
        raise BadFault("method, path, holds, code, message and content_type are strings")
    for pattern in (fault.path, fault.holds):
        try:
            re.compile(pattern)
        except re.error as failure:
            raise BadFault(f"{pattern}: {failure}") from failure
    counts = (fault.skip, fault.times, fault.truncate)
    if not all(value is None or (type(value) is int and value >= 0) for value in counts):
        raise BadFault("skip, times and truncate are counts")
    if fault.cut not in (None, "before", "after"):
        raise BadFault("cut is before or after")
    if fault.status is not None and not (type(fault.status) is int and 200 <= fault.status <= 599):
        raise BadFault("status is a number from 200 to 599")
    if not isinstance(fault.delay, int | float) or not 0 <= fault.delay < math.inf:
        raise BadFault("delay is a number of seconds")
    if not isinstance(fault.headers, dict) or not all(
        re.fullmatch(r"[\w-]+", name, re.ASCII) and re.fullmatch(r"[ -~]*", str(value))
        for name, value in fault.headers.items()
    ):
        raise BadFault("headers are names and printable values")
    if not (fault.text is None or isinstance(fault.text, str)):
        raise BadFault("text is a string")
    if not re.fullmatch(r"[ -~]+", fault.content_type):
        raise BadFault("content_type is printable")


class Faults:
    """The faults of one console, in the order in which they were asked for."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Add a fault behind the others."""
        self.waiting.append(fault)

    def clear(self) -> None:
        """Forget every fault."""
        self.waiting.clear()

    def meet(self, method: str, path: str, body: bytes) -> Fault | None:
        """Return the first fault that this request meets, and count it."""
        for fault in self.waiting:
            if fault.method not in ("*", method) or not re.search(fault.path, path):
                continue
            if fault.holds and not re.search(fault.holds, body.decode("utf-8", "replace")):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            if fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    self.waiting.remove(fault)
            return fault
        return None
