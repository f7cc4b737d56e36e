"""What is said of an object in state that the console does not show any more, and what is planned.

What can only be adopted may be found gone by the very run that plans it. Terraform makes a plan
like any other before it destroys, and asks there for the creation of what its refresh has just
found gone. An error would forbid every destroy.
"""

from __future__ import annotations

from dataclasses import replace

from opsconsole.diagnostics import Diagnostic, Severity, warning
from opsconsole.lifecycle.interface import PlanOutcome
from opsconsole.lifecycle.session import Session
from opsconsole.values import UNKNOWN, Attributes

_WAY_OUT = (
    "\nIf it is to be destroyed with the rest and is gone already: `terraform destroy "
    "-refresh=false` makes no plan like this one first."
)


def missing(name: str, how: str = "The console answers 404 for both.") -> Diagnostic:
    """Warn of what leaves state because the console does not show it.

    Silence would be dangerous: an agent that is only hidden from this key would be created again,
    and run twice.
    """
    return warning(
        f"The {name} is deleted, or not visible to this key", f"{how} It is removed from state."
    )


def plan_gone(session: Session, key: object, planned: Attributes, why: Diagnostic) -> PlanOutcome:
    """Return the plan of what cannot be adopted: an error, unless this run found it gone.

    Its creation fails all the same. Values that are not declared are taken from what state held,
    so that what refers to them is not replaced.

    Args:
        key: What state held is known by.
        why: Why it cannot be adopted.
    """
    if session.command != "terraform":
        return PlanOutcome(planned, diagnostics=(why,))
    gone = session.gone_adopted.get(str(key))
    if gone is None:
        return PlanOutcome(planned, diagnostics=(replace(why, detail=why.detail + _WAY_OUT),))
    held = {name: gone.get(name) if value is UNKNOWN else value for name, value in planned.items()}
    told = replace(
        why,
        severity=Severity.WARNING,
        detail="It was in state and is gone from the console. Applying fails here, as nothing "
        f"creates it again; destroying goes on without it. {why.detail}",
    )
    return PlanOutcome(held, diagnostics=(told,))
