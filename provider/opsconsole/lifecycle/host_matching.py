"""Matching created hosts to the rows of an import whose verdicts do not say, or say wrongly, which
row is meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opsconsole.errors import ConsoleError
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.created import plain_name, stranger
from opsconsole.lifecycle.host_calls import look
from opsconsole.lifecycle.host_row import Row
from opsconsole.lifecycle.verdicts import Verdict
from opsconsole.resources import HOST
from opsconsole.v1.console import ImportResult


async def match_by_name(
    steps: BaseLifecycle, rows: Sequence[Row], result: ImportResult, judged: Sequence[Verdict]
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


def tie_by_name(answers: Mapping[Row, Mapping[str, Any]]) -> dict[Row, Mapping[str, Any]]:
    """Return the host of each row whose name one of them bears, of rows that got others' ids.

    Args:
        answers: The host that was read under the id that each row got.
    """
    wanted = Counter(plain_name(row.fields["name"]) for row in answers)
    shown = Counter(plain_name(str(answer.get("name"))) for answer in answers.values())
    by_name = {plain_name(str(answer.get("name"))): answer for answer in answers.values()}
    tied = {row: by_name.get(plain_name(row.fields["name"])) for row in answers}
    return {
        row: answer
        for row, answer in tied.items()
        if answer is not None
        and wanted[plain_name(row.fields["name"])] == 1
        and shown[plain_name(row.fields["name"])] == 1
        and stranger(HOST, row.fields, answer) is None
    }
