"""The definition of `opsconsole_host`."""

from __future__ import annotations

from opsconsole.definition import (
    Attribute,
    ChangeRule,
    Kind,
    Look,
    Notation,
    ResourceDefinition,
    read_only,
    text,
)

_HOST = "Resources and their fields: Host"
_UNEXPLAINED = "The console's `{}`; the API document does not say what it means."
_AT_CREATION = " Set at creation only."


def _settable(name: str, kind: Kind, description: str, **facts: object) -> Attribute:
    return Attribute(
        name=name,
        kind=kind,
        description=description,
        optional=True,
        computed=True,
        section=_HOST,
        **facts,  # type: ignore[arg-type]  # facts are Attribute's own keywords
    )


HOST = ResourceDefinition(
    name="host",
    type_name="opsconsole_host",
    title="host",
    plural="hosts",
    label="name",
    import_id="hst_…",
    description=(
        "A remote machine reached over ssh or winrm. Deleting it archives its agents and their "
        "tasks in one transaction."
    ),
    operations={
        "create": "POST /api/v1/hosts/batch",
        "read": "POST /api/v1/hosts/{id}",
        "update": "POST /api/v1/hosts/{id}",
        "delete": "DELETE /api/v1/hosts/{id}",
    },
    lifted_by={"read": "host_get", "list": "host_list"},
    notes={
        "create": "a row of a bulk import, after a dry run of it",
        "read": "the host itself",
        "update": "changed fields only",
        "delete": "archives the host's agents and their tasks",
        "list": "unmanaged hosts are not seen",
    },
    gone="deleted, or not visible to this key (404)",
    read_ways={"none": "", "empty_update": "an empty update, whose answer is the host"},
    look=Look(("[", "]"), "box", "#dbeafe"),
    attributes=(
        read_only("id", "The console's id of the host.", section=_HOST),
        text("name", "The host's name.", required=True, section=_HOST),
        _settable(
            "org_id",
            Kind.STRING,
            "The org that the host belongs to; the provider's `org_id` where none is set."
            + _AT_CREATION,
            shown_description="The org that the host belongs to.",
            change=ChangeRule.REPLACE,
        ),
        _settable(
            "public_ip",
            Kind.STRING,
            "The address reached from outside.",
            notation=Notation.ADDRESS,
        ),
        _settable(
            "private_ip",
            Kind.STRING,
            "The address reached from inside.",
            notation=Notation.ADDRESS,
        ),
        _settable(
            "ip_connect_mode",
            Kind.STRING,
            "Which address the console connects to.",
            allowed=("auto", "public", "private"),
        ),
        _settable(
            "target_type",
            Kind.STRING,
            "The protocol that the host is reached by.",
            allowed=("ssh", "winrm"),
        ),
        _settable(
            "target_port",
            Kind.INTEGER,
            "The port that the host is reached at.",
            minimum=1,
            maximum=65535,
        ),
        _settable("skip_tls_verify", Kind.BOOLEAN, "Whether the console accepts any certificate."),
        _settable("additional_names", Kind.STRING_SET, "Further names of the host."),
        _settable(
            "tags",
            Kind.STRING_SET,
            "Tags, each shaped `<key>:<value>`.",
            pattern=r"[^:]+:.*",
            pattern_hint="a tag is shaped <key>:<value>",
        ),
        _settable("knowledge", Kind.STRING, "Free text that agents may use."),
        _settable("is_jump_host", Kind.BOOLEAN, "Whether other hosts are reached through it."),
        _settable(
            "jump_host_ids",
            Kind.STRING_LIST,
            "Ids of the hosts used as jump hosts, in order.",
            refers_to="host",
        ),
        _settable(
            "jump_host_username_credential_id",
            Kind.STRING,
            "Id of the credential that holds the jump host's user name.",
        ),
        _settable(
            "jump_host_secret_credential_id",
            Kind.STRING,
            "Id of the credential that holds the jump host's secret.",
        ),
        _settable(
            "eligible_subnets",
            Kind.STRING_SET,
            "Subnets reached through the host.",
            notation=Notation.SUBNET,
        ),
        _settable(
            "external_id",
            Kind.STRING,
            _UNEXPLAINED.format("external_id") + _AT_CREATION,
            change=ChangeRule.REPLACE,
        ),
        _settable(
            "unique_id",
            Kind.STRING,
            _UNEXPLAINED.format("unique_id") + _AT_CREATION,
            change=ChangeRule.REPLACE,
        ),
        _settable(
            "mac",
            Kind.STRING,
            _UNEXPLAINED.format("mac") + _AT_CREATION,
            change=ChangeRule.REPLACE,
        ),
        text(
            "deletion_policy",
            "What removal does: `delete` (the default) deletes the host and archives its agents; "
            "`abandon` leaves it on the console.",
            optional=True,
            local=True,
            creatable=False,
            change=ChangeRule.LOCAL,
            allowed=("delete", "abandon"),
        ),
        read_only("tenant_id", "The tenant that the host belongs to.", section=_HOST),
        read_only("enrichment_source", _UNEXPLAINED.format("enrichment_source"), section=_HOST),
        read_only("created_at", "When the host was created, ISO 8601.", section=_HOST),
        read_only(
            "updated_at", "When the host was last changed, ISO 8601.", volatile=True, section=_HOST
        ),
    ),
)
