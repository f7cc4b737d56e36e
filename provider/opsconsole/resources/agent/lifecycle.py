"""Agents: created, read by their plugins, changed by attach and detach, archived with a host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, has_error, warning
from opsconsole.errors import Forbidden, NotFound, OpsconsoleError, Stopped, UnexpectedAnswer
from opsconsole.lifecycle.answers import explain_mismatch
from opsconsole.lifecycle.base import NO_VALUES, BaseLifecycle
from opsconsole.lifecycle.interface import (
    NEVER_CREATED,
    NOT_PERMITTED,
    STILL_UNSETTLED,
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
    RemovalReason,
    UnsettledCreate,
    UpdateRequest,
)
from opsconsole.lifecycle.missing import BY_404, keep_if_missing, not_checked_warning
from opsconsole.lifecycle.planning import (
    Proposal,
    creation_fields,
    fill_unknown,
    propose_creation,
    request_of,
)
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.writes import create_once, update_once
from opsconsole.resources import AGENT, HOST
from opsconsole.resources.agent.known import (
    PLUGINS_NOT_PERMITTED,
    KnownAgents,
    outcome_of_forbidden,
    unlisted_id_warnings,
)
from opsconsole.resources.agent.rules import (
    archived_error,
    created_archived_warning,
    judge_creation,
    judge_move,
    judge_removal,
    judge_replacement,
)
from opsconsole.resources.agent_plugin.lifecycle import (
    attach_or_detach,
    attached_ids,
    is_still_listed,
)
from opsconsole.resources.host.known import HostDeletions, HostReader
from opsconsole.v1.console import Listing
from opsconsole.values import UNKNOWN, Values, changed_fields

_CREATED_ARCHIVED = "created_archived"
"""Marks an agent that the answer to its creation showed archived; it stays in state."""

_PLUGINS_NOT_SHOWN = "the console shows the agent, and answers 404 to the list of its plugins"


class AgentLifecycle(BaseLifecycle):
    """The steps of `opsconsole_agent`."""

    definition: ClassVar[ResourceDefinition] = AGENT

    def __init__(self, session: ConsoleSession) -> None:
        super().__init__(session)
        self._known = session.singleton(KnownAgents)

    async def _plan_creation(self, request: PlanCreation) -> PlanOutcome:
        config = request.config
        # Terraform plans a replacement as a creation that still carries the prior private bytes.
        replacing = bool(request.private)
        diagnostics = judge_creation(self.describe(config, request.address), config, replacing)
        diagnostics += unlisted_id_warnings(self.session, config)
        planned = propose_creation(self.definition, config)
        return PlanOutcome(planned, diagnostics=tuple(diagnostics))

    async def _plan_change(self, request: PlanChange) -> PlanOutcome:
        outcome = await super()._plan_change(request)
        # A host that no state holds was not read: a run on another machine may have deleted it.
        if (
            outcome.failed
            and "host_id" in outcome.requires_replace
            and await self._is_host_gone(request)
        ):
            return await super()._plan_change(request._replace(removal=RemovalReason.WITH_OWNER))
        return outcome

    async def _is_host_gone(self, request: PlanChange) -> bool:
        host_id = request.prior["host_id"]
        policy, _ = self.session.settings.on_missing_of(HOST.name)
        if host_id is None or policy == "error":
            return False
        is_gone = await self.session.singleton(HostReader).is_gone(host_id)
        if is_gone:
            self.session.gone_ids[HOST.type_name].add(host_id)
        return is_gone

    def _diagnose_change(self, request: PlanChange, proposal: Proposal) -> list[Diagnostic]:
        self._note_plugin_set(request.prior["id"], proposal.planned)
        name = self.describe(request.prior, request.address)
        diagnostics = unlisted_id_warnings(self.session, request.config, request.prior)
        if proposal.replaced:
            diagnostics += judge_replacement(
                name, request, proposal, deletable=self.has_operation("delete")
            )
        elif "host_id" in proposal.sent:
            diagnostics += judge_move(name, request, proposal)
        return diagnostics

    def _note_plugin_set(self, agent_id: str, values: Values) -> None:
        plugin_ids = values.get("plugin_ids")
        if isinstance(plugin_ids, list) and UNKNOWN not in plugin_ids:
            self._known.plugin_sets[agent_id] = frozenset(plugin_ids)

    def _diagnose_removal(self, request: PlanRemoval) -> tuple[Diagnostic, ...]:
        prior = request.prior
        name = self.describe(prior, request.address)
        return judge_removal(name, prior, request.removal, deletable=self.has_operation("delete"))

    def note_existing(self, state: Values, address: str) -> None:
        """Note an agent in state, so that messages about a specialty can name it."""
        self._known.note_agent(state, address)

    def update_from_answer(self, request: ReadRequest, answer: Mapping[str, Any]) -> ReadOutcome:
        """Update an agent from the answer to an attach or a detach.

        `archived` is kept, although `status` is volatile. An incomplete Agent changes nothing.
        """
        # The list of plugins says whether they took place, so this answer may be left out.
        kept = ReadOutcome(request.prior, request.private)
        if not all(answer.get(name, "shown") for name in ("host_id", "specialty_id")):
            return kept
        # An update that was under way together with that write may have come after it.
        if _is_before(answer.get("updated_at"), request.prior["updated_at"]):
            return kept
        try:
            outcome = super().update_from_answer(request, _without_plugins(answer))
        except UnexpectedAnswer:
            return kept
        if answer.get("status") != "archived" or outcome.state is None:
            return outcome
        return outcome._replace(state=outcome.state | {"status": "archived"})

    async def _read(self, request: ReadRequest) -> ReadOutcome:
        prior = request.prior
        try:
            outcome = await self._read_agent(request)
        except NotFound:
            if not _was_created_archived(request):
                raise
            archived = created_archived_warning(self.describe(prior, request.address))
            return ReadOutcome(prior, request.private, (archived,), unobserved=self._unobserved)
        except Forbidden as problem:
            outcome = outcome_of_forbidden(self, request, problem, self._why_not_permitted())
        if outcome.state is not None:
            self._known.note_agent(outcome.state, request.address)
        return outcome

    async def _read_agent(self, request: ReadRequest) -> ReadOutcome:
        """Read one agent by its own operation if the settings name it, else by its plugins."""
        prior, private = request.prior, request.private
        listing: Listing | None = None
        if self.has_operation("read"):
            answer = await self.fetch(prior["id"])
            status = answer.get("status")
            outcome = self.outcome_of_read(prior, private, _without_plugins(answer))
        else:
            listing = await self._known.plugins(prior["id"])
            # The document shows no way back from archived, so the answer to a write remains valid.
            status = prior.get("status")
            outcome = ReadOutcome(prior, private, unobserved=self._unobserved)
        if status == "archived":
            if not _was_created_archived(request):
                return ReadOutcome(None, status=ReadStatus.ARCHIVED)
            archived = created_archived_warning(self.describe(prior, request.address))
            outcome = outcome._replace(diagnostics=(archived,))
        if prior.get("plugin_ids") is None or outcome.state is None:
            return outcome
        return await self._read_plugin_ids(prior, outcome, listing)

    async def _read_plugin_ids(
        self, prior: Values, outcome: ReadOutcome, listing: Listing | None
    ) -> ReadOutcome:
        """Add the set of plugins to the outcome of reading an agent."""
        former = prior["plugin_ids"]
        # No answer of an agent holds the set: a set that was shown before would be taken for null.
        state = {**(outcome.state or {}), "plugin_ids": former}
        unobserved = [name for name in outcome.unobserved if name != "plugin_ids"]
        try:
            listing = listing or await self._known.plugins(prior["id"])
        except (Forbidden, NotFound) as problem:
            # The agent was shown: a 404 says that its list is not visible to this key.
            forbidden = isinstance(problem, Forbidden)
            reason = PLUGINS_NOT_PERMITTED if forbidden else _PLUGINS_NOT_SHOWN
            refused = not_checked_warning(
                f"The plugin_ids of the {self.describe(state)}", reason, problem
            )
            return outcome._replace(
                state=state,
                diagnostics=(*outcome.diagnostics, refused),
                unobserved=(*unobserved, "plugin_ids"),
                reason=reason,
                cause=problem.cause,
            )
        attached = set(attached_ids(listing))
        if not listing.complete:
            # It proves presence, never absence.
            attached |= set(former)
            unobserved.append("plugin_ids")
        if attached != set(former):
            state["plugin_ids"] = sorted(attached)
        return outcome._replace(state=state, unobserved=tuple(unobserved))

    @property
    def _unobserved(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.answer_fields if a.name not in ("id", "plugin_ids"))

    def _why_not_permitted(self) -> str:
        if self.has_operation("read"):
            documented = self.session.console.operation("agent_get").documented
            named = "agent_get" if documented else "agent_get of extra_endpoints"
            return f"{NOT_PERMITTED}, {named}; use a key that may make it"
        return (
            f"{PLUGINS_NOT_PERMITTED}, or, where the console has an operation that reads an agent, "
            "name it in extra_endpoints as agent_get"
        )

    async def _create(self, request: CreateRequest) -> Outcome:
        if lacking := AGENT.find_undeclared(request.config):
            return Outcome(None, diagnostics=tuple(lacking))
        org_id = self.session.settings.org_id
        body = _without_unset(creation_fields(AGENT, request.config, org_id))
        outcome = await create_once(self, request, body, self._older_agent_error)
        if outcome.state is not None and not outcome.unsettled:
            self._known.note_agent(outcome.state, request.address)
            self._note_plugin_set(outcome.state["id"], outcome.state)
        return outcome

    async def settle_creates(
        self, creates: Sequence[UnsettledCreate], existing: Sequence[Values]
    ) -> list[Outcome]:
        """Settle creates by a list of all agents, if there is one."""
        if not self.session.console.has("agent_list"):
            return await super().settle_creates(creates, existing)
        listing = await self.session.console.list_all("agent_list")
        ids_in_state = {item.get("id") for item in existing}
        # The created agent is the one that is in no state and contradicts nothing in the request.
        free = [entry for entry in listing.unarchived_entries if entry["id"] not in ids_in_state]
        possible = [
            [entry for entry in free if explain_mismatch(AGENT, item.planned, entry) is None]
            for item in creates
        ]
        # An agent that two requests may have created proves neither of them.
        claims = Counter(entry["id"] for entries in possible for entry in entries)
        settled: list[Outcome] = []
        for item, entries in zip(creates, possible, strict=True):
            if _is_surely_created(item, entries) and claims[entries[0]["id"]] == 1:
                outcome = self.outcome_of_write(request_of(item, AGENT), entries[0])
                self._known.note_agent(outcome.state or {}, item.address)
                settled.append(outcome)
                continue
            # Only a complete list shows that no agent was created, and only once the request cannot
            # arrive any more: nothing keeps the console from creating a second agent of the same
            # name.
            can_tell = isinstance(item.planned.get("host_id"), str) and listing.complete
            never = can_tell and not entries and not item.may_arrive
            settled.append(NEVER_CREATED if never else STILL_UNSETTLED)
        return settled

    def _older_agent_error(self, answer: Mapping[str, Any]) -> UnexpectedAnswer | None:
        known = self._known.by_id.get(answer["id"])
        if known is None:
            return None
        return UnexpectedAnswer(f"The console answered with an agent that existed before: {known}.")

    def outcome_of_write(
        self,
        request: CreateRequest | UpdateRequest,
        answer: Mapping[str, Any],
        names: Iterable[str] | None = None,
        current: Values = NO_VALUES,
    ) -> Outcome:
        outcome = super().outcome_of_write(request, _without_plugins(answer), names, current)
        if answer.get("status") != "archived":
            return outcome
        name = self.describe(outcome.state, request.address)
        if request.prior is None:
            private_state = PrivateState.decode(outcome.private)
            marked = {**private_state.extra, _CREATED_ARCHIVED: True}
            outcome = outcome._replace(private=private_state._replace(extra=marked).encode())
        elif not _was_created_archived(request):
            return outcome.with_diagnostics(archived_error(name))
        return outcome.with_diagnostics(created_archived_warning(name))

    async def _update(self, request: UpdateRequest) -> Outcome:
        prior, planned = request.prior, request.planned
        answer: Mapping[str, Any] | None = None
        diagnostics: tuple[Diagnostic, ...] = ()
        names = [a.name for a in self.answer_fields if a.settable and a.name != "plugin_ids"]
        changes = {name: planned[name] for name in changed_fields(prior, planned, names)}
        if sent := {name: changes[name] for name in changes if name in self.updated_names}:
            answer = await update_once(self, request, prior["id"], _without_unset(sent))
        if planned["plugin_ids"] is not None and planned["plugin_ids"] != prior["plugin_ids"]:
            self._note_plugin_set(prior["id"], planned)
            await self.session.before_write("update", [request])
            attached, answer, diagnostics = await self._set_plugins(prior, planned, answer)
            if has_error(diagnostics):
                state = prior | changes | {"plugin_ids": sorted(attached)}
                return Outcome(state, request.private, diagnostics)
        if answer is None:
            state = fill_unknown(planned, prior)
            return Outcome(state, request.private, diagnostics)
        return self.outcome_of_write(request, answer, names).with_diagnostics(*diagnostics)

    async def _set_plugins(
        self, prior: Values, planned: Values, answer: Mapping[str, Any] | None
    ) -> tuple[set[str], Mapping[str, Any] | None, tuple[Diagnostic, ...]]:
        """Attach missing plugins, detach surplus ones; a failure does not stop the others.

        Args:
            answer: The answer to the update of other fields, if one was sent.

        Returns:
            The plugins attached by now, the agent in the console's last answer, and diagnostics.

        Raises:
            Stopped: The run was told to stop before anything was done.
        """
        declared = set(planned["plugin_ids"])
        attached, diagnostics = await self._find_attached(prior)
        begun = answer is not None
        for plugin_id in (*sorted(declared - attached), *sorted(attached - declared)):
            verb: Literal["attach", "detach"] = "attach" if plugin_id in declared else "detach"
            try:
                changed = await attach_or_detach(self.session, verb, prior["id"], plugin_id)
            except Stopped:
                if not begun and not has_error(diagnostics):
                    raise
                if begun:
                    in_part = error(
                        f"The {self.describe(prior)} was updated in part",
                        "The run was interrupted between two of its changes. State holds what was "
                        "done: apply again for the rest.",
                    )
                    diagnostics.append(in_part)
                break
            except OpsconsoleError as problem:
                failure = await self._diagnose_plugin(prior, verb, plugin_id, problem)
                diagnostics += failure
                if not has_error(failure):
                    attached.discard(plugin_id)
                continue
            answer = changed or answer
            attached ^= {plugin_id}
            begun = True
        return attached, answer, tuple(diagnostics)

    async def _find_attached(self, prior: Values) -> tuple[set[str], list[Diagnostic]]:
        """Return the plugins of an agent, by its list if state does not hold them."""
        if prior["plugin_ids"] is not None:
            return set(prior["plugin_ids"]), []
        listing = await self._known.plugins(prior["id"])
        attached = set(attached_ids(listing))
        if listing.gap is None:
            return attached, []
        incomplete = warning(
            f"Not every plugin of the {self.describe(prior)} could be seen",
            "A plugin that is attached and not declared may stay attached. "
            + listing.gap.explain("the agent's plugins"),
            ("plugin_ids",),
        )
        return attached, [incomplete]

    async def _diagnose_plugin(
        self, prior: Values, verb: str, plugin_id: str, problem: OpsconsoleError
    ) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of an attach or a detach that failed; no error: it is detached."""
        plugin = f"plugin {plugin_id} of the {self.describe(prior)}"
        # As for an attachment: the list shows only a part, so `on_missing` decides.
        if (
            verb == "attach"
            or not isinstance(problem, NotFound)
            or await is_still_listed(self.session, prior["id"], plugin_id, problem)
        ):
            return diagnose(problem, f"{verb} the {plugin}", self.definition)
        gone = f"The {plugin} was detached already, or is not visible to this key"
        kept = keep_if_missing(self, gone, BY_404, problem.cause)
        detail = f"{BY_404.removesuffix('.')}, and the list does not show it."
        return (kept or warning(gone, detail),)

    async def _delete(self, request: DeleteRequest) -> Outcome:
        prior, private_state = request.prior, PrivateState.decode(request.private)
        why = RemovalReason.ALONE if private_state.owner_stays else RemovalReason.UNEXPLAINED
        if prior.get("host_id") in self.session.gone_ids[HOST.type_name]:
            why = RemovalReason.WITH_OWNER
        name = self.describe(prior, request.address)
        diagnostics = judge_removal(name, prior, why, deletable=self.has_operation("delete"))
        if has_error(diagnostics):
            return Outcome(prior, request.private, diagnostics)
        if self.has_operation("delete") and not self.definition.is_abandoned(prior):
            return await super()._delete(request)
        if not private_state.owner_stays:
            if self.session.stopped:
                # The deletion of its host, which archives it, is not begun any more.
                return Outcome(prior, request.private, begun=False)
            known = self._known.note_agent(prior, request.address)
            self.session.singleton(HostDeletions).unmanaged_agents[known.id] = known
        return Outcome(None, diagnostics=self.unplanned_warnings(request, diagnostics))

    async def is_there(self, object_id: str) -> bool:
        """Return whether an agent exists and is not archived; raise if the read cannot tell."""
        if self.has_operation("read"):
            return (await self.fetch(object_id)).get("status") != "archived"
        # A list that was read before the deletion would prove nothing.
        self.session.forget_list("plugin_list", object_id)
        await self._known.plugins(object_id)
        return True


def _was_created_archived(request: ReadRequest | UpdateRequest) -> bool:
    return bool(PrivateState.decode(request.private).extra.get(_CREATED_ARCHIVED))


def _is_before(time: object, other: object) -> bool:
    """Return whether one time is before another; False if one cannot be read."""
    # As texts, a whole second would come after each of its fractions: "Z" is greater than ".".
    try:
        return datetime.fromisoformat(str(time)) < datetime.fromisoformat(str(other))
    except (ValueError, TypeError):  # TypeError: only one of them names its zone
        return False


def _without_plugins(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the plugins out: an Agent answer carries no list of them."""
    return {name: value for name, value in answer.items() if name != "plugin_ids"}


def _without_unset(body: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the unset fields in the entries of credential_config."""
    entries = body.get("credential_config")
    if entries is None:
        return dict(body)
    declared = [
        {name: value for name, value in entry.items() if value is not None} for entry in entries
    ]
    return {**body, "credential_config": declared}


def _is_surely_created(item: UnsettledCreate, entries: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether there is one agent, and it shows the host and specialty that were sent."""
    if len(entries) != 1 or not isinstance(item.planned.get("host_id"), str):
        return False
    return all(entries[0].get(n) == item.planned.get(n) for n in ("host_id", "specialty_id"))
