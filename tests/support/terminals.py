"""Runs a program in a terminal, and answers what it asks there."""

import os
import pty
import re
import select
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from patience import until

_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\r")
SECONDS = 240


class Session:
    """A program in a terminal of its own: `raw` is what it wrote, `text` has no sequences."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        self._terminal, inner = pty.openpty()
        self.raw = b""
        self._seen = 0
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "TERM": "xterm", "COLUMNS": "120", "LINES": "44"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(inner)

    @property
    def text(self) -> str:
        """Everything written up to now."""
        return _SEQUENCE.sub("", self.raw.decode(errors="replace"))

    def wait_for(self, text: str) -> None:
        """Read until `text` is written after what was waited for before.

        Raises:
            AssertionError: The program ended without it.
        """
        while text not in self.text[self._seen :]:
            assert self._read(), f"{text!r} is not in:\n{self.text}"
        self._seen = self.text.index(text, self._seen) + len(text)

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, keys.encode())

    def choose(self, keys: str) -> None:
        """Press keys once the program takes each key by itself, and no longer whole lines.

        A program draws its question before it listens; a key that comes in between is lost.
        """
        until(
            lambda: not termios.tcgetattr(self._terminal)[3] & termios.ICANON,
            f"it takes no single key:\n{self.text}",
        )
        self.send(keys)

    def hang_up(self) -> None:
        """Take the terminal away."""
        os.close(self._terminal)

    def finish(self) -> int:
        """Read to the end; return the exit code."""
        while self._read():
            pass
        os.close(self._terminal)
        return self.process.wait(SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], SECONDS)
        if not ready:
            self.process.kill()
            return False
        try:
            piece = os.read(self._terminal, 65536)
        except OSError:
            # The last one to hold the other end is gone.
            return False
        self.raw += piece
        return bool(piece)


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
