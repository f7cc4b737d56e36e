"""The construct of `opsconsole_host`: generated, not edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias, Unpack

import cdktf
from constructs import Construct

from opsconsole.resources import RESOURCES
from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import MetaArguments
from opsconsole_cdktf._ordering import HostBase

HostIpConnectMode: TypeAlias = Literal["auto", "public", "private"]
HostTargetType: TypeAlias = Literal["ssh", "winrm"]
HostDeletionPolicy: TypeAlias = Literal["delete", "abandon"]


class HostOptions(MetaArguments, total=False):
    """The arguments of `Host` that may be left out."""

    org_id: str | None
    public_ip: str | None
    private_ip: str | None
    ip_connect_mode: HostIpConnectMode | cdktf.IResolvable | None
    target_type: HostTargetType | cdktf.IResolvable | None
    target_port: int | cdktf.IResolvable | None
    skip_tls_verify: bool | cdktf.IResolvable | None
    additional_names: Sequence[str] | None
    tags: Sequence[str] | None
    knowledge: str | None
    is_jump_host: bool | cdktf.IResolvable | None
    jump_host_ids: Sequence[str] | None
    jump_host_username_credential_id: str | None
    jump_host_secret_credential_id: str | None
    eligible_subnets: Sequence[str] | None
    external_id: str | None
    unique_id: str | None
    mac: str | None
    deletion_policy: HostDeletionPolicy | cdktf.IResolvable | None


class HostArguments(HostOptions, total=False):
    """The arguments of `Host`, none of them required."""

    name: str | None


class HostAttributes:
    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_host"]

    id = attributes.text_output()
    name = attributes.text()
    name_input = attributes.Declaration[str]()
    org_id = attributes.text()
    org_id_input = attributes.Declaration[str]()
    reset_org_id = attributes.Reset()
    public_ip = attributes.text()
    public_ip_input = attributes.Declaration[str]()
    reset_public_ip = attributes.Reset()
    private_ip = attributes.text()
    private_ip_input = attributes.Declaration[str]()
    reset_private_ip = attributes.Reset()
    ip_connect_mode = attributes.Choice[HostIpConnectMode]()
    ip_connect_mode_input = attributes.DeclaredChoice[HostIpConnectMode]()
    reset_ip_connect_mode = attributes.Reset()
    target_type = attributes.Choice[HostTargetType]()
    target_type_input = attributes.DeclaredChoice[HostTargetType]()
    reset_target_type = attributes.Reset()
    target_port = attributes.whole()
    target_port_input = attributes.Declaration[int | cdktf.IResolvable]()
    reset_target_port = attributes.Reset()
    skip_tls_verify = attributes.flag()
    skip_tls_verify_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_skip_tls_verify = attributes.Reset()
    additional_names = attributes.text_set()
    additional_names_input = attributes.Declaration[Sequence[str]]()
    reset_additional_names = attributes.Reset()
    tags = attributes.text_set()
    tags_input = attributes.Declaration[Sequence[str]]()
    reset_tags = attributes.Reset()
    knowledge = attributes.text()
    knowledge_input = attributes.Declaration[str]()
    reset_knowledge = attributes.Reset()
    is_jump_host = attributes.flag()
    is_jump_host_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_is_jump_host = attributes.Reset()
    jump_host_ids = attributes.texts()
    jump_host_ids_input = attributes.Declaration[Sequence[str]]()
    reset_jump_host_ids = attributes.Reset()
    jump_host_username_credential_id = attributes.text()
    jump_host_username_credential_id_input = attributes.Declaration[str]()
    reset_jump_host_username_credential_id = attributes.Reset()
    jump_host_secret_credential_id = attributes.text()
    jump_host_secret_credential_id_input = attributes.Declaration[str]()
    reset_jump_host_secret_credential_id = attributes.Reset()
    eligible_subnets = attributes.text_set()
    eligible_subnets_input = attributes.Declaration[Sequence[str]]()
    reset_eligible_subnets = attributes.Reset()
    external_id = attributes.text()
    external_id_input = attributes.Declaration[str]()
    reset_external_id = attributes.Reset()
    unique_id = attributes.text()
    unique_id_input = attributes.Declaration[str]()
    reset_unique_id = attributes.Reset()
    mac = attributes.text()
    mac_input = attributes.Declaration[str]()
    reset_mac = attributes.Reset()
    deletion_policy = attributes.Choice[HostDeletionPolicy]()
    deletion_policy_input = attributes.DeclaredChoice[HostDeletionPolicy]()
    reset_deletion_policy = attributes.Reset()
    tenant_id = attributes.text_output()
    enrichment_source = attributes.text_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class Host(HostBase, HostAttributes):
    """A remote machine reached over ssh or winrm. Deleting it archives its agents and their tasks
    in one transaction.

    Args:
        name: The host's name.
        org_id: The org that the host belongs to; the provider's `org_id` where none is set. Set at
            creation only.
        public_ip: The address reached from outside.
        private_ip: The address reached from inside.
        ip_connect_mode: Which address the console connects to. One of `auto`, `public`, `private`.
        target_type: The protocol that the host is reached by. One of `ssh`, `winrm`.
        target_port: The port that the host is reached at. 1 to 65535.
        skip_tls_verify: Whether the console accepts any certificate.
        additional_names: Further names of the host.
        tags: Tags, each shaped `<key>:<value>`.
        knowledge: Free text that agents may use.
        is_jump_host: Whether other hosts are reached through it.
        jump_host_ids: Ids of the hosts used as jump hosts, in order.
        jump_host_username_credential_id: Id of the credential that holds the jump host's user name.
        jump_host_secret_credential_id: Id of the credential that holds the jump host's secret.
        eligible_subnets: Subnets reached through the host.
        external_id: The console's `external_id`; the API document does not say what it means. Set
            at creation only.
        unique_id: The console's `unique_id`; the API document does not say what it means. Set at
            creation only.
        mac: The console's `mac`; the API document does not say what it means. Set at creation only.
        deletion_policy: What removal does: `delete` (the default) deletes the host and archives its
            agents; `abandon` leaves it on the console.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_host"

    def __init__(
        self, scope: Construct, id_: str, *, name: str, **others: Unpack[HostOptions]
    ) -> None:
        super().__init__(scope, id_, name=name, **others)
