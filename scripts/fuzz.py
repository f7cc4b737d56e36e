"""Runs the fuzz targets, a process each, and prints what each found: `make fuzz`, FUZZ_SECONDS=60.

Coverage guides the inputs, by atheris, where it can be imported; FUZZ_GUIDED=0 does without.
Memory is limited, and an input that takes too long is a finding as well. An input that breaks a
target is kept below build/fuzz.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.util
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "fuzz"
MEMORY = 3 * 2**30
SECONDS_FOR_ONE = 20
SIZE = 8192
"""Bytes that Hypothesis makes one input of, at most."""
GUIDED = importlib.util.find_spec("atheris") and os.environ.get("FUZZ_GUIDED") != "0"
sys.path[:0] = [str(ROOT / "tests" / "support")]


def run_target(name: str, seconds: float) -> None:
    """Feed one target for so long; an input that breaks it raises what it raised.

    Raises:
        Exception: What the target raised, and does not document.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if GUIDED:
        import atheris

        with atheris.instrument_imports(include=["opsconsole"], enable_loader_override=False):
            from fuzz_targets import TARGETS  # type: ignore[import-not-found]
    else:
        from fuzz_targets import TARGETS
    target = TARGETS[name]

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(target.inputs())
    def check(data: bytes) -> None:
        try:
            target.check(data)
        except Exception as problem:
            kept = FOLDER / f"{name}-input"
            FOLDER.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
            problem.add_note(f"The input is in {kept}.")
            raise

    feed = check.hypothesis.fuzz_one_input
    executions, until = 0, time.monotonic() + seconds

    def feed_one(data: bytes) -> None:
        nonlocal executions
        executions += 1
        faulthandler.dump_traceback_later(SECONDS_FOR_ONE, exit=True)
        feed(data)
        if time.monotonic() > until:
            print(f"{executions:>9,} executions", flush=True)
            # libFuzzer has no end of its own.
            os._exit(0)

    if not GUIDED:
        while True:
            feed_one(os.urandom(SIZE))
    corpus = FOLDER / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    # Hypothesis chooses by these bytes: an input needs many, which libFuzzer would try late.
    for number in range(64):
        (corpus / f"first-{number}").write_bytes(os.urandom(SIZE))
    options = (f"-artifact_prefix={FOLDER}/{name}-", f"-rss_limit_mb={MEMORY >> 20}")
    sizes = (f"-max_len={SIZE}", "-len_control=0", "-verbosity=0")
    atheris.Setup([sys.argv[0], str(corpus), *options, *sizes], feed_one)
    atheris.Fuzz()


def main() -> int:
    """Run every target, or those that are named; return 1 if an input broke one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=os.environ.get("FUZZ_SECONDS", 60))
    parser.add_argument("--here", action="store_true", help="run one target in this process")
    options = parser.parse_args()
    if options.here:
        [name] = options.targets
        run_target(name, options.seconds)
    # Not before: a target that is run here is imported under the eyes of atheris.
    from fuzz_targets import TARGETS

    print("Inputs are " + ("guided by coverage." if GUIDED else "random."), flush=True)
    broken = 0
    for name in options.targets or TARGETS:
        words = [sys.executable, __file__, "--here", "--seconds", str(options.seconds), name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        broken += done.returncode != 0
        told = done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}"
        print(f"{name:12} {told.strip()}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
