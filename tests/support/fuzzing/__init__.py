"""Fuzz targets: each feeds one reader of foreign bytes, and says which errors it may raise.

A target is a module of this package with SEEDS (valid inputs) and `check(data)`, which returns
or raises an error that the reader documents. Everything else is a finding.
"""

from importlib import import_module
from types import ModuleType

NAMES = (
    "answers",
    "baselines",
    "codec",
    "csv_rows",
    "expressions",
    "journals",
    "plans",
    "programs",
    "states",
)
"""Every target, by the name of its module."""


def target(name: str) -> ModuleType:
    """Return a target."""
    return import_module(f"fuzzing.{name}")
