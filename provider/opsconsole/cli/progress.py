"""The progress of a plan and of an apply for people, as lines or on a terminal.

rich is imported only if stderr is a terminal: it takes a twelfth of a run's start time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opsconsole.cli.events import ApplyMessages, describe_rate_limit_wait, is_address_change_only
from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reports.messages import Hook
from opsconsole.reports.plan_parts import cascade_effect
from opsconsole.text import plural
from opsconsole.v1.limiter import HeldBack

if TYPE_CHECKING:
    from rich.text import Text

FEW = 40
"""Up to this number of steps, each step has its own line, on a terminal too."""


class Lines(ApplyMessages):
    """Writes a line when a change begins and another when it is over, as Terraform does."""

    _most = FEW

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__(lambda message: write(message["@message"]))
        self._write = write

    def begin_step(self, step: Step) -> None:
        """Write the start of a step; a step that needs no call is written at its end only."""
        sends_nothing = step.change.cascade and step.kind is StepKind.DELETE
        if not sends_nothing and step.kind is not StepKind.KEEP:
            super().begin_step(step)

    def end_step(self, step: Step, outcome: Outcome, seconds: float) -> None:
        change = step.change
        if change.cascade and step.kind is StepKind.DELETE:
            effect = cascade_effect(change.type_name).capitalize()
            self._send_text(f"{change.address}: {effect} with {change.cascade}")
        elif is_address_change_only(step):
            self._send_text(f"{change.address}: Moved from {change.previous_address}")
        else:
            super().end_step(step, outcome, seconds)

    def _send_hook(self, hook: Hook) -> None:
        # Only the text is shown. Making whole messages would take a twentieth of an apply.
        self._write(hook.text)

    def _send_text(self, text: str) -> None:
        self._write(text)


class Printer:
    """Writes lines to stdout; lines of the same moment reach the reader together."""

    def __init__(self) -> None:
        self._waiting = False

    def __call__(self, text: str) -> None:
        """Write a line; it is flushed before the event loop continues."""
        sys.stdout.write(f"{text}\n")
        if not self._waiting:
            self._waiting = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._waiting = False
        sys.stdout.flush()


@contextmanager
def show_progress(title: str, *, colour: bool) -> Iterator[Lines]:
    """Show the progress of an apply: a bar if stderr is a terminal, otherwise lines on stdout."""
    if not sys.stderr.isatty():
        yield Lines(Printer())
        return
    from rich.console import Console

    from opsconsole.cli.progress_bar import Bar

    bar = Bar(Console(stderr=True, no_color=not colour), title)
    try:
        yield bar
    finally:
        bar.close()


class Spinner:
    """A spinner on stderr while a plan is made.

    Attributes:
        count: Returns how many requests were sent.
        held: Returns how long the console makes the run wait.
    """

    def __init__(self, text: str) -> None:
        self.count: Callable[[], int] = lambda: 0
        self.held: Callable[[], HeldBack] = lambda: HeldBack(0, 0.0)
        self._text = text
        self._since = time.monotonic()

    def __rich__(self) -> Text:
        from rich.text import Text

        sent = self.count()
        seconds = time.monotonic() - self._since
        rate = f" · {sent / seconds:,.0f}/s" if sent > seconds > 1 else ""
        counted = f" {plural(sent, 'request')}{rate}" if sent else ""
        held = describe_rate_limit_wait(self.held())
        waits = f" · {held}" if held else ""
        return Text.assemble((self._text, "bold"), (counted, "cyan"), (waits, "yellow"))


@contextmanager
def show_spinner(text: str, *, colour: bool) -> Iterator[Spinner]:
    """Show a spinner while something is under way, if stderr is a terminal."""
    shown = Spinner(text)
    if not sys.stderr.isatty():
        yield shown
        return
    from rich.console import Console

    with Console(stderr=True, no_color=not colour).status(shown):
        yield shown
