"""The definition of `opsconsole_host`: clause `Resources and their fields: Host`."""

from __future__ import annotations

from opsconsole.bounds import Bounds
from opsconsole.definition import (
    Attribute,
    ChangeRule,
    Kind,
    NodeStyle,
    Notation,
    ResourceDefinition,
    Way,
    kept_locally,
    optional_computed,
    read_only,
    timestamps,
)

_UNEXPLAINED = "The console's `{}`; the API document does not say what it means."
_AT_CREATION = " Set at creation only."

HOST = ResourceDefinition(
    name="host",
    title="host",
    plural="hosts",
    label="name",
    import_forms=("hst_…",),
    description=(
        "A remote machine reached over ssh or winrm. Deleting it archives its agents and their "
        "tasks in one transaction."
    ),
    ways={
        "create": (Way("host_import", "a row of a bulk import, after a dry run of it"),),
        "read": (
            Way("host_get", "the host itself"),
            Way(
                "host_update",
                "an empty update, whose answer is the host",
                setting=("host_read", "empty_update"),
            ),
        ),
        "update": (Way("host_update", "changed fields only"),),
        "delete": (Way("host_delete", "archives the host's agents and their tasks"),),
        "list": (Way("host_list"), Way("", "unmanaged hosts are not seen")),
    },
    gone_reason="deleted, or not visible to this key (404)",
    recognised_by="name",
    node_style=NodeStyle(("[", "]"), "box", "#dbeafe"),
    attributes=(
        read_only("id", "The console's id of the host."),
        Attribute("name", "The host's name.", required=True),
        optional_computed(
            "org_id",
            "The org that the host belongs to; the provider's `org_id` where none is set."
            + _AT_CREATION,
            shown_description="The org that the host belongs to.",
            change=ChangeRule.REPLACE,
        ),
        optional_computed(
            "public_ip", "The address reached from outside.", notation=Notation.ADDRESS
        ),
        optional_computed(
            "private_ip", "The address reached from inside.", notation=Notation.ADDRESS
        ),
        optional_computed(
            "ip_connect_mode",
            "Which address the console connects to.",
            bounds=Bounds(allowed=("auto", "public", "private")),
        ),
        optional_computed(
            "target_type",
            "The protocol that the host is reached by.",
            bounds=Bounds(allowed=("ssh", "winrm")),
        ),
        optional_computed(
            "target_port",
            "The port that the host is reached at.",
            Kind.INTEGER,
            bounds=Bounds(minimum=1, maximum=65535),
        ),
        optional_computed(
            "skip_tls_verify", "Whether the console accepts any certificate.", Kind.BOOLEAN
        ),
        optional_computed("additional_names", "Further names of the host.", Kind.STRING_SET),
        optional_computed(
            "tags",
            "Tags, each shaped `<key>:<value>`.",
            Kind.STRING_SET,
            bounds=Bounds(pattern=r"[^:]+:.*", hint="a tag is shaped <key>:<value>"),
        ),
        optional_computed("knowledge", "Free text that agents may use."),
        optional_computed(
            "is_jump_host", "Whether other hosts are reached through it.", Kind.BOOLEAN
        ),
        optional_computed(
            "jump_host_ids",
            "Ids of the hosts used as jump hosts, in order.",
            Kind.STRING_LIST,
            refers_to="host",
        ),
        optional_computed(
            "jump_host_username_credential_id",
            "Id of the credential that holds the jump host's user name.",
        ),
        optional_computed(
            "jump_host_secret_credential_id",
            "Id of the credential that holds the jump host's secret.",
        ),
        optional_computed(
            "eligible_subnets",
            "Subnets reached through the host.",
            Kind.STRING_SET,
            notation=Notation.SUBNET,
        ),
        optional_computed(
            "external_id",
            _UNEXPLAINED.format("external_id") + _AT_CREATION,
            change=ChangeRule.REPLACE,
        ),
        optional_computed(
            "unique_id", _UNEXPLAINED.format("unique_id") + _AT_CREATION, change=ChangeRule.REPLACE
        ),
        optional_computed(
            "mac", _UNEXPLAINED.format("mac") + _AT_CREATION, change=ChangeRule.REPLACE
        ),
        kept_locally(
            "deletion_policy",
            "What removal does: `delete` (the default) deletes the host and archives its agents; "
            "`abandon` leaves it on the console.",
            bounds=Bounds(allowed=("delete", "abandon")),
        ),
        read_only("tenant_id", "The tenant that the host belongs to."),
        read_only("enrichment_source", _UNEXPLAINED.format("enrichment_source")),
        *timestamps("host"),
    ),
)
