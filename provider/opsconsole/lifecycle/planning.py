"""Planned values, the fields of creations, and the changes that no operation can make.

A planned value obeys Terraform's resource instance change lifecycle. It holds configured values
verbatim, or the prior value if both mean the same. Computed values that the change may touch are
unknown; all others keep their prior value. Computing it makes no call to the console.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opsconsole.definition import ChangeRule, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error, warning
from opsconsole.lifecycle.answers import PrivateState, quote_value
from opsconsole.lifecycle.interface import CreateRequest, UnsettledCreate
from opsconsole.v1.operations import naming_hint
from opsconsole.values import UNKNOWN, Value, Values, same, satisfies, unknown_names


@dataclass(slots=True)
class Proposal:
    """What one declaration asks for, before the resource's own rules are applied.

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
    """Return the planned values of a resource that does not exist yet."""
    planned = definition.empty()
    for attribute in definition:
        declared = config.get(attribute.name) if attribute.settable else None
        if declared is not None:
            planned[attribute.name] = attribute.normalise(declared)
        elif attribute.computed:
            planned[attribute.name] = UNKNOWN
    return planned


def propose_change(
    definition: ResourceDefinition,
    prior: Values,
    config: Values,
    private_state: PrivateState,
    has: Callable[[str], bool],
) -> Proposal:
    """Return the planned values of an existing resource under a declaration.

    Args:
        has: Tells whether the console has an operation.
    """
    proposal = Proposal(dict(prior))
    for attribute in definition.settable:
        name = attribute.name
        declared = attribute.normalise(config.get(name))
        # As in Terraform, a computed attribute that a declaration leaves out stays as it is.
        if declared is None and (attribute.computed or prior.get(name) is None):
            continue
        if satisfies(attribute.normalise(prior.get(name)), declared):
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
    """Return the planned values of an object that a declaration takes under management.

    Args:
        shown: What the console shows of it.
        has: As of `propose_change`.
    """
    local = {item.name: config.get(item.name) for item in definition if item.local}
    current = definition.empty() | shown | local
    private_state = PrivateState(observed=frozenset(shown), declared={})
    return propose_change(definition, current, config, private_state, has)


def mark_unknown(definition: ResourceDefinition, planned: Values, changed: list[str]) -> None:
    """Mark fields unknown that the console may change along with `changed`."""
    for attribute in definition:
        follows = any(name in attribute.follows for name in changed)
        if attribute.read_only and (attribute.volatile or follows):
            planned[attribute.name] = UNKNOWN


def fill_unknown(
    definition: ResourceDefinition, planned: Values, answered: Mapping[str, object]
) -> Values:
    """Return `planned` with each unknown value taken from `answered`, or null."""
    known = planned | {name: answered.get(name) for name in unknown_names(planned)}
    return {name: known.get(name) for name in definition.names}


def creation_fields(
    definition: ResourceDefinition, values: Values, org_id: str | None = None
) -> dict[str, Any]:
    """Return the fields of the request for a creation: the set ones, no others.

    Args:
        org_id: The org of resources that name none.
    """
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
    """Classify one changed attribute by the effect of its change."""
    declared = proposal.planned[name]
    earlier = ((private_state.declared or {}).get(name), private_state.overtaken.get(name))
    unseen = prior is None and name not in private_state.observed
    if unseen:
        proposal.unverified.append(name)
    if change is ChangeRule.UPDATE:
        proposal.sent.append(name)
    elif unseen:
        # It is not known whether the console holds another value, so nothing is replaced.
        return
    elif change is ChangeRule.REFUSE:
        # A value that is not known yet is judged once it is.
        if declared is not UNKNOWN:
            proposal.refused.append(name)
    elif any(value is not None and same(value, declared) for value in earlier):
        # The declaration is an earlier one, so only the console changed.
        proposal.drifted.append(name)
        # Core lets a plan keep the prior value of a configured attribute, but not a null one.
        if prior is not None:
            proposal.planned[name] = prior
    else:
        proposal.replaced.append(name)


def request_of(create: UnsettledCreate, definition: ResourceDefinition) -> CreateRequest:
    """Return the request for an unsettled create, as far as its values are known."""
    config = {a.name: create.planned.get(a.name) for a in definition.settable}
    return CreateRequest(config, propose_creation(definition, config), address=create.address)


def warn_unverified(proposal: Proposal, name: str) -> tuple[Diagnostic, ...]:
    """Warn of declared values whose counterpart on the console was never seen."""
    if not proposal.unverified:
        return ()
    return (
        warning(
            f"Not verified: {', '.join(proposal.unverified)} of the {name}",
            "The console has not shown these values, so they count as declared: no difference is "
            "reported, and nothing is replaced because of them.",
        ),
    )


def refuse_changes(
    definition: ResourceDefinition, proposal: Proposal, prior: Values, name: str
) -> list[Diagnostic]:
    """Refuse changes that no operation can make, naming both values."""
    return [
        error(
            f"The {attribute} of the {name} cannot be changed",
            f"The declaration says {quote_planned(proposal.planned[attribute])}, the console holds "
            f"{quote_planned(prior.get(attribute))}, and the API has no operation that changes it. "
            "Declare what the console holds, or leave the attribute out."
            + naming_hint(definition[attribute].lifted_by),
            (attribute,),
        )
        for attribute in proposal.refused
    ]


def quote_planned(value: object) -> str:
    """Return a planned value as messages quote it."""
    if value is UNKNOWN:
        return "a value known after apply"
    return "nothing" if value is None else quote_value(value)
