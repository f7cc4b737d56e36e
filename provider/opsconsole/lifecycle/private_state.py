"""The private bytes of a resource, with facts that its state cannot hold; and sentinel ids."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from opsconsole.values import Value, Values, is_same

Found = TypeVar("Found")
Default = TypeVar("Default")
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
        """Read private bytes, as empty if they are no JSON object; `extra` has unknown names."""
        # Cached, because most resources of one type have the same bytes.
        try:
            content = json.loads(private) if private else {}
        except ValueError:
            content = {}
        if not isinstance(content, dict):
            content = {}

        def take(name: str, kind: type[Found], default: Default) -> Found | Default:
            value = content.pop(name, None)
            return value if isinstance(value, kind) else default

        return cls(
            observed=_unpack(take("observed", str, "")),
            declared=take("declared", dict, None),
            removal_planned=take("removal_planned", bool, False),
            owner_stays=take("owner_stays", bool, False),
            host_id=take("host_id", str, None),
            not_kept=take("not_kept", dict, {}),
            overtaken=take("overtaken", dict, {}),
            extra=content,
        )

    def encode(self) -> bytes:
        """Write private bytes, as short as possible: state holds them with each resource."""
        declared = self.declared
        fields = {
            "observed": _pack(self.observed) if self.observed else None,
            "declared": declared and {n: v for n, v in declared.items() if v is not None},
            "removal_planned": self.removal_planned or None,
            "owner_stays": self.owner_stays or None,
            "host_id": self.host_id,
            "not_kept": dict(sorted(self.not_kept.items())) or None,
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


_SENTINEL: Final = "outcome-unknown/"


def new_sentinel(call: str = "") -> str:
    """Return a new id that no answer gave, for a create that stays unsettled.

    Args:
        call: The id of the call in a journal: a journal that knows its outcome is believed.
    """
    return _SENTINEL + (call or os.urandom(8).hex())


def is_sentinel(resource_id: object) -> bool:
    return isinstance(resource_id, str) and resource_id.startswith(_SENTINEL)


def may_hold_sentinel(text: bytes) -> bool:
    """Return whether the JSON of an object may hold such an id; it need not be decoded."""
    return _SENTINEL.rstrip("/").encode() in text  # JSON may write the slash as \/
