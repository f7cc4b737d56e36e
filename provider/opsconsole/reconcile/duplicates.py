"""One object at two addresses, and one name at two addresses of a plan.

A console may take a new object for an old object of the same name. If the plan deletes the old
object, the deletion comes first (`order_steps`), and the plan says that the two look like one moved
object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.reconcile.plan import Action, Change
from opsconsole.reconcile.prior import Identity
from opsconsole.reconcile.workspace import Providers
from opsconsole.resources import RESOURCES
from opsconsole.state import Address
from opsconsole.text import join_words
from opsconsole.values import Values

Name = tuple[str, str, str]
"""A console, a type, and the name by which an object of the type is recognised."""

_SHOWN: Final = 10


def name_of(console: str, type_name: str, values: Values | None) -> Name | None:
    """Return the name by which the console may recognise an object, or None."""
    definition = RESOURCES.get(type_name)
    if definition is None or not definition.recognised_by:
        return None
    name = (values or {}).get(definition.recognised_by)
    return (console, type_name, name) if isinstance(name, str) else None


def warn_apparent_moves(
    changes: Iterable[Change], console_of: Callable[[str], str]
) -> Iterator[Diagnostic]:
    """Yield a warning where objects of one name are deleted and created, as if they had moved.

    Args:
        console_of: Returns the console behind the key of a provider configuration.
    """
    leaving: dict[Name, list[Change]] = {}
    coming: dict[Name, list[Change]] = {}
    for change in changes:
        sides = {Action.DELETE: (leaving, change.before), Action.CREATE: (coming, change.after)}
        if change.action in sides and not change.cascade:
            side, values = sides[change.action]
            name = name_of(console_of(change.provider), change.type_name, values)
            if name is not None:
                side.setdefault(name, []).append(change)
    pairs = [
        (old, new)
        for name, old_ones in leaving.items()
        for old in old_ones
        for new in coming.get(name, ())
    ]
    if not pairs:
        return
    old, new = pairs[0]
    plural = RESOURCES[new.type_name].plural
    what = (
        f"{old.address} and {new.address} look like one {RESOURCES[new.type_name].title} that moved"
        if len(pairs) == 1
        else f"{len(pairs):,} {plural} look as if they had moved"
    )
    shown = "\n\n".join(_block(old, new) for old, new in pairs[:_SHOWN])
    more = f"\n\nand {len(pairs) - _SHOWN:,} more." if len(pairs) > _SHOWN else ""
    yield warning(
        what,
        "They have the same name. The old one is deleted with all that belongs to it, then the new "
        "one is created. If they are the same, declare the move, and nothing is "
        f"deleted:\n\n{shown}{more}",
    )


def warn_shared_names(
    changes: Iterable[Change], console_of: Callable[[str], str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each name that an object to be created shares with another that stays."""
    holders: dict[Name, list[Change]] = {}
    for change in changes:
        key = name_of(console_of(change.provider), change.type_name, change.after)
        if key is not None:
            holders.setdefault(key, []).append(change)
    for (_, type_name, name), several in holders.items():
        orgs = {(change.after or {}).get("org_id") for change in several}
        # An org that is unknown or not declared may be the org of another object.
        apart = len(orgs) == len(several) and all(isinstance(org, str) for org in orgs)
        if apart or len(several) == 1:
            continue
        # Objects that exist already were accepted under this name.
        if any(change.action is Action.CREATE for change in several):
            addresses = ", ".join(change.address for change in several[:_SHOWN])
            more = f" and {len(several) - _SHOWN:,} more" if len(several) > _SHOWN else ""
            yield warning(
                f'{len(several):,} {RESOURCES[type_name].plural} are named "{name}"',
                f"{addresses}{more}: a console may take one for the other, and refuse it. Declare "
                "each machine once.",
            )


def _block(old: Change, new: Change) -> str:
    block = f"  moved {{\n    from = {old.address}\n    to   = {new.address}\n  }}"
    if not new.construct_path or Address.parse(new.address).key is not None:
        return block
    return f"{block}\n  in Python, of {new.construct_path}: move_from_id({old.address!r})"


def adopted_objects(
    changes: Iterable[Change], providers: Providers
) -> Iterator[tuple[Identity, str]]:
    """Yield each object that a creation adopts, by the id in the plan, with its address."""
    for change in changes:
        object_id = (change.after or {}).get("id")
        if change.action in (Action.CREATE, Action.ADOPT) and isinstance(object_id, str):
            console = providers.console_of(change.provider)
            yield (console, change.type_name, object_id), change.address


def refuse_shared_objects(named: Iterable[tuple[Identity, str]]) -> Iterator[Diagnostic]:
    """Yield an error for each object that has several addresses."""
    found: dict[Identity, list[str]] = {}
    for identity, address in named:
        found.setdefault(identity, []).append(address)
    for (_, type_name, object_id), several in found.items():
        # An object that was gone and is created again under its id has the same address twice.
        addresses = list(dict.fromkeys(several))
        if len(addresses) > 1:
            yield error(
                f"{join_words(addresses)} are the same {RESOURCES[type_name].title}, {object_id}",
                "One object has one address: removing one of the two would delete what the other "
                "manages. Keep one of them. If the other is in state, `opsconsole state rm "
                "ADDRESS` forgets it without a change to the console. If it is only declared or "
                "imported, take it out of the program, or move it with a `moved` block.",
            ).about(several[-1])
