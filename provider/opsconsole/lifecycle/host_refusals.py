"""What the user is told of hosts that a bulk import did not create. Pure."""

from __future__ import annotations

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.bulk_import import RowVerdict
from opsconsole.lifecycle.interface import Outcome


def not_created(
    name: str, verdict: RowVerdict, holder: str | None = None, *, rehearsed: bool, twin: str = ""
) -> Diagnostic:
    """Say why a row was not created, and what can be done about it.

    Args:
        holder: The address that has its id.
        rehearsed: Whether the verdict is that of a dry run, which changed nothing.
        twin: The address of another host of the run that is declared with the same name.
    """
    if not verdict.matched:
        return error(
            f"The {name} was not imported: its verdict is unclear",
            "The console's import answer lists its rows in a way that matches no row of the "
            "request, so nothing was sent for this host. Create it in the console, then import it.",
        )
    run = "a dry run, which changes nothing," if rehearsed else "the import"
    detail = f"In {run} the console's word for its row is {verdict.status or 'nothing'!r}"
    detail += f": {verdict.error}." if verdict.error else "."
    if verdict.id is None and twin:
        remedy = f"{twin} of this run has the same name. Declare a machine once."
    elif verdict.id is None:
        remedy = "It exists already, or its row is wrong. Import it if it exists."
    elif holder is not None:
        remedy = (
            f"It exists already as {verdict.id}, which is {holder}. Declare a machine once; where "
            "it is to be replaced, leave create_before_destroy out, so that the old one goes first."
        )
    else:
        remedy = (
            f"It exists already as {verdict.id}: import it under that id, or set "
            'on_existing_host = "adopt".'
        )
    return error(f"The console would not create the {name}", f"{detail} {remedy}")


def shared_id(name: str, host_id: str, holder: str) -> Diagnostic:
    """Refuse an id that stands for two declarations; `holder` is the other, where it is known."""
    other = f" {holder} holds it already." if holder else ""
    return error(
        f"The console gave the {name} an id that another host holds",
        f"{host_id} stands for two declarations, so it is not taken into state again.{other} "
        "Declare the machine once, and import it under its id.",
    )


def would_adopt(name: str, host_id: str) -> Diagnostic:
    """Say that a host exists and that creating it adopts it."""
    return warning(
        f"The {name} is there already and would be adopted",
        f"The console knows it as {host_id}; what is declared otherwise would be changed there.",
    )


def created_all_the_same(name: str, outcome: Outcome) -> Outcome:
    """Return the outcome of a row that the console created in a dry run."""
    state = outcome.state or {}
    if state.get("id") is None:
        return outcome
    diagnostic = error(
        f"The console created the {name} although it was asked for a dry run only",
        f"It exists now as {state['id']}: import it under that id. This console's import cannot be "
        "rehearsed; plan without preflight, and ask its operator.",
    )
    return Outcome(None, diagnostics=(diagnostic,))
