"""Reading many hosts by the verdicts of a dry run (`host_read = "dry_run"`).

A row that equals a host gets the verdict `host_read_same`, and one of which a field in
`host_read_fields` differs gets another: a probe of this console has shown so. What such a row does
not hold is not compared. Every other host is read one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ConsoleError
from opsconsole.lifecycle.answers import PrivateState, is_sentinel
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.host_row import (
    IGNORED,
    DryRunIgnored,
    RowVerdict,
    dry_run,
    halved,
    verdicts,
)
from opsconsole.lifecycle.interface import Outcome, ReadRequest
from opsconsole.lifecycle.session import each
from opsconsole.resources import HOST
from opsconsole.v1.console import ImportResult

FEWEST: Final = 2
"""Hosts that are worth a dry run: reading a single one costs no more, and shows every field."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """One host and the row that it should equal."""

    index: int
    request: ReadRequest
    row: Mapping[str, Any]


class HostComparison:
    """Compares hosts in state with the console, many in one request."""

    def __init__(self, steps: BaseLifecycle) -> None:
        self.same: dict[int, Outcome] = {}
        self.diagnostics: list[Diagnostic] = []
        self._steps = steps
        self._session = steps.session
        self._settings = steps.session.settings

    async def run(self, requests: Sequence[ReadRequest]) -> None:
        """Compare hosts; nothing is compared once a verdict of this run was none of the settings'.

        `same` then has the outcomes of those that are the same, by their index in `requests`, and
        `diagnostics` has warnings about the comparison itself.
        """
        items = [
            _Compared(index, request, self._row(request))
            for index, request in enumerate(requests)
            if not is_sentinel(request.prior["id"])
        ]
        items = [item for item in items if item.row]
        if self._session.comparing_ended or len(items) < FEWEST:
            return
        size = self._session.import_chunk_size
        chunks = [items[start : start + size] for start in range(0, len(items), size)]
        await each(chunks, self._chunk, self._session.limit)

    def _row(self, request: ReadRequest) -> dict[str, Any]:
        """Return the row that the host should equal; empty where it has no name."""
        dropped = PrivateState.decode(request.private).dropped
        prior = request.prior
        fields = [
            name
            for name in self._settings.host_read_fields
            # What is unset on one side may be empty on the other: a row says nothing of it.
            if prior.get(name) not in (None, []) and name not in dropped
        ]
        if prior.get("name") is None:
            return {}
        return {"name": prior["name"], **{name: prior[name] for name in fields}}

    async def _chunk(self, chunk: Sequence[_Compared]) -> None:
        if self._session.comparing_ended:
            return
        try:
            result = await dry_run(self._session, [item.row for item in chunk])
        except DryRunIgnored:
            return
        except ConsoleError as problem:
            half = halved(self._session, len(chunk), problem)
            if not half:
                self._steps.log(problem, "compare hosts by a dry run")
                return
            await self._chunk(chunk[:half])
            await self._chunk(chunk[half:])
            return
        if result.dry_run:
            self._judge(chunk, result)
        else:
            self._session.comparing_ended = True
            self.diagnostics.append(_imported(chunk, result))

    def _judge(self, chunk: Sequence[_Compared], result: ImportResult) -> None:
        judged = verdicts(result, len(chunk))
        known = self._known_words(judged, result.counts)
        strange = next(
            (item for item in judged if not item.matched or (known and item.status not in known)),
            None,
        )
        if strange is not None:
            if not self._session.comparing_ended:
                self.diagnostics.append(_unknown(strange))
            self._session.comparing_ended = True
            return
        for item, verdict in zip(chunk, judged, strict=True):
            # Another host may have the values of this one by now, so the id is compared too.
            if (
                verdict.status == self._settings.host_read_same
                and verdict.id == item.request.prior["id"]
                and not verdict.error
            ):
                self.same[item.index] = self._outcome(item)

    def _known_words(
        self, judged: Sequence[RowVerdict], counts: Mapping[str, int]
    ) -> frozenset[str]:
        """Return the words that a verdict may have; empty: any.

        The one word that no setting names, and that as many rows have as the answer counts as
        created, stands for rows that match no host.
        """
        settings = self._settings
        if settings.host_read_differs is None:
            return frozenset()
        known = {settings.host_read_same or "", settings.host_read_differs, "created"}
        others = [item.status for item in judged if item.matched and item.status not in known]
        if len(set(others)) == 1 and counts.get("created") == len(others):
            known.update(others)
        return frozenset(known)

    def _outcome(self, item: _Compared) -> Outcome:
        """Return the outcome of a host that equals its row: what the row lacks was not seen."""
        request = item.request
        name = request.address or self._steps.name(request.prior)
        self._session.hold(HOST.type_name, request.prior["id"], name)
        unseen = tuple(
            attribute.name
            for attribute in HOST.answered
            if attribute.name != "id" and attribute.name not in item.row
        )
        return Outcome(request.prior, request.private, unobserved=unseen, in_bulk=True)


def _imported(chunk: Sequence[_Compared], result: ImportResult) -> Diagnostic:
    """Return the error for an import that should have been none, with every host it created."""
    strange = [
        f'\n  "{item.row["name"]}": {verdict.id}'
        for item, verdict in zip(chunk, verdicts(result, len(chunk)), strict=True)
        if verdict.id is not None and verdict.id != item.request.prior["id"]
    ]
    created = (
        "\nThese hosts of the answer are in no state; import or delete them:" + "".join(strange)
        if strange
        else ""
    )
    return error(
        f"{IGNORED}: it was sent to compare hosts",
        "Its rows count as imported: they hold what state held, so what had been changed on the "
        'console may be overwritten. No further dry run is sent. Take host_read = "dry_run" out '
        f"of the settings, and ask the console's operator.{created}",
    )


def _unknown(verdict: RowVerdict) -> Diagnostic:
    shown = f"the verdict {verdict.status!r}" if verdict.matched else "verdicts that match no row"
    return warning(
        "Hosts are read one by one for the rest of this run",
        f"The console answered a dry run with {shown}, which the settings do not name "
        "(host_read_same, host_read_differs). Run opsconsole probe again.",
    )
