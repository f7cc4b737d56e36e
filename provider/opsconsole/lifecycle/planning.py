"""What a declaration asks of a resource: planned values, what replaces, what is refused. Pure.

Obeys Terraform's resource instance change lifecycle: configured values verbatim, or the prior
value where both mean the same; computed values that the change may touch are unknown, all others
keep their prior value. Both engines plan with these functions and no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opsconsole.compare import same, satisfies
from opsconsole.definition import ChangeRule, ResourceDefinition
from opsconsole.lifecycle.answers import PrivateState, normalise
from opsconsole.values import UNKNOWN, Attributes, Value, unknown_names


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

    planned: Attributes
    sent: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    drifted: list[str] = field(default_factory=list)


def creation_fields(
    definition: ResourceDefinition, values: Attributes, org_id: str | None = None
) -> dict[str, Any]:
    """Return the fields that the request for a creation holds: those that are set, no others.

    Args:
        org_id: The org of what names none.
    """
    fields = {
        attribute.name: values[attribute.name]
        for attribute in definition.settable
        if attribute.creatable and values.get(attribute.name) not in (None, UNKNOWN)
    }
    if org_id is not None:
        fields.setdefault("org_id", org_id)
    return fields


def propose_creation(definition: ResourceDefinition, config: Attributes) -> Attributes:
    """Return what is planned for a resource that does not exist yet."""
    planned = definition.empty()
    for attribute in definition:
        declared = config.get(attribute.name) if attribute.settable else None
        if declared is not None:
            planned[attribute.name] = normalise(attribute, declared)
        elif attribute.computed:
            planned[attribute.name] = UNKNOWN
    return planned


def propose_change(
    definition: ResourceDefinition,
    prior: Attributes,
    config: Attributes,
    private_state: PrivateState,
    extra_endpoints: Mapping[str, str],
) -> Proposal:
    """Return what a declaration asks of a resource that exists."""
    proposal = Proposal(dict(prior))
    for attribute in definition.settable:
        name = attribute.name
        declared = normalise(attribute, config.get(name))
        if declared is None and (attribute.computed or prior.get(name) is None):
            continue
        if satisfies(normalise(attribute, prior.get(name)), declared):
            continue
        proposal.planned[name] = declared
        change = attribute.change_under(extra_endpoints)
        if change is not ChangeRule.LOCAL:
            _sort(proposal, name, change, prior.get(name), private_state)
    if proposal.sent:
        unsettle(definition, proposal.planned, proposal.sent)
    return proposal


def _sort(
    proposal: Proposal, name: str, change: ChangeRule, prior: Value, private_state: PrivateState
) -> None:
    """File one changed attribute under what its change asks for."""
    declared = proposal.planned[name]
    unseen = prior is None and name not in private_state.observed
    if unseen:
        proposal.unverified.append(name)
    if change is ChangeRule.UPDATE:
        proposal.sent.append(name)
    elif unseen:
        return
    elif change is ChangeRule.REFUSE:
        # A value that is not known yet is judged once it is.
        if declared is not UNKNOWN:
            proposal.refused.append(name)
    elif _changed_by_console(name, declared, private_state):
        proposal.drifted.append(name)
        # Core lets a plan keep the prior value of a configured attribute, but not a null one.
        if prior is not None:
            proposal.planned[name] = prior
    else:
        proposal.replaced.append(name)


def _changed_by_console(name: str, declared: object, private_state: PrivateState) -> bool:
    """Return whether a declaration is that of an earlier run, which the console has left."""
    earlier = ((private_state.declared or {}).get(name), private_state.overtaken.get(name))
    return any(value is not None and same(value, declared) for value in earlier)


def unsettle(definition: ResourceDefinition, planned: Attributes, changed: list[str]) -> None:
    """Mark unknown what the console may change along with `changed`."""
    for attribute in definition:
        follows = any(name in attribute.follows for name in changed)
        if attribute.read_only and (attribute.volatile or follows):
            planned[attribute.name] = UNKNOWN


def settle(
    definition: ResourceDefinition, planned: Attributes, answered: Mapping[str, object]
) -> Attributes:
    """Return `planned` with each unknown value taken from `answered`, or null."""
    known = planned | {name: answered.get(name) for name in unknown_names(planned)}
    return {name: known.get(name) for name in definition.names}
