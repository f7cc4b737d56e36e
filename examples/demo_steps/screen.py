"""What the reader of the demo sees: headings, sentences, commands and what came of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from demo_steps.plans import ALONG, GONE, Outcome, grouped

_WIDTH = 100
_LAST_LINES = 40
_STYLES = {"+": "green", "-": "red", "~": "yellow", "-/+": "magenta", GONE: "red", ALONG: "red"}


class Screen:
    """Writes to the terminal, or plainly where there is none."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, soft_wrap=False)
        if not self._console.is_terminal or self._console.width > _WIDTH:
            self._console = Console(highlight=False, width=_WIDTH)
        self._step = 0
        self._spaced = False

    def title(self, text: str, below: str) -> None:
        """Open the demo."""
        self.gap()
        self._show(Text(text, style="bold"), 0)
        self._show(Text(below, style="dim"), 0)

    def step(self, heading: str) -> None:
        """Begin a step."""
        self._step += 1
        self.gap()
        title = f"[bold cyan]{self._step}  {escape(heading)}[/]"
        self._console.print(Rule(title, align="left", style="cyan"))
        self._spaced = False

    def say(self, *sentences: str) -> None:
        """Say something in plain words; each sentence begins a line."""
        for sentence in sentences:
            self._show(Text.from_markup(sentence), 2)

    def gap(self) -> None:
        """Leave a line empty; only one, however often it is asked for."""
        if not self._spaced:
            self._console.print()
        self._spaced = True

    @contextlib.contextmanager
    def running(self, command: Sequence[str]) -> Iterator[None]:
        """Show a command while it runs, and how long it took when it is done."""
        line = f"$ {' '.join(command)}"
        started = time.perf_counter()
        with self._console.status(Text(line, style="bold")):
            yield
        took = f"{time.perf_counter() - started:.1f} s"
        room = self._console.width - 4 - len(took)
        self.gap()
        self._show(Text(f"{line:<{room}}", style="bold").append(took, style="dim not bold"), 2)

    def outcome(self, outcome: Outcome, *, whole: bool = True) -> None:
        """Show the interesting part of what an engine said; not `whole`: only how it ended."""
        if whole and outcome.changes:
            self._show(_changes(outcome), 4)
        for warning, more in outcome.warnings if whole else ():
            text = Text("! ", style="yellow").append(warning, style="yellow")
            if more:
                text.append(f"  (and {more} like it)", style="dim")
            self._show(text, 4)
        if outcome.summary:
            self._show(Text(outcome.summary, style="bold"), 4)
        self.gap()

    def quote(self, lines: Sequence[str]) -> None:
        """Show lines of a report as they are."""
        for line in lines:
            self._show(Text(line, style=_STYLES.get(line.strip()[:1], "")), 4)
        self.gap()

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show what the console holds."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        self.gap()
        self._show(table, 4)
        self.gap()

    def failed(self, command: Sequence[str], output: str) -> None:
        """Show the last that a failed command said."""
        self._show(Text(f"This failed: {' '.join(command)}", style="bold red"), 0)
        self._show(Text("\n".join(output.splitlines()[-_LAST_LINES:])), 2)

    def _show(self, what: RenderableType, indent: int) -> None:
        self._console.print(Padding(what, (0, 0, 0, indent), expand=False))
        self._spaced = False


def _changes(outcome: Outcome) -> Table:
    """Lay the changes out: sign, how many of what, and which."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for change in grouped(outcome.changes):
        style = _STYLES.get(change.sign, "")
        which = Text(change.name)
        for detail in change.details:
            which.append(f"\n{detail}", style=style)
        table.add_row(Text(change.sign, style=f"bold {style}"), change.kind, which)
    return table
