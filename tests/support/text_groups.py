"""Text files of test cases: groups of lines, each under a line `## NAME`."""

import json
from pathlib import Path
from typing import Any


def read_groups(file: Path) -> dict[str, list[str]]:
    """Return the lines of each group, but empty ones, by the group's name."""
    _, *groups = file.read_text("utf-8").split("\n## ")
    named = (group.split("\n") for group in groups)
    return {name: [line for line in lines if line] for name, *lines in named}


def read_rows(module: str) -> dict[str, tuple[str, list[Any]]]:
    """Return the tables of `rows.txt` beside a module of tests: columns and rows, by their name.

    A table is what `pytest.mark.parametrize` takes.
    """
    groups = read_groups(Path(module).with_name("rows.txt"))
    return {
        name: (columns.removeprefix("# "), [json.loads(line) for line in lines])
        for name, (columns, *lines) in groups.items()
    }
