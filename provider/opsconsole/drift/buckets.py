"""Finds the bucket of a resource from its read.

A resource is in sync only if every attribute in state was seen and is equal. An attribute that is
seen for the first time is not drift, even if state has null and the console has a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from opsconsole.definition import ChangeRule, ResourceDefinition
from opsconsole.diagnostics import Diagnostic, Severity, has_error
from opsconsole.drift.model import Bucket, Difference, Finding
from opsconsole.drift.stack import StateObject
from opsconsole.errors import Cause, ProblemKind
from opsconsole.lifecycle.interface import ReadOutcome, ReadStatus
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.resources import RESOURCES, owner_of
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.text import capitalise_first, join_words, plural
from opsconsole.v1.operations import has_complete_read, missing_operation
from opsconsole.values import Values, is_same, text_of

Addresses = Mapping[tuple[ConfiguredProvider | None, str, str], str]
"""The address of each object in state, by provider, type and id."""


def classify(item: StateObject, addresses: Addresses) -> Finding:
    outcome = item.outcome
    if outcome.status is ReadStatus.UNCHECKED:
        reason = outcome.why_unchecked or "it was not read"
        return _make_finding(item, Bucket.UNCHECKED, reason, cause=outcome.cause)
    if outcome.status is ReadStatus.ARCHIVED:
        reason = _with_owner(item, addresses) or "the console says that it is archived"
        return _make_finding(item, Bucket.ARCHIVED, reason)
    if outcome.state is None:
        reason = _with_owner(item, addresses) or RESOURCES[item.instance.type_name].gone_reason
        return _make_finding(item, Bucket.MISSING, reason)
    return _classify_present(item, outcome, outcome.state)


def _classify_present(item: StateObject, outcome: ReadOutcome, state: Values) -> Finding:
    definition = RESOURCES[item.instance.type_name]
    stored = item.instance.stored_values
    differences, first_seen = _compare(definition, item, state)
    unobserved = tuple(name for name in outcome.unobserved if not definition[name].volatile)
    # Drift that was seen counts, even if a part of the resource could not be read.
    if differences:
        return _make_finding(item, Bucket.CHANGED, differences=differences, unobserved=unobserved)
    reason = outcome.why_unchecked or _unobserved_reason(definition, stored, unobserved)
    if reason:
        cause = outcome.cause
        return _make_finding(item, Bucket.UNCHECKED, reason, unobserved=unobserved, cause=cause)
    if first_seen:
        reason = f"seen for the first time, so not compared: {', '.join(first_seen)}"
    return _make_finding(item, Bucket.IN_SYNC, reason, unobserved=unobserved)


def _compare(
    definition: ResourceDefinition, item: StateObject, state: Values
) -> tuple[tuple[Difference, ...], list[str]]:
    """Return the differences, and the names of the attributes seen for the first time."""
    stored = item.instance.stored_values
    if state is stored:
        return (), []
    observed: frozenset[str] | None = None
    differences: list[Difference] = []
    first_seen: list[str] = []
    # Local attributes belong to the provider, and no answer contains them.
    for attribute in definition.answer_fields:
        name = attribute.name
        # Volatile attributes follow any write, so their change alone is no drift.
        if attribute.volatile or is_same(stored.get(name), state.get(name)):
            continue
        # The console may never have kept an attribute that no update sets and no answer showed.
        is_unkept = attribute.change is ChangeRule.REPLACE and state.get(name) is None
        if stored.get(name) is None or is_unkept:
            if observed is None:
                observed = PrivateState.decode(item.instance.stored.private).observed
            # A field missing from a complete answer was unset.
            was_unset = stored.get(name) is None and definition.label in observed
            # The release that wrote the state may not have known the attribute yet.
            if name in item.absent_names or (name not in observed and not was_unset):
                first_seen.append(name)
                continue
        hidden = attribute.sensitive or name in item.sensitive
        differences.append(Difference(name, stored.get(name), state.get(name), hidden))
    return tuple(differences), first_seen


def _unobserved_reason(
    definition: ResourceDefinition, stored: Values, unobserved: tuple[str, ...]
) -> str:
    """Return why too little of a resource was seen to call it in sync, or empty."""
    if not unobserved:
        return ""
    if not has_complete_read(definition) and not any(
        attribute.computed and not attribute.volatile and attribute.name not in ("id", *unobserved)
        for attribute in definition.answer_fields
    ):
        return (
            f"no documented operation reads {definition.plural}, and no "
            f"{missing_operation(definition, 'read')} is named: it exists, its fields were not seen"
        )
    in_state = [name for name in unobserved if stored.get(name) is not None]
    if not in_state:
        return ""
    return f"the console did not show {', '.join(in_state)}, which state holds"


def _with_owner(item: StateObject, addresses: Addresses) -> str:
    instance, provider = item.instance, item.provider
    definition = RESOURCES[instance.type_name]
    owner = owner_of(definition)
    owner_id = instance.stored_values.get(definition.owner) or ""
    if owner is None or provider is None:
        return ""
    if owner_id not in provider.session.gone_ids.get(owner.type_name, ()):
        return ""
    address = addresses.get((provider, owner.type_name, owner_id), owner_id)
    return f"its {owner.title} {address} is gone: {definition.plural} go with their {owner.title}"


def _make_finding(
    item: StateObject,
    bucket: Bucket,
    reason: str = "",
    differences: tuple[Difference, ...] = (),
    unobserved: tuple[str, ...] = (),
    cause: Cause | None = None,
) -> Finding:
    instance = item.instance
    shown = instance.stored_values
    if item.sensitive:
        # The label comes from these values, and a sensitive name must not become a label.
        shown = {name: value for name, value in shown.items() if name not in item.sensitive}
    definition = RESOURCES[instance.type_name]
    names = definition.reported_as or (definition.label,)
    return Finding(
        stack=item.stack,
        address=item.address,
        type_name=instance.type_name,
        bucket=bucket,
        id=text_of(instance.stored_values, "id"),
        label=next(filter(None, (text_of(shown, name) for name in names)), ""),
        differences=differences,
        reason=reason,
        values=shown,
        unobserved=unobserved,
        cause=cause,
    )


def explain_unread(objects: Iterable[StateObject], *, tolerant: bool) -> tuple[Diagnostic, ...]:
    """Return why resources were not checked, with one diagnostic for each cause.

    A failed call (401, 5xx, HTML, no answer) is an error. A limit of the console (truncated lists,
    hosts that cannot be read) is a warning. A 403 is an error too, unless `tolerant`.
    """
    unread = [item for item in objects if item.is_unread]
    # The console refused one object; the next was then not read for the same reason.
    gists = {item.outcome.reason: item.outcome.cause.gist for item in unread if item.outcome.cause}
    groups: dict[tuple[object, ...], list[StateObject]] = {}
    for item in unread:
        reason, cause = item.outcome.reason, item.outcome.cause
        key = (reason, cause.gist if cause else gists.get(reason))
        groups.setdefault(key, []).append(item)
    several = len({item.stack for group in groups.values() for item in group}) > 1
    return tuple(_explain_group(group, tolerant, several) for group in groups.values())


def _explain_group(group: Sequence[StateObject], tolerant: bool, several: bool) -> Diagnostic:
    """Return one diagnostic for resources that were not checked for the same reason."""
    is_grave = any(_is_grave(item.outcome, tolerant) for item in group)
    types = Counter(item.instance.type_name for item in group)
    counted = [plural(count, RESOURCES[type_name].title) for type_name, count in types.items()]
    explanations = (
        Diagnostic(
            Severity.ERROR if is_grave else Severity.WARNING,
            f"{join_words(counted)} could not be checked",
            detail,
            cause=cause,
        )
        for item in group
        for detail, cause in _details_of(item.outcome)
    )
    # One of the diagnostics explains the cause in full; the others only refer to it.
    fullest = max(explanations, key=lambda diagnostic: len(diagnostic.text))
    addresses = (item.instance.address if several else item.address for item in group)
    return replace(fullest, addresses=tuple(addresses))


def _is_grave(outcome: ReadOutcome, tolerant: bool) -> bool:
    # A 403 fails a check unless a coverage below 100 % was requested. For limits of the console,
    # coverage alone decides.
    if outcome.cause is not None and outcome.cause.kind is ProblemKind.FORBIDDEN:
        return not tolerant
    return has_error(outcome.diagnostics)


def _details_of(outcome: ReadOutcome) -> Iterator[tuple[str, Cause | None]]:
    cause = outcome.cause
    yield _as_sentence(outcome.reason), cause
    for item in outcome.diagnostics:
        if cause is None or item.cause != cause:
            yield item.detail, item.cause


def _as_sentence(reason: str) -> str:
    stop = "" if reason.endswith((".", "!", "?")) else "."
    return f"{capitalise_first(reason)}{stop}" if reason else ""
