"""Clients for S3 and DynamoDB from the settings of an `s3` backend.

By default, credentials come from boto's own chain: environment, profiles, SSO, web identity, the
machine's role. The block may name other credentials. A role is assumed with the credentials of the
chain.
"""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    AssumeRoleWithWebIdentityCredentialFetcher,
    Credentials,
    DeferredRefreshableCredentials,
)

from opsconsole.state.backends.settings import BackendSettings, trusted_file

_CHAIN = "credential_provider"
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d+)([hms])")
_ROLE = {
    "session_name": "RoleSessionName",
    "external_id": "ExternalId",
    "policy": "Policy",
    "source_identity": "SourceIdentity",
}


def clients(settings: BackendSettings) -> tuple[Any, Any]:
    """Return a client for S3 and a client for DynamoDB. No request is sent yet."""
    session, config = _session(settings), _config(settings)
    endpoints = settings.block("endpoints")
    made = []
    for service, older, *variables in (
        ("s3", "endpoint", "AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"),
        ("dynamodb", "dynamodb_endpoint", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT"),
    ):
        address = endpoints.get(service) or settings.text(older, *variables) or None
        made.append(
            session.client(service, endpoint_url=address, config=config, verify=_verify(settings))
        )
    return made[0], made[1]


def _config(settings: BackendSettings) -> Config:
    path_style = settings.flag("use_path_style") or settings.flag("force_path_style")
    checksum = "when_required" if settings.flag("skip_s3_checksum") else "when_supported"
    proxies = {
        scheme: found for scheme in ("http", "https") if (found := settings.text(f"{scheme}_proxy"))
    }
    return Config(
        s3={"addressing_style": "path" if path_style else "auto"},
        retries={
            "total_max_attempts": settings.number("max_retries", default=5),
            "mode": settings.text("retry_mode", "AWS_RETRY_MODE", default="standard"),
        },
        request_checksum_calculation=checksum,
        response_checksum_validation=checksum,
        connect_timeout=15,
        use_dualstack_endpoint=settings.flag("use_dualstack_endpoint") or None,
        use_fips_endpoint=settings.flag("use_fips_endpoint") or None,
        proxies=proxies or None,
        max_pool_connections=4,
    )


def _verify(settings: BackendSettings) -> bool | None:
    """Return False if certificates are not verified; None verifies them as the session says."""
    return False if settings.flag("insecure") else None


def _session(settings: BackendSettings) -> boto3.Session:
    core = botocore.session.Session(profile=settings.text("profile") or None)
    files = settings.texts("shared_credentials_files") or settings.texts("shared_credentials_file")
    if files:
        core.set_config_variable("credentials_file", str(Path(files[0]).expanduser()))
    if configs := settings.texts("shared_config_files"):
        core.set_config_variable("config_file", str(Path(configs[0]).expanduser()))
    if settings.flag("skip_metadata_api_check"):
        core.set_config_variable("metadata_service_num_attempts", 0)
    key, secret = settings.text("access_key"), settings.text("secret_key")
    if key and secret:
        _set_chain(core, Credentials(key, secret, settings.text("token") or None))
    if region := settings.text("region", "AWS_REGION", "AWS_DEFAULT_REGION"):
        core.set_config_variable("region", region)
    if authorities := settings.text("custom_ca_bundle", "AWS_CA_BUNDLE") or trusted_file():
        # Clients that the chain creates for itself, to assume a role, use the same authorities.
        core.set_config_variable("ca_bundle", authorities)
    _assume(core, settings)
    return boto3.Session(botocore_session=core)


def _assume(core: Any, settings: BackendSettings) -> None:
    """Make the session assume the roles that the block names, and renew them when they expire."""
    address = settings.block("endpoints").get("sts") or settings.text("sts_endpoint") or None
    create = partial(core.create_client, verify=_verify(settings), endpoint_url=address)

    def use(kind: Any, method: str, role: dict[str, Any], **source: Any) -> None:
        fetcher = kind(
            client_creator=create,
            role_arn=role["role_arn"],
            extra_args=_role_arguments(role),
            **source,
        )
        _set_chain(core, DeferredRefreshableCredentials(fetcher.fetch_credentials, method))

    web = settings.block("assume_role_with_web_identity")
    if web.get("role_arn"):
        path = web.get("web_identity_token_file") or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE")
        given = web.get("web_identity_token")
        use(
            AssumeRoleWithWebIdentityCredentialFetcher,
            "assume-role-with-web-identity",
            web,
            web_identity_token_loader=lambda: given or Path(str(path)).read_text(encoding="utf-8"),
        )
    role = settings.block("assume_role")
    if not role.get("role_arn"):
        role = {name: settings.text(name) for name in ("role_arn", *_ROLE)}
    if role.get("role_arn"):
        # If the block names both roles, the chain holds the web identity's role by now.
        source = core.get_component(_CHAIN).load_credentials()
        use(AssumeRoleCredentialFetcher, "assume-role", role, source_credentials=source)


def _set_chain(core: Any, credentials: Credentials) -> None:
    """Let the session use these credentials, in place of the chain that finds some."""
    core.register_component(_CHAIN, SimpleNamespace(load_credentials=lambda: credentials))


def _role_arguments(role: dict[str, Any]) -> dict[str, Any]:
    arguments = {wire: role[name] for name, wire in _ROLE.items() if role.get(name)}
    arguments.setdefault("RoleSessionName", "opsconsole")
    if policies := role.get("policy_arns"):
        arguments["PolicyArns"] = [{"arn": arn} for arn in policies]
    if tags := role.get("tags"):
        arguments["Tags"] = [{"Key": name, "Value": value} for name, value in tags.items()]
    if transitive := role.get("transitive_tag_keys"):
        arguments["TransitiveTagKeys"] = list(transitive)
    if duration := role.get("duration"):
        parts = _DURATION.findall(str(duration))
        arguments["DurationSeconds"] = sum(int(count) * _SECONDS[unit] for count, unit in parts)
    return arguments
