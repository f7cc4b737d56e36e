"""The core of every call: authentication, requests in flight, retries, redirects, counting.

What is called, and what answers must hold, is `console`'s; bytes on the wire are `transport`'s.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlencode

import opsconsole
from opsconsole.errors import ConsoleError, Stopped, Unauthorized, UserError
from opsconsole.v1.answers import Reply, decoded, unexpected
from opsconsole.v1.auth import Redaction, authorization
from opsconsole.v1.operations import Operation
from opsconsole.v1.redirects import MOST_HOPS, next_url
from opsconsole.v1.retry import NotReachable, Retry, retry_after
from opsconsole.v1.settings import Settings
from opsconsole.v1.shapes import WrongShape
from opsconsole.v1.standing import Standing
from opsconsole.v1.tls import tls_context

if TYPE_CHECKING:
    from opsconsole.v1.transport import Transport

Shaped = TypeVar("Shaped")

_log = logging.getLogger(__name__)


class Client:
    """Makes calls to one console. One event loop uses it; close it there.

    Attributes:
        calls: Requests sent, by the operation's name; retries and redirects count.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        read_only: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make no connection yet.

        Args:
            settings: Where the console is, and how to call it.
            read_only: Let nothing but GET leave this process, whoever asks for it.
            sleep: Waits some seconds.
            clock: Seconds since some fixed moment.

        Raises:
            ConfigurationError: `ca_file` cannot be used.
        """
        self.calls: Counter[str] = Counter()
        self._settings = settings
        self._read_only = read_only
        self._sleep = sleep
        self._clock = clock
        self._standing = Standing(Retry(settings.max_retries), self._pause, clock)
        self._tls = tls_context(settings)
        self._redact = Redaction(settings)
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": f"opsconsole/{opsconsole.__version__}",
            **authorization(settings),
        }
        self._transport: Transport | None = None
        self._ended = False
        self._stopped = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None

    def stop(self) -> None:
        """Begin no further request; those in flight are finished.

        A call that waits for its turn or for its next try ends at once.
        """
        self._stopped.set()

    async def end(self) -> None:
        """Close every connection, and let no call begin or be tried again."""
        self._ended = True
        await self.aclose()

    async def call(
        self,
        operation: Operation,
        ids: Sequence[str] = (),
        *,
        shape: Callable[[dict[str, Any]], Shaped],
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        csv: str | None = None,
        repeatable: bool | None = None,
    ) -> Shaped:
        """Make one call and return what `shape` makes of the JSON object in the answer.

        Args:
            operation: What to call.
            ids: The ids that its path holds, in order.
            shape: Checks the answer, and raises `WrongShape` if it is not as documented.
            query: Query parameters.
            body: The JSON body.
            csv: The body as CSV text, instead of `body`.
            repeatable: Whether a second call does no harm, where it is other than the operation's.

        Raises:
            ApiError: the console answered with an error (Errors).
            NotSent: nothing was sent, retries included.
            Stopped: the client was stopped before the call had an effect.
            AnswerLost: no whole answer came, retries included.
            UnexpectedAnswer: the answer is no JSON object, or of another shape.
            UserError: an id cannot stand in a path, a text is not valid Unicode, or the run is read
                only and the operation is no GET.
        """
        url = self._settings.base_url + operation.path_of(ids)
        try:
            if query:
                url += "?" + urlencode(query)
            headers, content = self._encoded(body, csv)
        except UnicodeEncodeError as problem:
            raise UserError(
                f"{operation} cannot be called: {problem.object[problem.start : problem.end]!a} "
                "is half a character.",
                "Correct the text in the configuration.",
            ) from problem
        safe = operation.repeatable if repeatable is None else repeatable
        tried = 0
        while True:
            reply: Reply | None = None
            try:
                reply = await self._exchange(operation, url, headers, content)
                return self._shaped(operation, reply, shape)
            except Unauthorized as problem:
                self._standing.refused(problem)
                raise
            except ConsoleError as problem:
                tried += 1
                asked = None if reply is None else retry_after(reply.headers)
                delay = self._standing.next_delay(problem, tried, repeatable=safe, asked=asked)
                if delay is None:
                    raise
                _log.debug("%s: try %d failed, next in %.2f s", operation, tried, delay)
                failed = problem
            await self._pause(delay)
            if self._stopped.is_set() and not failed.safe_to_repeat:
                # It was sent, and whether it had an effect is not known.
                raise failed

    def _shaped(
        self, operation: Operation, reply: Reply, shape: Callable[[dict[str, Any]], Shaped]
    ) -> Shaped:
        answer = decoded(reply, operation, self._redact)
        try:
            return shape(answer)
        except WrongShape as problem:
            what = str(problem)
        # Raised outside of `except`: what is wrong may quote an answer that echoes the key.
        raise unexpected(operation, reply, what, self._redact)

    def _encoded(
        self, body: Mapping[str, Any] | None, csv: str | None
    ) -> tuple[dict[str, str], bytes | None]:
        if csv is not None:
            return self._headers | {"Content-Type": "text/csv"}, csv.encode()
        if body is None:
            return self._headers, None
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return self._headers | {"Content-Type": "application/json"}, content.encode()

    async def _exchange(
        self, operation: Operation, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> Reply:
        """Send one request, once its turn has come, and follow its redirects."""
        self._check_stopped(operation)
        async with self._slots:
            # Callers already queued do not know that the console has asked for a pause since.
            await self._standing.quiet()
            for _ in range(MOST_HOPS):
                self._check_stopped(operation)
                self._standing.check(operation)
                reply = await self._send(operation, url, headers, content)
                if not 300 <= reply.status < 400:
                    return reply
                url = next_url(operation, url, reply, self._redact)
            raise unexpected(operation, reply, f"{MOST_HOPS} redirects in a row", self._redact)

    def _check_stopped(self, operation: Operation) -> None:
        if self._stopped.is_set():
            raise Stopped(f"{operation} was not sent: the run was told to stop.")

    async def _pause(self, seconds: float) -> None:
        """Wait some seconds, or until the client is stopped."""
        waits = [
            asyncio.ensure_future(self._sleep(seconds)),
            asyncio.ensure_future(self._stopped.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _send(
        self, operation: Operation, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> Reply:
        if self._read_only and operation.method != "GET":
            raise UserError(
                f"{operation} was not sent: this run is read only.",
                "Only GET leaves this process. Leave out --read-only to allow others.",
            )
        if self._ended:
            raise NotReachable(f"{operation} was not sent: the run has ended.")
        self.calls[operation.name] += 1
        started = self._clock()
        reply = await self._opened().send(operation.method, url, headers, content)
        self._standing.answered()
        if _log.isEnabledFor(logging.DEBUG):
            spent = 1000 * (self._clock() - started)
            _log.debug("%s: status %d after %.0f ms", operation, reply.status, spent)
        return reply

    def _opened(self) -> Transport:
        if self._transport is None:
            load_transport()
            from opsconsole.v1.transport import Transport

            self._transport = Transport(self._settings, self._tls)
        return self._transport


def load_transport() -> None:
    """Import the HTTP libraries, which the first call would else do: it takes a tenth of a second.

    They are not imported above, because a provider's handshake must not wait for them. Another
    thread may do it while the first call is still to come.
    """
    # httpx imports its own command line, with rich and click, where those are installed: a fifth of
    # the time. With None in its place it does without, as where they are not.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None: not to be found
    import opsconsole.v1.transport  # noqa: F401  # loading it is all that is wanted
