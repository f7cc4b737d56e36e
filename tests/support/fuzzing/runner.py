"""Runs one target for a while, in a process of its own: `python -m fuzzing.runner NAME SECONDS`.

Inputs are mutations of the seeds. Coverage guides them, by atheris, where it can be imported;
FUZZ_GUIDED=0 does without. Inputs that raise what they must not are saved, one for each place in
the code. Memory is limited, and an input that takes too long is a finding as well.
"""

import faulthandler
import hashlib
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from fuzzing.mutation import mutated

MEMORY = 3 * 2**30
SECONDS_FOR_ONE = 20
SECONDS_UNTIL_KILLED = 60


class TooSlow(BaseException):
    """One input took longer than any input may."""


class Run:
    """One run of a target: what was executed, and what was found."""

    def __init__(self, module: ModuleType, name: str, seconds: float, folder: Path) -> None:
        self.module = module
        self.name = name
        self.folder = folder / name
        self.executions = 0
        self.found: dict[str, str] = {}
        # libFuzzer leaves SIGALRM alone where it has a handler.
        signal.signal(signal.SIGALRM, _too_slow)
        self.watched = -1.0
        # Instrumenting the code took seconds; they are not part of the time for inputs.
        self.until = time.monotonic() + seconds

    def one(self, data: bytes) -> None:
        """Feed the target one input."""
        self.executions += 1
        self._watch()
        signal.alarm(SECONDS_FOR_ONE)
        try:
            self.module.check(data)
        except (Exception, TooSlow) as problem:
            self._keep(data, problem)
        finally:
            signal.alarm(0)
        if time.monotonic() > self.until:
            self.end()

    def _watch(self) -> None:
        """End the process with a traceback if no input ends for long.

        A signal is heard between two steps of Python only, so not in a loop of a library in C.
        """
        now = time.monotonic()
        if now - self.watched > 1:
            faulthandler.dump_traceback_later(SECONDS_UNTIL_KILLED, exit=True)
            self.watched = now

    def _keep(self, data: bytes, problem: BaseException) -> None:
        frames = [
            f for f in traceback.extract_tb(problem.__traceback__) if "opsconsole" in f.filename
        ]
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
        title = f"{type(problem).__name__} at {place}"
        if title in self.found or len(self.found) > 100:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()[:12]
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(problem)))
        self.found[title] = str(path)

    def end(self) -> None:
        """Print what was done as one line of JSON, and leave at once, as libFuzzer has no end."""
        line = {"target": self.name, "executions": self.executions, "found": self.found}
        print(json.dumps(line), flush=True)
        os._exit(1 if self.found else 0)


def _too_slow(*_: Any) -> None:
    raise TooSlow


def _mutate(data: bytes, size: int, seed: int) -> bytes:
    import atheris

    if seed % 2:
        return bytes(atheris.Mutate(data, size))
    return mutated(data, seed)[:size]


def main() -> None:
    """Run one target."""
    name, seconds, folder = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if guided():
        _run_guided(name, seconds, folder)
    run = Run(importlib.import_module(f"fuzzing.{name}"), name, seconds, folder)
    chance = random.Random(int.from_bytes(os.urandom(4)))
    for seed in run.module.SEEDS:
        run.one(seed)
    while True:
        run.one(mutated(chance.choice(run.module.SEEDS), chance.randrange(2**31)))


def guided() -> bool:
    """Tell whether coverage guides the inputs."""
    found = importlib.util.find_spec("atheris") is not None
    return found and os.environ.get("FUZZ_GUIDED") != "0"


def _run_guided(name: str, seconds: float, folder: Path) -> NoReturn:
    import atheris

    with atheris.instrument_imports(include=["opsconsole"], enable_loader_override=False):
        module = importlib.import_module(f"fuzzing.{name}")
    corpus = folder / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for place, seed in enumerate(module.SEEDS):
        (corpus / f"seed-{place}").write_bytes(seed)
    run = Run(module, name, seconds, folder)
    options = [
        f"-artifact_prefix={folder}/{name}-",
        # The run ends itself; libFuzzer ends it where no input is executed any more.
        f"-max_total_time={int(seconds) + 30}",
        f"-rss_limit_mb={MEMORY >> 20}",
        "-max_len=20000",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *options], run.one, custom_mutator=_mutate)
    atheris.Fuzz()
    raise SystemExit("the fuzzer ended before its time")


if __name__ == "__main__":
    main()
