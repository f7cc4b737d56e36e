"""Finding the specialty that a declaration means, by its `key` or `id`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import Cause, NotFound, ProblemKind
from opsconsole.lifecycle.answers import shown
from opsconsole.lifecycle.gone import unsettled
from opsconsole.lifecycle.session import Session
from opsconsole.phrases import did_you_mean
from opsconsole.resources import SPECIALTY
from opsconsole.v1.console import Listing
from opsconsole.values import Attributes


async def find_specialty(session: Session, config: Attributes) -> dict[str, Any] | Diagnostic:
    """Return what the console shows of the declared specialty, or why none can be adopted.

    Raises:
        ConsoleError: the search failed.
    """
    wanted = {name: config[name] for name in ("id", "key") if config.get(name) is not None}
    listing = await candidates(session, wanted)
    matches = [
        shown(SPECIALTY.answered, entry)
        for entry in listing.entries
        if all(entry.get(name) == value for name, value in wanted.items())
    ]
    asked = " and ".join(f"{name} {value!r}" for name, value in wanted.items())
    path = (next(iter(wanted), "key"),)
    if len(matches) == 1 and isinstance(matches[0].get("id"), str):
        return matches[0]
    if len(matches) > 1:
        ids = ", ".join(str(match.get("id")) for match in matches)
        return error(
            f"{len(matches)} specialties have the {asked}",
            f"It is unclear which one is meant: declare the `id`, one of {ids}.",
            path,
        )
    if not listing.complete:
        summary = f"Cannot tell whether there is a specialty with the {asked}"
        return unsettled(summary, "specialties", listing, path)
    return error(
        f"There is no specialty with the {asked} that this key can see",
        f"{near_specialties(listing, wanted)}The API has no operation that creates one: create it "
        "in the console, or check the key. Where the console has such an operation, name it in "
        "extra_endpoints as specialty_create.",
        path,
        Cause(ProblemKind.NOT_FOUND),
    )


def near_specialties(listing: Listing, wanted: Mapping[str, Any]) -> str:
    """Return a sentence that names the key or name that was probably meant, or those there are."""
    for name in ("key", "name"):
        if name in wanted:
            known = sorted({str(entry[name]) for entry in listing.entries if entry.get(name)})
            return f"{did_you_mean(str(wanted[name]), known)} "
    return ""


async def candidates(session: Session, wanted: Mapping[str, Any]) -> Listing:
    """Return what may match: the one of an id in `wanted` where it can be read, else all.

    Raises:
        ConsoleError: neither could be read.
    """
    if "id" not in wanted or not session.console.has("specialty_get"):
        return await session.specialties()
    try:
        return Listing([await session.console.one("specialty_get", wanted["id"])])
    except NotFound:
        return Listing([])
