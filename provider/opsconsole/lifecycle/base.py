"""The steps of any resource by its definition, with exceptions as diagnostics.

A subclass overrides the steps in which its console operations differ. Each step with an
underscore handles one request and may raise: the exception becomes diagnostics of that resource.
Bulk operations are overridden whole.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar

from opsconsole.definition import Attribute, ChangeRule, DataSourceDefinition, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import (
    ApiError,
    ConsoleError,
    Forbidden,
    NotFound,
    OpsconsoleError,
    Stopped,
)
from opsconsole.lifecycle.answers import ignore_volatile, merge_answer, values_shown
from opsconsole.lifecycle.interface import (
    NOT_PERMITTED,
    STILL_UNSETTLED,
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    PlanRequest,
    ReadOutcome,
    ReadRequest,
    ReadStatus,
    RemovalReason,
    ReportOutcomes,
    UnsettledCreate,
    UpdateRequest,
    WriteRequest,
)
from opsconsole.lifecycle.missing import abandoned_warning, outcome_of_missing
from opsconsole.lifecycle.planning import (
    DeletionCount,
    Proposal,
    change_errors,
    creation_fields,
    difference_diagnostics,
    fill_unknown,
    propose_change,
    propose_creation,
    unverified_warnings,
)
from opsconsole.lifecycle.private_state import PrivateState, is_sentinel
from opsconsole.lifecycle.session import ConsoleSession, map_limited
from opsconsole.lifecycle.translate import diagnose
from opsconsole.lifecycle.writes import (
    create_once,
    delete_once,
    replacement_error,
    unsettled_create_warning,
    update_once,
)
from opsconsole.v1.console import Listing
from opsconsole.values import UNKNOWN, Values, changed_fields, unsatisfied_fields

NO_VALUES: Values = {}
_PLANNED_BY = "planned_by"
"""Set only between plan and apply: the run of the command that planned the removal."""

_log = logging.getLogger(__name__)


class BaseLifecycle:
    """The steps of one resource, one by one.

    A step that returns outcomes raises for no problem of one resource. Each outcome carries its
    diagnostics, and a failed request never fails its neighbours. Methods that take part in a step,
    such as `fetch` and `write`, raise: the step turns their exceptions into diagnostics.

    Attributes:
        remembered_attributes: Those whose last applied declaration is kept beside the state.
    """

    definition: ClassVar[ResourceDefinition]
    remembered_attributes: ClassVar[Sequence[str]] = ()

    def __init__(self, session: ConsoleSession) -> None:
        self.session = session

    def operation(self, step: str) -> str:
        """Return the operation that does all of a step; the console may lack it."""
        return self.definition.ways[step][0].operation

    def has_operation(self, step: str) -> bool:
        """Return whether the console has the operation that does all of a step."""
        return self.session.console.has(self.operation(step))

    async def plan(self, requests: Sequence[PlanRequest]) -> list[PlanOutcome]:
        """Plan changes. Reads are allowed, writes are not."""
        return await map_limited(requests, self.plan_one, self.session.settings.max_concurrency)

    async def read(self, requests: Sequence[ReadRequest]) -> list[ReadOutcome]:
        """Read the resources; a resource that cannot be read keeps its state."""
        return await map_limited(requests, self.read_one, self.session.settings.max_concurrency)

    @property
    def max_creates_at_once(self) -> int:
        """How many creations the console takes in one request."""
        return 1

    async def create(self, requests: Sequence[CreateRequest], report: ReportOutcomes) -> None:
        """Create or adopt at most `max_creates_at_once` resources; report each outcome once known.

        Unless a resource overrides this, the console creates one after another.

        Raises:
            Exception: Raised by `report`.
        """
        for request in requests:
            await report([(request, await self.try_create(request))])

    async def try_create(self, request: CreateRequest) -> Outcome:
        try:
            return await self._create(request)
        except Exception as problem:
            return self.failed_outcome("create", request, problem)

    async def update(self, request: UpdateRequest) -> Outcome:
        try:
            outcome = await self._update(request)
        except Exception as problem:
            return self.failed_outcome("update", request, problem)
        # The outcome is newer than the answer to any write of another resource before it.
        self.session.answers_about_others.pop(
            (self.definition.type_name, request.prior["id"]), None
        )
        return outcome

    async def delete(self, request: DeleteRequest) -> Outcome:
        """Delete a resource, or let it leave management."""
        prior = request.prior
        self.session.removals_begun += 1
        if is_sentinel(prior["id"]):
            if PrivateState.decode(request.private).removal_planned:
                return Outcome(None)
            return Outcome(prior, request.private, (replacement_error(self, request),))
        # Terraform replaces a tainted object by itself, and no plan of this was judged.
        if not self.session.sees_whole_plan:
            name = self.describe(prior, request.address)
            refusal = self.session.singleton(DeletionCount).count_deletion(
                self.definition, prior, name
            )
            if refusal is not None:
                return Outcome(prior, request.private, (refusal,))
        try:
            outcome = await self._delete(request)
        except Exception as problem:
            outcome = self.failed_outcome("delete", request, problem)
        if outcome.state is None:
            return outcome
        # Terraform keeps these bytes with the remaining object.
        private_state = PrivateState.decode(outcome.private)._replace(
            removal_planned=False, owner_stays=False
        )
        return outcome._replace(private=private_state.encode())

    async def read_data(self, source: DataSourceDefinition, config: Values) -> Outcome:
        """Return the value of a data source that shows this resource, or why it has none."""
        try:
            return await self._read_data(source, config)
        except Stopped:
            return Outcome(None, begun=False)
        except Exception as problem:
            return Outcome(None, diagnostics=diagnose(problem, f"read {source.type_name}"))

    async def import_state(self, import_id: str) -> Outcome:
        """Return the state of the object that `import_id` names, before it is read."""
        if not import_id.strip():
            forms = " or ".join(self.definition.import_forms)
            return Outcome(None, diagnostics=(error("The import id is empty", f"Use {forms}."),))
        # No call is made: the engine reads the object after the import.
        return Outcome(self.definition.empty() | {"id": import_id})

    def unplanned_warnings(
        self, request: DeleteRequest, diagnostics: tuple[Diagnostic, ...]
    ) -> tuple[Diagnostic, ...]:
        """Return the warnings of a removal, unless this command's plan gave them."""
        planned_by = PrivateState.decode(request.private).extra.get(_PLANNED_BY)
        return () if planned_by and planned_by == self.session.command_run else diagnostics

    def update_from_answer(self, request: ReadRequest, answer: Mapping[str, Any]) -> ReadOutcome:
        """Update a resource in state from the answer to a write of another resource.

        Fields that the answer does not show stay as they are.
        """
        shown = [attribute for attribute in self.answer_fields if attribute.name in answer]
        return self.outcome_of_read(request.prior, request.private, answer, shown)

    def note_existing(self, state: Values, address: str) -> None:
        """Note a resource in state, so that messages can name it and no creation takes its id."""
        self.session.holders[self.definition.type_name][state["id"]] = address

    async def preflight(self, requests: Sequence[CreateRequest]) -> list[Outcome] | None:
        """Let the console judge creations without carrying them out; None if it cannot.

        An outcome without a diagnostic stands for a resource that would be created.
        """
        return None

    async def settle_creates(
        self, creates: Sequence[UnsettledCreate], existing: Sequence[Values]
    ) -> list[Outcome]:
        """Settle creates, in order; by default they stay unsettled.

        Args:
            existing: Resources of the kind that are known to exist.

        Raises:
            ConsoleError: The console could not be asked.
        """
        return [STILL_UNSETTLED] * len(creates)

    def describe(self, values: Values | None, address: str = "") -> str:
        """Describe a resource in messages: its title, its label and its id, if known."""
        title = self.definition.title
        values = values or {}
        label = values.get(self.definition.label)
        parts = [f'"{label}"'] if isinstance(label, str) else []
        resource_id = values.get("id")
        if isinstance(resource_id, str) and resource_id != label:
            parts.append(f"({resource_id})" if parts else resource_id)
        if not parts and address:
            parts.append(address)
        return " ".join([title, *parts])

    async def plan_one(self, request: PlanRequest) -> PlanOutcome:
        """Plan one change; an exception becomes diagnostics."""
        prior = None if isinstance(request, PlanCreation) else request.prior
        values = request.config if isinstance(request, PlanCreation) else request.prior
        try:
            match request:
                case PlanCreation():
                    outcome = await self._plan_creation(request)
                    # Both engines hand the bytes of this plan to the deletion of the old object.
                    outcome = outcome._replace(private=request.private)
                case PlanChange():
                    outcome = await self._plan_change(request)
                case PlanRemoval():
                    outcome = self._plan_removal(request)
        except Exception as problem:
            doing = f"plan the {self.describe(values, request.address)}"
            return PlanOutcome(prior, diagnostics=diagnose(problem, doing, self.definition))
        if self.session.sees_whole_plan or outcome.failed:
            return outcome
        count, name = self.session.singleton(DeletionCount), self.describe(values, request.address)
        refusal = count.count_plan(self.definition, request, outcome, name)
        if refusal is None:
            return outcome
        return outcome._replace(diagnostics=(*outcome.diagnostics, refusal))

    def _plan_removal(self, request: PlanRemoval) -> PlanOutcome:
        private_state = PrivateState.decode(request.private)._replace(
            removal_planned=True, owner_stays=request.removal is RemovalReason.ALONE
        )
        if run := self.session.command_run:
            private_state = private_state._replace(extra={**private_state.extra, _PLANNED_BY: run})
        unsettled = is_sentinel(request.prior.get("id"))
        diagnostics = () if unsettled else self._diagnose_removal(request)
        return PlanOutcome(None, private=private_state.encode(), diagnostics=diagnostics)

    async def read_one(self, request: ReadRequest) -> ReadOutcome:
        """Read one resource; an exception becomes diagnostics."""
        prior, definition, gone_ids = request.prior, self.definition, self.session.gone_ids
        if is_sentinel(prior["id"]):
            diagnostic = unsettled_create_warning(self, request)
            return request.leave_unchecked(diagnostic.summary, diagnostic)
        if definition.owner and prior.get(definition.owner) in gone_ids[definition.owner_type]:
            gone_ids[definition.type_name].add(prior["id"])
            return ReadOutcome(None, status=ReadStatus.ARCHIVED)
        try:
            outcome = await self._read(request)
        except NotFound as problem:
            outcome = outcome_of_missing(self, request, problem=problem)
        except Stopped as problem:
            return request.leave_unchecked(str(problem), begun=False)
        except Exception as problem:
            doing = f"read the {self.describe(prior, request.address)}"
            diagnostics = diagnose(problem, doing, definition)
            cause = problem.cause if isinstance(problem, OpsconsoleError) else None
            refused = NOT_PERMITTED if isinstance(problem, Forbidden) else ""
            reason = refused if cause else str(problem)
            return request.leave_unchecked(reason, *diagnostics, cause=cause)
        if outcome.state is None:
            gone_ids[definition.type_name].add(prior["id"])
        return outcome

    def changes_to(
        self, current: Values, request: CreateRequest | UpdateRequest, names: Iterable[str]
    ) -> Values:
        """Return the planned values of the `names` that differ from an object's current values."""
        planned = request.planned
        changed = changed_fields(current, planned, names)
        return {name: planned[name] for name in changed if planned[name] is not UNKNOWN}

    async def fetch(self, object_id: str) -> Mapping[str, Any]:
        """Return one object, from the operation that shows all of it and no other.

        Raises:
            NotFound: There is none that this key can see.
            ConsoleError, ConfigurationError: It cannot be read.
        """
        return self.check_answer(await self.session.console.call(self.operation("read"), object_id))

    def check_answer(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an answer to a read or an update, or raise UnexpectedAnswer for a part of it."""
        return answer

    async def is_there(self, object_id: str) -> bool:
        """Return whether an object exists; raises as `fetch`, `NotFound` included."""
        await self.fetch(object_id)
        return True

    def claim_object(self, request: CreateRequest, object_id: str) -> Outcome | None:
        """Hold an object that is to be adopted; return a refusal if another address holds it."""
        type_name, address = self.definition.type_name, request.address
        holder = self.session.claim(type_name, object_id, address)
        if holder is None:
            return None
        problem = error(
            f"{holder or 'Another resource'} holds the {self.definition.title} {object_id} already",
            "One object has one address: removing one of the two would delete what the other "
            "manages. Declare it once.",
        )
        return Outcome(None, diagnostics=(problem,))

    def describe_read(self, outcome: ReadOutcome) -> str:
        """Describe how an object was read, or why it was not, if the method is worth a report."""
        return ""

    def log(self, problem: Exception, doing: str) -> None:
        _log.warning("cannot %s: %s", doing, problem)

    def failed_outcome(self, verb: str, request: WriteRequest, problem: Exception) -> Outcome:
        """Return the outcome of a step (`verb`) that raised: state stays as it is."""
        prior, private = request.prior, request.private
        values = request.planned if isinstance(request, CreateRequest) else prior
        doing = f"{verb} the {self.describe(values, request.address)}"
        if isinstance(problem, Stopped):
            return Outcome(prior, private, begun=False)
        diagnostics = diagnose(problem, doing, self.definition)
        if isinstance(problem, ApiError) and (named := self.session.named_in(problem.answer.texts)):
            names = f"Its details name {'; '.join(named)}."
            diagnostics = (
                replace(diagnostics[0], detail=f"{diagnostics[0].detail} {names}".strip()),
                *diagnostics[1:],
            )
        return Outcome(
            prior,
            private,
            diagnostics,
            unsettled=isinstance(problem, ConsoleError) and not problem.had_no_effect,
        )

    async def _plan_creation(self, request: PlanCreation) -> PlanOutcome:
        return PlanOutcome(propose_creation(self.definition, request.config))

    async def _plan_change(self, request: PlanChange) -> PlanOutcome:
        """Plan a change: by the definition, then by the resource's own rules."""
        proposal = propose_change(
            self.definition,
            request.prior,
            request.config,
            PrivateState.decode(request.private),
            self.session.console.has,
        )
        owner = self.definition.owner
        if request.owner_is_deleted_first and owner not in proposal.replaced:
            # There is nothing left to change: it goes with its owner.
            proposal.replaced.append(owner)
        name = self.describe(request.prior)
        diagnostics = (
            *unverified_warnings(proposal, name),
            *change_errors(self.definition, proposal, request.prior, name),
            *self._diagnose_change(request, proposal),
        )
        return PlanOutcome(proposal.planned, tuple(proposal.replaced), request.private, diagnostics)

    def _diagnose_change(self, request: PlanChange, proposal: Proposal) -> Sequence[Diagnostic]:
        """Check a change by the resource's own rules, and adapt `proposal` to them."""
        return ()

    def _diagnose_removal(self, request: PlanRemoval) -> tuple[Diagnostic, ...]:
        """Return the warnings of removing one resource, or the refusal."""
        return self.staying_warnings(request.prior)

    def staying_warnings(self, prior: Values) -> tuple[Diagnostic, ...]:
        """Warn of an object that stays on the console when it leaves management; else empty."""
        return (
            (abandoned_warning(self.describe(prior)),)
            if self.definition.is_abandoned(prior)
            else ()
        )

    async def _read(self, request: ReadRequest) -> ReadOutcome:
        """Read one resource whose owner is there; raise NotFound if the console shows none."""
        answer = await self.fetch(request.prior["id"])
        return self.outcome_of_read(request.prior, request.private, answer)

    async def _read_data(self, source: DataSourceDefinition, config: Values) -> Outcome:
        if source.is_list:
            listing = await self.session.console.list_all(source.operations[0])
            return self.outcome_of_list(source, self.definition.plural, listing)
        try:
            answer = await self.fetch(config["id"])
        except NotFound as problem:
            title = self.definition.title
            summary = f"There is no {title} {config['id']} that this key can see"
            missing = error(summary, path=("id",), cause=problem.cause)
            return Outcome(None, diagnostics=(missing,))
        return Outcome(source.empty() | values_shown(source, self.with_derived(answer)))

    async def _create(self, request: CreateRequest) -> Outcome:
        """Create or adopt one resource: a step of `try_create`."""
        return await create_once(self, request, creation_fields(self.definition, request.planned))

    async def _update(self, request: UpdateRequest) -> Outcome:
        return await self.write(request, request.prior)

    async def write(self, request: CreateRequest | UpdateRequest, current: Values) -> Outcome:
        """Give an object the planned values, and return the outcome.

        Args:
            request: An update, or a creation that adopts the object.
            current: The object in state; for a creation, as the console has just shown it.
        """
        changes = self.changes_to(current, request, self.updated_names)
        answer: Mapping[str, Any] = current if request.prior is None else NO_VALUES
        if changes:
            answer = await update_once(self, request, current["id"], changes)
        return self.outcome_of_write(request, answer, changes, current)

    @cached_property
    def updated_names(self) -> tuple[str, ...]:
        return tuple(
            attribute.name
            for attribute in self.definition.settable
            if not attribute.local
            and (
                attribute.change is not ChangeRule.REPLACE
                or self.session.console.has(attribute.lifted_by)
            )
        )

    async def _delete(self, request: DeleteRequest) -> Outcome:
        object_id, type_name = request.prior["id"], self.definition.type_name
        if staying := self.staying_warnings(request.prior):
            self.session.release(type_name, object_id)
            return Outcome(None, diagnostics=self.unplanned_warnings(request, staying))
        outcome = await delete_once(self, request)
        if outcome.state is None:
            self.session.gone_ids[type_name].add(object_id)
            self.session.release(type_name, object_id)
        return outcome

    async def send_delete(self, prior: Values) -> Mapping[str, Any]:
        return await self.session.console.call(self.operation("delete"), prior["id"])

    def outcome_of_write(
        self,
        request: CreateRequest | UpdateRequest,
        answer: Mapping[str, Any],
        names: Iterable[str] | None = None,
        current: Values = NO_VALUES,
    ) -> Outcome:
        """Return the outcome of a write that was answered with the resource.

        Args:
            names: The attributes that were asked for; None: all that can be set.
            current: The known values of fields that the answer does not show.
        """
        values = self.values_of(answer)
        state = fill_unknown(request.planned, current | values)
        if names is None:
            names = [item.name for item in self.definition.settable if not item.local]
        creating = request.prior is None
        # A creation carries the bytes of the resource that it replaces.
        before = PrivateState() if creating else PrivateState.decode(request.private)
        planned = None if creating else request.planned
        declared = before.with_declaration(request.config, self.remembered_attributes, planned)
        merged, private_state, _ = merge_answer(self.answer_fields, state, declared, values)
        # As in a read, a field is unset if it was shown before and a whole answer leaves it out.
        changed = changed_fields(request.prior or NO_VALUES, state, names)
        values |= {name: None for name in changed if name not in values and merged[name] is None}
        differing = unsatisfied_fields(state, values, [name for name in names if name in values])
        name = self.describe(state)
        diagnostics = difference_diagnostics(name, differing, state, values, creating=creating)
        # After an update, state follows the console: the next plan shows the difference.
        if differing and not creating:
            state |= {name: values[name] for name in unsatisfied_fields(state, values, values)}
        return Outcome(state, private_state.encode(), diagnostics)

    def outcome_of_list(
        self, source: DataSourceDefinition, listed: str, listing: Listing, **more: Any
    ) -> Outcome:
        """Return the outcome of a data source that shows the list called `listed`."""
        attribute = next(item for item in source if item.attributes)
        # A console that lists in another order must not make a difference in a plan.
        entries = sorted(listing.entries, key=itemgetter("id"))
        values = values_shown((attribute,), {attribute.name: [*map(self.with_derived, entries)]})
        diagnostics: tuple[Diagnostic, ...] = ()
        if listing.gap is not None:
            diagnostics = (warning("The list may not be complete", listing.gap.explain(listed)),)
        completeness = {"complete": listing.complete, "total_count": listing.total_count}
        return Outcome(values | more | completeness, diagnostics=diagnostics)

    def with_derived(self, shown: Mapping[str, Any]) -> Values:
        """Add the values that follow from the fields that an answer shows."""
        return dict(shown)

    def values_of(self, answer: Mapping[str, Any]) -> Values:
        return self.with_derived(values_shown(self.answer_fields, answer))

    def outcome_of_read(
        self,
        prior: Values,
        private: bytes,
        answer: Mapping[str, Any],
        fields: Sequence[Attribute] | None = None,
    ) -> ReadOutcome:
        """Return the outcome of a read that was answered with one resource.

        Args:
            fields: The attributes that the answer may hold; None: all that any answer may hold.
        """
        if fields is None:
            fields = self.answer_fields
        before = PrivateState.decode(private)
        shown = values_shown(fields, answer)
        state, private_state, unobserved = merge_answer(fields, prior, before, shown)
        kept = private if private_state is before else private_state.encode()
        return ReadOutcome(ignore_volatile(fields, prior, state), kept, unobserved=unobserved)

    @property
    def answer_fields(self) -> Sequence[Attribute]:
        """The attributes that an answer about one resource may hold."""
        return self.definition.answer_fields
