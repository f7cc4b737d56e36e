"""Runs mypy in this process, and leaves the process as it was."""

from __future__ import annotations

import sys

from mypy import api


def check_types(*words: str) -> tuple[str, str, int]:
    """Return what mypy prints, what it complains of, and its exit code.

    mypy raises the interpreter's recursion limit for good; tests of deep nesting need it as it is.
    """
    limit = sys.getrecursionlimit()
    try:
        return api.run(list(words))
    finally:
        sys.setrecursionlimit(limit)
