"""Drift detection as a job: reads what state holds, takes no lock, writes no state.

Only names that the command line shows are here, which imports no more to show them.
"""

from __future__ import annotations

from typing import Final

from opsconsole.resources import RESOURCES

BASELINE_FILE: Final = ".opsconsole-drift.yml"
COUNTED: Final = ("plugins",)
"""Unmanaged objects that count as drift by default: a plugin changes what an agent can do, while a
tenant has objects of its own."""


def unmanaged_kinds() -> dict[str, str]:
    """Return the kinds of unmanaged objects, each with the type that it would be managed as."""
    return {item.plural.replace(" ", "_"): name for name, item in RESOURCES.items()}
