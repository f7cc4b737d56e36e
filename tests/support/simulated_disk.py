"""Real files on which each operation is a point of death, and whose unsynced writes can be lost."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from simulation import Process

POINTS = ("fchmod", "fdatasync", "fsync", "ftruncate", "posix_fallocate", "replace", "unlink")


class Killed(SystemExit):
    """The process died. A SystemExit, so that asyncio lets it through at once."""


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
