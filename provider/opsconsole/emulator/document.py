"""The API document as data: operations, resources, and the types of their fields.

The provider's definitions are not used here: a test double with shared definitions would share
their mistakes. `tests/emulator/test_definitions.py` compares the two.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, get_origin

from pydantic import BaseModel, ConfigDict, Field

DOCUMENTED: dict[str, str] = {
    "host_import": "POST /api/v1/hosts/batch",
    "host_update": "POST /api/v1/hosts/{id}",
    "host_delete": "DELETE /api/v1/hosts/{id}",
    "agent_create": "POST /api/v1/agents",
    "plugin_attach": "POST /api/v1/agents/{id}/plugins",
    "plugin_list": "GET /api/v1/agents/{id}/plugins",
    "plugin_detach": "DELETE /api/v1/agents/{id}/plugins/{pluginId}",
    "specialty_search": "GET /api/v1/specialties/search",
    "specialty_delete": "DELETE /api/v1/specialties/{id}",
    "blacklist_get": "GET /api/v1/blacklists/{id}",
    "blacklist_update": "POST /api/v1/blacklists/{id}",
}
"""Each operation with its `METHOD /path`. A request goes to the first operation that matches."""

EXTRA: dict[str, str] = {
    "host_get": "GET /api/v1/hosts/{id}",
    "host_list": "GET /api/v1/hosts",
    "agent_get": "GET /api/v1/agents/{id}",
    "agent_list": "GET /api/v1/agents",
    "agent_update": "POST /api/v1/agents/{id}",
    "agent_delete": "DELETE /api/v1/agents/{id}",
    "specialty_get": "GET /api/v1/specialties/{id}",
    "specialty_create": "POST /api/v1/specialties",
    "specialty_update": "POST /api/v1/specialties/{id}",
    "blacklist_list": "GET /api/v1/blacklists",
    "blacklist_create": "POST /api/v1/blacklists",
    "blacklist_delete": "DELETE /api/v1/blacklists/{id}",
}
"""Operations that the document does not show but a profile may have."""


class ObjectKind(NamedTuple):
    """The collection of a kind of object, and the prefix of its ids."""

    collection: str
    id_prefix: str


KINDS = {
    "host": ObjectKind("hosts", "hst"),
    "agent": ObjectKind("agents", "agt"),
    "plugin": ObjectKind("plugins", "plg"),
    "specialty": ObjectKind("specialties", "spc"),
    "blacklist": ObjectKind("blacklists", "blk"),
}


class CredentialConfig(BaseModel):
    """One entry of an agent's `credential_config`. Unknown members are not kept."""

    model_config = ConfigDict(strict=True, extra="ignore")

    credential_id: Annotated[str, Field(min_length=1)] | None = None
    credential_role: str | None = None
    order: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    is_required: bool | None = None


Strings = list[str]
Tags = list[Annotated[str, Field(pattern=r"(?s)^[^:]+:.*$")]]
Port = Annotated[int, Field(ge=1, le=65535)]
NonEmpty = Annotated[str, Field(min_length=1)]

FIELDS: dict[str, dict[str, Any]] = {
    "host": {
        "id": None,
        "name": str,
        "org_id": str,
        "tenant_id": None,
        "public_ip": str,
        "private_ip": str,
        "ip_connect_mode": Literal["auto", "public", "private"],
        "target_type": Literal["ssh", "winrm"],
        "target_port": Port,
        "skip_tls_verify": bool,
        "additional_names": Strings,
        "tags": Tags,
        "knowledge": str,
        "is_jump_host": bool,
        "jump_host_ids": Strings,
        "jump_host_username_credential_id": str,
        "jump_host_secret_credential_id": str,
        "eligible_subnets": Strings,
        "created_at": None,
        "updated_at": None,
        "unique_id": str,
        "external_id": str,
        "mac": str,
        "enrichment_source": None,
    },
    "agent": {
        "id": None,
        "name": str,
        "status": None,
        "org_id": str,
        "tenant_id": None,
        "host_id": str,
        "specialty_id": str,
        "main_engine": str,
        "secondary_engine": str,
        "remote_execution": bool,
        "credential_config": list[CredentialConfig],
        "disabled_rule_ids": None,
        "accessible_credential_ids": Strings,
        "created_at": None,
        "updated_at": None,
    },
    "plugin": dict.fromkeys(("id", "name", "enabled", "org_id", "created_at", "updated_at")),
    "specialty": {
        "id": None,
        "key": NonEmpty,
        "name": NonEmpty,
        "prompt": str,
        "description": str,
        "execution_mode": str,
        "owner_id": str,
        "org_id": str | None,
        "tenant_id": None,
        "created_at": None,
        "updated_at": None,
    },
    "blacklist": {
        "id": None,
        "pattern": Annotated[str, Field(min_length=1, max_length=200)],
        "description": str | None,
        "org_id": str | None,
        "tenant_id": None,
        "document_id": None,
        "source_section": None,
        "text_hash": None,
        "created_at": None,
        "updated_at": None,
    },
}
"""The resource tables: each field with its type in a body, or None if only the console sets it.

The fields have the order of answers.
"""

LISTS = {
    kind: tuple(
        name for name, held in fields.items() if get_origin(held) is list or name.endswith("_ids")
    )
    for kind, fields in FIELDS.items()
}
# The order of jump hosts counts.
HOST_SETS = tuple(name for name in LISTS["host"] if name != "jump_host_ids")
CONNECT_FIELDS = ("ip_connect_mode", "target_type")
ONLY_AT_CREATION = ("external_id", "unique_id", "mac", "org_id")
CREDENTIAL_FIELDS = tuple(CredentialConfig.model_fields)
