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
WORLDS, CASES = 300, 30
CHANGED = """\
World {} sends, says or stores something else than before. `make simulate SEED={} WORLDS=1
LOGS=directory` writes its log, also at an earlier commit, to compare. If all of the change is
meant, `make digests` accepts it."""


@pytest.mark.unmeasured
@pytest.mark.parametrize("case", range(CASES))
def test_no_rule_is_broken_and_no_log_changes(case):
    for seed in range(case, WORLDS, CASES):
        assert live(seed).digest() == DIGESTS[str(seed)], CHANGED.format(seed, seed)


def test_the_command_gives_the_same_logs(tmp_path):
    words = [sys.executable, run_worlds.__file__, "--seed", "115", "--worlds", "3"]
    words += ["--digests", str(tmp_path / "digests"), "--logs", str(tmp_path)]
    told = subprocess.check_output(words, env={**os.environ, "PYTHONHASHSEED": "1"}, text=True)
    assert told.startswith("3 worlds held: ")
    lines = (tmp_path / "digests").read_text().split()
    assert lines == [word for seed in ("115", "116", "117") for word in (seed, DIGESTS[seed])]
    assert "POST /api/v1/hosts/batch" in (tmp_path / "115.txt").read_text()
