"""Let worlds live, one seed after the other: `make simulate`.

The first that breaks a rule ends it, with its seed and its story.
"""

import argparse
import hashlib
import itertools
import sys
import time
from pathlib import Path

from simulation import BrokenRule, live, shrink


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--worlds", type=int, default=1000, help="how many")
    parser.add_argument("--hours", type=float, help="for how long, in place of --worlds")
    parser.add_argument("--logs", type=Path, help="write the log of each world to this directory")
    parser.add_argument("--digests", type=Path, help="write a digest of each log to this file")
    arguments = parser.parse_args()
    ends = None if arguments.hours is None else time.monotonic() + 3600 * arguments.hours
    digests: dict[int, str] = {}
    lived = requests = runs = points = 0
    for seed in itertools.count(arguments.seed):
        if lived >= arguments.worlds if ends is None else time.monotonic() > ends:
            break
        try:
            world = live(seed)
        except BrokenRule as broken:
            print(f"{broken}\n\nThe smallest world of this seed that breaks a rule:")
            smallest, without = shrink(seed)
            print(f"{smallest}\nAs a row of tests/simulation/test_seeds.py: ({seed}, {without})")
            return 1
        lived += 1
        requests, runs = requests + world.requests, runs + world.runs
        points += world.points
        digests[seed] = world.digest()
        if arguments.logs:
            arguments.logs.mkdir(parents=True, exist_ok=True)
            (arguments.logs / f"{seed}.txt").write_text("\n".join(world.log))
    if arguments.digests:
        arguments.digests.write_text("".join(f"{each} {digests[each]}\n" for each in digests))
    whole = hashlib.sha256("".join(digests.values()).encode()).hexdigest()[:16]
    print(
        f"{lived:,} worlds held: {runs:,} commands, {requests:,} requests, {points:,} points; "
        f"digest of their logs {whole}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
