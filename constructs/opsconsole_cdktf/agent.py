"""The construct of `opsconsole_agent`: generated, not edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import cdktf
from constructs import Construct

from opsconsole.resources import RESOURCES
from opsconsole_cdktf import _attributes as attributes
from opsconsole_cdktf._declared import MetaArguments
from opsconsole_cdktf._ordering import AgentBase

AgentDeletionPolicy: TypeAlias = Literal["archive_with_host", "abandon", "prevent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCredentialConfig(attributes.Struct):
    """One object of `credential_config` of `Agent`.

    Attributes:
        credential_id: Id of the credential.
        credential_role: Purpose of the credential.
        order: Position among the agent's credentials.
        is_required: Whether the agent cannot run without it.
    """

    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_agent"][
        "credential_config"
    ]

    credential_id: str | None = None
    credential_role: str | None = None
    order: int | cdktf.IResolvable | None = None
    is_required: bool | cdktf.IResolvable | None = None


AgentCredentialConfigDeclaration: TypeAlias = (
    Sequence[AgentCredentialConfig | Mapping[str, Any]] | cdktf.IResolvable
)


class AgentCredentialConfigOutputReference(attributes.Fields):
    """The tokens of one object of `credential_config` of `Agent`."""

    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_agent"][
        "credential_config"
    ]

    credential_id = attributes.text_output()
    credential_role = attributes.text_output()
    order = attributes.whole_output()
    is_required = attributes.flag_output()


class AgentOptions(MetaArguments, total=False):
    """The arguments of `Agent` that may be left out."""

    org_id: str | None
    name: str | None
    main_engine: str | None
    secondary_engine: str | None
    remote_execution: bool | cdktf.IResolvable | None
    credential_config: AgentCredentialConfigDeclaration | None
    plugin_ids: Sequence[str] | None
    accessible_credential_ids: Sequence[str] | None
    deletion_policy: AgentDeletionPolicy | cdktf.IResolvable | None


class AgentArguments(AgentOptions, total=False):
    """The arguments of `Agent`, none of them required."""

    host_id: str | None
    specialty_id: str | None


class AgentAttributes:
    _definition: ClassVar[attributes.Definition] = RESOURCES["opsconsole_agent"]

    id = attributes.text_output()
    org_id = attributes.text()
    org_id_input = attributes.Declaration[str]()
    reset_org_id = attributes.Reset()
    name = attributes.text()
    name_input = attributes.Declaration[str]()
    reset_name = attributes.Reset()
    host_id = attributes.text()
    host_id_input = attributes.Declaration[str]()
    reset_host_id = attributes.Reset()
    specialty_id = attributes.text()
    specialty_id_input = attributes.Declaration[str]()
    reset_specialty_id = attributes.Reset()
    main_engine = attributes.text()
    main_engine_input = attributes.Declaration[str]()
    reset_main_engine = attributes.Reset()
    secondary_engine = attributes.text()
    secondary_engine_input = attributes.Declaration[str]()
    reset_secondary_engine = attributes.Reset()
    remote_execution = attributes.flag()
    remote_execution_input = attributes.Declaration[bool | cdktf.IResolvable]()
    reset_remote_execution = attributes.Reset()
    credential_config = attributes.ObjectsArgument(
        AgentCredentialConfig, AgentCredentialConfigOutputReference
    )
    credential_config_input = attributes.Declaration[AgentCredentialConfigDeclaration]()
    reset_credential_config = attributes.Reset()
    plugin_ids = attributes.text_set()
    plugin_ids_input = attributes.Declaration[Sequence[str]]()
    reset_plugin_ids = attributes.Reset()
    accessible_credential_ids = attributes.text_set()
    accessible_credential_ids_input = attributes.Declaration[Sequence[str]]()
    reset_accessible_credential_ids = attributes.Reset()
    deletion_policy = attributes.Choice[AgentDeletionPolicy]()
    deletion_policy_input = attributes.DeclaredChoice[AgentDeletionPolicy]()
    reset_deletion_policy = attributes.Reset()
    status = attributes.text_output()
    tenant_id = attributes.text_output()
    disabled_rule_ids = attributes.text_set_output()
    created_at = attributes.text_output()
    updated_at = attributes.text_output()


class Agent(AgentBase, AgentAttributes):
    """An agent, bound to a host and a specialty. The console has no operation that deletes an
    agent: it is archived when its host is deleted.

    Args:
        host_id: Id of the host that the agent works on.
        specialty_id: Id of the specialty that the agent carries.
        org_id: The org that the agent belongs to; the provider's `org_id` where none is set.
        name: The agent's name.
        main_engine: Identifier of the main engine.
        secondary_engine: Identifier of the secondary engine.
        remote_execution: Whether the agent executes on the remote machine.
        credential_config: The credentials that the agent uses. The console may set fields that an
            entry leaves out, which is not reported as a difference.
        plugin_ids: The full set of the agent's plugins, kept by attaching and detaching. Omitted:
            plugins are left alone, or declared as `opsconsole_agent_plugin`.
        accessible_credential_ids: Ids of the credentials that the agent may use.
        deletion_policy: What removal means: `archive_with_host` (the default), `abandon`, which
            leaves the agent running, or `prevent`, which refuses any removal but by its host's
            deletion.
    """

    TF_RESOURCE_TYPE: ClassVar[str] = "opsconsole_agent"
    NEEDED: ClassVar[Sequence[str]] = ["host_id", "specialty_id"]

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        host_id: str | None,
        specialty_id: str | None,
        **others: Unpack[AgentOptions],
    ) -> None:
        super().__init__(scope, id_, host_id=host_id, specialty_id=specialty_id, **others)

    def put_credential_config(self, value: AgentCredentialConfigDeclaration) -> None:
        """Declare `credential_config`."""
        self._assign("credential_config", value)
