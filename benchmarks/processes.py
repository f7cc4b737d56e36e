"""Runs a program to its end and says what it cost: time, CPU, and the memory of its plugins.

The plugins that Terraform starts are found among its descendants, on Linux only; elsewhere they
are not told apart.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PAUSE = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")
PLUGIN = b"opsconsole.terraform.main"
"""What stands in the command line of the provider's process."""


@dataclass(frozen=True)
class Cost:
    """What one run cost.

    `cpu_seconds` are the program's own, without its plugins'; `peak_mebibytes` is the largest
    plugin's, or where there is none the program's.
    """

    wall_seconds: float
    cpu_seconds: float
    plugin_cpu_seconds: float
    peak_mebibytes: float


class ProgramError(Exception):
    """A program failed; the message is its output."""


def run(
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str],
    expect: Collection[int] = (0,),
) -> Cost:
    """Run `command` in `folder` until it ends.

    Raises:
        ProgramError: It exits with another code than expected.
    """
    words = [str(word) for word in command]
    with (folder / "output.log").open("w+b") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        watch = _Watch(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        watch.end()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expect:
            output.seek(0)
            said = output.read().decode(errors="replace")
            raise ProgramError(f"`{' '.join(words)}` exited with {process.returncode}:\n{said}")
    plugins = watch.cpu_seconds
    own = usage.ru_utime + usage.ru_stime - plugins
    return Cost(wall, own, plugins, watch.peak_mebibytes or usage.ru_maxrss / 1024)


class _Watch:
    """Looks at the plugins below a process until it is told to end."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu: dict[int, float] = {}
        self._ended = threading.Event()
        self.peak_mebibytes = 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def cpu_seconds(self) -> float:
        return sum(self._cpu.values())

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_PAUSE):
            for pid in _descendants(self._pid):
                # A process may end between two looks at it.
                with contextlib.suppress(OSError, IndexError, ValueError):
                    self._note(pid)

    def _note(self, pid: int) -> None:
        folder = Path(f"/proc/{pid}")
        if PLUGIN not in (folder / "cmdline").read_bytes():
            return
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        self._cpu[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
        for line in (folder / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                self.peak_mebibytes = max(self.peak_mebibytes, int(line.split()[1]) / 1024)


def _descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, file.read_text().split()):
                yield child
                yield from _descendants(child)
