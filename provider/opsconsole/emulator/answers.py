"""Rows as the console answers with them: which fields, in which order, null or left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsconsole.emulator.profiles import HOST_SETS, Profile
from opsconsole.emulator.table import Row

Body = dict[str, Any]

FIELDS: dict[str, tuple[str, ...]] = {
    "host": (
        "id",
        "name",
        "org_id",
        "tenant_id",
        "public_ip",
        "private_ip",
        "ip_connect_mode",
        "target_type",
        "target_port",
        "skip_tls_verify",
        "additional_names",
        "tags",
        "knowledge",
        "is_jump_host",
        "jump_host_ids",
        "jump_host_username_credential_id",
        "jump_host_secret_credential_id",
        "eligible_subnets",
        "created_at",
        "updated_at",
        "unique_id",
        "external_id",
        "mac",
        "enrichment_source",
    ),
    "agent": (
        "id",
        "name",
        "status",
        "org_id",
        "tenant_id",
        "host_id",
        "specialty_id",
        "main_engine",
        "secondary_engine",
        "remote_execution",
        "credential_config",
        "disabled_rule_ids",
        "accessible_credential_ids",
        "created_at",
        "updated_at",
    ),
    "plugin": ("id", "name", "enabled", "org_id", "created_at", "updated_at"),
    "specialty": (
        "id",
        "key",
        "name",
        "prompt",
        "description",
        "execution_mode",
        "owner_id",
        "org_id",
        "tenant_id",
        "created_at",
        "updated_at",
    ),
    "blacklist": (
        "id",
        "pattern",
        "description",
        "org_id",
        "tenant_id",
        "document_id",
        "source_section",
        "text_hash",
        "created_at",
        "updated_at",
    ),
}
"""The fields of the document's resource tables, by kind."""

LISTS = {
    "host": ("additional_names", "tags", "jump_host_ids", "eligible_subnets"),
    "agent": ("credential_config", "disabled_rule_ids", "accessible_credential_ids"),
}
CREDENTIAL_FIELDS = ("credential_id", "credential_role", "order", "is_required")


class Rendering:
    """Renders rows by the switches of a profile."""

    def __init__(self, profile: Profile) -> None:
        self._order = profile.order
        self._alternates = profile.unset == "alternating"
        self._leaves_out = profile.unset == "absent"
        self._nulls: dict[str, Body] = {}
        self._absents: dict[str, Body] = {}
        for kind, names in FIELDS.items():
            lists = LISTS.get(kind, ()) if profile.unset_lists == "empty" else ()
            self._nulls[kind] = {name: [] if name in lists else None for name in names}
            self._absents[kind] = {name: [] for name in lists}
        # All fields of a blacklisted command are always present.
        self._absents["blacklist"] = self._nulls["blacklist"]

    def _leaving_out(self) -> bool:
        if self._alternates:
            self._leaves_out = not self._leaves_out
        return self._leaves_out

    def render(self, kind: str, row: Row) -> Body:
        """Return the body of one row."""
        return self._body(kind, row, self._leaving_out())

    def render_all(self, kind: str, rows: Iterable[Row]) -> list[Body]:
        """Return the bodies of the rows of one answer."""
        leaving_out = self._leaving_out()
        return [self._body(kind, row, leaving_out) for row in rows]

    def _body(self, kind: str, row: Row, leaving_out: bool) -> Body:
        body = {**(self._absents if leaving_out else self._nulls)[kind], **row}
        if kind == "host":
            if self._order != "as_sent":
                for name in HOST_SETS:
                    if values := body.get(name):
                        body[name] = sorted(values) if self._order == "sorted" else values[::-1]
        elif kind == "agent" and not leaving_out and (entries := row.get("credential_config")):
            body["credential_config"] = [
                {**dict.fromkeys(CREDENTIAL_FIELDS), **entry} for entry in entries
            ]
        return body

    def optional(self, body: Body, name: str, value: Any) -> None:
        """Put a member into a body: a None as null, or not at all."""
        if value is not None:
            body[name] = value
        elif not self._leaves_out:
            body[name] = None
