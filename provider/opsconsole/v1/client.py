"""Makes calls: authentication, requests in flight, retries, redirects, counting."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from opsconsole import __version__
from opsconsole.errors import (
    ConfigurationError,
    ConsoleError,
    Stopped,
    TooManyRequests,
    Unauthorized,
    UserError,
)
from opsconsole.redaction import Redaction
from opsconsole.v1.answers import (
    Reply,
    WrongShape,
    decode_object,
    next_url,
    retry_after,
    unexpected_answer,
)
from opsconsole.v1.limiter import (
    COOL_DOWN,
    LONGEST_OBEYED,
    CircuitBreaker,
    HeldBack,
    LargeAnswerSlot,
    Limiter,
    NotReachable,
    OutOfTime,
    shared_limiter,
)
from opsconsole.v1.operations import Operation
from opsconsole.v1.settings import Settings

if TYPE_CHECKING:
    import ssl

    from opsconsole.v1.transport import Transport

Shaped = TypeVar("Shaped")

_log = logging.getLogger(__name__)

_MAX_REDIRECTS = 5


class _Request(NamedTuple):
    operation: Operation
    url: str
    content_type: str
    content: bytes | None
    slot: LargeAnswerSlot


class Client:
    """Makes calls to one console. One event loop uses it; close it there.

    Attributes:
        calls: Requests sent, by the operation's name; retries and redirects count.
    """

    def __init__(
        self, settings: Settings, *, get_only: bool = False, limiter: Limiter | None = None
    ) -> None:
        """Make no connection yet.

        Args:
            get_only: Send nothing but GET.
            limiter: Says when a request may be sent. By default it is the one that all clients
                of this console share.

        Raises:
            ConfigurationError: `ca_file` cannot be used.
        """
        self.calls: Counter[str] = Counter()
        self._settings = settings
        self._get_only = get_only
        self._limiter = limiter
        self._breaker = CircuitBreaker(
            settings.max_retries, settings.request_timeout, lambda: self._shared_limiter().clock()
        )
        self._tls = tls_context(settings)
        secrets = Redaction()
        secrets.learn(settings.api_key)
        secrets.learn(settings.session_cookie)
        self._redact = secrets.hide_echoes
        self._transport: Transport | None = None
        self._ended = False
        self._stopped = asyncio.Event()

    @property
    def waiting(self) -> HeldBack:
        """The callers of all clients of this console that are held back, and for how long."""
        return HeldBack(0, 0.0) if self._limiter is None else self._limiter.waiting

    async def aclose(self) -> None:
        """Close all connections, abandoned requests included; every call that waits fails."""
        self._ended = True
        if self._transport is not None:
            await self._transport.aclose()
        self._wake()

    def stop(self) -> None:
        """Send nothing more: calls that wait raise Stopped, requests in flight are finished."""
        self._stopped.set()
        self._wake()

    async def call(
        self,
        operation: Operation,
        ids: Sequence[str] = (),
        *,
        shape: Callable[[dict[str, Any]], Shaped],
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        csv: str | None = None,
        idempotent: bool | None = None,
    ) -> Shaped:
        """Make one call and return what `shape` makes of the JSON object in the answer.

        Args:
            ids: The ids in the operation's path, in order.
            shape: Checks the answer, and raises `WrongShape` if it is not as documented.
            csv: The body as CSV text, instead of the JSON `body`.
            idempotent: Whether a second call does no harm; by default as the operation says.

        Raises:
            ApiError: The console answered with an error (Errors).
            NotSent: Nothing was sent, in no try.
            Stopped: The client was stopped before the call had an effect.
            AnswerLost: No whole answer came, in no try.
            UnexpectedAnswer: The answer is not a JSON object, or of another shape.
            UserError: An id cannot be part of a path, a text is not Unicode, or the run is read
                only and the operation is not a GET.
        """
        url = self._settings.base_url + operation.path_of(ids)
        try:
            if query:
                url += "?" + urlencode(query)
            content_type, content = _encode_body(body, csv)
        except UnicodeEncodeError as problem:
            raise _surrogate_error(operation, problem) from problem
        if idempotent is None:
            idempotent = operation.idempotent
        tried = 0
        unknown_outcome: ConsoleError | None = None
        while True:
            slot = LargeAnswerSlot(self._shared_limiter().large_answers)
            try:
                request = _Request(operation, url, content_type, content, slot)
                # Not assigned to a variable, which would keep a large answer in memory.
                return self.check_shape(operation, await self._follow_redirects(request), shape)
            except ConsoleError as problem:
                # The traceback would keep the answer too.
                failed = problem.with_traceback(None)
            finally:
                slot.end()
            if unknown_outcome is not None:
                # A stop of this try does not show the effect of an earlier try.
                if isinstance(failed, Stopped):
                    raise unknown_outcome
                # A refusal of this try does not undo the effect of an earlier try.
                failed.had_no_effect = False
            if not failed.had_no_effect:
                unknown_outcome = failed
            if isinstance(failed, Unauthorized):
                raise failed
            if not isinstance(failed, TooManyRequests):
                tried += 1
                await self._wait_to_repeat(operation, failed, tried, idempotent=idempotent)
            elif failed.already_reported:
                raise failed
            elif reason := self._reason_not_to_wait(failed):
                self._refuse_further_calls(failed, reason)
                raise failed

    async def send_unchecked(self, operation: Operation) -> Reply:
        """Send a request once; return the answer, also of an error, without known secrets."""
        slot = LargeAnswerSlot(self._shared_limiter().large_answers)
        try:
            url = self._settings.base_url + operation.path
            reply = await self._follow_redirects(_Request(operation, url, "", None, slot))
            headers = {
                name: self._redact(value.encode()).decode() for name, value in reply.headers.items()
            }
            return replace(reply, headers=headers, content=self._redact(reply.content))
        finally:
            slot.end()

    async def _wait_to_repeat(
        self, operation: Operation, failed: ConsoleError, tried: int, *, idempotent: bool
    ) -> None:
        """Wait until the next try of a call, or raise its failure if there is none."""
        delay = self._breaker.next_delay(failed, tried, idempotent=idempotent)
        asked = failed.retry_after or 0.0
        if delay is not None and asked > LONGEST_OBEYED:
            failed.remedy = f"The console asks to wait {asked:.0f} seconds, which is too long."
            delay = None
        if delay is None:
            self._wake()
            raise failed
        # The limiter learns only some statuses; a call that is asked to wait waits that long.
        delay = max(delay, asked)
        _log.debug("%s: try %d failed, next in %.2f s", operation, tried, delay)
        await self._pause(delay)

    def _reason_not_to_wait(self, problem: TooManyRequests) -> str:
        """Return why a call does not wait again after a 429; empty if it waits."""
        asked, patience = problem.retry_after or 0.0, self._settings.rate_limit_patience
        refused_for = self._shared_limiter().refused_for
        if asked > patience:
            return f"The console asks to wait {asked:.0f} seconds"
        if refused_for >= patience:
            return f"The console has answered nothing else for {refused_for:.0f} seconds"
        return ""

    def _refuse_further_calls(self, problem: TooManyRequests, reason: str) -> None:
        patience = self._settings.rate_limit_patience
        problem.remedy = (
            f"{reason}, and rate_limit_patience is {patience:g}. Run it again later, or raise "
            "rate_limit_patience."
        )
        self._breaker.note_refused(problem, max(problem.retry_after or 0.0, COOL_DOWN))
        self._wake()

    def check_shape(
        self, operation: Operation, reply: Reply, shape: Callable[[dict[str, Any]], Shaped]
    ) -> Shaped:
        """Return what `shape` makes of the JSON object in an answer.

        Raises:
            Unauthorized: It is a 401; no further call is made.
            ApiError: It is another error (Errors).
            UnexpectedAnswer: It is not a JSON object, or of another shape.
        """
        try:
            answer = decode_object(reply, operation, self._redact)
        except Unauthorized as problem:
            problem.remedy = self._settings.credentials_remedy
            self._breaker.note_refused(problem, math.inf)
            self._wake()
            raise
        try:
            return shape(answer)
        except WrongShape as problem:
            reason = str(problem)
        # Raised outside of `except`: the reason may quote an answer that echoes the key.
        raise unexpected_answer(operation, reply, reason, self._redact)

    async def _follow_redirects(self, request: _Request) -> Reply:
        for _ in range(_MAX_REDIRECTS):
            reply = await self._send_once(request)
            if not 300 <= reply.status < 400:
                return reply
            url = next_url(request.operation, request.url, reply, self._redact)
            request = request._replace(url=url)
        problem = f"{_MAX_REDIRECTS} redirects in a row"
        raise unexpected_answer(request.operation, reply, problem, self._redact)

    async def _send_once(self, request: _Request) -> Reply:
        """Send a request once the limiter admits it, and return its answer."""
        operation = request.operation
        settings, limiter = self._settings, self._shared_limiter()
        limit = settings.request_timeout
        # Loading the HTTP libraries takes time that must not count as the console's.
        transport = self._open_transport()
        task: asyncio.Task[Reply] | None = None
        sent = None
        while sent is None:
            self._refuse_if_blocked(operation)
            sent = await limiter.take(
                self, settings.max_concurrency, settings.max_requests_per_second
            )
        try:
            # While the call waited for its turn, the run may have been stopped, or the console have
            # refused every call.
            self._refuse_if_blocked(operation)
            self.calls[operation.name] += 1
            task = asyncio.create_task(transport.send(operation.method, *request[1:]))
            # `wait_for` would cancel the request, which the console may be carrying out.
            await asyncio.wait((task,), timeout=limit)
            if not task.done():
                raise OutOfTime(
                    f"No answer of {settings.base_url} within {limit:g} seconds.",
                    "Raise request_timeout if the console is known to be slow.",
                )
            reply = task.result()
            self._breaker.note_answer()
            self._report_to_limiter(operation, reply, sent)
            return reply
        finally:
            if task is None or task.done():
                limiter.give_back()
            else:
                self._abandon(task)

    def _report_to_limiter(self, operation: Operation, reply: Reply, sent: float) -> None:
        """Tell the limiter the console's load, as an answer shows it."""
        limiter = self._shared_limiter()
        if _log.isEnabledFor(logging.DEBUG):
            spent = 1000 * (limiter.clock() - sent)
            _log.debug("%s: status %d after %.0f ms", operation, reply.status, spent)
        asked = retry_after(reply.headers)
        if reply.status == 429:
            is_obeyed = asked is not None and asked <= self._settings.rate_limit_patience
            limiter.note_refused(sent, asked if is_obeyed else None)
        elif reply.status not in (503, 504):
            limiter.note_accepted(sent)
        elif asked is not None and asked <= LONGEST_OBEYED:
            limiter.slow_down(sent, asked)

    def _abandon(self, request: asyncio.Task[Reply]) -> None:
        """Let a request end, in flight until then; cut it after a further request timeout."""
        limiter = self._shared_limiter()
        asyncio.get_running_loop().call_later(self._settings.request_timeout, request.cancel)

        def end(request: asyncio.Task[Reply]) -> None:
            limiter.give_back()
            if not request.cancelled() and request.exception() is None:
                self._breaker.note_answer()

        # The console may still be busy with the request, so its place is given back only at its
        # end.
        request.add_done_callback(end)

    def may_send(self, operation: Operation) -> bool:
        """Return whether the client may send an operation; one that only reads sends only GET."""
        return operation.method == "GET" or not self._get_only

    def _refuse_if_blocked(self, operation: Operation) -> None:
        """Raise if a call must not be made, or would only fail."""
        if not self.may_send(operation):
            raise UserError(
                f"{operation} was not sent: this run is read only.",
                "Only GET leaves this process. Leave out --read-only to allow others.",
            )
        if self._stopped.is_set():
            raise Stopped(f"{operation} was not sent: the run was told to stop.")
        if self._ended:
            raise NotReachable(f"{operation} was not sent: the run has ended.")
        self._breaker.check(operation)

    def _wake(self) -> None:
        if self._limiter is not None:
            self._limiter.wake(self)

    async def _pause(self, seconds: float) -> None:
        waits = [
            asyncio.ensure_future(self._shared_limiter().sleep(seconds)),
            asyncio.ensure_future(self._stopped.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _shared_limiter(self) -> Limiter:
        if self._limiter is None:
            self._limiter = shared_limiter(self._settings.base_url)
        return self._limiter

    def _open_transport(self) -> Transport:
        if self._transport is None:
            # The import takes a tenth of a second, and a provider's handshake must not wait for it.
            from opsconsole.v1.transport import Transport

            headers = {
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",
                "User-Agent": f"opsconsole/{__version__}",
                **self._settings.authorization(),
            }
            self._transport = Transport(self._settings, self._tls, headers)
        return self._transport


# Characters stay unescaped, so that `str.encode` refuses half a character. Escaped, it would be
# sent. `json.dumps` would make an encoder for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _encode_body(body: Mapping[str, Any] | None, csv: str | None) -> tuple[str, bytes | None]:
    if csv is not None:
        return "text/csv", csv.encode()
    if body is None:
        return "", None
    return "application/json", _encode(body).encode()


def _surrogate_error(operation: Operation, problem: UnicodeEncodeError) -> UserError:
    found = problem.object[problem.start : problem.end]
    return UserError(
        f"{operation} cannot be called: {found!a} is an unpaired surrogate (half a character).",
        "Write the whole character, or leave it out.",
    )


def tls_context(settings: Settings) -> ssl.SSLContext | bool:
    """Return the TLS context that verifies the console.

    It trusts the roots of the system (SSL_CERT_FILE and SSL_CERT_DIR are obeyed) and of certifi,
    or `ca_file` alone. Without an https address it is True, the library's default, which nothing
    uses: a redirect never leads to another scheme.

    Raises:
        ConfigurationError: `ca_file` cannot be read, or holds no certificate.
    """
    uses_tls = any(
        address.startswith("https:") for address in (settings.base_url, settings.proxy or "")
    )
    if not uses_tls and settings.ca_file is None:
        # A context takes time to make.
        return True
    import ssl

    # It accepts nothing older than TLS 1.2.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.insecure_skip_verify:
        # In this order: Python refuses CERT_NONE while host names are checked.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.ca_file is not None:
        # An ssl.SSLError is an OSError, too: a file without a certificate.
        try:
            context.load_verify_locations(cafile=settings.ca_file)
        except ssl.SSLError:
            reason = "it holds no certificate in PEM form"
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
        else:
            return context
        raise ConfigurationError(
            f'ca_file "{settings.ca_file}" cannot be used: {reason}.',
            "Give the path of a PEM file with the certificate authorities to trust.",
            "ca_file",
        )
    if not settings.insecure_skip_verify:
        import certifi

        context.load_default_certs()
        context.load_verify_locations(cafile=certifi.where())
    return context
