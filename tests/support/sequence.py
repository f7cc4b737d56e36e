"""In which sequence files of tests are begun: those that take longest first.

A worker takes one file after the other (`--dist=loadfile`). A long one that is begun last leaves
the other workers without work. Whatever is not named here is short.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

LONGEST = (
    "demo",
    "simulation",
    "pipelines/test_cdktf.py",
    "pipelines/test_native.py",
    "faults",
    "acceptance/test_profiles.py",
    "native/test_stopping.py",
    "adopt",
    "release/test_guides.py",
    "release/test_readme.py",
    "cdktf/test_real_tools.py",
    "cdktf/test_types.py",
    "cdktn",
    "parity",
    "pipelines",
    "acceptance",
    "backends",
    "standin",
    "release",
    "native",
    "drift",
    "reports",
    "terraform",
)
"""Folders and files in `tests`, longest first."""


def sort(items: list[pytest.Item]) -> None:
    """Put the tests of long files first; the tests of one file stay together, as they were."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    if not item.path.is_relative_to(TESTS):
        return len(LONGEST)
    name = item.path.relative_to(TESTS).as_posix()
    names = (place for place, found in enumerate(LONGEST) if _begins(name, found))
    return next(names, len(LONGEST))


def _begins(name: str, found: str) -> bool:
    return name == found or name.startswith(f"{found}/")
