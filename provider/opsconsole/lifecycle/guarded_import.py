"""The guard of every bulk import: what is sent as a dry run must be heeded as one.

The document: POST /api/v1/hosts/batch. Whether a console heeds `dry_run` shows only in its answer,
so the first dry run of a run goes alone, and nothing follows one that was not heeded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from opsconsole.errors import ConsoleError, NotSent, OpsconsoleError, TooLarge
from opsconsole.lifecycle.host_refusals import blames_the_rows
from opsconsole.lifecycle.session import Session
from opsconsole.v1.console import ImportResult

IGNORED = "The console's answer to a dry run did not say dry_run: true"

REHEARSED = ConsoleError(
    "The console's answer to a real import says dry_run: true, so whether it imported anything is "
    "not known.",
    "It may be in a mode in which nothing is changed: ask its operator.",
)
"""Why the verdicts of a real import say nothing."""


class DryRunIgnored(NotSent):
    """Not sent: the console imported what an earlier dry run held."""


async def guarded(session: Session, send: Callable[[], Awaitable[ImportResult]]) -> ImportResult:
    """Send a dry run, and note whether it was heeded: `dry_run` of the result tells.

    Args:
        send: Sends it.

    Raises:
        DryRunIgnored: an earlier one was not heeded, so this one was not sent.
        ConsoleError: what `send` raised.
    """
    if session.dry_run_heeded:
        return await _sent(session, send)
    async with session.first_dry_run:
        return await _sent(session, send)


async def _sent(session: Session, send: Callable[[], Awaitable[ImportResult]]) -> ImportResult:
    if session.dry_run_ignored:
        raise DryRunIgnored(f"{IGNORED}, so its rows count as imported. Nothing more is sent.")
    result = await send()
    session.dry_run_heeded = session.dry_run_heeded or result.dry_run
    session.dry_run_ignored = session.dry_run_ignored or not result.dry_run
    return result


def halved(session: Session, rows: int, problem: OpsconsoleError) -> int:
    """Return how many of the refused rows to send first, and then the rest; 0: send none again.

    A size that the console refuses with 413 is not tried again in this run.
    """
    if rows == 1 or not blames_the_rows(problem):
        return 0
    half = (rows + 1) // 2
    if isinstance(problem, TooLarge):
        session.import_chunk_size = min(session.import_chunk_size, half)
    return half
