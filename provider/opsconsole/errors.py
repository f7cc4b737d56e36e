"""The tree of errors. Every lower library's exception is translated into one of these, once.

OpsconsoleError
├── ConfigurationError            a setting is missing or wrong
├── ConsoleError                  talking to the console failed
│   ├── ApiError                  the console answered with an error
│   │   ├── BadRequest            400
│   │   ├── Unauthorized          401
│   │   ├── Forbidden             403
│   │   ├── NotFound              404
│   │   ├── Conflict              409
│   │   ├── TooLarge              413
│   │   ├── TooManyRequests       429
│   │   └── ServerError           5xx
│   ├── NotSent                   nothing left this machine: refused, unknown host, TLS
│   │   └── Stopped               not begun, as the run was told to stop
│   ├── AnswerLost                sent, but no whole answer: timeout, cut connection
│   └── UnexpectedAnswer          an answer of another shape than the document shows
└── UserError                     bad input to a command: files, programs, states, addresses
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class OpsconsoleError(Exception):
    """The root of every error that this package raises on purpose.

    `remedy` says what the reader can do about it; it may be empty.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        if not self.remedy:
            return self.message
        stop = "" if self.message.endswith((".", "?", "!", ":", "…")) else "."
        return f"{self.message}{stop} {self.remedy}"


class ConfigurationError(OpsconsoleError):
    """A provider setting is missing or wrong; `setting` names it."""

    def __init__(self, message: str, remedy: str = "", setting: str | None = None) -> None:
        super().__init__(message, remedy)
        self.setting = setting


class UserError(OpsconsoleError):
    """Input that a user gave is wrong: a file, a program, a state, an address."""


class ConsoleError(OpsconsoleError):
    """Talking to the console failed.

    `safe_to_repeat` tells whether the call certainly had no effect on the console, so that even a
    create may be repeated.
    """

    safe_to_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """The error body (Errors): the document's fields, as the console sent them."""

    status: int
    code: str = ""
    message: str = ""
    request_id: str = ""
    field: str | None = None
    errors: Sequence[tuple[str, str]] = ()
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        request = f", request id {self.request_id}" if self.request_id else ""
        code = self.code or "none"
        told = f"{self.message or 'no message'} (status {self.status}, code {code}{request})"
        return f"{told}; details: {_shortened(self.details)}" if self.details else told


_MOST_DETAILS = 500


def _shortened(details: Mapping[str, Any]) -> str:
    text = json.dumps(details, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST_DETAILS else f"{text[:_MOST_DETAILS]}…"


_REFUSALS = frozenset({*range(400, 418), *range(421, 427), 428, 429, 431, 451}) - {408}
"""By these statuses a request is refused, not carried out (RFC 9110, 15.5, and its additions).

408, 499 and all 5xx may come from a gateway that did not wait for the console to end. The meaning
of any other status is not known.
"""

_ROUTING_REFUSALS = frozenset(
    {400, 401, 404, 405, 407, 411, 413, 414, 415, 417, 421, 426, 429, 431}
)
"""The refusals that a server which is not the console gives before it hands a request on.

A gateway may also inspect the console's answer and put its own 403, 409 or 451 in its place.
"""


def had_no_effect(status: int, *, documented: bool) -> bool:
    """Tell whether an answer shows that its request certainly had no effect.

    Args:
        status: The HTTP status.
        documented: Whether its body is the documented error, and so the console's own word.
    """
    return status in (_REFUSALS if documented else _ROUTING_REFUSALS)


class ApiError(ConsoleError):
    """The console answered with an error; `problem` is its body."""

    def __init__(self, problem: Problem, operation: str = "", remedy: str = "") -> None:
        super().__init__(f"{operation}: {problem}" if operation else str(problem), remedy)
        self.problem = problem
        self.operation = operation
        self.safe_to_repeat = had_no_effect(problem.status, documented=True)


class BadRequest(ApiError):
    """400: a field is missing, malformed, or not allowed."""


class Unauthorized(ApiError):
    """401: no credentials, or the key is invalid, revoked or expired.

    `explained` is true on every one but the first of a process: no call was made for it.
    """

    explained: bool = False


class Forbidden(ApiError):
    """403: authenticated but not allowed."""


class NotFound(ApiError):
    """404: no such row that this caller can see."""


class Conflict(ApiError):
    """409: deleting a specialty still carried by an agent."""


class TooLarge(ApiError):
    """413: the body is larger than the console takes."""


class TooManyRequests(ApiError):
    """429: slow down."""


class ServerError(ApiError):
    """5xx: whether the call had an effect is not known."""


class NotSent(ConsoleError):
    """The request never left: connection refused, unknown host name, TLS failure."""

    safe_to_repeat = True


class Stopped(NotSent):
    """The request was not begun, because the run was told to stop."""


class AnswerLost(ConsoleError):
    """The request was sent, but no whole answer came: its effect is unknown."""


class UnexpectedAnswer(ConsoleError):
    """An answer of another shape than the document shows: status, content type and a beginning.

    `status` is its HTTP status, where one was seen. `safe_to_repeat` tells that the call certainly
    had no effect, whoever answered it.
    """

    def __init__(
        self,
        message: str,
        remedy: str = "",
        *,
        status: int | None = None,
        safe_to_repeat: bool = False,
    ) -> None:
        super().__init__(message, remedy)
        self.status = status
        self.safe_to_repeat = safe_to_repeat
