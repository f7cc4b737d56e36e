"""A list that shows only a part proves presence, never absence: what it lacks is unchecked."""

from __future__ import annotations

from opsconsole.diagnostics import warning
from opsconsole.lifecycle.interface import Outcome, ReadRequest, Seen


def unchecked(request: ReadRequest, name: str, shown: str) -> Outcome:
    """Return the outcome of reading what a truncated list does not show: state keeps it.

    Args:
        request: What was to be read.
        name: What it is called in messages.
        shown: What showed only a part of what.
    """
    reason = f"{shown} (has_more)"
    told = warning(
        f"The {name} was not checked",
        f"{reason[0].upper()}{reason[1:]}, and how to ask for the rest is not known: set "
        "cursor_parameter and cursor_field, or a filter in list_query.",
    )
    return Outcome(request.prior, request.private, (told,), Seen.UNCHECKED, reason=reason)
