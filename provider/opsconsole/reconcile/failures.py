"""What a failed step keeps from being taken, and why. Pure bookkeeping."""

from __future__ import annotations

from collections.abc import Callable

from opsconsole.reconcile.order import Step, config_address
from opsconsole.values import Attributes, holds_unknown

ConfigOf = Callable[[Step], Attributes]
"""Evaluates a step's declaration with what is known now; UNKNOWN where something failed."""


class Failures:
    """The instances that failed or were skipped, each with the address that began it."""

    def __init__(self) -> None:
        self._instances: dict[str, str] = {}
        self._resources: dict[str, str] = {}
        self._held: dict[str, str] = {}

    def __contains__(self, address: str) -> bool:
        """Say whether an instance failed or was skipped."""
        return address in self._instances

    def add(self, step: Step, cause: str = "") -> None:
        """Note that a step failed, or was skipped because of `cause`."""
        address = step.change.address
        cause = cause or address
        self._instances.setdefault(address, cause)
        if step.is_up:
            self._resources.setdefault(config_address(address), cause)
            return
        for dependency in (*step.change.depends_on, *step.change.released):
            self._held.setdefault(dependency, cause)

    def blocker(self, step: Step, config_of: ConfigOf) -> str:
        """Return the address of what keeps `step` from being taken, or nothing.

        Where a resource has several instances, one that failed stops only those that need a value
        of it: their declaration still holds an unknown.
        """
        change = step.change
        if change.address in self._instances:
            return self._instances[change.address]
        if not step.is_up:
            if change.cascade:
                return self._instances.get(change.cascade, "")
            return self._held.get(config_address(change.address), "")
        for dependency in change.depends_on:
            cause = self._resources.get(dependency)
            alone = dependency in self._instances
            if cause and (alone or holds_unknown(config_of(step))):
                return cause
        return ""
