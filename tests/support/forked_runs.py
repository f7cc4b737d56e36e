"""Runs of one Python program, each a process of its own that has imported everything already.

Most of what a short run costs is starting Python and importing. Here one process does that, and is
forked for each run. A run has its own folder, environment and output; it may limit, kill or
interrupt itself. For a test that needs what Python does at its start, or a command that it
interrupts from outside, this is not the way.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 600
"""A bound for what hangs, on however busy a machine."""

_SERVER = r"""
import json, os, signal, sys

names = {"__name__": "forked"}
exec(compile(sys.argv[1], "<program>", "exec"), names)
requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")

def one_run(words, folder, environment, seconds):
    requests.close()
    answers.close()
    for number, name in enumerate((os.devnull, "out", "err")):
        path = name if number == 0 else os.path.join(os.environ["FORKED_OUTPUT"], name)
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.alarm(seconds)
    code = 1
    try:
        names["run"](*words)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

for line in requests:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        one_run(**asked)
    _, status = os.waitpid(child, 0)
    answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
    answers.flush()
"""


@dataclass(frozen=True)
class ForkedRun:
    """A run that has ended: its exit code, or the negative number of the signal that killed it."""

    code: int
    out: str
    err: str


class Forks:
    """The process that is forked."""

    def __init__(self, server: subprocess.Popen[str], output: Path) -> None:
        self._server = server
        self._output = output

    def run(
        self, *words: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> ForkedRun:
        """Call the program's function `run` with words in a process of its own, to its end."""
        given = dict(os.environ if environment is None else environment)
        request: dict[str, Any] = {"words": words, "folder": str(folder), "environment": given}
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps({**request, "seconds": SECONDS}) + "\n")
        self._server.stdin.flush()
        code = self._server.stdout.readline()
        assert code, "the process that is forked has ended"
        texts = [(self._output / name).read_text() for name in ("out", "err")]
        return ForkedRun(int(code), *texts)


@contextmanager
def forks_of(program: str, *words: str) -> Iterator[Forks]:
    """Start Python for the block with a program that defines `run`; each run is a fork of it.

    Args:
        words: Options of Python itself.
    """
    with tempfile.TemporaryDirectory() as output:
        server = subprocess.Popen(
            [sys.executable, *words, "-c", _SERVER, program],
            env={**os.environ, "FORKED_OUTPUT": output},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with server:
            yield Forks(server, Path(output))
            assert server.stdin is not None
            server.stdin.close()
            server.wait(SECONDS)
