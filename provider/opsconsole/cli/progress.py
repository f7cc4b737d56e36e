"""The progress of a plan and of an apply: messages for programs, lines or a bar for people.

rich is imported only if stderr is a terminal: it takes a twelfth of a run's start time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opsconsole.lifecycle.interface import Outcome
from opsconsole.reconcile.order import Step, StepKind
from opsconsole.reconcile.plan import Action
from opsconsole.reports import messages
from opsconsole.reports.messages import Hook, Message
from opsconsole.reports.plan_parts import cascade_effect
from opsconsole.text import plural
from opsconsole.v1.limiter import HeldBack
from opsconsole.values import text_of

if TYPE_CHECKING:
    from rich.text import Text

FEW = 40
"""Up to this number of steps, each step has its own line, on a terminal too."""
TICK = 10.0
"""Seconds after which a step that is still running is reported again, as in Terraform."""


def _action_of(step: Step) -> Action:
    if step.kind is StepKind.KEEP or step.change.action is Action.ADOPT:
        return step.change.action
    # A replacement has two steps, each with an action of its own.
    return Action(step.kind.value)


def is_address_change_only(step: Step) -> bool:
    return step.change.action is Action.NO_OP and not step.change.import_id


def describe_rate_limit_wait(waiting: HeldBack) -> str:
    """Describe a wait that the console asks for; empty for less than a second."""
    if waiting.seconds < 1:
        return ""
    count = plural(waiting.callers, "request")
    return f"the console limits requests: next in {waiting.seconds:.0f} s, {count} held back"


class ApplyMessages:
    """Sends one of Terraform's messages when a change begins, takes long, and ends.

    Attributes:
        waiting: Returns how long the console makes the run wait.
    """

    _most: int | None = None
    """How many slow changes are named each time; None names all of them."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self.waiting: Callable[[], HeldBack] = lambda: HeldBack(0, 0.0)
        self._send = send
        self._since: dict[str, tuple[Step, float]] = {}

    def begin(self, steps: int) -> None:
        """Send nothing."""

    def begin_step(self, step: Step) -> None:
        if is_address_change_only(step):
            return
        address = step.change.address
        self._since[address] = (step, time.monotonic())
        before = "" if step.kind is StepKind.CREATE else text_of(step.change.before or {}, "id")
        self._send_hook(messages.apply_start(address, _action_of(step), before))

    def end_step(self, step: Step, outcome: Outcome, seconds: float) -> None:
        address, action = step.change.address, _action_of(step)
        self._since.pop(address, None)
        if is_address_change_only(step):
            return
        if outcome.failed:
            self._send_hook(messages.apply_errored(address, action, seconds))
        else:
            object_id = text_of(outcome.state or {}, "id")
            self._send_hook(messages.apply_complete(address, action, seconds, object_id))

    def skip_step(self, step: Step, because: str) -> None:
        if because:
            self._send_text(f"{step.change.address}: Skipped, because {because} failed")

    def tick(self) -> None:
        """Report the steps that have run for about ten seconds or more."""
        if held := describe_rate_limit_wait(self.waiting()):
            self._send_text(f"Waiting: {held}")
        now = time.monotonic()
        long = [(step, now - since) for step, since in self._since.values()]
        # With the full time, the next tick would leave out a step that began just after this tick.
        long = [(step, seconds) for step, seconds in long if seconds > TICK * 0.9]
        shown = long[: self._most]
        for step, seconds in shown:
            self._send_hook(messages.apply_progress(step.change.address, _action_of(step), seconds))
        if len(long) > len(shown):
            self._send_text(f"… and {len(long) - len(shown):,} more")

    def _send_hook(self, hook: Hook) -> None:
        self._send(hook.message())

    def _send_text(self, text: str) -> None:
        self._send(messages.log(text))


class Lines(ApplyMessages):
    """Writes a line when a change begins and another when it is over, as Terraform does."""

    _most = FEW

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__(lambda message: write(message["@message"]))
        self._write = write

    def begin_step(self, step: Step) -> None:
        """Write the start of a step; a step that needs no call is written at its end only."""
        sends_nothing = step.change.deleted_with and step.kind is StepKind.DELETE
        if not sends_nothing and step.kind is not StepKind.KEEP:
            super().begin_step(step)

    def end_step(self, step: Step, outcome: Outcome, seconds: float) -> None:
        change = step.change
        if change.deleted_with and step.kind is StepKind.DELETE:
            effect = cascade_effect(change.type_name).capitalize()
            self._send_text(f"{change.address}: {effect} with {change.deleted_with}")
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
