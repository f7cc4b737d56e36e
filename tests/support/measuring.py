"""Which tests coverage measures: tracing doubles what Python code costs, and once is enough.

What is not measured here counts as not covered, so the floor holds all the same.
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

CASES = 2
"""So many cases of a parametrised test are measured. The others run the same lines again."""

UNMEASURED = pytest.StashKey[bool]()
EMULATOR = Path(__file__).resolve().parents[1] / "emulator"


def choose(items: list[pytest.Item]) -> None:
    """Note which tests are not measured: later cases, and those marked `unmeasured`."""
    cases: Counter[str] = Counter()
    for item in items:
        function = item.nodeid.partition("[")[0]
        cases[function] += 1
        marked = item.get_closest_marker("unmeasured") is not None
        item.stash[UNMEASURED] = marked or cases[function] > CASES


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
