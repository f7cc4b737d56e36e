"""Fuzz targets: each feeds one reader of foreign bytes, and says which errors it may raise.

A target is a module of this package with SEEDS (valid inputs) and `check(data)`, which returns
or raises an error that the reader documents. Everything else is a finding.
"""

from importlib import import_module
from types import ModuleType

from hypothesis import strategies as st

from fuzzing.mutation import mutated

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


def inputs(module: ModuleType) -> st.SearchStrategy[bytes]:
    """Return the inputs of a target: its seeds, mutations of them, and any bytes."""
    seeds = st.sampled_from(module.SEEDS)
    return seeds | st.builds(mutated, seeds, st.randoms()) | st.binary(max_size=300)
