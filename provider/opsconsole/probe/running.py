"""One probe: its calls one after another, and what they showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opsconsole.errors import ConsoleError
from opsconsole.probe.calls import ProbeCall, ProbeCalls, ProbeFinding
from opsconsole.probe.judging import judge_rows
from opsconsole.probe.listing import ask_lists
from opsconsole.probe.questions import QUESTIONS
from opsconsole.probe.reading import read_host
from opsconsole.v1.client import Client
from opsconsole.v1.operations import SEARCH_SPECIALTIES
from opsconsole.v1.settings import Settings


@dataclass(frozen=True, slots=True)
class Probed:
    """The result of a probe: a finding for each question, in their order, and its calls."""

    findings: tuple[ProbeFinding, ...]
    calls: tuple[ProbeCall, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that say what was found."""
        found: dict[str, Any] = {}
        for finding in self.findings:
            found.update(finding.settings)
        return found


async def probe(
    client: Client, settings: Settings, host_id: str, agent_id: str | None, *, only_get: bool
) -> Probed:
    """Ask a console what the document leaves open.

    Args:
        host_id: A host that may be read, and compared with rows of dry runs.
        agent_id: An agent whose list of plugins may be read.
        only_get: Whether nothing but GET may be sent.

    Raises:
        Unauthorized: The console refuses the credentials; no call is made after that.
        ConsoleError: It cannot be reached, or what answers is not the console.
    """
    calls = ProbeCalls(client, settings, only_get=only_get)
    search = await calls.ask(SEARCH_SPECIALTIES)
    if not search.body:
        # Nothing is sent to what may be a proxy, a login page or another service.
        raise ConsoleError(
            f"A search is not answered as the console would: {search.outcome.removesuffix('.')}.",
            "opsconsole doctor says what is wrong.",
        )
    found = await ask_lists(calls, search, agent_id)
    host = await read_host(calls, host_id)
    found += host.findings
    found += await judge_rows(calls, host)
    found.append(_rate_limit(calls.made))
    by_name = {finding.question: finding for finding in found}
    return Probed(tuple(by_name[question.name] for question in QUESTIONS), tuple(calls.made))


def _rate_limit(calls: Sequence[ProbeCall]) -> ProbeFinding:
    """Return which headers tell of limits."""
    seen: dict[str, int] = {}
    for call in calls:
        for name in call.limits:
            seen.setdefault(name, call.number)
    if not seen:
        why = f"No answer of {len(calls)} has such a header."
        return ProbeFinding("rate_limit", why=why)
    names, numbers = sorted(seen), tuple(sorted(set(seen.values())))
    return ProbeFinding("rate_limit", ", ".join(names), calls=numbers, value=names)
