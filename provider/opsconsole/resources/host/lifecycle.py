"""The lifecycle of hosts. Their creation, a guarded bulk import, is in `creation`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import Forbidden, NotFound
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    NOT_PERMITTED,
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    ReadOutcome,
    ReadRequest,
    ReadStatus,
    ReportOutcomes,
    UnsettledCreate,
    UpdateRequest,
)
from opsconsole.lifecycle.missing import (
    abandoned_warning,
    outcome_of_missing,
    outcome_of_refused_read,
)
from opsconsole.lifecycle.planning import Proposal
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.resources import HOST
from opsconsole.resources.host.known import (
    EMPTY_UPDATE_REFUSED,
    EmptyUpdateRefused,
    HostDeletions,
    HostReader,
    HostsUnreadable,
)
from opsconsole.resources.host.rows import CREATION_ONLY, GuardedImports
from opsconsole.text import plural
from opsconsole.values import UNKNOWN, Values, changed_fields


class HostLifecycle(BaseLifecycle):
    """The steps of `opsconsole_host`."""

    definition: ClassVar[ResourceDefinition] = HOST
    remembered_attributes: ClassVar[Sequence[str]] = CREATION_ONLY

    def __init__(self, session: ConsoleSession) -> None:
        super().__init__(session)
        # The hosts that Terraform's calls plan to create and to delete, by name. Of the two plans,
        # the later one carries the warning. The native engine sees a plan as a whole, and names
        # addresses (`reconcile.removals`).
        self._coming: Counter[str] = Counter()
        self._leaving: dict[str, str] = {}
        self._reader = session.singleton(HostReader)
        self._imports = session.singleton(GuardedImports)

    @property
    def max_creates_at_once(self) -> int:
        """The rows of one import."""
        return self._imports.chunk_size

    async def create(self, requests: Sequence[CreateRequest], report: ReportOutcomes) -> None:
        """Create hosts by guarded bulk imports; each row succeeds or fails on its own."""
        from opsconsole.resources.host.creation import BulkCreate  # not for reads alone

        await BulkCreate(self, report).run(requests)

    async def preflight(self, requests: Sequence[CreateRequest]) -> list[Outcome]:
        """Let the console judge the rows of hosts by a dry run; nothing is created.

        An outcome without a diagnostic stands for a host that would be created.
        """
        outcomes: dict[int, Outcome] = {}

        async def keep(
            results: Sequence[tuple[CreateRequest, Outcome]], *, final: bool = True
        ) -> None:
            # By identity, as requests hold dicts, which have no hash.
            outcomes.update((id(request), outcome) for request, outcome in results if final)

        from opsconsole.resources.host.creation import BulkCreate

        creation = BulkCreate(self, keep, dry_run_only=True)
        # The first row goes alone: a console that ignores the dry run creates this one host, not a
        # whole chunk, and an error names it.
        await creation.run(requests[:1])
        await creation.run(requests[1:])
        return [outcomes.get(id(request), Outcome(None)) for request in requests]

    async def settle_creates(
        self, creates: Sequence[UnsettledCreate], existing: Sequence[Values]
    ) -> list[Outcome]:
        """Settle creates by dry runs of their rows."""
        from opsconsole.resources.host.creation import settle_host_creates

        # Half of a chunk, as each dry run also holds up to as many control rows.
        size = max(1, self._imports.chunk_size // 2)
        settled: list[Outcome] = []
        for start in range(0, len(creates), size):
            # Hosts that an earlier dry run has settled are in state, too.
            known = [*existing, *(outcome.state for outcome in settled if outcome.state)]
            settled += await settle_host_creates(self, creates[start : start + size], known)
        return settled

    async def _plan_creation(self, request: PlanCreation) -> PlanOutcome:
        plan = await super()._plan_creation(request)
        # With private bytes it is the second half of a replacement.
        if self.session.sees_whole_plan or request.private:
            return plan
        name = (plan.planned or {})["name"]
        if name is UNKNOWN:
            return plan
        self._coming[name] += 1
        if name in self._leaving:
            return plan._replace(diagnostics=(_moved_warning(name, self._leaving[name]),))
        if self._coming[name] == 1:
            return plan
        declared_twice = warning(
            f'Two new hosts are named "{name}"',
            "A console may take one for the other, and refuse it. Declare each machine once.",
            ("name",),
        )
        return plan._replace(diagnostics=(declared_twice,))

    def _diagnose_change(self, request: PlanChange, proposal: Proposal) -> list[Diagnostic]:
        name = self.describe(request.prior)
        diagnostics = [_drift_warning(name, item, request) for item in proposal.drifted]
        if proposal.replaced:
            archives = warning(
                f"Replacing the {name} archives every agent of it, unmanaged ones too",
                f"No operation changes {', '.join(proposal.replaced)} in place, so the host is "
                "deleted and imported again; the console archives its agents and their tasks with "
                "it.",
                (proposal.replaced[0],),
            )
            diagnostics.append(
                abandoned_warning(name) if HOST.is_abandoned(request.prior) else archives
            )
        return diagnostics

    def _diagnose_removal(self, request: PlanRemoval) -> tuple[Diagnostic, ...]:
        staying = super()._diagnose_removal(request)
        name, host_id = request.prior.get("name"), request.prior["id"]
        if staying or self.session.sees_whole_plan or not isinstance(name, str):
            return staying
        self._leaving[name] = host_id
        return (_moved_warning(name, host_id),) if self._coming[name] else ()

    async def _read(self, request: ReadRequest) -> ReadOutcome:
        prior, host_id = request.prior, request.prior["id"]
        # Reads are many: these bytes are found faster than decoded.
        is_missing = _NOT_FOUND_BYTES in request.private
        try:
            answer = await self.fetch(host_id)
        except Forbidden as problem:
            how = "" if self.has_operation("read") else _BY_WRITING
            return outcome_of_refused_read(self, request, f"{NOT_PERMITTED}{how}", problem)
        except (HostsUnreadable, EmptyUpdateRefused) as problem:
            if is_missing:
                return outcome_of_missing(self, request, _UPDATE_NOT_FOUND)
            if isinstance(problem, EmptyUpdateRefused):
                return outcome_of_refused_read(self, request, EMPTY_UPDATE_REFUSED, problem)
            return request.leave_unchecked(problem.message, *self._reader.refusal_warnings())
        # No creation may adopt it now. If another address holds it already, a read goes on.
        self.session.claim(HOST.type_name, host_id, request.address or self.describe(prior))
        private = request.private
        if is_missing:
            private = PrivateState.decode(private)._replace(extra={}).encode()
        outcome = self.outcome_of_read(prior, private, answer)
        if outcome.state is None or outcome.state is prior:
            return outcome
        # The declaration may match the state without any apply of it: after an import, or where it
        # followed the console.
        changed = changed_fields(prior, outcome.state, CREATION_ONLY)
        former = {name: prior[name] for name in changed if prior[name] is not None}
        if not former:
            return outcome
        before = PrivateState.decode(outcome.private)
        private_state = before._replace(overtaken={**before.overtaken, **former})
        return outcome._replace(private=private_state.encode())

    def note_existing(self, state: Values, address: str) -> None:
        """Let no creation take the id of a host in state."""
        super().note_existing(state, f"{address} in state")

    async def _update(self, request: UpdateRequest) -> Outcome:
        prior, planned = request.prior, request.planned
        try:
            outcome = await super()._update(request)
        except NotFound as problem:
            # Where hosts cannot be read, nothing else shows the next plan that this one is gone.
            before = PrivateState.decode(request.private)
            private = before._replace(extra={_NOT_FOUND: True}).encode()
            return self.failed_outcome("update", request, problem)._replace(private=private)
        # The host was there: an earlier 404 no longer counts.
        private_state = PrivateState.decode(outcome.private)._replace(extra={})
        # Declared values that the console shows as null, and that no update can set.
        unkept = (
            name
            for name in CREATION_ONLY
            if prior[name] is None and planned[name] is not None and name in private_state.observed
        )
        private = private_state.with_not_kept(dict.fromkeys(unkept)).encode()
        return outcome._replace(private=private)

    async def fetch(self, object_id: str) -> Mapping[str, Any]:
        return await self._reader.read(object_id)

    def describe_read(self, outcome: ReadOutcome) -> str:
        return self._reader.describe(answered=outcome.status is not ReadStatus.UNCHECKED)

    async def _delete(self, request: DeleteRequest) -> Outcome:
        prior, host_id = request.prior, request.prior["id"]
        deletions = self.session.singleton(HostDeletions)
        is_adopted = (HOST.type_name, host_id) in self.session.adopted
        if is_adopted and not HOST.is_abandoned(prior):
            deletions.end(host_id)
            adopted = warning(
                f"The {self.describe(prior)} is not deleted",
                "Another resource of this run has adopted it. This one leaves management.",
            )
            return Outcome(None, diagnostics=(adopted,))
        deletions.under_way.add(host_id)
        try:
            outcome = await super()._delete(request)
            if outcome.state is None:
                return outcome
        finally:
            # Also after an error, or if the host stays: others wait for the end of this step.
            deletions.end(host_id)
        return outcome.with_diagnostics(
            *_unmanaged_agent_errors(self.session, host_id, may_be_gone=outcome.may_be_gone)
        )


_NOT_FOUND = "not_found"
"""The fact beside a host whose update was answered 404."""
_NOT_FOUND_BYTES = f'"{_NOT_FOUND}":true'.encode()
_UPDATE_NOT_FOUND = "The console answered 404 to its last update, and it cannot be read."
_BY_WRITING = (
    " (hosts are read by an empty update, which takes the right to write; where the console has an "
    "operation that reads a host, name it in extra_endpoints as host_get)"
)


def _drift_warning(name: str, attribute: str, request: PlanChange) -> Diagnostic:
    if request.prior.get(attribute) is None:
        return warning(
            f"The console has no {attribute} for the {name}",
            f"The declaration says {request.config.get(attribute)!r}, the console shows null. It "
            "can be set at creation only, so state keeps what is declared. This is reported once, "
            "and is not a difference until the declaration changes.",
            (attribute,),
        )
    return warning(
        f"The console itself changed {attribute} of the {name}",
        f"The declaration says {request.config.get(attribute)!r}, the console holds "
        f"{request.prior.get(attribute)!r}. Replacing the host because of that would archive its "
        "agents, so state follows the console. Declare what it holds.",
        (attribute,),
    )


def _unmanaged_agent_errors(
    session: ConsoleSession, host_id: str, *, may_be_gone: bool
) -> tuple[Diagnostic, ...]:
    """Name the agents that left management in this run and whose host was not deleted."""
    unmanaged = session.singleton(HostDeletions).unmanaged_agents.values()
    agents = [agent for agent in unmanaged if agent.host_id == host_id]
    if not agents:
        return ()
    lines = [
        f"{session.command} import {agent.address or 'opsconsole_agent.NAME'} {agent.id}"
        + (f"  # {agent.name}" if agent.name else "")
        for agent in sorted(agents, key=lambda agent: agent.id)
    ]
    left = f"{plural(len(agents), 'agent')} of the host {host_id} left management"
    runs = "still runs" if len(agents) == 1 else "still run"
    summary, detail = f"{left} and {runs}", "Their host was not deleted. Import them again with:"
    if may_be_gone:
        they = "it" if len(agents) == 1 else "they"
        summary = f"{left}; it is not known whether {they} {runs}"
        detail = (
            "Whether their host was deleted is not known. Plan again: if the host is still there, "
            "import them again with:"
        )
    return (error(summary, "\n".join([detail, *lines])),)


def _moved_warning(name: str, host_id: str) -> Diagnostic:
    return warning(
        f'The host "{name}" ({host_id}) and a new one of this name look like one host that moved',
        "The old one is deleted, with all its agents, before the new one is created. If they are "
        "the same, declare a moved block, or call move_from_id in Python: nothing is deleted then.",
    )
