"""A list that may not be whole proves presence, never absence: what it lacks is unchecked."""

from __future__ import annotations

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.interface import Outcome, ReadRequest, Seen
from opsconsole.v1.console import Listing


def unchecked(request: ReadRequest, name: str, listed: str, listing: Listing) -> Outcome:
    """Return the outcome of reading what a list does not show and may leave out: state keeps it.

    Args:
        request: What was to be read.
        name: What it is called in messages.
        listed: What the list is of: "the agent's plugins".
    """
    reason, detail = explained(listed, listing)
    told = warning(f"The {name} was not checked", detail)
    return Outcome(request.prior, request.private, (told,), Seen.UNCHECKED, reason=reason)


def unsettled(
    summary: str, listed: str, listing: Listing, path: tuple[str, ...] = ()
) -> Diagnostic:
    """Refuse what only a whole list could settle."""
    return error(summary, explained(listed, listing)[1], path)


def explained(listed: str, listing: Listing) -> tuple[str, str]:
    """Return why a list may not be whole, as part of a sentence, and with what can be done."""
    assert listing.gap is not None
    reason = f"the list of {listed} may not be whole: {listing.gap.value}"
    return reason, f"{reason[0].upper()}{reason[1:]}. {listing.gap.remedy}"
