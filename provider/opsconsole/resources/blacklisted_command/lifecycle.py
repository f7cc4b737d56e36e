"""Blacklisted commands: adopted by id, updated in part, left on the console when removed.

Null is a value of `org_id` here ("tenant-wide"), so an omitted one always means "leave as it is".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.errors import ApiError, Forbidden, NotFound, UnexpectedAnswer
from opsconsole.lifecycle.answers import values_shown
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    CreateRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanOutcome,
    ReadOutcome,
    ReadRequest,
    UpdateRequest,
)
from opsconsole.lifecycle.missing import plan_gone
from opsconsole.lifecycle.planning import Proposal, mark_unknown, propose_adoption, propose_creation
from opsconsole.lifecycle.writes import create_once
from opsconsole.resources import BLACKLISTED_COMMAND
from opsconsole.v1.operations import naming_hint
from opsconsole.values import UNKNOWN, Values, changed_fields

_IGNORED = "What ignore_changes names counts as declared with the value that the row has."
_OF_ACCESS = ("FORBIDDEN", "ORG_ACCESS_DENIED")
"""The documented codes of a 403 that are about access, not about a license."""

_CHECK_CONSOLE = "Check that base_url names the console, and its version."


class BlacklistedCommandLifecycle(BaseLifecycle):
    """The steps of `opsconsole_blacklisted_command`."""

    definition: ClassVar[ResourceDefinition] = BLACKLISTED_COMMAND

    def _diagnose_change(self, request: PlanChange, proposal: Proposal) -> list[Diagnostic]:
        # No declaration has both, but one of them may be ignored.
        if wrong := [*self.definition.rules(request.config)]:
            return [replace(item, detail=f"{item.detail} {_IGNORED}") for item in wrong]
        return self._plan_row(proposal.planned, request.config, request.prior)[1]

    def _plan_row(
        self, planned: Values, config: Values, row: Values
    ) -> tuple[list[str], list[Diagnostic]]:
        """Plan the update of a known row; return the changed fields and diagnostics."""
        _apply_no_description(planned, config)
        diagnostics = _apply_scope(planned, config)
        changed = changed_fields(row, planned, self.updated_names)
        if changed:
            mark_unknown(self.definition, planned, changed)
        return changed, diagnostics

    def staying_warnings(self, prior: Values) -> tuple[Diagnostic, ...]:
        """Warn of a row that stays on the console when it leaves management."""
        if self.has_operation("delete"):
            return ()
        return (
            warning(
                f"The {self.describe(prior)} leaves management; the row stays on the console",
                "The API has no operation that deletes a blacklisted command, so the command is "
                f"still refused.{naming_hint('blacklist_delete')}",
            ),
        )

    async def _plan_creation(self, request: PlanCreation) -> PlanOutcome:
        config = request.config
        planned = propose_creation(self.definition, config)
        row_id = config.get("id")
        if row_id is None:
            if self.has_operation("create"):
                _apply_no_description(planned, config)
                if planned["tenant_wide"] is True:
                    planned["org_id"] = None
                elif isinstance(planned["org_id"], str):
                    planned["tenant_wide"] = False
                return PlanOutcome(planned)
            return PlanOutcome(planned, diagnostics=(_ID_NEEDED,))
        if row_id is UNKNOWN:
            return PlanOutcome(planned)
        try:
            row = await self._fetch_row(row_id)
        except NotFound as problem:
            not_visible = error(
                f"There is no blacklisted command {row_id} that this key can see",
                "A row is adopted by its id. Check the id, and the key's org.",
                ("id",),
                problem.cause,
            )
            return plan_gone(self.session, row_id, planned, not_visible)
        has = self.session.console.has
        planned = propose_adoption(self.definition, config, row, has).planned
        changed, diagnostics = self._plan_row(planned, config, row)
        diagnostics.append(_adoption_warning(row, planned, changed))
        return PlanOutcome(planned, diagnostics=tuple(diagnostics))

    async def _fetch_row(self, row_id: str) -> Values:
        answer = await self.fetch(row_id)
        return self.definition.empty() | values_shown(self.definition.answer_fields, answer)

    async def _read(self, request: ReadRequest) -> ReadOutcome:
        outcome = await super()._read(request)
        assert outcome.state is not None
        return outcome._replace(state=self.with_derived(outcome.state))

    async def _create(self, request: CreateRequest) -> Outcome:
        row_id, planned = request.config.get("id"), request.planned
        if row_id is not None:
            row = await self._fetch_row(row_id)
            return self.claim_object(request, row_id) or await self.write(request, row)
        body = {name: planned[name] for name in self.updated_names if planned[name] is not UNKNOWN}
        # Of these, only `org_id` has null as a value of its own: tenant-wide.
        body = {name: body[name] for name in body if body[name] is not None or name == "org_id"}
        return await create_once(self, request, body)

    async def write(self, request: CreateRequest | UpdateRequest, current: Values) -> Outcome:
        """Write the fields that differ; explain a refusal of the scope."""
        try:
            return await super().write(request, current)
        except Forbidden as problem:
            if problem.answer.code not in _OF_ACCESS:
                raise
            refusal = _scope_error(problem, self.describe(current), current, request.planned)
            return Outcome(request.prior, request.private, (refusal,))

    def with_derived(self, shown: Mapping[str, Any]) -> Values:
        """Add `tenant_wide`, the other word for the scope that a row shows."""
        scope = {"tenant_wide": shown["org_id"] is None} if "org_id" in shown else {}
        return {**shown, **scope}

    def check_answer(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse an answer without a field that the document always shows.

        Raises:
            UnexpectedAnswer: It lacks one that a change is judged by, or `pattern` is null.
        """
        for name in ("pattern", "org_id", "description"):
            if name not in answer:
                raise UnexpectedAnswer(
                    f"The console's answer does not show {name}, which the document always has "
                    "there.",
                    _CHECK_CONSOLE,
                )
        if answer["pattern"] is None:
            raise UnexpectedAnswer(
                "The console's answer holds null as pattern, where the document shows a string.",
                _CHECK_CONSOLE,
            )
        return answer


_ID_NEEDED = error(
    "No id is declared",
    "The API has no operation that creates a blacklisted command: declare the `id` of the row to "
    f"adopt.{naming_hint('blacklist_create')}",
    ("id",),
)


def _apply_no_description(planned: Values, config: Values) -> None:
    if config.get("no_description") is UNKNOWN and config.get("description") is None:
        planned["description"] = UNKNOWN
    elif config.get("no_description") is True:
        planned["description"] = None


def _apply_scope(planned: Values, config: Values) -> list[Diagnostic]:
    """Plan the scope: `org_id` names it, `tenant_wide = true` writes null, neither leaves it."""
    org_id, tenant_wide = config.get("org_id"), config.get("tenant_wide")
    if tenant_wide is UNKNOWN:
        planned["org_id"] = org_id if org_id is not None else UNKNOWN
        return []
    if org_id is UNKNOWN:
        planned["tenant_wide"] = tenant_wide if tenant_wide is not None else UNKNOWN
        return []
    if tenant_wide is True:
        planned["org_id"], planned["tenant_wide"] = None, True
        return []
    planned["tenant_wide"] = planned["org_id"] is None
    if tenant_wide is False and planned["org_id"] is None:
        planned["tenant_wide"] = False
        return [
            error(
                "tenant_wide = false does not say which org the row moves to",
                "The row is tenant-wide now: declare its new `org_id`.",
                ("tenant_wide",),
            )
        ]
    return []


def _describe_scope(row: Values) -> str:
    org_id = row.get("org_id")
    if org_id is UNKNOWN:
        return "a scope known after apply"
    return "tenant-wide" if org_id is None else f"org {org_id}"


def _adoption_warning(row: Values, planned: Values, changed: Sequence[str]) -> Diagnostic:
    lines = [
        _old_and_new("pattern", repr(row.get("pattern")), repr(planned["pattern"])),
        _old_and_new("scope", _describe_scope(row), _describe_scope(planned)),
    ]
    if "description" in changed:
        before, after = (
            "null" if value is None else repr(value)
            for value in (row.get("description"), planned["description"])
        )
        lines.append(f"description: {before} → {after}")
    if row.get("document_id"):
        lines.append(f"It was extracted from the knowledge document {row['document_id']}.")
    does = "changes a row that is already there" if changed else "leaves the row as it is"
    return warning(
        f"Adopting the blacklisted command {row['id']} {does}",
        "\n".join(lines),
    )


def _old_and_new(name: str, old: str, new: str) -> str:
    return f"{name}: {old} → {new}" if old != new else f"{name}: {old}, unchanged"


def _scope_error(problem: ApiError, name: str, row: Values, planned: Values) -> Diagnostic:
    tenant = row.get("org_id") is None or planned.get("org_id") is None
    needs = " Writing a tenant-wide row takes tenant-level access." if tenant else ""
    field = problem.answer.field
    path = (field,) if field and field in BLACKLISTED_COMMAND.by_name else ("org_id",)
    return error(
        f"This key sees the {name} but may not write its scope",
        f"The row is {_describe_scope(row)}, the declaration says {_describe_scope(planned)}."
        f"{needs}",
        path,
        problem.cause,
    )
