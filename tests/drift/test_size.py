"""A check of thousands of resources costs the calls that it must. `make bench` has its figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEASURE = """
import dataclasses, json
from benchmarks.drift import FLEETS, measure
print(json.dumps([dataclasses.asdict(measure(name, 2_000)) for name in FLEETS]))
"""
MEBIBYTES = 300


@pytest.mark.timeout(300)
def test_two_thousand_resources() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    hosts, mixed = json.loads(done.stdout)
    assert (hosts["resources"], hosts["calls"]) == (2_000, 2_000)
    # The attachments of an agent, and its own existence, cost one call.
    assert (mixed["resources"], mixed["calls"]) == (2_000, 1_000)
    assert all(row["peak_mebibytes"] < MEBIBYTES for row in (hosts, mixed))
