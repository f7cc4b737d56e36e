"""What is remembered of a resource beside its state: the private bytes, alike for both engines.

A console's null and a value that was never seen are different things, and a declaration that
changed is another thing than a console that changed a value: state alone tells neither apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from opsconsole.compare import changed_fields
from opsconsole.values import Attributes, Value

_PLACES: Final = """
    id name org_id tenant_id created_at updated_at public_ip private_ip ip_connect_mode
    target_type target_port skip_tls_verify additional_names tags knowledge is_jump_host
    jump_host_ids jump_host_username_credential_id jump_host_secret_credential_id
    eligible_subnets external_id unique_id mac enrichment_source host_id specialty_id
    main_engine secondary_engine remote_execution credential_config plugin_ids
    accessible_credential_ids status disabled_rule_ids agent_id plugin_id enabled key prompt
    description execution_mode owner_id pattern document_id source_section text_hash
"""
_NAMES: Final = tuple(_PLACES.split())
"""Attribute names that state holds as bits of one number; any other is spelled out after it.
Terraform writes the whole state after each change, so what each resource brings along counts: names
in full were a quarter of it. The list stays as it is: people's states refer to places in it."""


@dataclass(frozen=True, slots=True)
class PrivateState:
    """The content of the private bytes.

    Attributes:
        observed: Names of the attributes that the console has shown.
        declared: The last applied declaration of the attributes that replace; None: this resource
            was imported, nothing has been applied yet.
        removal_planned: Set only between plan and apply: the plan was to remove the resource, not
            to replace it.
        kept: Set only between plan and apply: its owner stays while this one is removed.
        dropped: Names of declared attributes that can be set at creation only and that the console
            did not keep. State holds what was declared, whatever reading shows.
        overtaken: What state held of attributes that replace before the console changed them by
            itself. A declaration of such a value has not changed, also where no apply took it.
        host_id: Of a plugin attachment, the host that its agent runs for, where the console said.
    """

    observed: frozenset[str] = frozenset()
    declared: Mapping[str, Value] | None = None
    removal_planned: bool = False
    kept: bool = False
    host_id: str | None = None
    dropped: frozenset[str] = frozenset()
    overtaken: Mapping[str, Value] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def decode(cls, private: bytes) -> PrivateState:
        """Read private bytes; what another provider or version wrote counts as nothing known."""
        try:
            content = json.loads(private) if private else {}
        except ValueError:
            content = {}
        if not isinstance(content, dict):
            content = {}
        observed = content.pop("observed", None)
        declared = content.pop("declared", None)
        host_id = content.pop("host_id", None)
        overtaken = content.pop("overtaken", None)
        return cls(
            _unpacked(observed) if isinstance(observed, str) else _named(observed),
            declared if isinstance(declared, dict) else None,
            content.pop("removal_planned", False) is True,
            content.pop("kept", False) is True,
            host_id if isinstance(host_id, str) else None,
            _named(content.pop("dropped", None)),
            overtaken if isinstance(overtaken, dict) else {},
            content,
        )

    def encode(self) -> bytes:
        """Write private bytes, as small as they can be: state holds them with each resource."""
        content: dict[str, Any] = dict(self.extra)
        if self.observed:
            content["observed"] = _packed(self.observed)
        if self.declared is not None:
            content["declared"] = {
                name: value for name, value in self.declared.items() if value is not None
            }
        if self.removal_planned:
            content["removal_planned"] = True
        if self.kept:
            content["kept"] = True
        if self.host_id is not None:
            content["host_id"] = self.host_id
        if self.dropped:
            content["dropped"] = sorted(self.dropped)
        if self.overtaken:
            content["overtaken"] = dict(self.overtaken)
        return json.dumps(content, separators=(",", ":")).encode() if content else b""

    def seeing(self, names: Iterable[str]) -> PrivateState:
        """Return this with `names` observed too; this very one where it knows them."""
        observed = self.observed.union(names)
        return self if observed == self.observed else replace(self, observed=observed)

    def dropping(self, names: Iterable[str]) -> PrivateState:
        """Return this with `names` noted as not kept by the console."""
        return replace(self, dropped=self.dropped.union(names))

    def overtaking(
        self, before: Attributes, after: Attributes, names: Iterable[str]
    ) -> PrivateState:
        """Return this with what state held of `names` and the console has changed."""
        changed = {name: before[name] for name in changed_fields(before, after, names)}
        held = {name: value for name, value in changed.items() if value is not None}
        return replace(self, overtaken={**self.overtaken, **held}) if held else self

    def having_declared(self, config: Attributes, names: Iterable[str]) -> PrivateState:
        """Return this with what `config` declares for `names`."""
        return replace(
            self,
            declared={name: config.get(name) for name in names},
            removal_planned=False,
            kept=False,
            overtaken={},
        )


def _named(observed: object) -> frozenset[str]:
    names = observed if isinstance(observed, list) else ()
    return frozenset(name for name in names if isinstance(name, str))


@lru_cache(maxsize=1024)
def _packed(observed: frozenset[str]) -> str:
    """Return the bits of `observed` in hexadecimal, and the names that have no bit."""
    bits = {name: 1 << place for place, name in enumerate(_NAMES)}
    number = sum(bits.get(name, 0) for name in observed)
    return " ".join([f"{number:x}", *sorted(observed.difference(bits))])


@lru_cache(maxsize=1024)
def _unpacked(text: str) -> frozenset[str]:
    """Return the names of what `_packed` wrote; a bit without a name says nothing."""
    bits, *names = text.split(" ")
    try:
        number = int(bits, 16)
    except ValueError:
        return frozenset()
    return frozenset(names).union(name for place, name in enumerate(_NAMES) if number >> place & 1)
