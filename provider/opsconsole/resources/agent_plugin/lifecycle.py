"""Plugin attachments: attached, detached, and always judged by the agent's list.

Attaching an attached plugin and detaching a missing one both succeed: the console's status does not
matter.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from opsconsole.definition import Attribute, DataSourceDefinition, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, Severity, error, has_error, warning
from opsconsole.errors import ApiError, ConsoleError, Forbidden, NotFound, Stopped, Unauthorized
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    NEVER_CREATED,
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
from opsconsole.lifecycle.missing import outcome_of_missing, outcome_of_unlisted
from opsconsole.lifecycle.planning import Proposal, fill_unknown, propose_creation, request_of
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.writes import outcome_of_404
from opsconsole.resources import AGENT, AGENT_PLUGIN, HOST
from opsconsole.resources.agent.known import (
    PLUGINS_NOT_PERMITTED,
    KnownAgents,
    outcome_of_forbidden,
    unlisted_plugin_warnings,
)
from opsconsole.resources.agent_plugin.definition import PLUGIN_FIELDS
from opsconsole.resources.host.known import HostReader
from opsconsole.v1.console import Listing
from opsconsole.values import UNKNOWN, Values

_NO_AGENT = "The console answers 404 for the list of its agent's plugins."
_NOT_LISTED = "The list of its agent's plugins is complete and does not show it."


def attached_ids(listing: Listing) -> frozenset[str]:
    return frozenset(entry["id"] for entry in listing.entries)


def find_entry(listing: Listing, plugin_id: str) -> Mapping[str, Any] | None:
    return next((entry for entry in listing.entries if entry["id"] == plugin_id), None)


async def attach_or_detach(
    session: ConsoleSession, verb: Literal["attach", "detach"], agent_id: str, plugin_id: str
) -> Mapping[str, Any] | None:
    """Attach or detach; return the agent in the console's answer, if any.

    Raises:
        ConsoleError: The change was not made, or nothing shows whether it was made.
    """
    console, attaches = session.console, verb == "attach"
    try:
        if attaches:
            answer = await console.call("plugin_attach", agent_id, body={"plugin_id": plugin_id})
        else:
            answer = await console.call("plugin_detach", agent_id, plugin_id)
        session.answers_about_others[AGENT.type_name, agent_id] = answer
        return answer
    except ConsoleError as problem:
        if await is_still_listed(session, agent_id, plugin_id, problem) is not attaches:
            raise
        return None
    finally:
        # A list that was read before may be wrong by now, with any outcome.
        session.forget_list("plugin_list", agent_id)


async def is_still_listed(
    session: ConsoleSession, agent_id: str, plugin_id: str, problem: ConsoleError
) -> bool | None:
    """Return whether the list shows a plugin, after a call failed; None if it cannot tell."""
    # The list would be refused as well.
    if isinstance(problem, Unauthorized):
        return None
    session.forget_list("plugin_list", agent_id)
    try:
        listing = await session.singleton(KnownAgents).plugins(agent_id)
    except NotFound:
        # Nothing is attached to a missing agent.
        return False
    except ConsoleError:
        return None
    if find_entry(listing, plugin_id) is not None:
        return True
    return False if listing.complete else None


class AgentPluginLifecycle(BaseLifecycle):
    """The steps of `opsconsole_agent_plugin`."""

    definition: ClassVar[ResourceDefinition] = AGENT_PLUGIN

    def __init__(self, session: ConsoleSession) -> None:
        super().__init__(session)
        self._known = session.singleton(KnownAgents)
        self._attaching: dict[str, _AttachQueue] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def answer_fields(self) -> Sequence[Attribute]:
        """The fields of a list entry; no answer echoes the two ids of an attachment."""
        return PLUGIN_FIELDS

    async def _plan_creation(self, request: PlanCreation) -> PlanOutcome:
        planned = propose_creation(self.definition, request.config)
        if UNKNOWN not in (planned["agent_id"], planned["plugin_id"]):
            planned["id"] = f"{planned['agent_id']}/{planned['plugin_id']}"
        diagnostics = self._check_plugin_set(request.config)
        diagnostics += unlisted_plugin_warnings(self.session, [planned["plugin_id"]], "plugin_id")
        return PlanOutcome(planned, diagnostics=tuple(diagnostics))

    def _diagnose_change(self, request: PlanChange, proposal: Proposal) -> list[Diagnostic]:
        return self._check_plugin_set(request.config)

    def _check_plugin_set(self, values: Values) -> list[Diagnostic]:
        """Report an agent that declares its full set of plugins as well."""
        agent_id, plugin_id = values["agent_id"], values["plugin_id"]
        full_set = None if agent_id is UNKNOWN else self._known.plugin_sets.get(agent_id)
        if full_set is None or plugin_id is UNKNOWN:
            return []
        if plugin_id in full_set:
            return [
                warning(
                    f"The plugin {plugin_id} of the agent {agent_id} is declared twice",
                    "The agent's plugin_ids hold it too. Keep one of the two.",
                    ("plugin_id",),
                )
            ]
        return [
            error(
                f"The agent {agent_id} declares its full set of plugins without {plugin_id}",
                "Its plugin_ids would detach what this resource attaches: add the plugin there, "
                "or leave plugin_ids out.",
                ("plugin_id",),
            )
        ]

    def _plan_removal(self, request: PlanRemoval) -> PlanOutcome:
        plan = super()._plan_removal(request)
        # Imports and settled creates got no answer that names the host. A refresh does not add it:
        # Terraform would report that as a change.
        private_state = PrivateState.decode(plan.private)._replace(host_id=self._host_of(request))
        if plan.diagnostics:
            private_state = private_state._replace(extra={**private_state.extra, _STAYS: True})
        return plan._replace(private=private_state.encode())

    def _diagnose_removal(self, request: PlanRemoval) -> tuple[Diagnostic, ...]:
        agent_id, plugin_id = _ids_of(request.prior)
        if plugin_id not in self._known.plugin_sets.get(agent_id, ()):
            return ()
        return (_stays_attached_warning(agent_id, plugin_id),)

    async def _read(self, request: ReadRequest) -> ReadOutcome:
        prior = request.prior
        agent_id, plugin_id = _ids_of(prior)
        if self._host_of(request) in self.session.gone_ids[HOST.type_name]:
            self.session.gone_ids[AGENT.type_name].add(agent_id)
        if self._known.is_gone(agent_id):
            return ReadOutcome(None, status=ReadStatus.ARCHIVED)
        try:
            listing = await self._known.plugins(agent_id)
        except NotFound as problem:
            outcome = outcome_of_missing(self, request, _NO_AGENT, problem)
            if outcome.state is None:
                self.session.gone_ids[AGENT.type_name].add(agent_id)
            return outcome
        except Forbidden as problem:
            return outcome_of_forbidden(self, request, problem, PLUGINS_NOT_PERMITTED)
        entry = find_entry(listing, plugin_id)
        if entry is not None:
            outcome = self.outcome_of_read(prior, request.private, entry)
            # All attributes but the two ids are computed. A refresh that finds only such changes
            # keeps the state.
            seen = PrivateState.decode(request.private).observed
            return outcome._replace(state=prior) if seen else outcome
        if listing.gap is None:
            return outcome_of_missing(self, request, _NOT_LISTED)
        return outcome_of_unlisted(self, request, "the agent's plugins", listing.gap)

    async def _read_data(self, source: DataSourceDefinition, config: Values) -> Outcome:
        agent_id = config["agent_id"]
        try:
            listing = await self._known.plugins(agent_id)
        except NotFound as problem:
            summary = f"There is no agent {agent_id} that this key can see"
            missing = error(summary, str(problem), ("agent_id",))
            return Outcome(None, diagnostics=(missing,))
        return self.outcome_of_list(source, "the agent's plugins", listing, agent_id=agent_id)

    async def create(self, requests: Sequence[CreateRequest], report: ReportOutcomes) -> None:
        """Attach plugins, and read the list of an agent once its last attachment was made."""
        for request in requests:
            agent_id = request.planned["agent_id"]
            async with self._attaching.setdefault(agent_id, _AttachQueue()) as attaching:
                outcome = await self.try_create(request)
                if outcome.state is not None:
                    # Once it is in state, a run that ends before the list is read does not lose it.
                    bare = outcome._replace(state=self._unread_state(outcome.state))
                    await report([(request, bare)], final=False)
            await attaching.ended.wait()
            await report([(request, await self._read_back(request, outcome))])

    async def settle_creates(
        self, creates: Sequence[UnsettledCreate], existing: Sequence[Values]
    ) -> list[Outcome]:
        requests = [
            ReadRequest(
                self._unread_state(request_of(item, AGENT_PLUGIN).planned), address=item.address
            )
            for item in creates
        ]
        # Also by a list that may not be complete: attaching a plugin twice does no harm.
        return [
            Outcome(read.state, read.private, read.diagnostics)
            if read.status is ReadStatus.PRESENT
            else NEVER_CREATED
            for read in await self.read(requests)
        ]

    def _unread_state(self, planned: Values) -> Values:
        """Return the state of an attachment that was made and not read yet."""
        ids = f"{planned['agent_id']}/{planned['plugin_id']}"
        return fill_unknown(planned, {"id": ids})

    async def _create(self, request: CreateRequest) -> Outcome:
        planned = request.planned
        diagnostics = tuple(self._check_plugin_set(planned))
        if has_error(diagnostics):
            return Outcome(None, diagnostics=diagnostics)
        ids = _ids_of(planned)
        async with self._turns["/".join(ids)]:
            await self.session.before_write("create", [request])
            answer = await attach_or_detach(self.session, "attach", *ids) or {}
            self.session.adopted.add((AGENT_PLUGIN.type_name, "/".join(ids)))
        host_id = answer.get("host_id")
        private_state = PrivateState(
            declared={}, host_id=host_id if isinstance(host_id, str) else self._known_host(planned)
        )
        return Outcome(planned, private_state.encode(), (*diagnostics, *_archived_warnings(answer)))

    async def _read_back(self, request: CreateRequest, outcome: Outcome) -> Outcome:
        """Fill the attachment from the agent's list, which decides whether it exists."""
        planned = outcome.state
        if planned is None:
            return outcome
        agent_id, plugin_id = _ids_of(planned)
        state = self._unread_state(planned)
        bare = outcome._replace(state=state)
        try:
            listing = await self._known.plugins(agent_id)
            entry = find_entry(listing, plugin_id)
            if entry is not None:
                read = self.outcome_of_read(state, outcome.private, entry)
                return outcome._replace(state=read.state, private=read.private)
        except Stopped:
            return bare
        except Exception as problem:
            doing = f"read back the {self.describe(planned, request.address)}"
            diagnostics = diagnose(problem, doing)
            return bare.with_diagnostics(
                # The attach was accepted: an error would taint what exists.
                *(replace(item, severity=Severity.WARNING, path=()) for item in diagnostics)
            )
        if not listing.complete:
            return bare
        lost = error(
            f"The plugin {plugin_id} is not attached to the agent {agent_id}",
            "The console answered the attach without an error, but its list of the agent's "
            "plugins does not hold the plugin.",
            ("plugin_id",),
        )
        return Outcome(None, diagnostics=(*outcome.diagnostics, lost))

    async def _update(self, request: UpdateRequest) -> Outcome:
        return Outcome(request.planned, request.private)

    async def _delete(self, request: DeleteRequest) -> Outcome:
        agent_id, plugin_id = _ids_of(request.prior)
        if self._known.is_gone(agent_id):
            return Outcome(None)
        if PrivateState.decode(request.private).extra.get(_STAYS):
            return Outcome(None, diagnostics=(_stays_attached_warning(agent_id, plugin_id),))
        attachment = f"{agent_id}/{plugin_id}"
        async with self._turns[attachment]:
            # Another declaration has attached it in this run, or this one before its replacement.
            if (AGENT_PLUGIN.type_name, attachment) in self.session.adopted:
                return Outcome(None)
            return await self._detach(request)

    async def _detach(self, request: DeleteRequest) -> Outcome:
        agent_id, plugin_id = _ids_of(request.prior)
        await self.session.before_write("delete", [request])
        try:
            answer = await attach_or_detach(self.session, "detach", agent_id, plugin_id)
        except ApiError as problem:
            # Some consoles still list the plugins of archived agents, and refuse to detach them.
            host_id = self._host_of(request)
            if host_id is not None and await self.session.singleton(HostReader).is_gone(host_id):
                return Outcome(None)
            if not isinstance(problem, NotFound):
                raise
            # The error does not say whether the list showed the plugin, or showed only a part.
            if await is_still_listed(self.session, agent_id, plugin_id, problem):
                raise
            return outcome_of_404(self, request, problem)
        return Outcome(None, diagnostics=_archived_warnings(answer or {}))

    def _host_of(self, request: ReadRequest | PlanRemoval | DeleteRequest) -> str | None:
        """Return the id of the agent's host, from an answer or from the agent in state."""
        return PrivateState.decode(request.private).host_id or self._known_host(request.prior)

    def _known_host(self, values: Values) -> str | None:
        agent = self._known.by_id.get(values["agent_id"])
        return None if agent is None else agent.host_id

    async def import_state(self, import_id: str) -> Outcome:
        agent_id, slash, plugin_id = import_id.partition("/")
        if not (agent_id and slash and plugin_id) or "/" in plugin_id:
            wrong = error(
                f"{import_id!r} does not name a plugin attachment",
                "Its import id is AGENT_ID/PLUGIN_ID, such as agt_1/plg_2.",
            )
            return Outcome(None, diagnostics=(wrong,))
        ids = {"id": import_id, "agent_id": agent_id, "plugin_id": plugin_id}
        return Outcome(self.definition.empty() | ids)


class _AttachQueue:
    """The pending attachments to one agent: made one at a time, before one read of the list."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0
        self.ended = asyncio.Event()

    async def __aenter__(self) -> _AttachQueue:
        self._waiting += 1
        self.ended.clear()
        try:
            await self._turn.acquire()
        except BaseException:
            # It was cancelled while it waited, so `__aexit__` is not called.
            self._leave()
            raise
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._turn.release()
        self._leave()

    def _leave(self) -> None:
        self._waiting -= 1
        # A list that is read in between would have to be read again.
        if not self._waiting:
            self.ended.set()


_STAYS = "in_plugin_ids"
"""Set only between plan and apply: the plugin is not detached, as its agent declares it.

Terraform plans a removal before the agent, which waits for its host. The agent's declaration is not
known then."""


def _stays_attached_warning(agent_id: str, plugin_id: str) -> Diagnostic:
    return warning(
        f"The plugin {plugin_id} stays attached to the agent {agent_id}",
        "The agent's plugin_ids name it. This resource leaves management, nothing is detached.",
    )


def _archived_warnings(answer: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    if answer.get("status") != "archived":
        return ()
    return (
        warning(
            f"The agent {answer['id']} is archived",
            "The console's answer about its plugins says so: it does not run. Plan again: where it "
            "is declared, the next plan creates another.",
        ),
    )


def _ids_of(values: Values) -> tuple[str, str]:
    return values["agent_id"], values["plugin_id"]
