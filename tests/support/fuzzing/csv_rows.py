"""Files of hosts to import: CSV and JSON."""

from pathlib import Path

from opsconsole.cli import host_rows
from opsconsole.errors import OpsconsoleError

SEEDS = [
    b'name,public_ip\na,10.0.0.1\n"b\nc",10.0.0.2\n',
    b"x;y\n1;2\n",
    b'{"rows": [{"name": "a", "tags": ["a:b"]}]}',
    b'[{"name": "a"}]',
]


def check(data: bytes) -> None:
    """Read `data` as either kind of file."""
    text = data.decode("utf-8", "replace")
    for name in ("x.csv", "x.json"):
        try:
            host_rows.parse_rows(Path(name), text)
        except OpsconsoleError as error:
            str(error)
