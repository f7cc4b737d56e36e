"""Reads the console's answers into wire values, and merges them into state. Pure.

A missing field is null only if an earlier answer showed it.
"""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opsconsole.definition import Attribute, Kind, ResourceDefinition
from opsconsole.errors import UnexpectedAnswer
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.text import shorten, to_nfc
from opsconsole.v1.answers import WrongShape
from opsconsole.v1.operations import documented_for
from opsconsole.values import Value, Values, is_same, is_shown, normalise_set

if TYPE_CHECKING:
    from opsconsole.v1.bodies import DeleteResult


def values_shown(attributes: Iterable[Attribute], answer: Mapping[str, Any]) -> dict[str, Value]:
    """Return the wire values of the attributes that `answer` shows.

    Raises:
        UnexpectedAnswer: A field is of another type than the document says (Resources and their
            fields).
    """
    return {
        attribute.name: _check_type(attribute, answer[attribute.name])
        for attribute in attributes
        if attribute.name in answer
    }


def _check_type(attribute: Attribute, value: Any) -> Value:
    if value is None:
        return None
    kind = attribute.kind
    if kind is Kind.STRING:
        if isinstance(value, str):
            return to_nfc(value)
    elif kind is Kind.BOOLEAN:
        if isinstance(value, bool):
            return value
    elif kind in (Kind.INTEGER, Kind.NUMBER):
        # JSON has one type of number: 80.0 is an integer, too.
        if isinstance(value, float) and value.is_integer():
            return int(value)
        accepted = int if kind is Kind.INTEGER else (int, float)
        if isinstance(value, accepted) and not isinstance(value, bool):
            return value
    elif kind in (Kind.STRING_SET, Kind.STRING_LIST):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            texts = [to_nfc(item) for item in value]
            return normalise_set(texts) if kind is Kind.STRING_SET else texts
    elif kind is Kind.STRING_MAP:
        if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            return {to_nfc(name): to_nfc(item) for name, item in value.items()}
    elif kind is Kind.OBJECT:
        return _object(attribute, value)
    elif kind is Kind.OBJECT_LIST and isinstance(value, list):
        return [_object(attribute, entry) for entry in value]
    raise UnexpectedAnswer(
        f"The console's answer holds {quote_value(value)} as {attribute.name}, "
        f"where the document shows a {kind.value}.",
        "Check that base_url names the console, and its version.",
    )


def _object(attribute: Attribute, entry: Any) -> dict[str, Value]:
    if not isinstance(entry, dict):
        raise UnexpectedAnswer(
            f"The console's answer holds {quote_value(entry)} within {attribute.name}, "
            "where the document shows an object."
        )
    values: dict[str, Value] = dict.fromkeys(nested.name for nested in attribute.attributes)
    return values | values_shown(attribute.attributes, entry)


def quote_value(value: Any) -> str:
    return shorten(repr(value), 200)


def confirm_deleted(
    definition: ResourceDefinition, name: str, answer: Mapping[str, Any]
) -> DeleteResult:
    """Check that the answer to a deletion says `deleted: true` (the document: Delete results).

    Raises:
        UnexpectedAnswer: It says anything else, so that the resource stays in state.
    """
    from opsconsole.v1.bodies import DeleteResult  # loaded with the first answer

    with contextlib.suppress(WrongShape):
        result = DeleteResult.read(answer)
        silent = "deleted" not in result.model_fields_set
        # An extra endpoint may answer with the resource instead, which says nothing of it.
        if result.deleted or (silent and documented_for(definition, "delete") is None):
            return result
    raise UnexpectedAnswer(f"The console did not say deleted: true of the {name}.")


def explain_mismatch(
    definition: ResourceDefinition, sent: Mapping[str, Any], answer: Mapping[str, Any]
) -> UnexpectedAnswer | None:
    """Return the error if `answer` does not belong to the create of `sent`, else None.

    Fields that the answer does not show are ignored.
    """
    exact = [*(item.name for item in definition.references), "org_id"]
    naming = dict.fromkeys([definition.label, "name"])
    differing = [name for name in exact if _shows_another(sent, answer, name, str)]
    # The console may store a name trimmed, in lower case, or in another normal form of Unicode.
    differing += [name for name in naming if _shows_another(sent, answer, name, normalise_name)]
    if not differing:
        return None
    contrast = "; ".join(
        f"{name} {quote_value(answer[name])}, not {quote_value(sent[name])}" for name in differing
    )
    return UnexpectedAnswer(
        f"The console answered with another object ({quote_value(answer.get('id'))}): {contrast}."
    )


def _shows_another(
    sent: Mapping[str, Any], answer: Mapping[str, Any], name: str, form: Callable[[str], str]
) -> bool:
    asked, shown = sent.get(name), answer.get(name)
    if not isinstance(asked, str) or not isinstance(shown, str):
        return False
    return asked != shown and form(asked) != form(shown)


def normalise_name(name: str) -> str:
    """Return a name in a form that is equal for two spellings of it."""
    # Twice: folding case may leave characters that are not composed.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def merge_answer(
    attributes: Sequence[Attribute],
    prior: Values,
    private_state: PrivateState,
    values: Mapping[str, Value],
) -> tuple[Values, PrivateState, tuple[str, ...]]:
    """Return state, private state and the names unobserved after an answer about a resource.

    An absent field that was shown before is null now. A field that was never shown keeps its value
    in state.
    """
    # An answer that lacks a required field of the state shows only a part of the resource. Its
    # absent fields mean nothing.
    complete = all(a.name in values or prior.get(a.name) is None for a in attributes if a.required)
    state = dict(prior)
    observed: list[str] = []
    unobserved: list[str] = []
    for attribute in attributes:
        name = attribute.name
        if name in private_state.not_kept and values.get(name) == private_state.not_kept[name]:
            # It can be set at creation only; a warning said that the console did not keep it.
            pass
        elif name in values:
            value = values[name]
            # Values that the console set by itself inside a declared object are no difference.
            if name not in state or not (value is state[name] or is_shown(state[name], value)):
                state[name] = value
        elif not complete:
            unobserved.append(name)
            continue
        elif name in private_state.observed:
            if not is_shown(state.get(name), None):
                state[name] = None
        elif state.get(name) is not None or private_state.declared is None:
            # Not if state holds null for a resource created here: both agree on null.
            unobserved.append(name)
            continue
        observed.append(name)
    return state, private_state.with_observed(observed), tuple(unobserved)


def ignore_volatile(attributes: Iterable[Attribute], prior: Values, state: Values) -> Values:
    """Return `prior` if `state` differs only in volatile attributes, else `state`."""
    for attribute in attributes:
        before, after = prior.get(attribute.name), state.get(attribute.name)
        # A console that stamps `updated_at` at each read would otherwise always show a difference.
        # A value that is not in state yet is seen for the first time, not changed.
        if before is not after and (
            before is None if attribute.volatile else not is_same(before, after)
        ):
            return state
    return prior
