"""Creating through a lifecycle, with the outcomes in the order of the requests."""

from collections.abc import Sequence

from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import CreateRequest, Outcome


async def created(lifecycle: BaseLifecycle, requests: Sequence[CreateRequest]) -> list[Outcome]:
    """Create, and return the last that was reported of each."""
    found: dict[int, Outcome] = {}

    async def report(
        results: Sequence[tuple[CreateRequest, Outcome]], *, last: bool = True
    ) -> None:
        for request, outcome in results:
            assert id(request) not in found, "reported again after its last report"
            if last:
                found[id(request)] = outcome

    await lifecycle.create(requests, report)
    return [found[id(request)] for request in requests]
