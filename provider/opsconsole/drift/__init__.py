"""Drift detection as a job: reads states, takes no lock, writes no state.

This module only has the names that the command line shows, so that help imports nothing more.
"""

from __future__ import annotations

from typing import Final

from opsconsole.resources import RESOURCES

BASELINE_FILE: Final = ".opsconsole-drift.yml"
COUNTED_BY_DEFAULT: Final = ("plugins",)
"""Unmanaged objects that count as drift by default. A plugin changes the abilities of an agent.
Other unmanaged objects may simply belong to the tenant."""


def unmanaged_kinds() -> dict[str, str]:
    """Return the kinds of unmanaged objects, each with its Terraform type."""
    return {item.plural.replace(" ", "_"): name for name, item in RESOURCES.items()}
