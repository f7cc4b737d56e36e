"""Reading everything in state at once, owners first: a host found gone takes its agents along.

Costs one call a host, agent and blacklisted command, and one search for all specialties.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from opsconsole.lifecycle.interface import LifecycleInterface, ReadRequest
from opsconsole.reconcile.declaration import PriorInstance
from opsconsole.resources import RESOURCES, owners_above


async def refresh(
    known: Sequence[PriorInstance], lifecycles: Mapping[str, LifecycleInterface]
) -> dict[str, PriorInstance]:
    """Return what state holds together with what reading it said, by address.

    Args:
        known: The instances; those whose provider has no lifecycle are left unread.
        lifecycles: A lifecycle by the provider's address as state writes it.
    """
    found = {item.address: item for item in known}
    # What is read together in one wave is read in the light of the earlier ones.
    waves: dict[int, dict[tuple[str, str], list[PriorInstance]]] = {}
    depth = {name: len(owners_above(definition)) for name, definition in RESOURCES.items()}
    for item in known:
        if item.held.provider in lifecycles:
            groups = waves.setdefault(depth[item.type_name], {})
            groups.setdefault((item.held.provider, item.type_name), []).append(item)
    for _, groups in sorted(waves.items()):
        done = await asyncio.gather(
            *(
                _read(lifecycles[provider], type_name, group)
                for (provider, type_name), group in groups.items()
            )
        )
        for group in done:
            found.update((item.address, item) for item in group)
    return found


async def _read(
    lifecycle: LifecycleInterface, type_name: str, group: Sequence[PriorInstance]
) -> Iterable[PriorInstance]:
    requests = [ReadRequest(item.before, item.held.private, item.address) for item in group]
    outcomes = await lifecycle.resources[type_name].read(requests)
    return [replace(item, read=outcome) for item, outcome in zip(group, outcomes, strict=True)]
