"""A bar for an apply on a terminal: counts, rate, and the time that is left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from opsconsole.cli.progress import FEW, Lines, held_back
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.order import Step
from opsconsole.reports import messages


class RecentRate:
    """How many changes a second have ended recently.

    The first changes do not predict the rest: a single one may come before hundreds that are sent
    together.
    """

    WINDOW = 10.0
    """Seconds that count."""
    SOONEST = 2.0
    """Seconds before which nothing is estimated."""
    FEWEST = 10
    """Changes before which nothing is estimated."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._ended = 0
        self._recent: deque[float] = deque()

    def add(self) -> None:
        """Count a change that has ended."""
        self._ended += 1
        self._recent.append(self._clock())

    def remaining(self, total: int) -> tuple[float, float] | None:
        """Return the rate and the seconds that the rest takes; None: it is too early to tell."""
        now = self._clock()
        begun = max(self._since, now - self.WINDOW)
        while self._recent and self._recent[0] < begun:
            self._recent.popleft()
        spent = now - begun
        if now - self._since < self.SOONEST or self._ended < self.FEWEST or not self._recent:
            return None
        rate = len(self._recent) / spent
        return rate, (total - self._ended) / rate


class _Rate(ProgressColumn):
    """Changes a second, and the time that the rest takes at that rate."""

    def __init__(self, recent: RecentRate) -> None:
        super().__init__()
        self._recent = recent

    def render(self, task: Task) -> Text:
        found = self._recent.remaining(int(task.total)) if task.total is not None else None
        if found is None:
            return Text("…", style="dim")
        rate, left = found
        shown = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
        return Text(f"{shown} · {messages.duration(left)} left", style="cyan")


class _Held(ProgressColumn):
    """How long the console's limit on requests holds the run back."""

    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar

    def render(self, task: Task) -> Text:
        return Text(held_back(self._bar.waiting()), style="yellow")


class Bar(Lines):
    """A bar on stderr with counts, rate and remaining time; lines where there is little."""

    def __init__(self, console: Console, title: str) -> None:
        def write(text: str) -> None:
            console.print(text, markup=False, highlight=False, soft_wrap=True)

        super().__init__(write)
        self._failed = 0
        self._few = False
        self._recent = RecentRate()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=32),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
            _Rate(self._recent),
            TextColumn("{task.fields[failed]}"),
            _Held(self),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task(title, total=None, start=False, failed="")

    def begun(self, steps: int) -> None:
        """Show the bar."""
        self._few = steps <= FEW
        if steps:
            self._progress.update(self._task, total=steps)
            self._progress.start_task(self._task)
            self._progress.start()

    def started(self, step: Step) -> None:
        """Name the step that begins, unless there are many."""
        if self._few:
            super().started(step)

    def finished(self, step: Step, outcome: Outcome, seconds: float) -> None:
        """Count a step that ended; name a failed one at once."""
        if self._few or (outcome.failed and self._failed < FEW):
            super().finished(step, outcome, seconds)
        self._count(failed=outcome.failed)

    def skipped(self, step: Step, because: str) -> None:
        """Count a skipped step, as failed where another step failed."""
        if self._few:
            super().skipped(step, because)
        self._count(failed=bool(because))

    def tick(self) -> None:
        """Name the slow steps, unless there are many."""
        if self._few:
            super().tick()

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()

    def _count(self, *, failed: bool) -> None:
        self._failed += failed
        shown = f"[bold red]{self._failed:,} failed" if self._failed else ""
        self._recent.add()
        self._progress.update(self._task, advance=1, failed=shown)
