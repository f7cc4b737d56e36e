"""A bar for an apply on a terminal: counts, rate, and the remaining time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from opsconsole.cli.progress import FEW, Lines, describe_rate_limit_wait
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.order import Step
from opsconsole.reports import messages

_WINDOW = 10.0
"""How many of the last seconds count for the rate."""
_SOONEST = 2.0
"""Seconds before the first estimate."""
_FEWEST = 10
"""How many changes come before the first estimate: a single change may precede hundreds that are
sent together."""


class RateColumn(ProgressColumn):
    """Changes per second, and the remaining time at that rate."""

    def render(self, task: Task) -> Text:
        early = task.completed < _FEWEST or (task.elapsed or 0.0) < _SOONEST
        if early or task.remaining is None or not task.speed:
            return Text("…", style="dim")
        rate = f"{task.speed:,.0f}/s" if task.speed >= 10 else f"{task.speed:.1f}/s"
        left = messages.duration(task.remaining / task.speed)
        return Text(f"{rate} · {left} left", style="cyan")


class _RateLimitColumn(ProgressColumn):
    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar

    def render(self, task: Task) -> Text:
        return Text(describe_rate_limit_wait(self._bar.waiting()), style="yellow")


class Bar(Lines):
    """A bar on stderr with counts, rate and remaining time; lines if there are few steps."""

    def __init__(self, console: Console, title: str) -> None:
        def write(text: str) -> None:
            console.print(text, markup=False, highlight=False, soft_wrap=True)

        super().__init__(write)
        self._failed = 0
        self._few = False
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=32),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
            RateColumn(),
            TextColumn("{task.fields[failed]}"),
            _RateLimitColumn(self),
            console=console,
            transient=True,
            speed_estimate_period=_WINDOW,
        )
        self._task = self._progress.add_task(title, total=None, start=False, failed="")

    def begin(self, steps: int) -> None:
        self._few = steps <= FEW
        if steps:
            self._progress.update(self._task, total=steps)
            self._progress.start_task(self._task)
            self._progress.start()

    def begin_step(self, step: Step) -> None:
        """Name the step that begins, unless there are many."""
        if self._few:
            super().begin_step(step)

    def end_step(self, step: Step, outcome: Outcome, seconds: float) -> None:
        """Count a step that ended; name a failed one at once."""
        if self._few or (outcome.failed and self._failed < FEW):
            super().end_step(step, outcome, seconds)
        self._count(failed=outcome.failed)

    def skip_step(self, step: Step, because: str) -> None:
        """Count a skipped step, as failed unless the other half of its replacement was reported."""
        if self._few:
            super().skip_step(step, because)
        self._count(failed=bool(because))

    def tick(self) -> None:
        """Name the slow steps, unless there are many."""
        if self._few:
            super().tick()

    def close(self) -> None:
        self._progress.stop()

    def _count(self, *, failed: bool) -> None:
        self._failed += failed
        shown = f"[bold red]{self._failed:,} failed" if self._failed else ""
        self._progress.update(self._task, advance=1, failed=shown)
