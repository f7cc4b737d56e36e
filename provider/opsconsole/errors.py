"""The tree of errors. Every lower library's exception is translated into one of these, once.

A subclass that only one part of the program raises stands with that part.

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
    └── TryLater                  nothing is wrong: a state that another run holds
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Final

from opsconsole.text import shorten

TRY_LATER: Final = 75
"""The exit code where nothing is wrong and nothing was done: EX_TEMPFAIL of sysexits.h."""


class ProblemKind(Enum):
    """The kind of an error, for code that decides by it and for JSON."""

    BAD_INPUT = "bad_input"
    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    TOO_MANY_REQUESTS = "too_many_requests"
    SERVER_ERROR = "server_error"
    OTHER_STATUS = "other_status"
    NOT_SENT = "not_sent"
    STOPPED = "stopped"
    ANSWER_LOST = "answer_lost"
    UNEXPECTED_ANSWER = "unexpected_answer"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Cause:
    """The facts of an error, beside the words for the user.

    Attributes:
        message: The problem, without the operation, the request id and the remedy.
        operation: The call that failed, such as `POST /api/v1/agents`; empty if there is none or it
            is not known.
        answer: The error body of the console's answer, if any.
        text: The whole error as one paragraph; empty if the diagnostic's detail holds it already.
        status: The HTTP status of an answer without an error body.
    """

    kind: ProblemKind
    message: str = ""
    operation: str = ""
    answer: ErrorAnswer | None = None
    text: str = dataclasses.field(default="", compare=False)
    status: int | None = dataclasses.field(default=None, compare=False)

    @property
    def is_temporary(self) -> bool:
        """Whether the console was only too busy (429, 503): the same call may succeed later."""
        return (self.answer.status if self.answer else self.status) in (429, 503)

    @property
    def gist(self) -> tuple[object, ...]:
        """The cause without its operation and request id, to group equal causes."""
        answer = self.answer
        return (self.kind, self.message, *((answer.status, answer.code) if answer else ()))


class OpsconsoleError(Exception):
    """The root of every error that this package raises on purpose.

    `remedy` tells the reader how to resolve it; it may be empty.
    """

    kind: ClassVar[ProblemKind] = ProblemKind.OTHER
    """The kind named like the class (`NotFound`: NOT_FOUND), else the kind of the parent class."""

    def __init_subclass__(cls) -> None:
        name = re.sub("(?<=.)(?=[A-Z])", "_", cls.__name__).upper()
        cls.kind = ProblemKind.__members__.get(name, cls.kind)

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    @property
    def cause(self) -> Cause:
        """The facts of this error, for a diagnostic about it."""
        return Cause(self.kind, self.message, text=str(self))

    @property
    def is_temporary(self) -> bool:
        """Whether nothing is wrong, so that the same action may succeed later."""
        return self.cause.is_temporary

    def __str__(self) -> str:
        if not self.remedy:
            return self.message
        stop = "" if self.message.endswith((".", "?", "!", ":", "…")) else "."
        return f"{self.message}{stop} {self.remedy}"


class ConfigurationError(OpsconsoleError):
    """A provider setting is missing or wrong; `setting` names it."""

    kind = ProblemKind.BAD_INPUT

    def __init__(self, message: str, remedy: str = "", setting: str | None = None) -> None:
        super().__init__(message, remedy)
        self.setting = setting


class UserError(OpsconsoleError):
    """Input that a user gave is wrong: a file, a program, a state, an address."""

    kind = ProblemKind.BAD_INPUT


class TryLater(UserError):
    """Nothing is wrong with the input: another run holds a lock that this one needs."""

    @property
    def is_temporary(self) -> bool:
        return True


class ConsoleError(OpsconsoleError):
    """Talking to the console failed.

    `had_no_effect` tells whether the call certainly had no effect on the console, so that even a
    create may be repeated. `retry_after` is the seconds that the answer asks to wait.
    """

    had_no_effect: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
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
        text = f"{self.message or 'no message'} (status {self.status}, code {code}{request})"
        if not self.details:
            return text
        details = json.dumps(self.details, ensure_ascii=False, default=str)
        return f"{text}; details: {shorten(details, 500)}"

    @property
    def texts(self) -> set[str]:
        """The texts in the details, single or in lists, among them ids of objects."""
        texts: set[str] = set()
        for value in self.details.values():
            listed = value if isinstance(value, list) else [value]
            texts.update(item for item in listed if isinstance(item, str))
        return texts


_REFUSALS = frozenset({*range(400, 418), *range(421, 427), 428, 429, 431, 451}) - {408}
"""Statuses that refuse a request without carrying it out (RFC 9110, 15.5, and its additions).

408, 499 and all 5xx may come from a gateway that did not wait for the console to end. The meaning
of any other status is not known.
"""

_ROUTING_REFUSALS = frozenset(
    {301, 307, 308, 400, 401, 404, 405, 407, 411, 413, 414, 415, 417, 421, 426, 429, 431}
)
"""Refusals by a server in front of the console, before it forwards a request, and redirects, which
refer it elsewhere before it is carried out (RFC 9110, 15.4).

A gateway may also inspect the console's answer and replace it with its own 403, 409 or 451.
"""


def has_no_effect(status: int, *, documented: bool) -> bool:
    """Return whether an answer shows that its request certainly had no effect.

    Args:
        documented: Whether its body is the documented error, and so comes from the console itself.
    """
    return status in (_REFUSALS if documented else _ROUTING_REFUSALS)


class ApiError(ConsoleError):
    """The console answered with an error; `answer` is its body.

    `already_reported` means that an earlier call of the process got the same answer, after which
    no call has been begun.
    """

    kind = ProblemKind.OTHER_STATUS
    already_reported: bool = False

    def __init__(self, answer: ErrorAnswer, operation: str = "", remedy: str = "") -> None:
        super().__init__(f"{operation}: {answer}" if operation else str(answer), remedy)
        self.answer = answer
        self.operation = operation
        self.had_no_effect = has_no_effect(answer.status, documented=True)

    @property
    def cause(self) -> Cause:
        message = self.answer.message
        return Cause(self.kind, message, self.operation, self.answer, str(self))


class BadRequest(ApiError):
    """400: a field is missing, malformed, or not allowed."""


class Unauthorized(ApiError):
    """401: no credentials, or the key is invalid, revoked or expired."""


class Forbidden(ApiError):
    """403: authenticated but not allowed."""


class NotFound(ApiError):
    """404: no such row that this caller can see."""


class Conflict(ApiError):
    """409: another object is in the way, such as an agent that carries a specialty."""


class TooLarge(ApiError):
    """413: the body is larger than the console takes."""


class TooManyRequests(ApiError):
    """429: slow down."""


class ServerError(ApiError):
    """5xx: whether the call had an effect is not known."""


class NotSent(ConsoleError):
    """The request never left: connection refused, unknown host name, TLS failure."""

    had_no_effect = True


class Stopped(NotSent):
    """The request was not begun, because the run was told to stop."""


class AnswerLost(ConsoleError):
    """The request was sent, but no whole answer came: its effect is unknown."""


class UnexpectedAnswer(ConsoleError):
    """An answer of another shape than the document shows: status, content type and a beginning.

    `operation` is the call, if the message is to name it. `without_body` means that the status is a
    success and the body is empty.
    """

    def __init__(
        self,
        message: str,
        remedy: str = "",
        *,
        operation: str = "",
        status: int | None = None,
        had_no_effect: bool = False,
        without_body: bool = False,
    ) -> None:
        super().__init__(f"{operation}: {message}" if operation else message, remedy)
        self._without_operation = message
        self.operation = operation
        self.status = status
        self.had_no_effect = had_no_effect
        self.without_body = without_body

    @property
    def cause(self) -> Cause:
        return Cause(
            self.kind, self._without_operation, self.operation, text=str(self), status=self.status
        )


_EXTRAS: Final = {
    "cdktf": ("cdktf",),
    "cdktn": ("cdktn",),
    "emulator": ("httptools", "starlette", "uvicorn"),
    "prometheus": ("prometheus_client",),
    "terraform": ("cryptography", "google", "grpclib", "h2", "msgpack"),
}
"""Extra to the import packages that only this extra installs; backends of a state name theirs."""


def missing_package(error: ModuleNotFoundError) -> UserError | None:
    """Return the error to show in place of `error`, or None if no extra brings the package."""
    package = (error.name or "").partition(".")[0]
    for extra, packages in _EXTRAS.items():
        if package in packages:
            return UserError(
                f"This needs the package {package}, which is not installed.",
                f"Install the extra: pip install 'opsconsole[{extra}]'.",
            )
    return None
