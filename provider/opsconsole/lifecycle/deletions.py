"""How many hosts and specialties one run may delete or replace (`max_deletions`).

The native engine judges a plan as a whole. Terraform plans one resource a call, in no order, so its
provider counts what it has planned since it was configured. The provider never plans the
replacement of a tainted object, which Terraform makes by itself. So deletions are also counted when
they are carried out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import PlanChange, PlanCreation, PlanOutcome, PlanRequest
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.values import Values

_NAMED: Final = 50


def is_counted(definition: ResourceDefinition, values: Values) -> bool:
    """Return whether the removal of an object counts, because others may rely on the object."""
    return definition.deletion_policy(values) == "delete" and not is_sentinel(values.get("id"))


def refuse_too_many(names: Collection[str], most: int | None) -> Diagnostic | None:
    """Return the error for deletions beyond `max_deletions`; None where they are within it."""
    if most is None or len(names) <= most:
        return None
    listed = ", ".join(list(names)[:_NAMED])
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return error(
        f"More would be deleted or replaced than max_deletions allows: {most:,}",
        f"Hosts and specialties: {listed}{more}. If that is intended, raise max_deletions of the "
        "provider, or OPSCONSOLE_MAX_DELETIONS in the environment, for this run.",
    )


class DeletionCount:
    """The deletions of one run, each judged as it comes."""

    def __init__(self, session: ConsoleSession) -> None:
        self._most = session.settings.max_deletions
        self._planned: dict[str, str] = {}
        self._begun: dict[str, str] = {}
        self._replacing: Counter[bytes] = Counter()

    def judge_plan(
        self, definition: ResourceDefinition, request: PlanRequest, outcome: PlanOutcome, name: str
    ) -> Diagnostic | None:
        """Count the deletions of a plan; return why they are too many."""
        if self._most is None:
            return None
        if isinstance(request, PlanCreation):
            # Core plans a replacement as a creation too, which carries the prior private bytes.
            if not request.private or not is_counted(definition, request.config):
                return None
            if self._replacing[request.private]:
                self._replacing[request.private] -= 1
                return None
            key = f"{definition.type_name} {name}"
        elif outcome.planned is None or outcome.replace:
            if not is_counted(definition, request.prior):
                return None
            key = f"{definition.type_name} {request.prior['id']}"
            self._replacing[request.private] += isinstance(request, PlanChange)
        else:
            return None
        self._planned[key] = name
        return refuse_too_many(self._planned.values(), self._most)

    def judge_deletion(
        self, definition: ResourceDefinition, prior: Values, name: str
    ) -> Diagnostic | None:
        """Count a deletion that is about to be sent; return why that is too much."""
        if not is_counted(definition, prior):
            return None
        self._begun[f"{definition.type_name} {prior['id']}"] = name
        return refuse_too_many(self._begun.values(), self._most)
