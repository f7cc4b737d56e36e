"""Runs pytest in parallel with branch coverage; says at the very end what came of both.

Words after the script's name go to pytest. The floor of coverage holds for the whole suite only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "test-results.xml"
COVERAGE = ROOT / "build" / "coverage"
MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
"""Bytes that must be free."""
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"


def python(*words: str | Path, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a module of this Python in the checkout; its output is returned if `quiet`."""
    command = [sys.executable, "-m", *map(str, words)]
    # Without the compiled files of the last run, each worker spends seconds on compiling anew.
    environment = {name: os.environ[name] for name in os.environ if name != _UNCOMPILED}
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=quiet)


@contextlib.contextmanager
def temporary_files() -> Iterator[None]:
    """Have temporary files in memory for the block, where there is room for them.

    States and journals are synced to disk at every step, as they must be; the tests would wait for
    the disk longer than they compute. A TMPDIR that is set is used as it is.
    """
    if os.environ.get("TMPDIR") or not _has_room(MEMORY):
        yield
        return
    with tempfile.TemporaryDirectory(
        prefix="opsconsole-", dir=MEMORY, ignore_cleanup_errors=True
    ) as folder:
        # Other users get through to what a test lets them read, as in /tmp.
        Path(folder).chmod(0o711)
        os.environ["TMPDIR"] = folder
        # The folder takes memory until it is removed, so SIGTERM must not end this at once.
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
            del os.environ["TMPDIR"]


def _has_room(folder: Path) -> bool:
    """Tell whether tests may fill a folder and start the programs in it."""
    if not os.access(folder, os.W_OK):
        return False
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize >= ROOM and not facts.f_flag & os.ST_NOEXEC


def counts() -> dict[str, int]:
    """Read how many tests passed, failed and were skipped from the results file."""
    suites = ElementTree.parse(RESULTS).getroot().iter("testsuite")
    total = {"failures": 0, "errors": 0, "skipped": 0, "tests": 0}
    for suite in suites:
        for name in total:
            total[name] += int(suite.get(name, 0))
    bad = total["failures"] + total["errors"]
    passed = total["tests"] - bad - total["skipped"]
    return {"passed": passed, "failed": bad, "skipped": total["skipped"]}


def report_coverage(whole: bool) -> int:
    """Print one line on coverage, or what is missing where it is under the floor."""
    python("coverage", "combine", "--quiet", quiet=True)
    if not whole:
        return 0
    report = python("coverage", "report", "--skip-covered", "--show-missing", quiet=True)
    lines = report.stdout.splitlines()
    if report.returncode:
        print(*lines, sep="\n")
        print(report.stderr, end="")
        return report.returncode
    total = next((line for line in lines if line.startswith("TOTAL")), "TOTAL ?")
    print(f"coverage of lines and branches: {total.split()[-1]}")
    return 0


def main(words: list[str]) -> int:
    """Run the tests; return 0 only if all passed and coverage is not under its floor."""
    shutil.rmtree(COVERAGE, ignore_errors=True)
    COVERAGE.mkdir(parents=True)
    RESULTS.unlink(missing_ok=True)
    started = time.monotonic()
    # One more than there are cores: many tests wait for a process, a lock or a late answer.
    workers = min((os.cpu_count() or 1) + 1, 4)
    # Files stay together, as their tests share servers; the long ones come first.
    parallel = (f"--numprocesses={workers}", "--dist=loadfile", "--no-loadscope-reorder")
    pytest = ("pytest", "-q", *parallel, f"--junit-xml={RESULTS}", *words)
    with temporary_files():
        failed = python("coverage", "run", "-m", *pytest).returncode
    whole = words in ([], ["tests"])
    uncovered = report_coverage(whole)
    if RESULTS.exists():
        told = ", ".join(f"{number} {word}" for word, number in counts().items() if number)
        print(f"{told or 'no tests'} in {time.monotonic() - started:.0f} s")
    return failed or uncovered


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
