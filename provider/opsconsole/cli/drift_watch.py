"""`opsconsole drift --watch`: checks again and again, through outages, until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from opsconsole.cli.drift_check import anchor, checked
from opsconsole.cli.drift_exporter import Exporter, serving
from opsconsole.cli.drift_output import Target, headline, write_all
from opsconsole.cli.standard_streams import lost_output, write_again
from opsconsole.drift.report import DriftReport
from opsconsole.errors import OpsconsoleError
from opsconsole.reports.verdict import judge

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_GRACE = 1.0
_JITTER = 0.1
_FIRST_RETRY = 15.0
_LONGEST_RETRY = 300.0
_SLOWEST_CHECK = 3600.0


@dataclass(frozen=True)
class CheckSchedule:
    """When the next check begins.

    Attributes:
        interval: Seconds between the ends and beginnings of checks that could tell.
        chance: Returns a number from 0 to 1.
    """

    interval: float
    chance: Callable[[], float] = random.random

    def wait(self, failures: int) -> float:
        """Return the seconds to wait after so many checks in a row that could not tell.

        The first retry comes soon, each further one after twice the time; a short interval is
        stretched, so that a console in trouble is left alone. Every wait is moved by up to a
        tenth, so that many exporters do not ask at once.
        """
        wait = self.interval
        if failures:
            longest = max(self.interval, _LONGEST_RETRY)
            first = min(self.interval, _FIRST_RETRY)
            wait = min(longest, first * 2.0 ** min(failures - 1, 20))
        return wait * (1 - _JITTER + 2 * _JITTER * self.chance())

    @property
    def patience(self) -> float:
        """Seconds after which an exporter that has ended no check is stuck."""
        return (1 + _JITTER) * max(self.interval, _LONGEST_RETRY) + _SLOWEST_CHECK


def watch(args: argparse.Namespace, targets: Sequence[Target]) -> int:
    """Check and serve until SIGTERM or SIGINT; return the exit code, 0.

    Raises:
        UserError: The address cannot be listened at.
    """
    pace = CheckSchedule(args.watch)
    exporter = Exporter(pace.patience)
    with serving(exporter, args.listen) as address:
        _log(f"Serving {address}/, {address}/metrics and {address}/healthz.")
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_watch(args, targets, pace, exporter))
    _log("Stopped.")
    return 0


async def _watch(
    args: argparse.Namespace, targets: Sequence[Target], pace: CheckSchedule, exporter: Exporter
) -> None:
    """Check until a signal comes; what is under way then is given up: a check changes nothing."""
    task = asyncio.create_task(_check_for_ever(args, targets, pace, exporter))
    with _stopping(task):
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise


@contextmanager
def _stopping(task: asyncio.Task[None]) -> Iterator[None]:
    """Cancel a task when a signal comes; where that has no effect, interrupt what blocks it.

    An app that writes a program, and a Terraform that fetches a state, hold up the event loop.
    """
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: object) -> None:
        loop.call_soon_threadsafe(task.cancel)
        signal.setitimer(signal.ITIMER_REAL, _GRACE)

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


async def _check_for_ever(
    args: argparse.Namespace, targets: Sequence[Target], pace: CheckSchedule, exporter: Exporter
) -> None:
    first = True
    while True:
        failures = await check_once(args, targets, exporter, run_app=first)
        first = first and failures > 0
        wait = pace.wait(failures)
        _log(f"The next check comes in {wait:.0f} s.")
        await asyncio.sleep(wait)


async def check_once(
    args: argparse.Namespace, targets: Sequence[Target], exporter: Exporter, *, run_app: bool
) -> int:
    """Make one check; return how many in a row could not tell. A failure does not end the watch."""
    try:
        report = await checked(args, run_app=run_app)
    except Exception as problem:
        message = _message_of(problem)
        _log(f"Could not check. {message}")
        return exporter.fail(message)
    failures = exporter.take(report)
    _log(headline(report))
    _write_headline(report)
    try:
        write_all(report, targets, colour=False, anchor=anchor(args), reported=True)
    except Exception as problem:
        _log(_message_of(problem))
    if lost := lost_output():
        _log(f"The output is incomplete, because {lost}.")
    write_again()
    return failures


def _message_of(problem: Exception) -> str:
    if isinstance(problem, OpsconsoleError):
        return str(problem)
    # Its text may quote a setting, and would be served to anyone.
    return (
        f"Unexpected {type(problem).__name__}. `opsconsole --debug drift` without --watch shows "
        "where it comes from."
    )


def _write_headline(report: DriftReport) -> None:
    """Write what the check met, where it could not tell."""
    if judge(report).outcome.value == 1:
        for item in report.diagnostics:
            first = item.text.partition("\n")[0]
            _log(f"{item.severity.value}: {item.summary}. {first}")


def _log(text: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    sys.stderr.write(f"{now} {text}\n")
    sys.stderr.flush()
