"""Which redirects are followed: those within the console's own origin that keep the method."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import SplitResult, urljoin, urlsplit

from opsconsole.errors import UnexpectedAnswer
from opsconsole.v1.exchange import Operation, Reply

MOST_HOPS = 5

_SAME_METHOD = frozenset({307, 308})
_AS_GET = frozenset({301, 302, 303, *_SAME_METHOD})
_NOT_DONE = frozenset({301, *_SAME_METHOD})
"""These say that what was asked for is done elsewhere, so it was not done yet (RFC 9110, 15.4)."""


def next_url(operation: Operation, url: str, reply: Reply, redact: Callable[[bytes], bytes]) -> str:
    """Return where a redirect leads.

    307 and 308 keep method and body and are followed for every call, creates included, as the
    request was not carried out. 301, 302 and 303 are followed for GET only: for other methods it
    is open whether the request was carried out. The document shows no redirects at all.

    Raises:
        UnexpectedAnswer: it leads to another origin, which would get the key, or must not be
            followed.
    """
    followed = _AS_GET if operation.method == "GET" else _SAME_METHOD
    location = reply.headers.get("location", "")
    target = _target(url, location)
    if target is None or reply.status not in _AS_GET:
        raise _refusal(operation, reply, "without a usable address", "Check base_url.")
    address = redact(f"{_origin(target)}{target.path}".encode()).decode()
    if _origin(target) != _origin(urlsplit(url)):
        raise _refusal(
            operation,
            reply,
            f"to another origin, {address}",
            "It was not followed, as it would be given the API key. "
            "If the console lives there, set base_url to it.",
        )
    if reply.status not in followed:
        raise _refusal(
            operation,
            reply,
            f"to {address}",
            "Only reads follow it. Check base_url: its path, and http or https.",
        )
    return target._replace(fragment="").geturl()


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
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _refusal(operation: Operation, reply: Reply, where: str, remedy: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"the console redirects (status {reply.status}) {where}.",
        remedy,
        operation=str(operation),
        status=reply.status,
        safe_to_repeat=reply.status in _NOT_DONE,
    )
