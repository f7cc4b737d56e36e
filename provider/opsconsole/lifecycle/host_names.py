"""Names of hosts that Terraform has planned to create and to delete, one call after the other.

The native engine sees a plan as a whole, and names addresses (`reconcile.same_names`).
"""

from __future__ import annotations

from collections import Counter

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.values import UNKNOWN, Attributes


class PlannedHostNames:
    """The names in the plans of one process; whichever plan is the second one gets the warning."""

    def __init__(self) -> None:
        self._coming: Counter[str] = Counter()
        self._leaving: dict[str, str] = {}

    def add_creation(self, planned: Attributes) -> list[Diagnostic]:
        """Note a host that is to be created; return warnings."""
        name = planned["name"]
        if name is UNKNOWN:
            return []
        self._coming[name] += 1
        if name in self._leaving:
            return [_warn_moved(name, self._leaving[name])]
        return [_declared_twice(name)] if self._coming[name] > 1 else []

    def add_deletion(self, prior: Attributes) -> list[Diagnostic]:
        """Note a host that is to be deleted; return warnings."""
        name, host_id = prior.get("name"), prior["id"]
        if not isinstance(name, str):
            return []
        self._leaving[name] = host_id
        return [_warn_moved(name, host_id)] if self._coming[name] else []


def _warn_moved(name: str, host_id: str) -> Diagnostic:
    return warning(
        f'The host "{name}" ({host_id}) and a new one of this name look like one host that moved',
        "The old one is deleted, with all its agents, before the new one is created. If they are "
        "the same, declare a moved block, or call move_from_id in Python: nothing is deleted then.",
    )


def _declared_twice(name: str) -> Diagnostic:
    return warning(
        f'Two new hosts are named "{name}"',
        "A console may take one for the other, and refuse it. Declare each machine once.",
        ("name",),
    )
