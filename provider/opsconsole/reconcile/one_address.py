"""One object of the console has one address: what has two is refused before any request.

Dropping one of the two would delete what the other manages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.lifecycle.sentinel import is_sentinel
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reconcile.declaration import PriorInstance
from opsconsole.resources import RESOURCES

Place = tuple[str, str, str]
"""What an object is known by: its console, its type and its id."""


def places_of(
    known: Iterable[PriorInstance], console_of: Callable[[PriorInstance], str]
) -> dict[Place, list[str]]:
    """Return the addresses of each object that state holds, or an `import` block names.

    Args:
        console_of: Returns the console that has an instance.
    """
    found: dict[Place, list[str]] = {}
    for item in known:
        object_id = item.before.get("id")
        if isinstance(object_id, str) and not is_sentinel(object_id):
            place = (console_of(item), item.type_name, object_id)
            found.setdefault(place, []).append(item.address)
    return found


def adopted_places(
    changes: Iterable[Change], console_of: Callable[[str], str]
) -> dict[Place, list[str]]:
    """Return the addresses of each object that creations adopt: its id is known in the plan.

    Args:
        console_of: Returns the console behind the key of a provider configuration.
    """
    found: dict[Place, list[str]] = {}
    for change in changes:
        object_id = (change.after or {}).get("id")
        if change.action is Action.CREATE and isinstance(object_id, str):
            place = (console_of(change.provider), change.type_name, object_id)
            found.setdefault(place, []).append(change.address)
    return found


def held_twice(places: Mapping[Place, list[str]]) -> list[tuple[str, Diagnostic]]:
    """Return an error, with its address, for each object that has several addresses.

    One that was gone and is created again under its id has the same address twice.
    """
    return [
        (addresses[-1], _refused(type_name, object_id, list(dict.fromkeys(addresses))))
        for (_, type_name, object_id), addresses in places.items()
        if len(set(addresses)) > 1
    ]


def _refused(type_name: str, object_id: str, addresses: list[str]) -> Diagnostic:
    return error(
        f"{' and '.join(addresses)} are the same {RESOURCES[type_name].title}, {object_id}",
        "One object has one address: removing either would delete what the other manages. Keep "
        "one of them. What is in state and not wanted there: `opsconsole state rm ADDRESS` "
        "forgets it and leaves the console as it is. What is only declared or imported: take it "
        "out of the program, or move it with a `moved` block.",
    )


def taken_already(type_name: str, object_id: str, holder: str, address: str) -> Diagnostic:
    """Refuse to import under `address` what `holder` has."""
    return error(
        f"{holder} holds the {RESOURCES[type_name].title} {object_id} already",
        f"One object has one address: removing {address} or {holder} would delete what the other "
        f"manages. To give it the address {address}, use a `moved` block, or forget it first with "
        f"`opsconsole state rm '{holder}'`.",
    )
