"""What a user asks of a plan beside the program: Terraform's planning options, and the guard rails.

A plan that would take away much of what exists needs to be forced. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.reconcile.changes import Action, Plan


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of one plan, named as Terraform's.

    Attributes:
        mode: `normal`, `destroy` or `refresh-only`.
        targets: Addresses of `-target`; empty: everything.
        replace: Addresses of `-replace`.
        refresh: Whether state is refreshed first.
        preflight: Whether the plan says what a dry run of new hosts said.
    """

    mode: str = "normal"
    targets: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    refresh: bool = True
    preflight: bool = False


DEFAULT_SHARE = 30.0
"""Per cent of what exists that a plan may delete or replace without being forced."""

FEWEST = 10
"""Fewer resources than this are not guarded: a share of them says little."""


def too_much_goes(plan: Plan, share: float = DEFAULT_SHARE) -> Diagnostic | None:
    """Return why a plan needs to be forced, or None.

    Deleted and replaced instances count, and those that had vanished from the console before the
    plan was made: both are what a wrong key, org or base address looks like. A plan that was asked
    to destroy says so itself: of it only what had vanished counts.

    Args:
        share: Per cent allowed of the managed instances that state held.
    """
    gone = [item for item in plan.drift if item.after is None]
    going = [item for item in plan.changes if item.action in (Action.DELETE, Action.REPLACE)]
    if plan.mode == "destroy":
        going = []
    existing = sum(item.before is not None and item.type_name != "" for item in plan.changes)
    existing += len(gone)
    if existing < FEWEST or not (going or gone):
        return None
    lost = len(going) + len(gone)
    percent = 100.0 * lost / existing
    if percent <= share:
        return None
    parts = []
    if going:
        parts.append(f"{len(going)} would be deleted or replaced")
    if gone:
        parts.append(f"{len(gone)} had vanished from the console")
    return error(
        f"The plan takes away {lost} of {existing} resources ({percent:.0f} %)",
        f"{' and '.join(parts)}; more than {share:g} % needs to be forced. Check base_url, the key "
        "and the program. If it is meant: --force, or a higher --max-destroy; in the environment "
        "OPSCONSOLE_FORCE=1, or OPSCONSOLE_MAX_DESTROY.",
    )
