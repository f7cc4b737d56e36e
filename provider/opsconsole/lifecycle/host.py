"""Hosts: how they are read, updated in part, and deleted with all their agents.

Their creation, a guarded bulk import, is in `host_creation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from opsconsole.compare import changed_fields
from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import BadRequest, ConsoleError, Forbidden, NotFound
from opsconsole.lifecycle.answers import PrivateState
from opsconsole.lifecycle.gone import missing, refused_read, warn_abandoned
from opsconsole.lifecycle.host_creation import HostCreation
from opsconsole.lifecycle.host_row import REPLACING, UPDATABLE
from opsconsole.lifecycle.interface import (
    NOT_PERMITTED,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanRemoval,
    Proposal,
    ReadRequest,
    UpdateRequest,
    fill_unknown,
)
from opsconsole.lifecycle.session import Session
from opsconsole.lifecycle.uncertain import delete_once, update_once
from opsconsole.phrases import plural
from opsconsole.resources import HOST
from opsconsole.values import Attributes


class HostLifecycle(HostCreation):
    """The steps of `opsconsole_host`."""

    definition: ClassVar[ResourceDefinition] = HOST

    def _judge_change(self, request: PlanChange, proposal: Proposal) -> list[Diagnostic]:
        name = self.name(request.prior)
        found = [_warn_drift(name, item, request) for item in proposal.drifted]
        if proposal.replaced:
            archives = warning(
                f"Replacing the {name} archives every agent of it, unmanaged ones too",
                f"No operation changes {', '.join(proposal.replaced)} in place, so the host is "
                "deleted and imported again; the console archives its agents and their tasks with "
                "it.",
                (proposal.replaced[0],),
            )
            found.append(warn_abandoned(name) if HOST.is_abandoned(request.prior) else archives)
        return found

    def _removal(self, request: PlanRemoval) -> tuple[Diagnostic, ...]:
        if HOST.is_abandoned(request.prior):
            return (warn_abandoned(self.name(request.prior)),)
        if self.session.plans_whole:
            return ()
        return tuple(self.session.host_names.add_deletion(request.prior))

    async def _read(self, request: ReadRequest) -> Outcome:
        host_id = request.prior["id"]
        if not self.session.can_read_hosts:
            return request.leave_unchecked(_NO_WAY)
        try:
            answer = await self.session.read_host(host_id)
        except NotFound as problem:
            outcome = missing(self, request, problem=problem)
            if outcome.state is None:
                self.session.gone_hosts.add(host_id)
            return outcome
        except Forbidden as problem:
            how = "" if self.session.console.has("host_get") else _BY_WRITING
            return refused_read(self, request, f"{NOT_PERMITTED}{how}", problem)
        except BadRequest as problem:
            if self.session.console.has("host_get"):
                raise
            found = self.session.note_refused_read(host_id, problem)
            reason = "the console refuses an empty update, by which hosts are read"
            if self.session.host_reading_refused:
                return request.leave_unchecked(reason, *found)
            return refused_read(self, request, reason, problem)
        self.session.hold(HOST.type_name, host_id, request.address or self.name(request.prior))
        outcome = self.outcome_of_read(request.prior, request.private, answer)
        if outcome.state is None or outcome.state is request.prior:
            return outcome
        # The declaration may be of what state held though no apply took it: after an import, or
        # where it followed the console.
        changed = changed_fields(request.prior, outcome.state, REPLACING)
        held = {name: request.prior[name] for name in changed if request.prior[name] is not None}
        if not held:
            return outcome
        before = PrivateState.decode(outcome.private)
        private_state = before._replace(overtaken={**before.overtaken, **held})
        return outcome._replace(private=private_state.encode())

    def introduce(self, state: Attributes, address: str) -> None:
        """Let no creation take the id of a host in state."""
        super().introduce(state, f"{address} in state")

    async def _update(self, request: UpdateRequest) -> Outcome:
        prior, planned = request.prior, request.planned
        changes = self.changes_to(prior, request, UPDATABLE)
        if changes:
            await self.session.before_write("update", [request])
            answer = await update_once(self, "host_update", prior["id"], changes)
            outcome = self.outcome_of_write(request, answer, changes, prior, REPLACING)
        else:
            before = PrivateState.decode(request.private)
            declared = before.having_declared(request.config, REPLACING)
            outcome = Outcome(fill_unknown(self.definition, planned, prior), declared.encode())
        private_state = PrivateState.decode(outcome.private)
        # Declared values that the console shows as null, and that no update can set.
        unkept = (
            name
            for name in REPLACING
            if prior[name] is None and planned[name] is not None and name in private_state.observed
        )
        private = private_state.dropping(dict.fromkeys(unkept)).encode()
        return outcome._replace(private=private)

    async def fetch(self, object_id: str) -> Mapping[str, Any]:
        """Ask the console for one host, by what settings and answers allow."""
        if not self.session.can_read_hosts:
            raise ConsoleError(_NO_WAY)
        return await self.session.read_host(object_id)

    async def _delete(self, request: DeleteRequest) -> Outcome:
        prior, host_id = request.prior, request.prior["id"]
        if HOST.is_abandoned(prior):
            self.session.release_host(host_id)
            # No deletion needs to wait for its agents.
            self.session.end_host_delete(host_id, deleted=False)
            stays = self.unsaid(request, (warn_abandoned(self.name(prior)),))
            return Outcome(None, diagnostics=stays)
        if host_id in self.session.adopted_hosts:
            self.session.end_host_delete(host_id, deleted=False)
            adopted = warning(
                f"The {self.name(prior)} is not deleted",
                "Another resource of this run has adopted it. This one leaves management.",
            )
            return Outcome(None, diagnostics=(adopted,))
        await self.session.before_write("delete", [request])
        self.session.deleting_hosts.add(host_id)
        there: bool | None = True
        try:
            ended = await delete_once(self, request, "host_delete")
            there = ended.there
        finally:
            self.session.end_host_delete(host_id, deleted=there is False)
        if ended.outcome.state is None:
            return ended.outcome
        return ended.outcome.with_diagnostics(*_list_released(self.session, host_id, there))


_NO_WAY = "the settings offer no way to read a host"
_BY_WRITING = (
    " (hosts are read by an empty update, which takes the right to write; where the console has an "
    "operation that reads a host, name it in extra_endpoints as host_get)"
)


def _warn_drift(name: str, attribute: str, request: PlanChange) -> Diagnostic:
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


def _list_released(session: Session, host_id: str, there: bool | None) -> tuple[Diagnostic, ...]:
    """List the agents released in this run that a deletion which failed leaves behind."""
    agents = [agent for agent in session.released.values() if agent.host_id == host_id]
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
    if there is None:
        they = "it" if len(agents) == 1 else "they"
        summary = f"{left}; it is not known whether {they} {runs}"
        detail = (
            "Whether their host was deleted is not known. Plan again: if the host is still there, "
            "import them again with:"
        )
    return (error(summary, "\n".join([detail, *lines])),)
