"""Which tests coverage measures: tracing doubles what Python code costs, and once is enough.

What is not measured counts as not covered, so the floor holds all the same.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
EMULATOR = TESTS / "emulator"

MATRICES = tuple(TESTS / name for name in ("acceptance", "drift", "faults"))
CASES = 2
"""In MATRICES, so many cases of a test are measured: the others differ in what the console does."""

UNMEASURED = pytest.StashKey[bool]()


def choose(items: list[pytest.Item]) -> None:
    """Note which tests are not measured: later cases of matrices, and those marked so."""
    cases: Counter[str] = Counter()
    for item in items:
        marked = item.get_closest_marker("unmeasured") is not None
        if any(folder in item.path.parents for folder in MATRICES):
            function = item.nodeid.partition("[")[0]
            cases[function] += 1
            marked = marked or cases[function] > CASES
        item.stash[UNMEASURED] = marked


@contextmanager
def measured(item: pytest.Item) -> Iterator[None]:
    """Run a test with coverage, or without where it is not measured.

    Threads last longer than a test: one that serves the emulator is measured where the emulator
    is tested, and one that serves the provider always is.
    """
    tracing, starting = sys.gettrace(), threading.gettrace()
    if tracing is None or starting is None:
        yield
        return
    unmeasured = item.stash.get(UNMEASURED, False)
    skipped = {"emulator"} if EMULATOR not in item.path.parents else set()

    def start(frame: FrameType, event: str, argument: Any) -> Any:
        name = threading.current_thread().name
        if name in skipped or (unmeasured and name != "provider"):
            sys.settrace(None)
            return None
        return starting(frame, event, argument)

    threading.settrace(start)
    if unmeasured:
        sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracing)
        threading.settrace(starting)
