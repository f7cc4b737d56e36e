"""HTTP itself: aiohttp's connections to one console, and the translation of their errors.

By itself, aiohttp follows redirects, keeps cookies, decompresses without a bound, and repeats GET
and DELETE unseen; none of this happens here. The import takes a tenth of a second, so it waits for
the first call.
"""

from __future__ import annotations

import socket
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

import aiohttp

from opsconsole.errors import AnswerLost, ConsoleError, NotSent, UnexpectedAnswer
from opsconsole.v1.answers import Reply
from opsconsole.v1.limiter import LargeAnswerSlot, NotReachable
from opsconsole.v1.settings import Settings

_KEPT_IDLE = 1.5
"""Seconds that an idle connection is kept, fewer than on any common server. A create sent into a
closing connection has an unknown outcome."""

_LONGEST_CONNECT = 10.0

_SENT_AT_ONCE = 2**18
"""Bytes. aiohttp warns of more than 1 MiB: other calls would wait while it is written."""

_LARGE = 2**20
"""Bytes. Larger answers are read one at a time, so that many of them do not fill the memory."""

_ANY_WRAPPING = 32 + zlib.MAX_WBITS
_NO_WRAPPING = -zlib.MAX_WBITS


class TooLong(Exception):
    """A body has more bytes than allowed."""


class WrongCoding(Exception):
    """The compression of a body differs from its header, or was not asked for."""


class Transport:
    """Sends single requests to one console."""

    def __init__(
        self, settings: Settings, tls: ssl.SSLContext | bool, headers: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._origin = settings.base_url
        self._most_bytes = settings.max_response_bytes
        self._session = open_session(settings, tls, headers, self._translate)

    async def send(
        self, method: str, url: str, content_type: str, content: bytes | None, slot: LargeAnswerSlot
    ) -> Reply:
        """Send one request and return its whole answer; no time limit.

        `slot` is taken if the answer is large.

        Raises:
            NotSent: Nothing left this machine.
            AnswerLost: It was sent, but no whole answer came.
            UnexpectedAnswer: The answer is not HTTP, or too long.
        """
        headers = {}
        data: bytes | AsyncIterator[bytes] | None = content
        if content is not None:
            headers["Content-Type"] = content_type
            if len(content) > _SENT_AT_ONCE:
                # Without it aiohttp would send the pieces in chunked coding.
                headers["Content-Length"] = str(len(content))
                data = _pieces(content)
        # Errors are raised outside of `except`: a lower library's error holds the request, and
        # the request holds the key.
        failure: ConsoleError
        status = None
        try:
            async with self._session.request(
                method, url, headers=headers, data=data, allow_redirects=False
            ) as response:
                status = response.status
                return await self._read(response, slot)
        except WrongCoding:
            failure = UnexpectedAnswer(
                f"An answer of {self._origin} is wrongly compressed.", status=status
            )
        except TooLong:
            failure = UnexpectedAnswer(
                f"An answer of {self._origin} is longer than {self._most_bytes} bytes.",
                "Raise max_response_bytes if such an answer is right, or have lists answered in "
                "pages.",
                status=status,
            )
        except (aiohttp.ClientError, OSError) as problem:
            failure = AnswerLost(f"The answer of {self._origin} broke off ({_kind_of(problem)}).")
        raise failure

    async def _read(self, response: aiohttp.ClientResponse, slot: LargeAnswerSlot) -> Reply:
        headers = {
            name.decode("latin-1").lower(): value.decode(errors="replace")
            for name, value in response.raw_headers
        }
        coding = headers.get("content-encoding", "")
        pieces = response.content.iter_any()
        return Reply(
            response.status, headers, await whole_body(pieces, coding, self._most_bytes, slot)
        )

    async def _translate(
        self,
        request: aiohttp.ClientRequest,
        handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]],
    ) -> aiohttp.ClientResponse:
        """Send a request and translate aiohttp's errors (a client middleware)."""
        failure: ConsoleError
        try:
            # aiohttp would repeat some requests by itself if it saw its own errors.
            return await handler(request)
        except aiohttp.ClientConnectorError as problem:
            failure = self._not_connected(problem)
        except aiohttp.ConnectionTimeoutError:
            failure = NotSent(
                f"No connection to {self._origin} could be made in time.",
                "Check base_url, the network and the proxy settings.",
            )
        except aiohttp.ClientHttpProxyError as problem:
            failure = NotReachable(
                f"The proxy refused to connect to {self._origin} with status {problem.status}.",
                "Check the proxy's address and credentials in the environment, and NO_PROXY.",
            )
        except aiohttp.ClientResponseError as problem:
            failure = UnexpectedAnswer(
                f"What answers at {self._origin} does not speak HTTP ({_kind_of(problem)}).",
                "Check the scheme and the port of base_url.",
            )
        except (aiohttp.ClientError, OSError) as problem:
            failure = AnswerLost(
                f"{self._origin} closed the connection without an answer ({_kind_of(problem)})."
            )
        raise failure

    def _not_connected(self, problem: aiohttp.ClientConnectorError) -> NotSent:
        why = _kind_of(problem.os_error)
        if isinstance(problem, aiohttp.ClientProxyConnectionError):
            return NotSent(
                f"The proxy {problem.host}:{problem.port} cannot be reached: {why}.",
                "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment.",
            )
        if isinstance(problem, aiohttp.ClientConnectorDNSError):
            # A name service that gave no answer may give one later; an unknown name stays unknown.
            kind = NotSent if problem.os_error.errno == socket.EAI_AGAIN else NotReachable
            if self._settings.proxy is not None:
                # Only the proxy's name is looked up here.
                return kind(
                    f'The host name "{problem.host}" of the proxy is unknown: {why}.',
                    "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY in the environment.",
                )
            return kind(
                f'The host name "{problem.host}" of base_url is unknown: {why}.',
                "Check base_url for a typing error, and this machine's name service.",
            )
        if isinstance(problem, aiohttp.ClientSSLError | ssl.SSLError):
            return _not_trusted(self._origin, problem)
        return NotSent(
            f"{self._origin} cannot be reached: {why}.",
            "Is the console running there? Check host and port of base_url.",
        )

    async def aclose(self) -> None:
        await self._session.close()


def open_session(
    settings: Settings,
    tls: ssl.SSLContext | bool,
    headers: Mapping[str, str],
    middleware: aiohttp.ClientMiddlewareType,
) -> aiohttp.ClientSession:
    """Return a session that connects when a request needs it."""
    connect = min(_LONGEST_CONNECT, settings.request_timeout / 2)
    return aiohttp.ClientSession(
        # The caller bounds the requests in flight: a second queue here would only use up time.
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_IDLE, ssl=tls),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=headers,
        skip_auto_headers=("User-Agent", "Content-Type"),
        # The caller bounds the time of a whole request, which goes on when it is over.
        timeout=aiohttp.ClientTimeout(total=None, connect=connect, sock_connect=connect),
        auto_decompress=False,
        proxy=settings.proxy,
        middlewares=(middleware,),
    )


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _SENT_AT_ONCE):
        yield content[start : start + _SENT_AT_ONCE]


async def whole_body(
    pieces: AsyncIterable[bytes], coding: str, most: int, slot: LargeAnswerSlot
) -> bytes:
    """Return a body, decompressed; once its caller has gone, keep no part of it.

    Args:
        most: How many bytes are allowed, as sent and after decompression.
        slot: Taken once the body is large; the caller ends it after decoding.

    Raises:
        TooLong: It has more than `most` bytes.
        WrongCoding: It cannot be decompressed.
    """
    expand = _expander(coding)
    # One block grows, as the memory of many small blocks is not returned to the system at once.
    body = bytearray()
    sent = size = 0
    async for piece in pieces:
        sent += len(piece)
        for part in (piece,) if expand is None else expand(piece):
            size += len(part)
            if max(size, sent) > most:
                raise TooLong
            if size > _LARGE and slot.wanted:
                await slot.take()
            if slot.wanted:
                body += part
    return bytes(body)


def _expander(coding: str) -> Callable[[bytes], Iterator[bytes]] | None:
    """Return a function that decompresses one piece, or None if nothing is compressed."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise WrongCoding
    begun = False
    expanding = zlib.decompressobj(_ANY_WRAPPING)

    def expand(piece: bytes) -> Iterator[bytes]:
        nonlocal begun, expanding
        part = b""
        # More may follow a full part, even if the whole piece was consumed.
        while piece or len(part) == _LARGE:
            try:
                part = expanding.decompress(piece, _LARGE)
            except zlib.error:
                # Some servers send raw deflate data, without the zlib wrapping that the name means.
                if begun or coding != "deflate":
                    raise WrongCoding from None
                expanding, begun = zlib.decompressobj(_NO_WRAPPING), True
                continue
            begun = True
            piece = expanding.unconsumed_tail
            yield part

    return expand


def _not_trusted(origin: str, problem: aiohttp.ClientConnectorError) -> NotSent:
    reason: Any = getattr(problem, "certificate_error", problem.os_error)
    why = getattr(reason, "verify_message", "") or getattr(reason, "reason", "") or _kind_of(reason)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return NotReachable(
            f"The certificate of {origin} is not trusted: {why}.",
            "Set ca_file to the PEM file of the authority that issued it.",
        )
    return NotReachable(
        f"No TLS connection to {origin} can be made: {why}.",
        "Check that base_url names a port that speaks https.",
    )


def _kind_of(problem: BaseException) -> str:
    # The text of an error may hold credentials.
    return getattr(problem, "strerror", None) or type(problem).__name__
