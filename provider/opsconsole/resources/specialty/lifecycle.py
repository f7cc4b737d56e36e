"""Specialties: looked up by one search for all, adopted, deleted once no agent carries them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from opsconsole.definition import DataSourceDefinition, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import Cause, Conflict, ConsoleError, NotFound, ProblemKind
from opsconsole.lifecycle.answers import values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    ReadOutcome,
    ReadRequest,
    UpdateRequest,
    WriteRequest,
)
from opsconsole.lifecycle.missing import (
    outcome_of_missing,
    outcome_of_unlisted,
    plan_gone,
)
from opsconsole.lifecycle.planning import (
    change_errors,
    difference_diagnostics,
    propose_adoption,
    propose_creation,
)
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.resources import SPECIALTY
from opsconsole.resources.agent.known import KnownAgents
from opsconsole.resources.data_sources import SELECTORS
from opsconsole.resources.host.known import HostDeletions
from opsconsole.text import did_you_mean, parse_duration
from opsconsole.v1.console import Listing
from opsconsole.v1.operations import naming_hint
from opsconsole.values import UNKNOWN, Values

_DEFAULT_DELETE_TIMEOUT = 120.0
_CREATE_IT = (
    "The API has no operation that creates one: create it in the console, or check the key."
    + naming_hint("specialty_create")
)


class SpecialtyLifecycle(BaseLifecycle):
    """The steps of `opsconsole_specialty`."""

    definition: ClassVar[ResourceDefinition] = SPECIALTY

    async def _plan_creation(self, request: PlanCreation) -> PlanOutcome:
        config = request.config
        planned = propose_creation(self.definition, config)
        if config.get("key") is UNKNOWN or config.get("id") is UNKNOWN:
            return PlanOutcome(planned, adopts=not self.has_operation("create"))
        specialty = await find_specialty(self.session, config)
        if isinstance(specialty, Diagnostic):
            if self._can_create(config, specialty):
                return PlanOutcome(planned)
            key = config.get("key") or config.get("id")
            return plan_gone(self.session, key, planned, specialty)
        values = self.definition.empty() | specialty
        has = self.session.console.has
        proposal = propose_adoption(self.definition, config, specialty, has)
        name = self.describe(values, request.address)
        diagnostics = change_errors(self.definition, proposal, values, name)
        if not diagnostics and not self.session.sees_whole_plan:
            # Terraform's plan can only say "will be created".
            diagnostics.append(
                warning(f"This takes the {name} under management; nothing is created")
            )
        return PlanOutcome(proposal.planned, diagnostics=tuple(diagnostics), adopts=True)

    def _can_create(self, config: Values, refusal: Diagnostic) -> bool:
        return (
            refusal.cause == Cause(ProblemKind.NOT_FOUND)
            and self.has_operation("create")
            and config.get("id") is None
        )

    def _diagnose_removal(self, request: PlanRemoval) -> tuple[Diagnostic, ...]:
        staying = super()._diagnose_removal(request)
        if staying or self.has_operation("create"):
            return staying
        return (
            warning(
                f"Once deleted, the {self.describe(request.prior)} cannot be created again",
                "The API (v1) has no operation that creates a specialty. "
                '`deletion_policy = "abandon"` leaves it on the console.',
            ),
        )

    async def _read(self, request: ReadRequest) -> ReadOutcome:
        if self.has_operation("read"):
            return await super()._read(request)
        prior = request.prior
        listing = await self.session.list_once("specialty_search")
        for entry in listing.entries:
            if entry["id"] == prior["id"]:
                return self.outcome_of_read(prior, request.private, entry)
        if listing.gap is None:
            how = "The search shows every specialty, and this one is not among them."
            return outcome_of_missing(self, request, how)
        return outcome_of_unlisted(self, request, "specialties", listing.gap)

    async def _read_data(self, source: DataSourceDefinition, config: Values) -> Outcome:
        if source.is_list:
            listing = await self.session.list_once("specialty_search")
            return self.outcome_of_list(source, "specialties", listing)
        selectors = {name: config[name] for name in SELECTORS if config.get(name) is not None}
        specialty: Values | Diagnostic
        if len(selectors) == 1:
            advice = "Check the value, and the key's org."
            specialty = await find_specialty(self.session, selectors, selectors, advice)
        else:
            specialty = error(
                "A specialty is found by exactly one of id, key or name",
                f"The declaration sets {', '.join(selectors) or 'none of them'}.",
            )
        if isinstance(specialty, Diagnostic):
            return Outcome(None, diagnostics=(specialty,))
        return Outcome(source.empty() | specialty)

    async def _create(self, request: CreateRequest) -> Outcome:
        config, planned = request.config, request.planned
        # Since the plan, the specialty may have been deleted, or its key have gone to another one.
        specialty = await find_specialty(self.session, config)
        if isinstance(specialty, Diagnostic):
            if not self._can_create(config, specialty):
                return Outcome(None, diagnostics=(specialty,))
            outcome = await super()._create(request)
            self.session.forget_list("specialty_search")
            return outcome
        if planned["id"] is not UNKNOWN and planned["id"] != specialty["id"]:
            moved = error(
                f"The {self.describe(planned)} is another object now",
                f"The plan adopts {planned['id']}, the search finds {specialty['id']}. Plan again.",
            )
            return Outcome(None, diagnostics=(moved,))
        refusal = self.claim_object(request, specialty["id"])
        return refusal or await self.write(request, specialty)

    async def write(self, request: CreateRequest | UpdateRequest, current: Values) -> Outcome:
        """Change the values that differ; refuse them if the console has no such operation."""
        changes = self.changes_to(current, request, self.updated_names)
        if changes and not self.has_operation("update"):
            kept = self.definition.empty() | current
            name, asked = self.describe(request.planned), request.planned
            refusals = difference_diagnostics(name, list(changes), asked, kept, creating=False)
            return Outcome(request.prior, request.private, refusals)
        outcome = await super().write(request, current)
        if changes:
            self.session.forget_list("specialty_search")
        return outcome

    async def send_delete(self, prior: Values) -> Mapping[str, Any]:
        """Delete a specialty; try again after each host whose agents may have carried it."""
        hosts = self.session.singleton(HostDeletions)
        deadline = asyncio.get_running_loop().time() + _delete_timeout(prior)
        while True:
            # Noted before the call: a host that goes while it is under way calls for another try.
            ended = set(hosts.ended)
            # Agents that left state in this run are archived with their hosts, whose deletion may
            # still come. After each of these the console may accept this one.
            awaited = any(
                agent.specialty_id == prior["id"] and agent.host_id not in ended
                for agent in hosts.unmanaged_agents.values()
            )
            try:
                answer = await super().send_delete(prior)
            except Conflict as problem:
                if awaited and await hosts.wait_for_another(ended, deadline):
                    continue
                # It is still there, even if an earlier try is in doubt.
                problem.had_no_effect = True
                raise
            except ConsoleError:
                self.session.forget_list("specialty_search")
                raise
            self.session.forget_list("specialty_search")
            return answer

    def failed_outcome(self, verb: str, request: WriteRequest, problem: Exception) -> Outcome:
        outcome = super().failed_outcome(verb, request, problem)
        if isinstance(problem, Conflict) and isinstance(request, DeleteRequest):
            refusal = self._still_carried_error(request.prior, problem)
            return outcome._replace(diagnostics=(refusal,))
        return outcome

    async def is_there(self, object_id: str) -> bool:
        """Return whether a specialty exists; raise if the read cannot tell."""
        if self.has_operation("read"):
            return await super().is_there(object_id)
        listing = await self.session.list_once("specialty_search")
        if any(entry["id"] == object_id for entry in listing.entries):
            return True
        if listing.gap is not None:
            raise ConsoleError(listing.gap.reason("specialties"))
        return False

    def _still_carried_error(self, prior: Values, problem: Conflict) -> Diagnostic:
        summary = f"An agent still carries the {self.describe(prior)}"
        known = self.session.singleton(KnownAgents)
        others = problem.answer.texts - {prior["id"]}
        carriers = self.session.named_in(others) or sorted(
            str(agent)
            for agent in known.by_id.values()
            if agent.specialty_id == prior["id"] and not known.is_gone(agent.id)
        )
        if carriers:
            who = (
                "Agents known here that carry it: " + "; ".join(carriers) + ". Delete their hosts, "
                "or give them another specialty, first."
            )
        elif named := sorted(problem.answer.texts):
            who = (
                f"The console names {', '.join(named)}. This run has read no agent that carries "
                "it: such agents are outside this configuration, or unchanged in it."
            )
        else:
            who = (
                "No agent that this run has read carries it: such agents are outside this "
                "configuration, or unchanged in it. Find them in the console."
            )
        return error(summary, who, cause=problem.cause)

    async def import_state(self, import_id: str) -> Outcome:
        """Take `spc_…` as the id, or find the specialty by `key=KEY`."""
        prefix, _, key = import_id.partition("=")
        if prefix != "key":
            return await super().import_state(import_id)
        specialty = await find_specialty(self.session, {"key": key})
        if isinstance(specialty, Diagnostic):
            return Outcome(None, diagnostics=(specialty,))
        return Outcome(self.definition.empty() | {"id": specialty["id"]})


def _delete_timeout(prior: Values) -> float:
    declared = (prior.get("timeouts") or {}).get("delete")
    if not isinstance(declared, str):
        return _DEFAULT_DELETE_TIMEOUT
    try:
        return parse_duration(declared) / 10**9
    except ValueError:
        # The definition bounds the form, so it is longer than Go can hold: wait the longest time.
        return 2**63 / 10**9


async def find_specialty(
    session: ConsoleSession,
    config: Values,
    names: Iterable[str] = ("id", "key"),
    advice: str = _CREATE_IT,
) -> dict[str, Any] | Diagnostic:
    """Return the console's values of the declared specialty, or the error if it is not unique.

    Args:
        names: The attributes by which it is declared.
        advice: The remedy if there is none.
    """
    selectors = {name: config[name] for name in names if config.get(name) is not None}
    if "id" not in selectors or not session.console.has("specialty_get"):
        listing = await session.list_once("specialty_search")
    else:
        try:
            listing = Listing([await session.console.call("specialty_get", selectors["id"])])
        except NotFound:
            listing = Listing([])
    matches = [
        values_shown(SPECIALTY.answer_fields, entry)
        for entry in listing.entries
        if all(entry.get(name) == value for name, value in selectors.items())
    ]
    asked = " and ".join(f"{name} {value!r}" for name, value in selectors.items())
    path = (next(iter(selectors), "key"),)
    # A name may occur a second time in the part of the list that is not shown.
    if len(matches) == 1 and (listing.complete or "name" not in selectors):
        return matches[0]
    if len(matches) > 1:
        ids = ", ".join(str(match.get("id")) for match in matches)
        return error(
            f"{len(matches)} specialties have the {asked}",
            f"It is unclear which one is meant: declare the `id`, one of {ids}.",
            path,
        )
    if listing.gap is not None:
        summary = f"Cannot tell whether there is one specialty with the {asked}"
        return error(summary, listing.gap.explain("specialties"), path)
    near = ""
    for name in ("key", "name"):
        if name in selectors:
            known = sorted({str(entry[name]) for entry in listing.entries if entry.get(name)})
            near = f"{did_you_mean(str(selectors[name]), known)} "
    return error(
        f"There is no specialty with the {asked} that this key can see",
        f"{near}{advice}",
        path,
        Cause(ProblemKind.NOT_FOUND),
    )
