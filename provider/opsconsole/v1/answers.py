"""Decodes one HTTP answer: a JSON object, an error (the document: Errors), or a redirect.

The document does not bound the depth and the numbers of a body, so this module does; `transport`
bounds the size.
"""

from __future__ import annotations

import codecs
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Never
from urllib.parse import SplitResult, urljoin, urlsplit

from opsconsole.errors import (
    ApiError,
    BadRequest,
    Conflict,
    ConsoleError,
    ErrorAnswer,
    Forbidden,
    NotFound,
    ServerError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    UnexpectedAnswer,
    has_no_effect,
)
from opsconsole.text import LONE_SURROGATE, shorten
from opsconsole.v1.settings import DEFAULT_PORTS

if TYPE_CHECKING:
    from opsconsole.v1.operations import Operation

_MAX_DEPTH = 100
_MAX_DIGITS = 40


class WrongShape(ValueError):
    """A body is no usable JSON object, or not the documented one; the message names its content."""


def json_object(content: bytes) -> dict[str, Any]:
    """Decode the JSON object of a body (the document's first part, 4), or raise WrongShape."""
    try:
        # Python's own decoding of bytes would let halves of surrogate pairs pass, as three bytes.
        body = _DECODER.decode(content.removeprefix(codecs.BOM_UTF8).decode())
    except WrongShape:
        raise
    except (ValueError, RecursionError):
        raise WrongShape("no JSON object") from None
    if not isinstance(body, dict):
        raise WrongShape("no JSON object")
    # Most bodies have fewer brackets than that, and counting takes less than looking through them.
    if content.count(b"[") + content.count(b"{") > _MAX_DEPTH and _is_deep(body):
        raise WrongShape(f"values nested more than {_MAX_DEPTH} deep")
    if (b"\\ud" in content or b"\\uD" in content) and _has_lone_surrogate(body):
        # It is not text, and could not be written anywhere.
        raise WrongShape("an unpaired surrogate")
    return body


def _has_lone_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isascii() and LONE_SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(_has_lone_surrogate(text) for item in value.items() for text in item)
    return isinstance(value, list) and any(map(_has_lone_surrogate, value))


def _is_deep(body: dict[str, Any]) -> bool:
    level: list[Any] = [body]
    for _ in range(_MAX_DEPTH):
        level = [
            value
            for container in level
            for value in (container.values() if isinstance(container, dict) else container)
            if isinstance(value, dict | list)
        ]
        if not level:
            return False
    return True


def _parse_integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise WrongShape(f"a number of {len(digits)} digits")
    return int(digits)


def _parse_fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise WrongShape("a number that is too large")
    return number


def _refuse_constant(name: str) -> Never:
    raise WrongShape(f"{name}, which is not JSON")


_DECODER = json.JSONDecoder(
    parse_int=_parse_integer, parse_float=_parse_fraction, parse_constant=_refuse_constant
)


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

_MEANING_WITHOUT_BODY = frozenset({401, 408, 413, 429})
"""The meaning of these statuses does not depend on the body, as a gateway may send them for the
console. A 404 without the documented body is different: it says nothing about a row."""

_REMEDIES: Mapping[int, str] = {
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
"""Remedies for a 403, by documented code. Any other code is quoted and not explained."""

_PAGE_REMEDY = (
    "This is a web page, of a proxy, a login or another service: check base_url and the "
    "proxy settings."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole HTTP answer. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")


def decode_object(
    reply: Reply, operation: object, redact: Callable[[bytes], bytes]
) -> dict[str, Any]:
    """Decode the JSON object of a 2xx answer.

    Raises:
        ApiError: The console answered with an error.
        UnexpectedAnswer: The body is not a JSON object.
    """
    # The document shows the success status of two operations only, so every 2xx means success.
    if not 200 <= reply.status < 300:
        error = _error(reply, operation, redact)
        error.retry_after = retry_after(reply.headers)
        raise error
    try:
        return json_object(reply.content)
    except WrongShape as problem:
        what = str(problem)
    # Raised outside of `except`: a decoding error holds the content, which may echo the key.
    raise unexpected_answer(operation, reply, what, redact)


def _error(reply: Reply, operation: object, redact: Callable[[bytes], bytes]) -> ConsoleError:
    from opsconsole.v1.bodies import ErrorBody  # with the first answer

    status = reply.status
    try:
        answer = ErrorBody.read(json_object(redact(reply.content))).error_answer(status)
    except WrongShape:
        if status not in _MEANING_WITHOUT_BODY and status < 500:
            return unexpected_answer(operation, reply, "no documented error", redact)
        answer = ErrorAnswer(status=status, message=_describe(reply, redact))
    kind = ServerError if status >= 500 else _BY_STATUS.get(status, ApiError)
    remedy = _REMEDIES.get(status) or (_PAGE_REMEDY if _is_page(reply) else "")
    if status == 403:
        remedy = remedy or _REMEDIES_BY_CODE.get(answer.code, "")
    return kind(answer, str(operation), remedy)


def unexpected_answer(
    operation: object, reply: Reply, what: str, redact: Callable[[bytes], bytes]
) -> UnexpectedAnswer:
    """Return the error for a `reply` without the documented shape."""
    remedy = _PAGE_REMEDY if _is_page(reply) else "Check that base_url names the console."
    what = redact(what.encode()).decode()
    return UnexpectedAnswer(
        f"the console answered with {what}: {_describe(reply, redact)}.",
        remedy,
        operation=str(operation),
        status=reply.status,
        had_no_effect=has_no_effect(reply.status, documented=False),
        without_body=200 <= reply.status < 300 and not reply.content,
    )


def _is_page(reply: Reply) -> bool:
    return "html" in reply.content_type or reply.content.lstrip().startswith(b"<")


def _describe(reply: Reply, redact: Callable[[bytes], bytes]) -> str:
    content_type = redact(reply.content_type.encode()).decode() or "none"
    start = beginning(redact(reply.content))
    said = f'beginning with "{start}"' if start else "with an empty body"
    return f"status {reply.status}, content type {content_type}, {said}"


def beginning(content: bytes) -> str:
    """Return the first characters of a body on one line, safe to print to a terminal."""
    text = content[: 4 * _FIRST_CHARACTERS].decode(errors="replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return shorten(line, _FIRST_CHARACTERS)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, or None (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return float(value.lstrip("0")[:9] or 0)
    until = _timestamp(value)
    if until is None:
        return None
    # The clocks of the two machines may differ, so the answer's own Date comes first.
    sent = _timestamp(headers.get("date", ""))
    return max(0.0, until - (time.time() if sent is None else sent))


def _timestamp(value: str) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
        # HTTP dates are UTC; the older form names no zone (RFC 9110, 5.6.7).
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


_SAME_METHOD = frozenset({307, 308})
_REDIRECTS = frozenset({301, 302, 303, *_SAME_METHOD})


def next_url(operation: Operation, url: str, reply: Reply, redact: Callable[[bytes], bytes]) -> str:
    """Return the target of a redirect (the document shows none).

    Raises:
        UnexpectedAnswer: It is another origin, which would get the key, or must not be followed.
    """
    # 307 and 308 keep method and body, and the request was not carried out. After the others this
    # is uncertain for any method but GET.
    followed = _REDIRECTS if operation.method == "GET" else _SAME_METHOD
    target = _target(url, reply.headers.get("location", ""))
    origin = "" if target is None else _origin(target)
    address = "" if target is None else redact(f"{origin}{target.path}".encode()).decode()
    if target is None or reply.status not in _REDIRECTS:
        where, remedy = "without a usable address", "Check base_url."
    elif origin != _origin(urlsplit(url)):
        where = f"to another origin, {address}"
        remedy = (
            "It was not followed, as it would be given the API key. "
            "If the console lives there, set base_url to it."
        )
    elif reply.status not in followed:
        where = f"to {address}"
        remedy = "Only reads follow it. Check base_url: its path, and http or https."
    else:
        return target._replace(fragment="").geturl()
    raise UnexpectedAnswer(
        f"the console redirects (status {reply.status}) {where}.",
        remedy,
        operation=str(operation),
        status=reply.status,
        had_no_effect=has_no_effect(reply.status, documented=False),
    )


def _target(url: str, location: str) -> SplitResult | None:
    if not location or not location.isprintable():
        return None
    try:
        target = urlsplit(urljoin(url, location))
        usable = target.scheme in ("http", "https") and bool(target.hostname)
        usable = usable and target.username is None and target.port != 0
    except ValueError:
        return None
    return target if usable else None


def _origin(parts: SplitResult) -> str:
    host = parts.hostname or ""
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
