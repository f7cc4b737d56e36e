"""What a command prints to: whether in colour, and how wide."""

from __future__ import annotations

import argparse
import os
import shutil
import sys


def coloured(args: argparse.Namespace, stream: object = None) -> bool:
    """Return whether to print in colour."""
    target = stream if stream is not None else sys.stdout
    tty = getattr(target, "isatty", lambda: False)()
    return bool(tty) and not args.no_color and not os.environ.get("NO_COLOR")


def columns(stream: object = None) -> int:
    """Return how wide the terminal is that a stream writes to, stdout by default; 0: to none."""
    target = stream if stream is not None else sys.stdout
    tty = getattr(target, "isatty", lambda: False)()
    return shutil.get_terminal_size().columns if tty else 0
