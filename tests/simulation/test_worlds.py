"""Seeded worlds, in which no rule may be broken; `make simulate` runs any number of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import run_worlds
from simulation import live

DIGESTS = dict(map(str.split, Path(__file__).with_name("digests.txt").read_text().splitlines()))
CASES = 30
CHANGED = """\
World {} sends, says or stores something else than before. `make simulate SEED={} WORLDS=1
LOGS=directory` writes its log, also at an earlier commit, to compare. If all of the change is
meant, `make digests` accepts it."""


@pytest.mark.unmeasured
@pytest.mark.parametrize("case", range(CASES))
def test_no_rule_is_broken_and_no_log_changes(case: int) -> None:
    for seed in range(case, len(DIGESTS), CASES):
        assert live(seed).digest() == DIGESTS[str(seed)], CHANGED.format(seed, seed)


@pytest.mark.timeout(300)
def test_a_seed_is_one_world_in_every_process() -> None:
    told = set()
    for hash_seed in ("1", "2"):
        words = [sys.executable, run_worlds.__file__, "--seed", "115", "--worlds", "6"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        told.add(subprocess.check_output(words, env=environment, timeout=300))
    assert len(told) == 1
