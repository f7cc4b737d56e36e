"""Runs the fuzz targets, a process each, and prints what they did: `make fuzz`, FUZZ_SECONDS=60."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))


def main() -> int:
    """Run every target, or those that are named."""
    from fuzzing import NAMES  # type: ignore[import-not-found]
    from fuzzing.runner import guided  # type: ignore[import-not-found]

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=NAMES, metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=os.environ.get("FUZZ_SECONDS", 60))
    options = parser.parse_args()
    folder = ROOT / "build" / "fuzz"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support")}
    total = problems = 0
    print("Inputs are " + ("guided by coverage." if guided() else "random mutations."), flush=True)
    for name in options.targets:
        words = [sys.executable, "-m", "fuzzing.runner", name, str(options.seconds), str(folder)]
        done = subprocess.run(
            ["timeout", "-s", "KILL", str(options.seconds + 90), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            problems += 1
            print(
                f"{name:12} ended with {done.returncode}: {done.stderr.strip()[-500:]}", flush=True
            )
            continue
        told = json.loads(lines[-1])
        total += told["executions"]
        problems += len(told["found"])
        print(
            f"{name:12} {told['executions']:>9,} executions, {len(told['found'])} found", flush=True
        )
        for title, path in told["found"].items():
            print(f"             {title}: {path}", flush=True)
    print(f"{'together':12} {total:>9,} executions, {problems} found")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
