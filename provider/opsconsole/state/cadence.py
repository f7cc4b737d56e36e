"""When state is written during a run. Only the decision; nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cadence:
    """When state is written during a run: after `seconds` or `changes`, whichever comes first.

    Each write costs as much as the whole state is large, so a fixed pace would make a run's cost
    grow with the square of its length. No new write begins, therefore, before the one before it
    makes up less than `share` of the time since. The cost of all writes is then at most that share
    of the run, plus one write: linear. What is not in state yet is durable in the journal.
    """

    seconds: float = 5.0
    changes: int = 500
    share: float = 0.1

    def due(self, changes: int, since: float, last_cost: float) -> bool:
        """Tell whether to write now.

        Args:
            changes: How many were made since the last write.
            since: Seconds since it ended.
            last_cost: Seconds that it took.
        """
        pressing = changes >= self.changes or (changes > 0 and since >= self.seconds)
        return pressing and last_cost <= self.share * since
