"""The calls of a probe: each is recorded, and none is sent that was not allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from opsconsole.errors import ConsoleError, Stopped, had_no_effect
from opsconsole.v1.client import Client
from opsconsole.v1.exchange import NotJson, Operation, Reply, json_object
from opsconsole.v1.operations import IMPORT_HOSTS
from opsconsole.v1.settings import Settings

TRIES: Final = 5
"""Of one call that is answered with 429. The client's limiter waits between them."""
_NO_WORD: Final = frozenset({0, 408, 429})


@dataclass(frozen=True, slots=True)
class ProbeCall:
    """One call and its answer.

    Attributes:
        number: Its place among the calls of the probe, from 1.
        text: Method and path, and the query.
        status: The HTTP status; 0: no answer came.
        body: The JSON object in the answer; empty: none.
        headers: The answer's, with lower-case names.
        problem: Why no answer came.
        limits: The headers about rate limits, those of answers with 429 before this one too.
    """

    number: int
    text: str
    status: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    limits: frozenset[str] = frozenset()

    @property
    def succeeded(self) -> bool:
        """Whether the console answered with success and an object."""
        return 200 <= self.status < 300 and bool(self.body)

    @property
    def is_judged(self) -> bool:
        """Whether the answer says what the console makes of the request: not so a 429 or a 5xx."""
        return self.status not in _NO_WORD and self.status < 500

    @property
    def request_id(self) -> str:
        """The request's id, which the document shows for errors."""
        found = self.body.get("request_id") if self.status >= 400 else None
        return found if isinstance(found, str) else self.headers.get("x-request-id", "")

    @property
    def outcome(self) -> str:
        """Its outcome, in the words of a finding."""
        if not self.status:
            return self.problem
        if 200 <= self.status < 300 and not self.body:
            return f"{self.status} with no usable JSON object"
        code = self.body.get("code") if self.status >= 400 else None
        return f"{self.status} {code}" if isinstance(code, str) else str(self.status)


class NotAllowed(Exception):
    """The call is not a GET, and only GET was allowed."""


class DryRunNotHonoured(Exception):
    """An answer to a dry run did not say `dry_run: true`: the probe sends nothing more."""


class DryRunUnanswered(Exception):
    """A dry run was sent and no answer shows its outcome: the probe sends nothing more.

    Its text is what came instead of an answer to it.
    """


class ProbeCalls:
    """Sends calls one after another.

    Args:
        client: Sends them.
        settings: Where the console is.
        only_get: Whether nothing but GET may be sent.
    """

    def __init__(self, client: Client, settings: Settings, *, only_get: bool) -> None:
        self.made: list[ProbeCall] = []
        self.settings = settings
        self._client = client
        self._only_get = only_get
        self._ending: Exception | None = None

    async def ask(
        self,
        operation: Operation,
        *ids: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> ProbeCall:
        """Make one call, once more where the console asks to slow down.

        Raises:
            NotAllowed: it is not a GET, and only GET is allowed.
            Unauthorized: the console refuses the credentials; no further call is made.
            DryRunNotHonoured: an earlier dry run was not honoured.
            DryRunUnanswered: the outcome of an earlier dry run is not known.
        """
        if operation.method != "GET" and self._only_get:
            raise NotAllowed("It takes a call other than GET, which was not allowed.")
        if self._ending is not None:
            raise self._ending
        text = f"{operation.method} {operation.path_of(ids)}"
        if query:
            text += f"?{urlencode(query)}"
        call = await self._sent(text, operation, ids, query, body)
        self.made.append(call)
        return call

    async def judge(self, rows: Sequence[Mapping[str, Any]]) -> ProbeCall:
        """Have rows judged by an import that is a dry run.

        Raises:
            NotAllowed: only GET is allowed.
            DryRunNotHonoured: the answer does not say `dry_run: true`.
            DryRunUnanswered: no answer came, or one that may not be the console's to this import:
                a 5xx, a 408, a success without a usable JSON object.
        """
        body = {"rows": list(rows), "on_error": "continue", "dry_run": True}
        call = await self.ask(IMPORT_HOSTS, query={"dry_run": "true"}, body=body)
        if call.succeeded:
            if call.body.get("dry_run") is not True:
                self._ending = DryRunNotHonoured()
        elif not had_no_effect(call.status, documented=True):
            self._ending = DryRunUnanswered(call.outcome)
        if self._ending is not None:
            raise self._ending
        return call

    async def _sent(
        self,
        text: str,
        operation: Operation,
        ids: Sequence[str],
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
    ) -> ProbeCall:
        number = len(self.made) + 1
        limits: set[str] = set()
        for tried in range(TRIES):
            try:
                reply = await self._client.ask(operation, ids, query=query, body=body)
            except Stopped:
                raise
            except ConsoleError as problem:
                return ProbeCall(number, text, problem=str(problem))
            if reply.status == 401:
                self._client.shaped(operation, reply, dict)
            limits |= _limits(reply)
            if reply.status != 429 or tried == TRIES - 1:
                break
        try:
            answer: Mapping[str, Any] = json_object(reply.content)
        except NotJson:
            answer = {}
        return ProbeCall(
            number, text, reply.status, answer, dict(reply.headers), limits=frozenset(limits)
        )


def _limits(reply: Reply) -> set[str]:
    """Return the names of those headers that tell of rate limits."""
    return {
        name
        for name in reply.headers
        if "ratelimit" in name.replace("-", "") or (name == "retry-after" and reply.status == 429)
    }


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """What a probe found out about one question.

    Attributes:
        question: Its name.
        answer: What this console does, in words; empty: not learned.
        why: Why it was not learned.
        calls: The calls that showed it, by number.
        value: The answer for programs.
        settings: The settings that say so.
    """

    question: str
    answer: str = ""
    why: str = ""
    calls: tuple[int, ...] = ()
    value: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def learned(self) -> bool:
        """Whether it was found out."""
        return bool(self.answer)


def unknown_id(question: str, missing: ProbeCall, known: ProbeCall | None) -> ProbeFinding:
    """Return what the answer to a call with an unknown id shows.

    A refusal tells of the id only where the same call with a known id, where one was made, is
    not refused: else it may be about the key, or about every call of its kind.
    """
    if not missing.is_judged:
        return ProbeFinding(question, why=f"No answer tells: {missing.outcome}.")
    is_telling = missing.status in (200, 404) or (known is not None and known.succeeded)
    if not is_telling or (known is not None and known.status == missing.status >= 400):
        return ProbeFinding(
            question, why=f"The refusal need not be about the id: {missing.outcome}."
        )
    return ProbeFinding(question, missing.outcome, calls=(missing.number,), value=missing.status)


def quoted(value: object) -> str:
    """Return a value of an answer as findings quote it."""
    return json.dumps(value, ensure_ascii=False)
