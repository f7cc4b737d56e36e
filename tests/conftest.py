"""What every test runs with. Its fixtures are in the modules of `tests/support` named below."""

import contextlib
import fcntl
import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from engines import ROOT
from opsconsole.errors import UserError
from opsconsole.language import jsii_environment
from sampling import EVERYTHING, SEED

pytest_plugins = (
    "consoles",
    "both_engines",
    "forked_runs",
    "lifecycle_steps",
    "native_project",
    "real_programs",
)


# Before cdktf is imported by any test: jsii looks at these when it starts Node. Without a Node only
# the tests that synthesise fail.
with contextlib.suppress(UserError):
    os.environ.update(jsii_environment())
# Where jsii unpacks packages. Its own place is in the home, and many tests have an empty one:
# unpacking is half of what a synthesis costs.
os.environ.setdefault("JSII_RUNTIME_PACKAGE_CACHE_ROOT", str(ROOT / "build" / "jsii"))
# jsonschema imports it for the formats of IRIs, which no schema here has. It takes a second.
sys.modules.setdefault("rfc3987_syntax", None)
# A user's Python buffers what it prints, and so do the processes that tests start.
os.environ.pop("PYTHONUNBUFFERED", None)


# No test asserts on seconds: hypothesis would, of each example and of making them.
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=500 if EVERYTHING else 30,
)
settings.load_profile("tests")


def pytest_configure(config: pytest.Config) -> None:
    """Measure workers, but not what they start: tracing doubles the CPU time of a process."""
    if hasattr(config, "workerinput"):
        for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS_")]:
            del os.environ[name]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests; where they are new, the first worker compiles them for all workers."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    # Compiling takes as long as collecting. This folder is collected last.
    compiled = (ROOT / "tests" / "v1" / "__pycache__").exists()
    with Path(__file__).open() as lock:
        if worker == "gw0":
            fcntl.flock(lock, fcntl.LOCK_EX)
        elif worker and not compiled:
            fcntl.flock(lock, fcntl.LOCK_SH)
            fcntl.flock(lock, fcntl.LOCK_UN)
        # Everything that is collected lives to the end.
        gc.disable()
        result = yield
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()
    # A command in the process of a test would keep all objects for ever: its own process ends soon.
    for name in ("freeze", "set_threshold"):
        setattr(gc, name, lambda *_: None)
    return result


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say once for each reason how many tests were skipped, and which seed chose the samples."""
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} tests were skipped: {reason}", yellow=True)
    terminalreporter.write_line(f"samples were chosen by OPSCONSOLE_SEED={SEED}")
