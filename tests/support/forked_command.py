"""A command on PATH whose runs are forks of a process that has imported its program already.

`forked_runs.py` starts that process, and writes the command. What it passes on are its words,
folder, environment, open files and signals. It starts often, so it imports little.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import IO


def begin(
    address: str,
    words: Sequence[str],
    files: Sequence[int],
    folder: str,
    environment: Mapping[str, str],
) -> tuple[int, IO[str]]:
    """Have a run begin; return its process id, and where its exit code can be read once it ends.

    Args:
        address: The socket of the process that is forked.
        files: The input, the output and the errors of the run.
    """
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(address)
        socket.send_fds(asked, [b"\n"], files)
        request = {"words": words, "folder": folder, "environment": {**environment}}
        asked.sendall(json.dumps(request).encode() + b"\n")
        answers = asked.makefile()
    return int(answers.readline()), answers


def main(address: str, *words: str) -> int:
    """Be the command; end as its run does."""
    folder = os.getcwd()  # noqa: PTH109 - pathlib takes as long to import as all the rest
    run, answers = begin(address, words, (0, 1, 2), folder, os.environ)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: os.kill(run, received))
    code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
