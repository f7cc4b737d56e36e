"""What a console's answers so far mean for every further call: refused, asked to be quiet, silent.

One client has one standing; single calls and their bytes are the client's and the transport's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from opsconsole.errors import AnswerLost, ConsoleError, NotSent, Problem, Unauthorized
from opsconsole.v1.retry import LONGEST_OBEYED, OutOfTime, Retry

REST = 10.0
"""Seconds for which a console that lets calls run into their time limit is asked nothing."""


class Standing:
    """How one client stands with its console."""

    def __init__(
        self,
        retry: Retry,
        sleep: Callable[[float], Awaitable[object]],
        clock: Callable[[], float],
    ) -> None:
        self._retry = retry
        self._sleep = sleep
        self._clock = clock
        self._refusal: Problem | None = None
        self._quiet_until = 0.0
        self._silent = False
        self._rest_until = 0.0

    def check(self, operation: object) -> None:
        """Let a call pass unless the credentials were refused before, or nobody answers.

        Raises:
            Unauthorized: they were; `explained` is true.
            NotSent: the console has just let calls run out of time; ten thousand more would take
                hours to learn no more.
        """
        if self._refusal is not None:
            refused = Unauthorized(self._refusal, str(operation))
            refused.explained = True
            raise refused
        if self._silent and self._clock() < self._rest_until:
            raise NotSent(
                "The console gave no answer to the calls before; no call was made.",
                "Check base_url, the network, and whether the console is up.",
            )

    def refused(self, problem: Unauthorized) -> None:
        """Note a 401: the first one is explained, and no further call is made."""
        problem.explained = self._refusal is not None
        self._refusal = self._refusal or problem.problem

    def answered(self) -> None:
        """Note that the console answers."""
        self._silent = False

    def next_delay(
        self, problem: ConsoleError, tried: int, *, repeatable: bool, asked: float | None
    ) -> float | None:
        """Return the seconds to wait before a call's next try, None where it has none.

        A console that let one call use up its tries without any answer gets one try for each
        further call until it answers again, and none for a while after one that was sent in vain:
        a thousand resources must not each wait for it. A create whose answer is lost says
        nothing of the kind: the call that settles its outcome must pass.
        Arguments as of `Retry.delay`.
        """
        counted = NotSent | AnswerLost if repeatable else NotSent
        unanswered = isinstance(problem, counted)
        if unanswered and self._silent:
            self._rest(problem)
            return None
        delay = self._retry.delay(problem, tried, repeatable=repeatable)
        if delay is None:
            self._silent = self._silent or (unanswered and tried > self._retry.tries)
            if unanswered:
                self._rest(problem)
            return None
        if asked is None:
            return delay
        if asked > LONGEST_OBEYED:
            problem.remedy = f"The console asks to wait {asked:.0f} seconds, which is too long."
            return None
        self._quiet_until = max(self._quiet_until, self._clock() + asked)
        return asked + min(delay, 0.1 + 0.1 * asked)

    def _rest(self, problem: ConsoleError) -> None:
        """Leave a console alone that lets calls run out of time.

        One that refuses or cuts connections costs no time, and may only have cut that one.
        """
        if isinstance(problem, OutOfTime):
            self._rest_until = self._clock() + REST

    async def quiet(self) -> None:
        """Wait while the console has asked for quiet (Retry-After), whichever call it told so."""
        while (until := self._quiet_until) > (now := self._clock()):
            await self._sleep(until - now)
            if self._quiet_until == until:
                return
