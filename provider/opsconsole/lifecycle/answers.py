"""From the console's answers to wire values: typed, normalised, merged into what state holds.

Pure. What an answer does not show is never taken for null unless it was shown before.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opsconsole.compare import changed_fields, normalise_set, satisfies
from opsconsole.definition import Attribute, Kind, ResourceDefinition
from opsconsole.errors import UnexpectedAnswer
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.values import Attributes, Value


def normalise(attribute: Attribute, value: Value) -> Value:
    """Return `value` in the one form that comparison knows: sets sorted, nested objects filled."""
    if value is None:
        return None
    if attribute.kind is Kind.STRING_SET and isinstance(value, list):
        return normalise_set(value)
    return value


def shown(attributes: Iterable[Attribute], answer: Mapping[str, Any]) -> dict[str, Value]:
    """Return the wire values of those attributes that `answer` shows.

    Raises:
        UnexpectedAnswer: a field is of another type than the document says (Resources and their
            fields).
    """
    return {
        attribute.name: _typed(attribute, answer[attribute.name])
        for attribute in attributes
        if attribute.name in answer
    }


def _typed(attribute: Attribute, value: Any) -> Value:
    if value is None:
        return None
    kind = attribute.kind
    if kind is Kind.STRING:
        if isinstance(value, str):
            return composed(value)
    elif kind is Kind.BOOLEAN:
        if isinstance(value, bool):
            return value
    elif kind is Kind.INTEGER:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
    elif kind in (Kind.STRING_SET, Kind.STRING_LIST):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            texts = [composed(item) for item in value]
            return normalise_set(texts) if kind is Kind.STRING_SET else texts
    elif kind is Kind.OBJECT_LIST and isinstance(value, list):
        return [_object(attribute, entry) for entry in value]
    raise UnexpectedAnswer(
        f"The console's answer holds {brief(value)} as {attribute.name}, "
        f"where the document shows a {kind.value}.",
        "Check that base_url names the console, and its version.",
    )


def composed(text: str) -> str:
    """Return text with composed characters (NFC): Terraform and the native engine hold no other."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _object(attribute: Attribute, entry: Any) -> dict[str, Value]:
    if not isinstance(entry, dict):
        raise UnexpectedAnswer(
            f"The console's answer holds {brief(entry)} within {attribute.name}, "
            "where the document shows an object."
        )
    values: dict[str, Value] = dict.fromkeys(nested.name for nested in attribute.attributes)
    return values | shown(attribute.attributes, entry)


def demand(name: str, answer: Mapping[str, Any]) -> None:
    """Check that `answer` shows a field whose absence must not be taken for null.

    Raises:
        UnexpectedAnswer: it does not.
    """
    if name not in answer:
        raise UnexpectedAnswer(
            f"The console's answer does not show {name}, which the document always has there.",
            "Check that base_url names the console, and its version.",
        )


def brief(value: Any) -> str:
    """Return a value of an answer as messages quote it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def confirm_deleted(definition: ResourceDefinition, name: str, answer: Mapping[str, Any]) -> None:
    """Check that the answer to a deletion says `deleted: true` (the document: Delete results).

    An extra endpoint may answer with the resource instead, which says nothing of it.

    Raises:
        UnexpectedAnswer: it says anything else, so that the resource stays in state.
    """
    silent = "delete" not in definition.operations and "deleted" not in answer
    if not silent and answer.get("deleted") is not True:
        raise UnexpectedAnswer(f"The console did not say deleted: true of the {name}.")


def merge(
    attributes: Sequence[Attribute],
    prior: Attributes,
    private_state: PrivateState,
    answer: Mapping[str, Any],
) -> tuple[Attributes, PrivateState, tuple[str, ...]]:
    """Return state, private state and the names left unseen after an answer about a resource.

    A field that is absent now but was shown before is null now; one that was never shown keeps
    what state holds. Absent where state holds nothing and the resource was created here: both
    sides agree on null. An answer without a required field that state holds shows a part of the
    resource: nothing follows from what is absent there.

    Raises:
        UnexpectedAnswer: as `shown`.
    """
    values = shown(attributes, answer)
    whole = all(a.name in values or prior.get(a.name) is None for a in attributes if a.required)
    state = dict(prior)
    observed: list[str] = []
    unseen: list[str] = []
    for attribute in attributes:
        name = attribute.name
        if name in private_state.dropped and values.get(name) is None:
            # It can be set at creation only; a warning said that the console did not keep it.
            pass
        elif name in values:
            # What the console set by itself inside a declared object is no difference.
            if name not in state or not satisfies(values[name], state[name]):
                state[name] = values[name]
        elif not whole:
            unseen.append(name)
            continue
        elif name in private_state.observed:
            state[name] = None
        elif state.get(name) is not None or private_state.declared is None:
            unseen.append(name)
            continue
        observed.append(name)
    return state, private_state.seeing(observed), tuple(unseen)


def calm(attributes: Iterable[Attribute], prior: Attributes, state: Attributes) -> Attributes:
    """Return `prior` where only volatile attributes differ from it, else `state`.

    A refresh that finds only `updated_at` (for an agent also `status`) changed keeps state's
    values: a console that stamps reads would else show a difference forever.
    """
    steady = [attribute.name for attribute in attributes if not attribute.volatile]
    volatile = [attribute.name for attribute in attributes if attribute.volatile]
    if any(prior.get(name) is None and state.get(name) is not None for name in volatile):
        return state
    return state if changed_fields(prior, state, steady) else prior
