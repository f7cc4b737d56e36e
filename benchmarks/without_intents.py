"""The command `opsconsole` without its journal of intents, to measure what that journal costs.

`python -m benchmarks.without_intents WORDS…`. A run of it that is killed may lose what it did.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from opsconsole.cli.main import main
from opsconsole.lifecycle.interface import WriteRequest
from opsconsole.reconcile.batches import Worker

_NOTHING: Mapping[str, str] = {}


async def _note_nothing(
    self: Worker,
    verb: str,
    requests: Sequence[WriteRequest],
    dry_run_statuses: Mapping[str, str] = _NOTHING,
) -> None:
    """Let writes be sent without a note of them."""


if __name__ == "__main__":
    Worker.note = _note_nothing  # type: ignore[method-assign]  # what it costs is measured
    sys.exit(main(sys.argv[1:]))
