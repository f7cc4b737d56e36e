"""Hosts: read by an empty update, updated in part, deleted with all their agents.

Their creation, a guarded bulk import, is in `host_creation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from opsconsole.compare import changed_fields
from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.errors import ApiError, BadRequest, ConsoleError, Forbidden, NotFound
from opsconsole.lifecycle.answers import shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.deletion import abandoned, is_abandoned
from opsconsole.lifecycle.gone import missing, refused_read
from opsconsole.lifecycle.host_comparison import HostComparison
from opsconsole.lifecycle.host_creation import HostCreation, rehearse
from opsconsole.lifecycle.host_deletion import delete_host
from opsconsole.lifecycle.host_row import REPLACING, UPDATABLE
from opsconsole.lifecycle.host_settling import settle_host_creates
from opsconsole.lifecycle.interface import (
    NOT_PERMITTED,
    CreateRequest,
    DeleteRequest,
    LostCreate,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    ReadRequest,
    Report,
    Seen,
    SettledCreate,
    UpdateRequest,
)
from opsconsole.lifecycle.planning import propose_creation, settle
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.resources import HOST
from opsconsole.values import Attributes


class HostLifecycle(BaseLifecycle):
    """The steps of `opsconsole_host`."""

    definition: ClassVar[ResourceDefinition] = HOST

    async def _plan_creation(self, request: PlanCreation) -> PlanOutcome:
        return PlanOutcome(propose_creation(self.definition, request.config))

    async def _plan_change(self, request: PlanChange) -> PlanOutcome:
        proposal = self.propose(request)
        name = self.name(request.prior)
        found = self.unverified(proposal, name)
        found += [_drifted(name, item, request) for item in proposal.drifted]
        if proposal.replaced:
            stays = is_abandoned(request.prior)
            found.append(abandoned(name) if stays else _replacing(name, proposal.replaced))
        return PlanOutcome(
            proposal.planned, tuple(proposal.replaced), request.private, tuple(found)
        )

    def _removal(self, request: PlanRemoval) -> tuple[Diagnostic, ...]:
        return (abandoned(self.name(request.prior)),) if is_abandoned(request.prior) else ()

    @property
    def reads_together(self) -> int:
        """How many rows go into one dry run, where hosts are compared by them."""
        in_bulk = self.session.settings.host_read == "dry_run"
        return self.session.import_chunk_size if in_bulk else 1

    async def read(self, requests: Sequence[ReadRequest]) -> list[Outcome]:
        """Read the hosts: many at once by a dry run where the settings say so, else one by one."""
        if self.reads_together == 1:
            return await super().read(requests)
        same, diagnostics = await HostComparison(self).same(requests)
        others = [request for place, request in enumerate(requests) if place not in same]
        read = iter(await super().read(others))
        found = [same.get(place) or next(read) for place in range(len(requests))]
        if found and diagnostics:
            shown = (place for place, item in enumerate(found) if item.seen is Seen.PRESENT)
            first = next(shown, 0)
            found[first] = found[first].with_diagnostics(*diagnostics)
        return found

    async def _read(self, request: ReadRequest) -> Outcome:
        host_id = request.prior["id"]
        if not self.session.can_read_hosts:
            return self._unchecked(request, "the settings offer no way to read a host")
        try:
            answer = await self.session.read_host(host_id)
        except NotFound as problem:
            return self._missing(request, problem)
        except Forbidden as problem:
            how = "" if self.session.console.has("host_get") else _BY_WRITING
            return self._unchecked(request, f"{NOT_PERMITTED}{how}", problem)
        except BadRequest as problem:
            if self.session.console.has("host_get"):
                raise
            return self._refused(request, problem)
        self.session.held_hosts.setdefault(host_id, request.address or self.name(request.prior))
        return _noting_what_changed(
            request.prior, self.seen(request.prior, request.private, answer)
        )

    def _unchecked(
        self, request: ReadRequest, reason: str, problem: ApiError | None = None
    ) -> Outcome:
        """Return the outcome of a host that cannot be read; an answer is a warning of its own."""
        if problem is None:
            return request.unchecked(reason)
        return refused_read(self, request, reason, problem)

    def _refused(self, request: ReadRequest, problem: BadRequest) -> Outcome:
        diagnostics = self.session.note_refused_read(request.prior["id"], problem)
        reason = "the console refuses an empty update, by which hosts are read"
        if not self.session.host_reading_refused:
            return self._unchecked(request, reason, problem)
        return self._unchecked(request, reason).with_diagnostics(*diagnostics)

    def _missing(self, request: ReadRequest, problem: NotFound) -> Outcome:
        outcome = missing(self, request, problem=problem)
        if outcome.state is None:
            self.session.gone_hosts.add(request.prior["id"])
        return outcome

    @property
    def creates_together(self) -> int:
        """How many rows go into one import."""
        return self.session.import_chunk_size

    async def create(self, requests: Sequence[CreateRequest], report: Report) -> None:
        """Create hosts by guarded bulk imports; each row succeeds or fails on its own."""
        await HostCreation(self, report).run(requests)

    async def preflight(self, requests: Sequence[CreateRequest]) -> list[Outcome]:
        """Let the console judge the rows of hosts by a dry run; nothing is created.

        An outcome without a diagnostic stands for a host that would be created. A console that
        ignores the dry run is met with one row only; what it created then is named in an error.
        """
        return await rehearse(self, requests)

    async def settle_creates(
        self, lost: Sequence[LostCreate], existing: Sequence[Attributes]
    ) -> list[SettledCreate]:
        """Say what became of creations whose outcome is unknown, by a dry run of their rows.

        Raises:
            ConsoleError: the console could not be asked.
        """
        return await settle_host_creates(self, lost, existing)

    def introduce(self, state: Attributes, address: str) -> None:
        """Let no creation take the id of a host in state."""
        self.session.held_hosts[state["id"]] = f"{address} in state"

    async def _update(self, request: UpdateRequest) -> Outcome:
        prior, planned = request.prior, request.planned
        changed = changed_fields(prior, planned, UPDATABLE)
        if not changed:
            state = settle(self.definition, planned, prior)
            private_state = PrivateState.decode(request.private).having_declared(
                request.config, REPLACING
            )
            return Outcome(state, _not_keeping(private_state, prior, planned).encode())
        changes = {name: planned[name] for name in changed}
        await self.session.before_write("update", [request])
        answer: Mapping[str, Any]
        try:
            answer = await self.session.console.update_host(prior["id"], changes)
        except ConsoleError as problem:
            answer = await self.settle_update(prior["id"], changes, problem, self._read_back)
        values = shown(self.answered, answer)
        state = settle(self.definition, planned, prior | values)
        written = PrivateState.decode(self.written(request, state, answer, REPLACING))
        private = _not_keeping(written, prior, planned).encode()
        differing = changed_fields(state, values, [name for name in changed if name in values])
        if not differing:
            return Outcome(state, private)
        diagnostics = self.kept_otherwise(differing, state, values, creating=False)
        return Outcome(state | values, private, diagnostics)

    async def _read_back(self, host_id: str) -> Mapping[str, Any]:
        if not self.session.can_read_hosts:
            raise ConsoleError("the settings offer no way to read a host")
        return await self.session.read_host(host_id)

    async def _delete(self, request: DeleteRequest) -> Outcome:
        prior = request.prior
        if not is_abandoned(prior):
            return await delete_host(self, request)
        self.session.held_hosts.pop(prior["id"], None)
        # Nobody need wait for its agents to go.
        self.session.end_host_delete(prior["id"], deleted=False)
        return Outcome(None, diagnostics=(abandoned(self.name(prior)),))


_BY_WRITING = (
    " (hosts are read by an empty update, which takes the right to write; where the console has an "
    "operation that reads a host, name it in extra_endpoints as host_get)"
)


def _not_keeping(
    private_state: PrivateState, prior: Attributes, planned: Attributes
) -> PrivateState:
    """Note which declared values the console shows as null, and no update can set."""
    return private_state.dropping(
        name
        for name in REPLACING
        if prior[name] is None and planned[name] is not None and name in private_state.observed
    )


def _noting_what_changed(prior: Attributes, outcome: Outcome) -> Outcome:
    """Remember what state held of attributes that replace and that the console changed by itself.

    The declaration may be of that value though no apply took it: after an import, or where it
    followed the console.
    """
    if outcome.state is None or outcome.state is prior:
        return outcome
    before = PrivateState.decode(outcome.private)
    private_state = before.overtaking(prior, outcome.state, REPLACING)
    return outcome if private_state is before else replace(outcome, private=private_state.encode())


def _replacing(name: str, names: Sequence[str]) -> Diagnostic:
    return warning(
        f"Replacing the {name} archives every agent of it, unmanaged ones too",
        f"No operation changes {', '.join(names)} in place, so the host is deleted and imported "
        "again; the console archives its agents and their tasks with it.",
        (names[0],),
    )


def _drifted(name: str, attribute: str, request: PlanChange) -> Diagnostic:
    if request.prior.get(attribute) is None:
        return warning(
            f"The console holds no {attribute} of the {name}",
            f"Declared is {request.config.get(attribute)!r}, the console shows null. It "
            "can be set at creation only, so state keeps what is declared. This is reported once, "
            "and is not a difference until the declaration changes.",
            (attribute,),
        )
    return warning(
        f"The console changed {attribute} of the {name} by itself",
        f"Declared is {request.config.get(attribute)!r}, the console holds "
        f"{request.prior.get(attribute)!r}. Replacing the host for that would archive its agents, "
        "so state follows the console. Declare what it holds.",
        (attribute,),
    )
