"""What a probe asks of imports, all of them dry runs: their verdicts, and how many rows fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opsconsole.lifecycle.host_row import all_created, verdicts
from opsconsole.probe.calls import (
    DryRunNotHonoured,
    DryRunUnanswered,
    NotAllowed,
    ProbeCall,
    ProbeCalls,
    ProbeFinding,
    quoted,
)
from opsconsole.probe.comparing import NEW, Comparison, Judged
from opsconsole.probe.reading import HostRead
from opsconsole.probe.rows import row_of
from opsconsole.v1.console import ImportResult, import_result
from opsconsole.v1.exchange import WrongShape

MOST_ROWS: Final = 500
_QUESTIONS: Final = (
    "dry_run", "index_base", "verdict_created", "verdict_same", "verdict_ids",
    "matching", "tags", "import_size",
)  # fmt: skip
_TOO_LARGE: Final = (400, 413)
"""What a console may answer to more rows than it takes; no other status is about the size."""


async def judge_rows(calls: ProbeCalls, host: HostRead) -> list[ProbeFinding]:
    """Return what dry runs show of a host as it was read, or could not be."""
    judging = _Judging(calls, host)
    try:
        await judging.run()
        why = ""
    except NotAllowed as problem:
        why = str(problem)
    except DryRunUnanswered as problem:
        why = f"Nothing more was sent after a dry run whose outcome is not known: {problem}"
    except DryRunNotHonoured:
        why = "An answer to a dry run did not say dry_run: true, so nothing more was sent."
        judging.found["dry_run"] = ProbeFinding(
            "dry_run",
            "no: an import is real though dry_run is asked for",
            calls=(calls.made[-1].number,),
            value=False,
        )
    return [
        judging.found.get(name) or ProbeFinding(name, why=why or judging.why) for name in _QUESTIONS
    ]


class _Judging:
    """One run of dry runs; `found` holds what they showed, by question."""

    def __init__(self, calls: ProbeCalls, host: HostRead) -> None:
        self._calls = calls
        self._host = host
        self.found: dict[str, ProbeFinding] = {}
        self.why = "The host could not be read, so no row can be compared with it."

    async def run(self) -> None:
        """Ask all; what cannot be asked is left out of `found`."""
        # An import of nothing shows whether dry_run is honoured, and imports nothing if it is not.
        empty = await self._calls.judge([])
        if empty.succeeded:
            self.found["dry_run"] = _honoured(empty.number)
        if self._host.fields and not await self._compare():
            return
        if not self._host.fields:
            await self._new_rows()
        await self._size()

    async def _compare(self) -> bool:
        """Ask all that takes a host; return whether dry runs are of any use."""
        row = row_of(self._host.fields)
        same = await self._verdict(row)
        if same is None:
            self.why = f"A dry run was refused: {self._calls.made[-1].outcome}."
            return False
        self.found.setdefault("dry_run", _honoured(same.number))
        await self._new_rows()
        self.why = "The answer gives no verdict for a row that equals the host."
        if not same.verdict.matched:
            return True
        row, same = await self._without_sets(row, same)
        created = self.found.get("verdict_created")
        word = None if created is None else created.value
        await Comparison(self._verdict, self._host, row, same, word).ask(self.found)
        return True

    async def _without_sets(
        self, row: dict[str, Any], same: Judged
    ) -> tuple[dict[str, Any], Judged]:
        """Leave sets out of a row where they alone change its verdict.

        The console then keeps them in an order of its own, in which rows are not sent.
        """
        plain = {name: value for name, value in row.items() if not isinstance(value, list)}
        if plain == row:
            return row, same
        found = await self._verdict(plain)
        if found is None or not found.verdict.matched or found.verdict == same.verdict:
            return row, same
        return plain, found

    async def _verdict(self, row: Mapping[str, Any]) -> Judged | None:
        call = await self._calls.judge([row])
        result = _result(call)
        if result is None:
            return None
        return Judged(verdicts(result, 1)[0], call.number, all_created(result, 1))

    async def _new_rows(self) -> None:
        """Ask about rows that match no host: their word, and the base of the index."""
        call = await self._calls.judge([{"name": f"{NEW}-{number}"} for number in (1, 2)])
        result = _result(call)
        if result is None:
            return
        self.found.setdefault("dry_run", _honoured(call.number))
        indexes = [entry.index for entry in result.results]
        base = min((index for index in indexes if index is not None), default=None)
        if base in (0, 1) and sorted(map(str, indexes)) == [str(base), str(base + 1)]:
            self.found["index_base"] = ProbeFinding(
                "index_base", str(base), calls=(call.number,), value=base
            )
        words = {entry.status for entry in result.results}
        if result.counts.get("created") == len(indexes) and len(words) == 1:
            [word] = words
            self.found["verdict_created"] = ProbeFinding(
                "verdict_created", quoted(word), calls=(call.number,), value=word
            )

    async def _size(self) -> None:
        """Find the largest import, up to the size that is sent by default."""
        low, high = 0, MOST_ROWS + 1
        numbers: list[int] = []
        asked = MOST_ROWS
        while high - low > 1:
            call = await self._calls.judge([{"name": f"{NEW}-{row}"} for row in range(asked)])
            numbers.append(call.number)
            if call.succeeded:
                low = asked
            elif call.status in _TOO_LARGE:
                high = asked
            else:
                why = f"An import of {asked} rows was not judged by its size: {call.outcome}."
                self.found["import_size"] = ProbeFinding("import_size", why=why)
                return
            asked = (low + high) // 2
        self.found["import_size"] = _size_found(low, tuple(numbers), call.outcome)


def _honoured(number: int) -> ProbeFinding:
    return ProbeFinding("dry_run", "yes", calls=(number,), value=True)


def _size_found(rows: int, calls: tuple[int, ...], last: str) -> ProbeFinding:
    if rows == 0:
        # Not even one row is taken, so it is not the size that is refused.
        return ProbeFinding("import_size", why=f"An import of one row was refused too: {last}.")
    if rows == MOST_ROWS:
        return ProbeFinding("import_size", f"at least {rows} rows", calls=calls, value=rows)
    return ProbeFinding(
        "import_size",
        f"{rows} rows",
        calls=calls,
        value=rows,
        settings={"import_chunk_size": rows},
    )


def _result(call: ProbeCall) -> ImportResult | None:
    if not call.succeeded:
        return None
    try:
        return import_result(call.body)
    except WrongShape:
        return None
