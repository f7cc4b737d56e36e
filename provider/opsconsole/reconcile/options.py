"""What a user asks of a plan, beside the program: Terraform's planning options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of one plan, named as Terraform's.

    Attributes:
        mode: `normal`, `destroy` or `refresh-only`.
        targets: Addresses of `-target`; empty: everything.
        replace: Addresses of `-replace`.
        refresh: Whether state is refreshed first.
        preflight: Whether the rows of new hosts are dry-run, so that their fate is in the plan.
    """

    mode: str = "normal"
    targets: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    refresh: bool = True
    preflight: bool = False
