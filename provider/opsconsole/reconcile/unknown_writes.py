"""Deletes and updates whose outcome an interrupted run left unknown: settled by reading.

What that run deleted itself does not surprise the guard, so it leaves the state before a plan is
made. An update needs no more than the refresh that every plan begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.lifecycle.interface import Seen
from opsconsole.phrases import plural
from opsconsole.reconcile.declaration import (
    PriorInstance,
    instance_and_key,
    instance_of,
    read_deposed,
)
from opsconsole.reconcile.prior import read_prior, refresh
from opsconsole.reconcile.providers import Providers, key_of
from opsconsole.resources import RESOURCES, owner_of, owners_above
from opsconsole.state import Intent, StateSession


def verb_of(call: Intent) -> str:
    """Return what was done to the resource: `create`, `update` or `delete`."""
    return str(call.details.get("verb", "create"))


async def settle_writes(
    session: StateSession, providers: Providers, calls: Sequence[Intent]
) -> tuple[list[Diagnostic], list[Intent]]:
    """Take out of state what a delete is seen to have deleted.

    Returns:
        The diagnostics, and the calls that are settled.

    Raises:
        Stopped: The run was told to stop.
    """
    known = read_prior(session.state)
    known |= read_deposed(session.state, known)
    console_of = providers.console_holding
    by_id = {
        (console_of(item), item.type_name, item.before.get("id")): item.address
        for item in known.values()
    }
    deletes: dict[str, Intent] = {}
    for call in calls:
        console = providers.console_of(key_of(str(call.details.get("provider", ""))))
        address = by_id.get((console, instance_of(call.address).type, call.details.get("id")))
        if verb_of(call) == "delete" and address is not None:
            deletes[address] = call
    wanted = _with_what_goes_along(known, deletes, console_of)
    found = await refresh(wanted, providers.by_state_address(wanted))
    providers.check_stopped()
    gone = [item.address for item in found.values() if item.value is None]
    for address in gone:
        session.state.remove(*instance_and_key(address))
    unread = {
        address: item.read.why_unchecked
        for address, item in found.items()
        if address in deletes and item.read is not None and item.read.seen is Seen.UNCHECKED
    }
    there = [address for address in deletes if address not in unread and address not in gone]
    updated = [call.address for call in calls if verb_of(call) == "update"]
    kept = {deletes[address].id for address in unread}
    settled = [call for call in calls if call.id not in kept]
    along = sum(address not in deletes for address in gone)
    gone = [address for address in gone if address in deletes]
    return _warnings(gone, along, there, unread, updated), settled


def _with_what_goes_along(
    known: Mapping[str, PriorInstance],
    deletes: Iterable[str],
    console_of: Callable[[PriorInstance], str],
) -> list[PriorInstance]:
    """Return what the deletes speak of, and what the deletion of an owner takes along."""
    wanted = {address: known[address] for address in deletes}
    for definition in sorted(RESOURCES.values(), key=lambda item: len(owners_above(item))):
        above = owner_of(definition)
        if above is None:
            continue
        owners = {
            (console_of(item), item.before["id"])
            for item in wanted.values()
            if item.type_name == above.type_name
        }
        wanted |= {
            address: item
            for address, item in known.items()
            if item.type_name == definition.type_name
            and (console_of(item), item.before.get(definition.owner)) in owners
        }
    return list(wanted.values())


def _warnings(
    gone: Sequence[str],
    along: int,
    there: Sequence[str],
    unread: Mapping[str, str],
    updated: Sequence[str],
) -> list[Diagnostic]:
    diagnostics = []
    if along and not gone:
        with_them = plural(along, "resource")
        diagnostics.append(
            warning(
                f"{with_them} left the state with what the interrupted run deleted",
                "The console does not have them any more.",
            )
        )
    if gone:
        beside = f", and {along:,} that went with them" if along else ""
        diagnostics.append(
            warning(
                f"The interrupted run deleted {_count(gone)} and did not learn the outcome",
                f"The console does not have them any more: they left the state{beside}.\n"
                + _named(gone),
            )
        )
    if there:
        diagnostics.append(
            warning(
                f"The interrupted run has not deleted {_count(there)} so far",
                "Their deletion was sent or about to be; the console still has them:\n"
                + _named(there),
            )
        )
    if unread:
        why = next(iter(unread.values()))
        diagnostics.append(
            warning(
                f"Nobody knows whether the interrupted run deleted {_count(unread)}",
                f"They cannot be read ({why}), so they stay in state:\n{_named(unread)}",
            )
        )
    if updated:
        updates = plural(len(updated), "update")
        diagnostics.append(
            warning(
                f"The interrupted run did not learn the outcome of {updates}",
                f"Reading these resources shows what was changed:\n{_named(updated)}",
            )
        )
    return diagnostics


def _count(addresses: Collection[str]) -> str:
    return plural(len(addresses), "resource")


def _named(addresses: Iterable[str]) -> str:
    return "\n".join(f"  {address}" for address in sorted(addresses))
