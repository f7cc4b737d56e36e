"""Processes that die at a point, and real files: each operation on them is such a point.

Writes that were not synced can be lost.
"""

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opsconsole.cli.main import main
from virtual_time import VirtualLoop

FOLDERS = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
"""Where the files are."""
POINTS = ("fchmod", "fdatasync", "fsync", "ftruncate", "posix_fallocate", "replace", "unlink")


class Killed(SystemExit):
    """The process died. A SystemExit, so that asyncio lets it through at once."""


@dataclass
class DiskTrouble:
    """An error of operations on files.

    Attributes:
        error: Its `errno`.
        after: The operations before it.
        times: The operations that fail.
    """

    error: int
    after: int
    times: float

    def fails(self) -> bool:
        """Return whether the next operation fails."""
        self.after -= 1
        return self.after < 0 and self.after + self.times >= 0


@dataclass
class Process:
    """One run of a command. Once it is dead, nothing that it does has an effect.

    Attributes:
        dies_at: The point at which it dies; 0: at none.
        signals_at: The points at which it gets SIGINT.
        disk: Which of its operations on files fail, once or from then on, and how.
        files: Its open files, by descriptor, with their inodes.
    """

    words: tuple[str, ...]
    dies_at: int = 0
    signals_at: tuple[int, ...] = ()
    program: Callable[[Sequence[str]], int] = main
    points: int = 0
    dead: bool = False
    died_at: str = ""
    disk: DiskTrouble | None = None
    interrupted_at: float | None = None
    lost_lock_at: float | None = None
    files: dict[int, int] = field(default_factory=dict)
    loop: VirtualLoop | None = None

    def fail_on_disk(self) -> None:
        """Raise the OSError of the disk, if the next operation on a file is to fail."""
        if self.disk is not None and self.disk.fails():
            raise OSError(self.disk.error, os.strerror(self.disk.error))

    def point(self, name: str, half: Callable[[], object] = lambda: None) -> None:
        """Pass a point, or die there, with what `half` does done."""
        if self.dead:
            raise Killed
        self.points += 1
        if self.points == self.dies_at:
            half()
            self.dead, self.died_at = True, name
            raise Killed
        if self.points in self.signals_at and self.loop is not None:
            interrupt = self.loop.signals.get(signal.SIGINT)
            if interrupt is not None:
                self.interrupted_at = self.loop.time()
                interrupt()


class Disk:
    """The operations on files of the process that runs."""

    def __init__(self, running: Callable[[], Process | None]) -> None:
        """Ask `running` whose operation it is; None: the test's own."""
        self._running = running
        self._synced: dict[int, bytes] = {}
        self._new_names: dict[str, int] = {}
        self._replaced: dict[str, tuple[int, bytes | None]] = {}
        self._remembers = False
        self._close = os.close

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the operations of `os`."""
        real_write, real_open, real_dup, real_fdopen = os.pwrite, os.open, os.dup, os.fdopen
        real_close = self._close = os.close

        def pwrite(descriptor: int, data: Any, at: int) -> int:
            if process := self._running():
                self._remember(descriptor)
                half = bytes(data)[: len(data) // 2]
                process.point("pwrite", lambda: real_write(descriptor, half, at))
                process.fail_on_disk()
            return real_write(descriptor, data, at)

        def open_(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            process = self._running()
            if process is None:
                return real_open(path, flags, *rest, **named)
            if flags & os.O_CREAT:
                process.point(f"open {Path(path).name}")
            is_new = flags & os.O_CREAT and "journal" in str(path) and not Path(path).exists()
            descriptor = real_open(path, flags, *rest, **named)
            if is_new:
                self._new_names[str(path)] = Path(path).parent.stat().st_ino
            process.files[descriptor] = os.fstat(descriptor).st_ino
            return descriptor

        def dup(descriptor: int) -> int:
            copy = real_dup(descriptor)
            if process := self._running():
                process.files[copy] = os.fstat(copy).st_ino
            return copy

        def fdopen(descriptor: int, *args: Any, **named: Any) -> Any:
            self._leave(descriptor)
            return real_fdopen(descriptor, *args, **named)

        def close(descriptor: int) -> None:
            self._leave(descriptor)
            real_close(descriptor)

        with pytest.MonkeyPatch.context() as patch:
            for name in POINTS:
                patch.setattr(os, name, self._watch(name, getattr(os, name)))
            for function in (pwrite, dup, fdopen, close):
                patch.setattr(os, function.__name__, function)
            patch.setattr(os, "open", open_)
            yield

    def _watch(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **named: Any) -> Any:
            process = self._running()
            if process is None:
                return real(*args, **named)
            process.point(name)
            if name != "unlink":
                process.fail_on_disk()
            if name in ("ftruncate", "posix_fallocate"):
                self._remember(args[0])
            if name == "replace":
                self._remember_name(Path(args[1]))
            result = real(*args, **named)
            if name in ("fsync", "fdatasync"):
                inode = os.fstat(args[0]).st_ino
                self._synced.pop(inode, None)
                for path in [path for path, place in self._new_names.items() if place == inode]:
                    del self._new_names[path]
                for path in [path for path, (place, _) in self._replaced.items() if place == inode]:
                    del self._replaced[path]
            return result

        return operation

    def _leave(self, descriptor: int) -> None:
        if process := self._running():
            process.files.pop(descriptor, None)

    def _remember(self, descriptor: int) -> None:
        """Remember what a file held when it was last synced."""
        if not self._remembers:
            return
        status = os.fstat(descriptor)
        if status.st_ino not in self._synced:
            self._synced[status.st_ino] = os.pread(descriptor, status.st_size, 0)

    def _remember_name(self, path: Path) -> None:
        """Remember what had a name when its directory was last synced."""
        if self._remembers and str(path) not in self._replaced:
            before = path.read_bytes() if path.exists() else None
            if before is not None:
                before = self._synced.get(path.stat().st_ino, before)
            self._replaced[str(path)] = path.parent.stat().st_ino, before

    def bury(self, process: Process) -> None:
        """Close the files of a process, and so let go of its locks."""
        for descriptor, inode in process.files.items():
            # A file object may have closed it, and another may have its number now.
            with contextlib.suppress(OSError):
                if os.fstat(descriptor).st_ino == inode:
                    self._close(descriptor)
        process.files.clear()

    def lose_power(self, chance: random.Random, folder: Path) -> None:
        """Lose what no sync made durable: of each file all of it, or nothing."""
        for path in sorted(folder.iterdir()):
            before = self._synced.get(path.stat().st_ino)
            if before is not None and chance.random() < 0.7:
                path.write_bytes(before)
        for name in list(self._new_names):
            if chance.random() < 0.5:
                Path(name).unlink(missing_ok=True)
        for name, (_, content) in self._replaced.items():
            if chance.random() < 0.5:
                Path(name).unlink(missing_ok=True)
                if content is not None:
                    Path(name).write_bytes(content)

    def forget(self, *, remember: bool) -> None:
        """Take everything as durable; remember what is not from now on."""
        self._remembers = remember
        self._synced.clear()
        self._new_names.clear()
        self._replaced.clear()
