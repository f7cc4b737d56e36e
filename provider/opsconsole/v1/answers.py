"""From an HTTP answer to a JSON object or to the error that it means (the document: Errors).

Bodies of another shape become `UnexpectedAnswer`: status, content type and the first characters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opsconsole.errors import (
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    Problem,
    ServerError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    UnexpectedAnswer,
    had_no_effect,
)
from opsconsole.v1.decoding import NotJson, json_object

_FIRST_CHARACTERS = 160

_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: BadRequest,
    429: TooManyRequests,
}

_TELLING_STATUSES = frozenset({401, 408, 413, 429})
"""What these mean does not hang on the body: a gateway that answers for the console may send them.
A 404 without the documented body, by contrast, is no word of the console on a row."""

_REMEDIES: Mapping[int, str] = {
    401: "Check the API key: it may be absent, mistyped, revoked or expired. Keys are minted in "
    "the console's API Keys settings.",
    408: "A gateway may have ended the call while the console went on with it.",
    429: "The console asks for fewer requests.",
}

_REMEDIES_BY_CODE: Mapping[str, str] = {
    "FORBIDDEN": "The key is valid and is not allowed to do this.",
    "ORG_ACCESS_DENIED": "The key is valid and has no access to this org.",
    "LICENSE_CAP_REACHED": "The console refuses this because of a cap of its license, not because "
    "of the key.",
    "LICENSE_EXPIRED": "The console's license has expired; the key is not the reason.",
}
"""Of a 403, by the documented codes. Any other code is quoted and not explained."""

_PAGE_REMEDY = (
    "This is a web page, of a proxy, a login or another service: check base_url and the "
    "proxy settings."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer, whole. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def content_type(self) -> str:
        """The content type as sent."""
        return self.headers.get("content-type", "")


def decoded(reply: Reply, operation: object, redact: Callable[[bytes], bytes]) -> dict[str, Any]:
    """Return the JSON object that a 2xx answer holds.

    Which 2xx means success is shown for two operations only, so each of them does.

    Raises:
        ApiError: the console answered with an error.
        UnexpectedAnswer: the body is no JSON object.
    """
    if not 200 <= reply.status < 300:
        raise _error(reply, operation, redact)
    try:
        return json_object(reply.content)
    except NotJson as problem:
        what = str(problem)
    # Raised outside of `except`: a decoding error holds the content, which may echo the key.
    raise unexpected(operation, reply, what, redact)


def _error(reply: Reply, operation: object, redact: Callable[[bytes], bytes]) -> Exception:
    status = reply.status
    problem = _problem(status, redact(reply.content))
    if problem is None:
        if status not in _TELLING_STATUSES and status < 500:
            return unexpected(operation, reply, "no documented error", redact)
        problem = Problem(status=status, message=_described(reply, redact))
    kind = ServerError if status >= 500 else _BY_STATUS.get(status, ApiError)
    remedy = _REMEDIES.get(status) or (_PAGE_REMEDY if _is_page(reply) else "")
    if status == 403:
        remedy = remedy or _REMEDIES_BY_CODE.get(problem.code, "")
    return kind(problem, str(operation), remedy)


def _problem(status: int, content: bytes) -> Problem | None:
    """Return the error that a body describes, None where it lacks a code and a message."""
    try:
        body = json_object(content)
    except NotJson:
        return None
    if not (_text(body, "code") and _text(body, "message")):
        return None
    entries = body.get("errors")
    details = body.get("details")
    return Problem(
        status=status,
        code=_text(body, "code"),
        message=_text(body, "message"),
        request_id=_text(body, "request_id"),
        field=_text(body, "field") or None,
        errors=tuple(
            (entry["field"], entry["message"])
            for entry in (entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and _text(entry, "field") and _text(entry, "message")
        ),
        details=details if isinstance(details, dict) else {},
    )


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def unexpected(
    operation: object, reply: Reply, what: str, redact: Callable[[bytes], bytes]
) -> UnexpectedAnswer:
    """Return the error that `reply` is of another shape than the document shows."""
    remedy = _PAGE_REMEDY if _is_page(reply) else "Check that base_url names the console."
    what = redact(what.encode()).decode()
    return UnexpectedAnswer(
        f"the console answered with {what}: {_described(reply, redact)}.",
        remedy,
        operation=str(operation),
        status=reply.status,
        safe_to_repeat=had_no_effect(reply.status, documented=False),
    )


def _is_page(reply: Reply) -> bool:
    return "html" in reply.content_type or reply.content.lstrip()[:1] == b"<"


def _described(reply: Reply, redact: Callable[[bytes], bytes]) -> str:
    content_type = redact(reply.content_type.encode()).decode() or "none"
    start = beginning(redact(reply.content))
    said = f'beginning with "{start}"' if start else "with an empty body"
    return f"status {reply.status}, content type {content_type}, {said}"


def beginning(content: bytes) -> str:
    """Return the first characters of a body on one line, safe to print to a terminal."""
    text = content[: 4 * _FIRST_CHARACTERS].decode(errors="replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _FIRST_CHARACTERS else f"{line[:_FIRST_CHARACTERS]}…"
