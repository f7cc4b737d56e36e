"""Matching created hosts to the rows of an import whose verdicts do not say which row is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opsconsole.errors import ConsoleError
from opsconsole.lifecycle.host_calls import look
from opsconsole.lifecycle.host_row import Row
from opsconsole.lifecycle.one_by_one import OneByOne
from opsconsole.lifecycle.verdicts import Verdict
from opsconsole.v1.console import ImportResult


async def match_by_name(
    steps: OneByOne, rows: Sequence[Row], result: ImportResult, judged: Sequence[Verdict]
) -> list[Verdict]:
    """Read the hosts that an import created without saying for which row, and match by name."""
    names = Counter(row.fields["name"] for row in rows)
    told = {verdict.id for verdict in judged if verdict.matched}
    by_name: dict[str, Verdict] = {}
    for entry in result.results:
        if entry.id is None or entry.id in told or entry.status != "created":
            continue
        try:
            name = (await look(steps.session, entry.id)).get("name")
        except ConsoleError as problem:
            steps.log(problem, f"match the created host {entry.id} to its row")
            continue
        if isinstance(name, str):
            by_name[name] = Verdict(matched=True, created=True, id=entry.id)
    return [
        verdict
        if verdict.matched or names[row.fields["name"]] > 1
        else by_name.get(row.fields["name"], verdict)
        for row, verdict in zip(rows, judged, strict=True)
    ]
