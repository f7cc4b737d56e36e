"""Runs pytest in parallel; after `--coverage` traced, and judged by the floor of coverage.

Other words go to pytest.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COVERAGE = ROOT / "build" / "coverage"
IN_PROCESS = (
    *("adopt", "backends", "cdktf", "cli", "commands", "drift", "emulator", "faults"),
    *("language", "reports", "resources", "settings", "state", "terraform", "v1"),
)
"""Folders of tests that run most of the product in pytest's own processes, where it is traced."""
TRACED = "not (unmeasured or real_client or cdktf or cdktn)"
"""Tests that are traced: not those of which most runs elsewhere, or which repeat the same lines."""
MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
"""Bytes that must be free."""
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"


def python(*words: str) -> int:
    """Run a module of this Python in the checkout; return its exit code."""
    # Without the compiled files of the last run, each worker spends seconds on compiling again.
    environment = {name: os.environ[name] for name in os.environ if name != _UNCOMPILED}
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, env=environment).returncode


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


def main(words: list[str]) -> int:
    """Run the tests; return 0 only if all passed and coverage is not under its floor."""
    # Two more than there are cores: many tests wait for a process, a lock or a late answer.
    workers = min((os.cpu_count() or 1) + 2, 6)
    pytest = ("pytest", "-q", f"--numprocesses={workers}", "--dist=worksteal")
    with temporary_files():
        if words[:1] != ["--coverage"]:
            return python(*pytest, *words)
        shutil.rmtree(COVERAGE, ignore_errors=True)
        COVERAGE.mkdir(parents=True)
        folders = words[1:] or [f"tests/{name}" for name in IN_PROCESS]
        options = ("-m", TRACED, *folders)
        failed = python("coverage", "run", "-m", *pytest, *options)
    python("coverage", "combine", "--quiet")
    return python("coverage", "report", "--skip-covered", "--show-missing") or failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
