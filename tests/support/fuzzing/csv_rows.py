"""Files of hosts to import: CSV and JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from opsconsole.cli import hosts_import
from opsconsole.errors import OpsconsoleError

SEEDS = [
    b'name,public_ip\na,10.0.0.1\n"b\nc",10.0.0.2\n',
    b"x;y\n1;2\n",
    b'{"rows": [{"name": "a", "tags": ["a:b"]}]}',
    b'[{"name": "a"}]',
]


def _arguments(name: str) -> argparse.Namespace:
    return argparse.Namespace(
        file=Path(name), on_error=None, on_error_parameter=None, dry_run=True, json=False
    )


def check(data: bytes) -> None:
    """Read `data` as either kind of file."""
    text = data.decode("utf-8", "replace")
    for read, name in ((hosts_import._csv, "x.csv"), (hosts_import._json, "x.json")):
        try:
            read(_arguments(name), text)
        except OpsconsoleError as error:
            str(error)
