"""Reads the console's answers into wire values, and merges them into state and private bytes.

Pure but for `new_sentinel`. A missing field is null only if an earlier answer showed it.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from opsconsole.definition import Attribute, Kind, ResourceDefinition
from opsconsole.errors import UnexpectedAnswer
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


Known = TypeVar("Known")
Missing = TypeVar("Missing")
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
# `json.dumps` would make an encoder for each call.
_encode = json.JSONEncoder(separators=(",", ":")).encode

# States hold places in this list: append names at its end, and never move or remove one.
_NAMES_BY_BIT: Final = (
    "id", "name", "org_id", "tenant_id", "created_at", "updated_at", "public_ip", "private_ip",
    "ip_connect_mode", "target_type", "target_port", "skip_tls_verify", "additional_names", "tags",
    "knowledge", "is_jump_host", "jump_host_ids", "jump_host_username_credential_id",
    "jump_host_secret_credential_id", "eligible_subnets", "external_id", "unique_id", "mac",
    "enrichment_source", "host_id", "specialty_id", "main_engine", "secondary_engine",
    "remote_execution", "credential_config", "plugin_ids", "accessible_credential_ids", "status",
    "disabled_rule_ids", "agent_id", "plugin_id", "enabled", "key", "prompt", "description",
    "execution_mode", "owner_id", "pattern", "document_id", "source_section", "text_hash",
)  # fmt: skip
"""Attribute names that state holds as bits of one number; any other is spelled out after it.
Terraform writes the whole state after each change, so the size of each resource counts: names in
full were a quarter of it."""


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


class PrivateState(NamedTuple):
    """The facts about a resource beside its state: the private bytes of both engines.

    State alone cannot tell a null of the console from a value that was never seen. Nor can it tell
    a changed declaration from a value that the console changed.

    Attributes:
        observed: Names of the attributes that the console has shown.
        declared: The last applied declaration of the attributes that replace; None: this resource
            was imported, nothing has been applied yet.
        removal_planned: Set only between plan and apply: the plan was to remove the resource, not
            to replace it.
        owner_stays: Set only between plan and apply: its owner stays while this one is removed.
        not_kept: The console's values of attributes that can be set at creation only and that the
            console did not keep as declared. While it shows these values, state holds the declared
            ones.
        overtaken: The values in state of attributes that replace, from before the console changed
            them. A declaration of such a value counts as unchanged, even if no apply took it.
        host_id: For a plugin attachment: the host that its agent runs for, if the console said so.
        extra: Further facts of one resource type, by name.
    """

    observed: frozenset[str] = frozenset()
    declared: Mapping[str, Value] | None = None
    removal_planned: bool = False
    owner_stays: bool = False
    host_id: str | None = None
    not_kept: Mapping[str, Value] = _NOTHING
    overtaken: Mapping[str, Value] = _NOTHING
    extra: Mapping[str, Any] = _NOTHING

    @classmethod
    @lru_cache(maxsize=1024)
    def decode(cls, private: bytes) -> PrivateState:
        """Read private bytes; bytes of another provider or version count as empty."""
        # Cached, because most resources of one type have the same bytes.
        try:
            content = json.loads(private) if private else {}
        except ValueError:
            content = {}
        if not isinstance(content, dict):
            content = {}

        def take(name: str, kind: type[Known], default: Missing) -> Known | Missing:
            value = content.pop(name, None)
            return value if isinstance(value, kind) else default

        return cls(
            _unpack(take("observed", str, "")),
            take("declared", dict, None),
            take("removal_planned", bool, False),
            take("kept", bool, False),
            take("host_id", str, None),
            take("dropped", dict, {}),
            take("overtaken", dict, {}),
            content,
        )

    def encode(self) -> bytes:
        """Write private bytes, as short as possible: state holds them with each resource."""
        declared = self.declared
        fields = {
            "observed": _pack(self.observed) if self.observed else None,
            "declared": declared and {n: v for n, v in declared.items() if v is not None},
            "removal_planned": self.removal_planned or None,
            # `kept` and `dropped` are the names that states hold.
            "kept": self.owner_stays or None,
            "host_id": self.host_id,
            "dropped": dict(sorted(self.not_kept.items())) or None,
            "overtaken": dict(self.overtaken) or None,
        }
        known = {name: value for name, value in fields.items() if value is not None}
        content = {**self.extra, **known}
        return _encode(content).encode() if content else b""

    def with_observed(self, names: Collection[str]) -> PrivateState:
        """Add observed names; return the same object if it has them already."""
        if self.observed.issuperset(names):
            return self
        return self._replace(observed=self.observed.union(names))

    def with_not_kept(self, values: Mapping[str, Value]) -> PrivateState:
        return self._replace(not_kept={**self.not_kept, **values}) if values else self

    def with_declaration(
        self, config: Values, names: Iterable[str], planned: Values | None = None
    ) -> PrivateState:
        """Replace the declaration by the values of `names` in `config`.

        Args:
            planned: The planned values of an update. They leave out what `ignore_changes` names,
                which `config` holds: that is not declared yet.
        """
        declared = {name: config.get(name) for name in names}
        for name, value in declared.items():
            followed = planned is None or value is None or is_same(planned[name], value)
            if not followed and not self.is_earlier(name, value):
                declared[name] = (self.declared or {}).get(name)
        return self._replace(
            declared=declared, removal_planned=False, owner_stays=False, overtaken=_NOTHING
        )

    def is_earlier(self, name: str, value: Value) -> bool:
        """Return whether a declaration of an attribute that replaces is an earlier one."""
        earlier = ((self.declared or {}).get(name), self.overtaken.get(name))
        return any(item is not None and is_same(item, value) for item in earlier)


@lru_cache(maxsize=1024)
def _pack(observed: frozenset[str]) -> str:
    bits = {name: 1 << index for index, name in enumerate(_NAMES_BY_BIT)}
    number = sum(bits.get(name, 0) for name in observed)
    return " ".join([f"{number:x}", *sorted(observed.difference(bits))])


@lru_cache(maxsize=1024)
def _unpack(text: str) -> frozenset[str]:
    bits, *names = text.split(" ")
    try:
        number = int(bits, 16)
    except ValueError:
        return frozenset()
    return frozenset(names).union(
        name for index, name in enumerate(_NAMES_BY_BIT) if number >> index & 1
    )


def merge_answer(
    attributes: Sequence[Attribute],
    prior: Values,
    private_state: PrivateState,
    values: Mapping[str, Value],
) -> tuple[Values, PrivateState, tuple[str, ...]]:
    """Return state, private state and the names left unseen after an answer about a resource.

    An absent field that was shown before is null now. A field that was never shown keeps its value
    in state.
    """
    # An answer that lacks a required field of the state shows only a part of the resource. Its
    # absent fields mean nothing.
    whole = all(a.name in values or prior.get(a.name) is None for a in attributes if a.required)
    state = dict(prior)
    observed: list[str] = []
    unseen: list[str] = []
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
        elif not whole:
            unseen.append(name)
            continue
        elif name in private_state.observed:
            if not is_shown(state.get(name), None):
                state[name] = None
        elif state.get(name) is not None or private_state.declared is None:
            # Not if state holds null for a resource created here: both agree on null.
            unseen.append(name)
            continue
        observed.append(name)
    return state, private_state.with_observed(observed), tuple(unseen)


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


_SENTINEL: Final = "outcome-unknown/"


def new_sentinel(call: str = "") -> str:
    """Return a new id that no answer gave, for a create that stays unsettled.

    Args:
        call: The id of the call in a journal: a journal that knows its outcome is believed.
    """
    return _SENTINEL + (call or secrets.token_hex(8))


def is_sentinel(resource_id: object) -> bool:
    return isinstance(resource_id, str) and resource_id.startswith(_SENTINEL)


def may_hold_sentinel(text: bytes) -> bool:
    """Return whether the JSON of an object may hold such an id; it need not be decoded."""
    return _SENTINEL.rstrip("/").encode() in text  # JSON may write the slash as \/
