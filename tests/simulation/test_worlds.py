"""Seeded worlds, in which no rule may be broken; `make simulate` runs any number of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import run_worlds
from simulation import live

WORLDS, CASES = 300, 30


@pytest.mark.unmeasured
@pytest.mark.parametrize("case", range(CASES))
def test_no_rule_is_broken(case: int) -> None:
    for seed in range(case, WORLDS, CASES):
        live(seed)


@pytest.mark.timeout(300)
def test_a_seed_is_one_world_in_every_process() -> None:
    told = set()
    for hash_seed in ("1", "2"):
        words = [sys.executable, run_worlds.__file__, "--seed", "115", "--worlds", "6"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        told.add(subprocess.check_output(words, env=environment, timeout=300))
    assert len(told) == 1
