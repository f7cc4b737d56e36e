"""Planned values, the fields of creations, and the limits of a plan.

No plan may make a change that no operation makes, or delete more than `max_deletions` allows.

A planned value obeys Terraform's resource instance change lifecycle. It holds configured values
verbatim, or the prior value if both mean the same. Computed values that the change may touch are
unknown; all others keep their prior value. Planning makes no call to the console.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opsconsole.definition import ChangeRule, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.answers import quote_value
from opsconsole.lifecycle.interface import (
    CreateRequest,
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRequest,
    UnsettledCreate,
)
from opsconsole.lifecycle.private_state import PrivateState, is_sentinel
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.local_terraform import cli_of
from opsconsole.text import first_items
from opsconsole.v1.operations import naming_hint
from opsconsole.values import UNKNOWN, Value, Values, is_satisfied, unknown_names


@dataclass(slots=True)
class Proposal:
    """The changes that a declaration asks for, before the resource's own rules are applied.

    Attributes:
        planned: The value after apply.
        sent: Attributes that the update operation must carry.
        replaced: Attributes whose change replaces.
        refused: Attributes that nothing can change.
        unverified: Changed attributes that the console never showed.
        drifted: Attributes that the console changed by itself and that would replace.
    """

    planned: Values
    sent: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    drifted: list[str] = field(default_factory=list)


def propose_creation(definition: ResourceDefinition, config: Values) -> Values:
    unset = {item.name: UNKNOWN if item.computed else None for item in definition}
    return unset | {
        item.name: item.normalise(config[item.name])
        for item in definition.settable
        if config.get(item.name) is not None
    }


def propose_change(
    definition: ResourceDefinition,
    prior: Values,
    config: Values,
    private_state: PrivateState,
    has: Callable[[str], bool],
) -> Proposal:
    """Return the planned values of an existing resource under a declaration.

    Args:
        has: Returns whether the console has an operation.
    """
    proposal = Proposal(dict(prior))
    for attribute in definition.settable:
        name = attribute.name
        declared = config.get(name)
        # As in Terraform, a computed attribute that a declaration leaves out stays as it is.
        if declared is None and (attribute.computed or prior.get(name) is None):
            continue
        declared = attribute.normalise(declared)
        if is_satisfied(declared, attribute.normalise(prior.get(name))):
            continue
        proposal.planned[name] = declared
        change = ChangeRule.UPDATE if has(attribute.lifted_by) else attribute.change
        if change is not ChangeRule.LOCAL:
            _classify(proposal, name, change, prior.get(name), private_state)
    if proposal.sent:
        mark_unknown(definition, proposal.planned, proposal.sent)
    return proposal


def propose_adoption(
    definition: ResourceDefinition, config: Values, shown: Values, has: Callable[[str], bool]
) -> Proposal:
    """Return the plan to adopt an object that the console shows; otherwise as `propose_change`."""
    local = {item.name: config.get(item.name) for item in definition if item.local}
    current = definition.empty() | shown | local
    private_state = PrivateState(observed=frozenset(shown), declared={})
    return propose_change(definition, current, config, private_state, has)


def mark_unknown(definition: ResourceDefinition, planned: Values, changed: list[str]) -> None:
    """Mark the fields unknown that the console may change along with `changed`."""
    for attribute in definition.read_only:
        if attribute.volatile or any(name in attribute.follows for name in changed):
            planned[attribute.name] = UNKNOWN


def fill_unknown(planned: Values, answered: Mapping[str, object]) -> Values:
    """Return `planned` with each unknown value taken from `answered`, or null."""
    return planned | {name: answered.get(name) for name in unknown_names(planned)}


def creation_fields(
    definition: ResourceDefinition, values: Values, org_id: str | None = None
) -> dict[str, Any]:
    """Return the fields of a create request, without nulls; `org_id` is the default org."""
    fields = {
        attribute.name: values[attribute.name]
        for attribute in definition.settable
        if attribute.creatable and values.get(attribute.name) not in (None, UNKNOWN)
    }
    if org_id is not None:
        fields.setdefault("org_id", org_id)
    return fields


def _classify(
    proposal: Proposal, name: str, change: ChangeRule, prior: Value, private_state: PrivateState
) -> None:
    declared = proposal.planned[name]
    is_unobserved = prior is None and name not in private_state.observed
    if is_unobserved:
        proposal.unverified.append(name)
    if change is ChangeRule.UPDATE:
        proposal.sent.append(name)
    elif is_unobserved or (prior is None and declared == []):
        # Nothing is replaced: it is not known whether the console holds another value, or an unset
        # array is to be empty.
        return
    elif change is ChangeRule.REFUSE:
        # A value that is not known yet is judged once it is.
        if declared is not UNKNOWN:
            proposal.refused.append(name)
    elif private_state.is_earlier(name, declared):
        # The declaration is an earlier one, so only the console changed.
        proposal.drifted.append(name)
        # Terraform lets a plan keep the prior value of a configured attribute, but not a null one.
        if prior is not None:
            proposal.planned[name] = prior
    else:
        proposal.replaced.append(name)


def request_of(create: UnsettledCreate, definition: ResourceDefinition) -> CreateRequest:
    """Return the request for an unsettled create, as far as its values are known."""
    config = {a.name: create.planned.get(a.name) for a in definition.settable}
    return CreateRequest(config, propose_creation(definition, config), address=create.address)


def unverified_warnings(proposal: Proposal, name: str) -> tuple[Diagnostic, ...]:
    """Warn of declared values that the console has never shown."""
    if not proposal.unverified:
        return ()
    return (
        warning(
            f"Not verified: {', '.join(proposal.unverified)} of the {name}",
            "The console has not shown these values, so they count as declared: no difference is "
            "reported, and nothing is replaced because of them.",
        ),
    )


def change_errors(
    definition: ResourceDefinition, proposal: Proposal, prior: Values, name: str
) -> list[Diagnostic]:
    """Refuse changes that no operation can make, naming both values."""
    return [
        error(
            f"The {attribute} of the {name} cannot be changed",
            f"The declaration says {_quote(proposal.planned[attribute])}, the console holds "
            f"{_quote(prior.get(attribute))}, and the API has no operation that changes it. "
            "Declare what the console holds, or leave the attribute out."
            + naming_hint(definition[attribute].lifted_by),
            (attribute,),
        )
        for attribute in proposal.refused
    ]


def difference_diagnostics(
    name: str, differing: Sequence[str], asked: Values, kept: Values, *, creating: bool
) -> tuple[Diagnostic, ...]:
    """Report each attribute that the console stored with another value than requested."""
    # After a create, an error would taint the new object.
    make = warning if creating else error
    return tuple(
        make(
            f"The console kept another value for {attribute} of the {name}",
            f"The request set {_quote(asked[attribute])}, the console kept "
            f"{_quote(kept[attribute])}. {_how_to_agree(kept[attribute])}",
            (attribute,),
        )
        for attribute in differing
    )


def _how_to_agree(kept: Value) -> str:
    if kept is not None:
        return "Declare what the console keeps."
    return "If it shows this value as unset, leave the attribute out."


def _quote(value: object) -> str:
    if value is UNKNOWN:
        return "a value known after apply"
    return "nothing" if value is None else quote_value(value)


def counts_as_deletion(definition: ResourceDefinition, values: Values) -> bool:
    """Return whether the removal of an object counts, because others may rely on the object."""
    return definition.deletion_policy(values) == "delete" and not is_sentinel(values.get("id"))


def too_many_deletions_error(names: Collection[str], most: int | None) -> Diagnostic | None:
    """Return the error if more is deleted than `max_deletions` allows, else None."""
    if most is None or len(names) <= most:
        return None
    return error(
        f"More would be deleted or replaced than max_deletions allows: {most:,}",
        f"They are: {first_items(list(names), 50)}. If that is intended, "
        "raise max_deletions of the provider, or OPSCONSOLE_MAX_DELETIONS in the environment, for "
        "this run.",
    )


class DeletionCount:
    """The deletions of one run that `max_deletions` limits, each judged as it comes.

    Terraform plans one resource a call, in no order, so its provider counts the deletions planned
    since it was configured. Terraform replaces a tainted object without a plan, so deletions are
    also counted when they are carried out. The native engine judges a plan as a whole instead.
    """

    def __init__(self, session: ConsoleSession) -> None:
        self._most = session.settings.max_deletions
        self._planned: dict[str, str] = {}
        self._begun: dict[str, str] = {}
        self._replacing: Counter[bytes] = Counter()

    def count_plan(
        self, definition: ResourceDefinition, request: PlanRequest, outcome: PlanOutcome, name: str
    ) -> Diagnostic | None:
        """Count the deletions of a plan; return the error if they are too many."""
        if self._most is None:
            return None
        if isinstance(request, PlanCreation):
            # Terraform plans a replacement as a creation too, with the prior private bytes.
            if not request.private or not counts_as_deletion(definition, request.config):
                return None
            if self._replacing[request.private]:
                self._replacing[request.private] -= 1
                return None
            key = f"{definition.type_name} {name}"
        elif outcome.planned is None or outcome.requires_replace:
            if not counts_as_deletion(definition, request.prior):
                return None
            key = f"{definition.type_name} {request.prior['id']}"
            self._replacing[request.private] += isinstance(request, PlanChange)
        else:
            return None
        self._planned[key] = name
        refusal = too_many_deletions_error(self._planned.values(), self._most)
        if refusal is None:
            return None
        # Terraform plans the deletion of an undeclared object before it reads the object, even
        # with -refresh-only.
        cli = cli_of()
        return replace(
            refusal,
            detail=f"{refusal.detail} Under {cli.name}, objects that are already gone from the "
            f"console count too, as long as they are in state: `{cli.command} apply "
            "-refresh-only` with max_deletions raised takes them out, and deletes nothing.",
        )

    def count_deletion(
        self, definition: ResourceDefinition, prior: Values, name: str
    ) -> Diagnostic | None:
        """Count a deletion before it is sent; return the error if it is one too many."""
        if not counts_as_deletion(definition, prior):
            return None
        self._begun[f"{definition.type_name} {prior['id']}"] = name
        return too_many_deletions_error(self._begun.values(), self._most)
