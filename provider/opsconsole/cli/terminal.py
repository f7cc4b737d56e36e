"""What a command prints to: whether in colour, and how wide."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import TextIO


def coloured(args: argparse.Namespace, stream: TextIO | None = None) -> bool:
    """Return whether to print in colour to a stream, stdout by default."""
    is_terminal = (stream or sys.stdout).isatty()
    return is_terminal and not args.no_color and not os.environ.get("NO_COLOR")


def columns(stream: TextIO | None = None) -> int:
    """Return how wide the terminal is that a stream writes to, stdout by default; 0: to none."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else 0
