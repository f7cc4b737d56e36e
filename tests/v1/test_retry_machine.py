"""One call under any sequence of answers, judged by the table of retries; time is virtual."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from opsconsole.errors import AnswerLost, ApiError, NotSent, Stopped, UnexpectedAnswer
from opsconsole.v1.limiter import LONGEST_OBEYED
from opsconsole.v1.operations import Operation

TIMEOUT, PATIENCE, LONGEST = 30, 60, int(LONGEST_OBEYED)
MOST_TURNS = 20_000
"""Turns of the loop, within which every call ends: no answer takes time."""

REFUSED, NO_HTTP = "refused", "no HTTP"
LOST = ("cut unanswered", "cut head", "cut body", "cut chunked body", "reset", "held")
"""What leaves a request without an answer: the console may have carried it out."""
PASSING = (408, 425, 502, 503, 504)
LASTING = (400, 401, 403, 404, 409, 413, 418, 422, 499, 500, 501, 505)
UNKNOWN = {*LOST, NO_HTTP, 408, 418, 499, 500, 501, 502, 503, 504, 505}
"""After these the request may have had an effect."""
TELLING_NOTHING = {REFUSED, NO_HTTP, *LOST, 503, 504}
"""After these a console that refuses by 429 has still answered nothing else."""


@dataclass(frozen=True)
class Event:
    """What becomes of one request.

    `stop` is when the client is stopped: while the request is in flight, or in the wait after it.
    """

    kind: str | int
    retry_after: int | None = None
    stop: str = ""

    @property
    def asked(self) -> int:
        return 0 if self.retry_after is None or isinstance(self.kind, str) else self.retry_after


@dataclass
class Run:
    """What was seen of one call: seconds slept before each request, and when each was answered."""

    slept: Counter[int] = field(default_factory=Counter)
    ended: list[float] = field(default_factory=list)


def judge(events, run, *, idempotent, retries):
    """Return the requests sent, the event that is the outcome, and whether an effect is possible.

    The event is None where the outcome is that nothing was begun because of the stop.
    """
    failures, unknown, refused_since = 0, False, None
    for number, event in enumerate(events):
        if event.kind == 200:
            return number + 1, event, unknown
        unknown |= event.kind in UNKNOWN
        if event.kind == 429:
            refused_since = run.ended[number] if refused_since is None else refused_since
            refused_for = run.ended[number] - refused_since
            again = event.asked <= PATIENCE and refused_for < PATIENCE
        else:
            if event.kind not in TELLING_NOTHING:
                refused_since = None
            failures += 1
            again = event.kind in (REFUSED, *LOST, *PASSING) and failures <= retries
            again &= event.asked <= LONGEST and (idempotent or event.kind not in UNKNOWN)
        if not again:
            return number + 1, event, unknown
        if event.stop:
            return number + 1, event if unknown else None, unknown
        slept, backoff = run.slept[number + 1], min(8, 0.25 * 2 ** (failures - 1))
        # Times are sums of floats.
        assert slept >= event.asked - 1e-6
        if event.kind != 429:
            assert slept >= backoff / 2
        if not any(
            earlier.kind == 429 or earlier.retry_after is not None
            for earlier in events[: number + 1]
        ):
            assert slept <= backoff
    raise AssertionError("the last answer ends the call")


def is_answer(outcome, event, number):
    """Return whether the outcome of a call is what this event says."""
    if event is None:
        return type(outcome) is Stopped
    if event.kind == 200:
        return outcome == {"id": str(number)}
    if isinstance(event.kind, int):
        problem = outcome.answer if isinstance(outcome, ApiError) else None
        return problem and (problem.status, problem.request_id) == (event.kind, str(number))
    kinds = {REFUSED: NotSent, NO_HTTP: UnexpectedAnswer}
    return isinstance(outcome, kinds.get(event.kind, AnswerLost)) and type(outcome) is not Stopped


EVENTS = st.builds(
    Event,
    st.sampled_from([REFUSED, NO_HTTP, *LOST])
    | st.sampled_from([429, 429, 429, *PASSING])
    | st.sampled_from([429, 429, 429, *PASSING, *LASTING]),
    st.sampled_from([None, None, 0, 7, PATIENCE, PATIENCE + 1, LONGEST, LONGEST + 1]),
    st.sampled_from(["", "", "", "", "", "in flight", "asleep"]),
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EVENTS, max_size=8), st.booleans(), st.integers(0, 6))
@example(events=[Event(429, PATIENCE), Event(429)], idempotent=True, retries=0)
async def test_a_call_obeys_the_table_of_retries(
    server, connect, clock, answer, loop_time, loop_turns, events, idempotent, retries
):
    client, _ = connect(
        base_url=server.url.replace("localhost", "127.0.0.1"),
        request_timeout=TIMEOUT,
        max_retries=retries,
        rate_limit_patience=PATIENCE,
    )
    run, port = Run(), server.port
    events = [*events, *[Event(200)] * 20]
    server.received.clear()
    server.released.clear()

    async def make_ready():
        """Let the next request be refused or accepted, as its event says."""
        refused = events[client.calls.total()].kind == REFUSED
        if refused and server.port:
            await server.stop()
            server.port = 0
            await loop_turns()
        elif not refused and not server.port:
            await server.start(port=port)

    async def sleep(seconds):
        sent = client.calls.total()
        run.slept[sent] += seconds
        run.ended += [clock.now] * (sent - len(run.ended))
        clock.now += seconds
        loop_time.advance(TIMEOUT + 1)  # a request that ran out of time gives its place back
        if events[sent - 1].stop:
            client.stop()
        else:
            await make_ready()

    async def respond(request):
        number = client.calls.total() - 1
        event = events[number]
        if event.stop == "in flight":
            client.stop()
        if event.kind == "held":
            clock.now += TIMEOUT
            loop_time.advance(TIMEOUT + 1)
            return answer(held=True)
        body = {"code": "ANY", "message": "m", "request_id": str(number)}
        if event.kind == NO_HTTP:
            return answer(raw=b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        if event.kind == "reset":
            return answer(reset=True)
        if event.kind in LOST:
            _, cut, *chunked = event.kind.split(" ")
            return answer(cut="body" if chunked else cut, chunked=bool(chunked))
        headers = {} if event.retry_after is None else {"Retry-After": str(event.retry_after)}
        good = event.kind == 200
        return answer(event.kind, {"id": str(number)} if good else body, headers)

    clock.sleep, server.otherwise = sleep, respond
    await make_ready()
    operation = Operation("any", "POST", "/any", idempotent)
    call = asyncio.create_task(client.call(operation, shape=lambda body: body, body={"name": "a"}))
    for _ in range(MOST_TURNS):
        await asyncio.sleep(0)
        if call.done():
            break
    server.released.set()
    await client.aclose()
    if not server.port:
        await server.start(port=port)
    assert call.done(), "the call waits for nothing"
    outcome = call.exception() or call.result()
    run.ended += [clock.now] * (client.calls.total() - len(run.ended))
    sent, event, unknown = judge(events, run, idempotent=idempotent, retries=retries)
    assert client.calls.total() == sent
    assert is_answer(outcome, event, sent - 1), outcome
    if isinstance(outcome, Exception) and event is not None:
        assert outcome.had_no_effect is not unknown
    assert len({request.content for request in server.received}) <= 1
    assert len(server.received) == sum(event.kind != REFUSED for event in events[:sent])
