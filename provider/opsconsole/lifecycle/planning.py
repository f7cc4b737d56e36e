"""What a declaration asks of a resource: errors, planned values, what replaces or is refused. Pure.

Obeys Terraform's resource instance change lifecycle: configured values verbatim, or the prior
value where both mean the same; computed values that the change may touch are unknown, all others
keep their prior value. Both engines plan with these functions and no other.

Only bounds that the document attributes to a field are errors; the rest is the console's to judge,
and what is probably a slip is a warning.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opsconsole.compare import same, satisfies
from opsconsole.definition import Attribute, ChangeRule, Kind, Notation, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, Path, error, warning
from opsconsole.lifecycle.answers import PrivateState, normalise
from opsconsole.values import UNKNOWN, Attributes, Value, unknown_names


def validate(definition: ResourceDefinition, config: Attributes) -> list[Diagnostic]:
    """Return what is wrong with `config` by the definition's bounds and the resource's rules.

    Nothing is asked of the console; unknown values pass.
    """
    found = [
        problem
        for attribute in definition.settable
        for problem in _attribute_problems(attribute, config.get(attribute.name), ())
    ]
    return [*found, *definition.rules(config)]


def _attribute_problems(attribute: Attribute, value: Value, path: Path) -> Iterator[Diagnostic]:
    if value is None or value is UNKNOWN:
        return
    here = (*path, attribute.name)
    if attribute.attributes:
        entries = value if isinstance(value, list) else [value]
        for index, entry in enumerate(entries):
            if isinstance(entry, dict):
                at = (*here, index) if attribute.kind is Kind.OBJECT_LIST else here
                for nested in attribute.attributes:
                    yield from _attribute_problems(nested, entry.get(nested.name), at)
        return
    if isinstance(value, list):
        for element in value:
            if element is None:
                yield error(f"{attribute.name} holds a null element", "Remove it.", here)
            elif element is not UNKNOWN:
                yield from _scalar_problems(attribute, element, here)
        return
    yield from _scalar_problems(attribute, value, here)


def _scalar_problems(attribute: Attribute, value: Value, path: Path) -> Iterator[Diagnostic]:
    broken = attribute.bounds.broken(value)
    if broken is not None:
        yield error(f"{attribute.name} {broken.found}", f"{broken.wanted}.".capitalize(), path)
    elif attribute.notation and isinstance(value, str) and not _reads_as(attribute.notation, value):
        yield warning(
            f"{attribute.name}: {value!r} is not {attribute.notation.value}",
            "It is sent as it is: the API document gives no bound, so the console decides.",
            path,
        )


def _reads_as(notation: Notation, text: str) -> bool:
    try:
        if notation is Notation.ADDRESS:
            ipaddress.ip_address(text)
        else:
            ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


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
