"""Ctrl-C, SIGTERM and SIGHUP outside of an event loop: each ends the command in good order.

Imported by every command at its start, so nothing heavy is.
"""

from __future__ import annotations

import signal
from types import FrameType

from opsconsole.held_signals import SIGNALS


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this command as Ctrl-C does: files are closed, locks released."""
    for number in SIGNALS:
        if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def ignore_further() -> None:
    """Let no further interrupt disturb the end of a command that was interrupted."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
