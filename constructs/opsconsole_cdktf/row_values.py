"""Values in rows of data: generated from the definitions, not edited."""

from __future__ import annotations

from typing import ClassVar

from opsconsole.definition import ResourceDefinition
from opsconsole.resources import RESOURCES
from opsconsole_cdktf._row import Row
from opsconsole_cdktf.agent import AgentDeletionPolicy
from opsconsole_cdktf.host import HostDeletionPolicy, HostIpConnectMode, HostTargetType


class HostValues(Row):
    """The values of `Host` in a row."""

    DEFINITION: ClassVar[ResourceDefinition | None] = RESOURCES["opsconsole_host"]

    name: str | None = None
    org_id: str | None = None
    public_ip: str | None = None
    private_ip: str | None = None
    ip_connect_mode: HostIpConnectMode | None = None
    target_type: HostTargetType | None = None
    target_port: int | None = None
    skip_tls_verify: bool | None = None
    additional_names: list[str] | None = None
    tags: list[str] | None = None
    knowledge: str | None = None
    is_jump_host: bool | None = None
    jump_host_username_credential_id: str | None = None
    jump_host_secret_credential_id: str | None = None
    eligible_subnets: list[str] | None = None
    external_id: str | None = None
    unique_id: str | None = None
    mac: str | None = None
    deletion_policy: HostDeletionPolicy | None = None


class AgentValues(Row):
    """The values of `Agent` in a row."""

    DEFINITION: ClassVar[ResourceDefinition | None] = RESOURCES["opsconsole_agent"]

    org_id: str | None = None
    name: str | None = None
    main_engine: str | None = None
    secondary_engine: str | None = None
    remote_execution: bool | None = None
    accessible_credential_ids: list[str] | None = None
    deletion_policy: AgentDeletionPolicy | None = None
