"""A client for Azure's blob service from the settings of an `azurerm` backend.

Terraform's users give an access key, a SAS token or an identity in Entra ID. The identity is a
client with a secret, a certificate or an OIDC token, a managed identity, a workload, or the login
of the `az` command.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
from azure.identity import (
    AzureCliCredential,
    CertificateCredential,
    ClientAssertionCredential,
    ClientSecretCredential,
    DefaultAzureCredential,
    ManagedIdentityCredential,
    WorkloadIdentityCredential,
)
from azure.storage.blob import BlobServiceClient, ExponentialRetry

from opsconsole.errors import UserError
from opsconsole.state.backends.settings import BackendSettings, trusted_file

_CLOUDS = {
    "public": ("core.windows.net", "login.microsoftonline.com", "management.azure.com"),
    "usgovernment": (
        "core.usgovcloudapi.net",
        "login.microsoftonline.us",
        "management.usgovcloudapi.net",
    ),
    "china": ("core.chinacloudapi.cn", "login.chinacloudapi.cn", "management.chinacloudapi.cn"),
}


def service(settings: BackendSettings, account: str) -> Any:
    """Return a client for the account. No request is sent yet, unless the key is looked up."""
    suffix, authority, manager = _cloud(settings)
    address = f"https://{account}.blob.{suffix}"
    if key := settings.text("access_key", "ARM_ACCESS_KEY"):
        credential: Any = {"account_name": account, "account_key": key}
    elif token := settings.text("sas_token", "ARM_SAS_TOKEN"):
        credential = token.removeprefix("?")
    else:
        credential = _identity(settings, authority)
        group = settings.text("resource_group_name")
        if group and not settings.flag("use_azuread_auth", "ARM_USE_AZUREAD"):
            key = _looked_up_key(settings, account, group, manager, credential)
            credential = {"account_name": account, "account_key": key}
    return BlobServiceClient(
        address,
        credential=credential,
        connection_verify=trusted_file() or True,
        connection_timeout=15,
        retry_policy=ExponentialRetry(initial_backoff=1, increment_base=2, retry_total=3),
    )


def _cloud(settings: BackendSettings) -> tuple[str, str, str]:
    name = settings.text("environment", "ARM_ENVIRONMENT", default="public")
    if name not in _CLOUDS:
        raise UserError(
            f'The azurerm backend knows no environment "{name}".', f"One of: {', '.join(_CLOUDS)}."
        )
    return _CLOUDS[name]


def _identity(settings: BackendSettings, authority: str) -> Any:
    """Return the credential that the settings name, or by default the library's own chain."""
    client = _text_or_file(settings, "client_id")
    tenant = _text(settings, "tenant_id")
    secret = _text_or_file(settings, "client_secret")
    trusting: dict[str, Any] = {"connection_verify": trusted_file() or True}
    where = {"authority": authority, **trusting}
    if client and tenant and secret:
        return ClientSecretCredential(tenant, client, secret, **where)
    if client and tenant and (found := _certificate(settings)):
        return CertificateCredential(tenant, client, **found, **where)
    if settings.flag("use_oidc", "ARM_USE_OIDC"):
        return ClientAssertionCredential(tenant, client, lambda: _oidc_token(settings), **where)
    if settings.flag("use_aks_workload_identity", "ARM_USE_AKS_WORKLOAD_IDENTITY"):
        return WorkloadIdentityCredential(
            client_id=client or None, tenant_id=tenant or None, **trusting
        )
    if settings.flag("use_msi", "ARM_USE_MSI"):
        return ManagedIdentityCredential(client_id=client or None, **trusting)
    if settings.flag("use_cli", "ARM_USE_CLI"):
        return AzureCliCredential(tenant_id=tenant)
    return DefaultAzureCredential(exclude_interactive_browser_credential=True, **where)


def _certificate(settings: BackendSettings) -> dict[str, Any]:
    password = _text(settings, "client_certificate_password")
    extra = {"password": password} if password else {}
    if path := _text(settings, "client_certificate_path"):
        return {"certificate_path": path, **extra}
    if text := _text(settings, "client_certificate"):
        return {"certificate_data": base64.b64decode(text), **extra}
    return {}


def _text(settings: BackendSettings, name: str, *variables: str) -> str:
    """Return a setting; its own environment variable takes precedence over `variables`."""
    return settings.text(name, f"ARM_{name.upper()}", *variables)


def _text_or_file(settings: BackendSettings, name: str) -> str:
    text, path = _text(settings, name), _text(settings, f"{name}_file_path")
    if text or not path:
        return text
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise UserError(f"The azurerm backend cannot read {path}: {error.strerror}.") from error


def _oidc_token(settings: BackendSettings) -> str:
    """Return a pipeline's token: as given, from a file, or requested from its token service."""
    if token := _text_or_file(settings, "oidc_token"):
        return token
    address = _text(
        settings, "oidc_request_url", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"
    )
    bearer = _text(
        settings, "oidc_request_token", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"
    )
    if not address or not bearer:
        raise UserError(
            "The azurerm backend is set to use OIDC, and has no token.",
            "Set ARM_OIDC_TOKEN or ARM_OIDC_TOKEN_FILE_PATH, or let the pipeline's job write"
            " id-tokens.",
        )
    connection = _text(
        settings, "ado_pipeline_service_connection_id", "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID"
    )
    method, params, field = "GET", {"audience": "api://AzureADTokenExchange"}, "value"
    if connection:
        params = {"api-version": "7.1", "serviceConnectionId": connection}
        method, field = "POST", "oidcToken"
    headers = {"Authorization": f"Bearer {bearer}", "Accept": "application/json"}
    try:
        url = httpx.URL(address).copy_merge_params(params)
        answer = httpx.request(method, url, headers=headers).raise_for_status()
        return str(answer.json()[field])
    except (httpx.HTTPError, ValueError, LookupError) as error:
        raise UserError(
            f"The azurerm backend got no OIDC token from the pipeline: {error}.",
            "Let the job write id-tokens.",
        ) from error


def _looked_up_key(
    settings: BackendSettings, account: str, group: str, manager: str, credential: Any
) -> str:
    """Look up an access key of the account, as Terraform does."""
    subscription = settings.need("subscription_id", "ARM_SUBSCRIPTION_ID")
    token = credential.get_token(f"https://{manager}/.default").token
    address = (
        f"https://{manager}/subscriptions/{subscription}/resourceGroups/{group}/providers"
        f"/Microsoft.Storage/storageAccounts/{account}/listKeys?api-version=2023-05-01"
    )
    try:
        answer = httpx.post(address, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        return str(answer.raise_for_status().json()["keys"][0]["value"])
    except (httpx.HTTPError, ValueError, LookupError) as error:
        raise UserError(
            f"The azurerm backend cannot look up the key of {account}: {error}.",
            "Let this identity list the account's keys, or set `use_azuread_auth`.",
        ) from error
