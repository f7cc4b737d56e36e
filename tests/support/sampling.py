"""How much is tested: a sample in `make test`, everything where a variable asks for it."""

import os
import random
import secrets
from collections.abc import Collection, Iterable
from typing import Final, TypeVar

EVERYTHING: Final = os.environ.get("OPSCONSOLE_TEST_EVERYTHING", "") not in ("", "0")
"""Whether every case is to run, and not only the sample that fits `make test`."""

# Workers inherit the variable, and so choose alike.
SEED: Final = os.environ.setdefault("OPSCONSOLE_SEED", str(secrets.randbelow(100_000)))
"""What chooses each sample."""

Case = TypeVar("Case")


def sample(cases: Iterable[Case], count: int, always: Collection[Case] = ()) -> list[Case]:
    """Choose `count` cases by the seed, in addition to those of `always`; or take everything."""
    everything = list(cases)
    others = [place for place, case in enumerate(everything) if case not in always]
    if EVERYTHING or count >= len(others):
        return everything
    left_out = {*others} - {*random.Random(SEED).sample(others, count)}
    return [case for place, case in enumerate(everything) if place not in left_out]
