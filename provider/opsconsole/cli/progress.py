"""How an apply goes, for people: a bar on a terminal, a line for each change elsewhere.

rich is imported where stderr is a terminal: it is a twelfth of the time that a run needs to start.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from opsconsole.cli.progress_lines import Lines, Printer, held_back
from opsconsole.reconcile.execution import ApplyListener
from opsconsole.v1.limiter import HeldBack

if TYPE_CHECKING:
    from rich.text import Text


class Shown(ApplyListener, Protocol):
    """Someone who shows how an apply goes, and is told every ten seconds that it goes on."""

    def tick(self) -> None:
        """Say what has been under way for long."""

    def watch(self, waiting: Callable[[], HeldBack]) -> None:
        """Take what returns how long the console has the run wait."""


@contextmanager
def showing(title: str, *, colour: bool) -> Iterator[Shown]:
    """Show how an apply goes: by a bar where stderr is a terminal, by lines on stdout elsewhere."""
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
    """A spinner on stderr while a plan is made, with the number of requests so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._count: Callable[[], int] = lambda: 0
        self._held: Callable[[], HeldBack] = lambda: HeldBack(0, 0.0)
        self._since = time.monotonic()

    def watch(self, count: Callable[[], int], held: Callable[[], HeldBack]) -> None:
        """Take what returns how many requests were sent, and how long the console has one wait."""
        self._count = count
        self._held = held

    def __rich__(self) -> Text:
        from rich.text import Text

        sent = self._count()
        seconds = time.monotonic() - self._since
        rate = f" · {sent / seconds:,.0f}/s" if sent and seconds > 1 else ""
        counted = f" {sent:,} requests{rate}" if sent else ""
        held = held_back(self._held())
        waits = f" · {held}" if held else ""
        return Text.assemble((self._text, "bold"), (counted, "cyan"), (waits, "yellow"))


@contextmanager
def waiting(text: str, *, colour: bool) -> Iterator[Spinner]:
    """Show that something is under way, where stderr is a terminal."""
    shown = Spinner(text)
    if not sys.stderr.isatty():
        yield shown
        return
    from rich.console import Console

    with Console(stderr=True, no_color=not colour).status(shown):
        yield shown
