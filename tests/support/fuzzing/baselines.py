"""Baselines of accepted drift."""

import tempfile
from datetime import date
from pathlib import Path

from opsconsole.drift.baseline import apply_baseline, read_baseline
from opsconsole.errors import OpsconsoleError

_FILE = Path(tempfile.mkdtemp(prefix="opsconsole-fuzz-")) / "baseline.yml"
SEEDS = [
    b"version: 1\naccept:\n- address: opsconsole_host.a\n  reason: known\n  expires: 2026-12-31\n",
    b'{"version": 1, "accept": [{"address": "a", "reason": "b", "bucket": "missing"}]}',
    b"version: 1\nx: &a [1]\naccept: [{address: '*', attribute: name, reason: |\n  text\n}]\n",
]


def check(data: bytes) -> None:
    """Read `data` as a baseline, and apply it to no drift."""
    _FILE.write_bytes(data)
    try:
        apply_baseline(read_baseline(_FILE), [], date(2026, 1, 1))
    except OpsconsoleError as error:
        str(error)
