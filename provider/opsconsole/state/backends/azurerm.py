"""State in Azure's blob storage: Terraform's `azurerm` backend.

The lock is an infinite lease on the state's own blob, and the blob's metadata names the holder.
Every write carries the lease, so the service itself refuses a write whose lease was lost.

Terraform's users give an access key, a SAS token or an identity in Entra ID. The identity is a
client with a secret, a certificate or an OIDC token, a managed identity, a workload, or the login
of the `az` command.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from azure.core import MatchConditions
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.identity import (
    AzureCliCredential,
    CertificateCredential,
    ClientAssertionCredential,
    ClientSecretCredential,
    DefaultAzureCredential,
    ManagedIdentityCredential,
    WorkloadIdentityCredential,
)
from azure.storage.blob import (
    BlobLeaseClient,
    BlobServiceClient,
    ContentSettings,
    ExponentialRetry,
)

from opsconsole.errors import UserError
from opsconsole.state.backend import DEFAULT_WORKSPACE, RunOptions
from opsconsole.state.backends.base import (
    JOURNAL,
    BackendSettings,
    LockLost,
    ObjectBackend,
    one_line,
    trusted_file,
)
from opsconsole.state.lock import LockInfo

_META = "terraformlockid"
_JSON = ContentSettings(content_type="application/json")
_CREDENTIALS = (
    "AuthenticationFailed",
    "AuthorizationFailure",
    "AuthorizationPermissionMismatch",
    "InvalidAuthenticationInfo",
    "NoAuthenticationInformation",
)
_LEASE_LOST = (
    "LeaseIdMismatchWithBlobOperation",
    "LeaseIdMissing",
    "LeaseLost",
    "LeaseNotPresentWithBlobOperation",
    "LeaseNotPresentWithLeaseOperation",
    "LeaseIdMismatchWithLeaseOperation",
)
_LEASED = ("LeaseAlreadyPresent", "LeaseIdMissing", "LeaseIsBreakingAndCannotBeAcquired")


class AzurermBackend(ObjectBackend):
    _errors = (AzureError,)

    def __init__(self, block: Mapping[str, Any], workspace: str, options: RunOptions) -> None:
        settings = BackendSettings("azurerm", block)
        self._account = settings.need("storage_account_name")
        self._container = settings.need("container_name")
        self._base = settings.need("key")
        self._object = self._base + (f"env:{workspace}" if workspace != DEFAULT_WORKSPACE else "")
        self._snapshots = settings.flag("snapshot", "ARM_SNAPSHOT")
        name = f"{self._account}/{self._container}/{self._object}"
        super().__init__(settings, workspace, options, name)

    def _write(self, data: bytes) -> None:
        """Replace the blob under its lease, unless it changed since it was read."""
        blob = self._blob(self._object)
        if self._snapshots and self._seen:
            blob.create_snapshot(**self._under_lease())
        # Writing the lock's metadata changed the blob's tag. So the write is conditional only if
        # the tag is known to be the state's own.
        condition: dict[str, Any] = {}
        if self._seen:
            condition = {"etag": self._seen, "match_condition": MatchConditions.IfNotModified}
        try:
            done = blob.upload_blob(
                data,
                overwrite=True,
                metadata=_lock_metadata(self._info) if self._info else None,
                content_settings=_JSON,
                **self._under_lease(),
                **condition,
            )
        except HttpResponseError as error:
            if _code(error) in _LEASE_LOST:
                raise LockLost(self.name, f"its lease is gone ({_code(error)})") from error
            if error.status_code not in (409, 412):
                raise
            self._seen = self._confirm_lost_answer(data, error)
        else:
            self._seen = done["etag"]

    def _lock(self, info: LockInfo) -> None:
        """Take the lease, then write the holder into the metadata."""
        info = info._replace(path=f"{self._container}/{self._object}")
        blob = self._blob(self._object)
        try:
            try:
                self._lease(info.id).acquire(lease_duration=-1)
            except ResourceNotFoundError as error:
                if _code(error) == "ContainerNotFound":
                    raise
                # Another run may create the blob meanwhile and lock it: the lease decides.
                with contextlib.suppress(ResourceExistsError):
                    blob.upload_blob(b"", overwrite=False, content_settings=_JSON)
                self._lease(info.id).acquire(lease_duration=-1)
        except HttpResponseError as error:
            if _code(error) in _LEASED or error.status_code == 412:
                raise self._lock_held(self._holder()) from error
            raise
        try:
            blob.set_blob_metadata(_lock_metadata(info), lease=info.id)
        except BaseException:
            # A lease that names no holder would stay forever.
            with contextlib.suppress(HttpResponseError):
                self._lease(info.id).release()
            raise
        self._info = info

    def _release(self, info: LockInfo) -> None:
        try:
            self._release_lease(info.id)
        except HttpResponseError as error:
            # The lease was lost, or is gone with the blob, so this run holds nothing any more.
            if error.status_code not in (404, 409, 412):
                raise

    def _check_lock(self, info: LockInfo) -> None:
        """Ask for the blob's properties under the lease; the service refuses a lost lease."""
        try:
            self._blob(self._object).get_blob_properties(lease=info.id)
        except HttpResponseError as error:
            if error.status_code not in (404, 412):
                raise
            raise self._lock_lost(self._holder(), "its lease was broken or released") from error

    def _force_unlock(self, holder: LockInfo) -> None:
        try:
            self._release_lease(holder.id)
        except HttpResponseError as error:
            if error.status_code != 412 and _code(error) not in _LEASE_LOST:
                raise
            # The metadata names another lease than the current one: break the current lease.
            self._lease(holder.id).break_lease(lease_break_period=0)

    def _holder(self) -> LockInfo | None:
        try:
            properties = self._blob(self._object).get_blob_properties()
        except ResourceNotFoundError:
            return None
        if properties.lease.state != "leased":
            return None
        # Metadata names are headers, which are case-insensitive.
        metadata = {name.lower(): value for name, value in (properties.metadata or {}).items()}
        try:
            noted = LockInfo.parse(base64.b64decode(metadata.get(_META, "")))
        except ValueError:
            noted = None
        return noted or LockInfo(who="someone who has not yet written a name")

    def _workspaces(self) -> set[str]:
        start = f"{self._base}env:"
        container = self._use_client().get_container_client(self._container)
        listed = container.list_blob_names(name_starts_with=start)
        names = {name.removeprefix(start) for name in listed}
        return {name for name in names if "/" not in name}

    def _delete_all(self) -> None:
        super()._delete_all()
        self._info = None  # the lease is gone with the blob

    def _journal_name(self) -> str:
        """Return a name that Terraform does not take for a workspace."""
        own = "" if self._workspace == DEFAULT_WORKSPACE else f":{self._workspace}"
        return f"{self._base}.{JOURNAL}{own}"

    def _get(self, name: str) -> tuple[bytes, str]:
        try:
            download = self._blob(name).download_blob()
            return download.readall(), str(download.properties.etag)
        except ResourceNotFoundError as error:
            if _code(error) == "ContainerNotFound":
                raise
            return b"", ""

    def _put(self, name: str, data: bytes) -> None:
        self._blob(name).upload_blob(data, overwrite=True)

    def _delete(self, name: str) -> None:
        lease = self._under_lease() if name == self._object else {}
        # The service deletes a blob with snapshots only together with its snapshots.
        try:
            self._blob(name).delete_blob(delete_snapshots="include", **lease)
        except ResourceNotFoundError:
            pass
        except HttpResponseError as error:
            if _code(error) != "LeaseIdMissing":
                raise
            raise self._lock_held(self._holder()) from error

    def _under_lease(self) -> dict[str, str]:
        return {"lease": self._info.id} if self._info else {}

    def _release_lease(self, lock_id: str) -> None:
        # Clear the metadata while the lease is held: afterwards it may name the next holder.
        self._blob(self._object).set_blob_metadata({}, lease=lock_id)
        self._lease(lock_id).release()

    def _lease(self, lock_id: str) -> Any:
        return BlobLeaseClient(self._blob(self._object), lease_id=lock_id)

    def _blob(self, name: str) -> Any:
        return self._use_client().get_blob_client(self._container, name)

    def _connect(self) -> Any:
        return _make_client(self._settings, self._account)

    def _explain(self, error: AzureError) -> tuple[str, str]:
        first = str(getattr(error, "message", None) or error).splitlines()
        said = one_line(first[0] if first else type(error).__name__)
        if isinstance(error, (ServiceRequestError, ServiceResponseError)):
            remedy = "Check `storage_account_name`, the network and the proxy, then run again."
            return said, remedy
        # Other errors are not answers of the service, or say that the login is wrong.
        if not isinstance(error, HttpResponseError) or isinstance(error, ClientAuthenticationError):
            return said, _LOG_IN
        code = _code(error)
        if code in _CREDENTIALS or error.status_code in (401, 403):
            remedy = _LOG_IN
        elif code == "ContainerNotFound":
            remedy = f"Make the container {self._container}, or correct `container_name`."
        elif code == "RequestBodyTooLarge":
            remedy = "The service refuses a state of this size: split the stack."
        else:
            remedy = "Check the backend's settings, then run again."
        return f"{said} ({code})", remedy


_LOG_IN = (
    "Log in (`az login`), or name credentials that may use the container: `access_key`"
    " (ARM_ACCESS_KEY), `sas_token`, or `use_azuread_auth` with a client, OIDC or an identity."
)


def _code(error: HttpResponseError) -> str:
    code = getattr(error, "error_code", None)
    return str(getattr(code, "value", code) or "")


def _lock_metadata(info: LockInfo) -> dict[str, str]:
    return {_META: base64.b64encode(info.to_json()).decode()}


_CLOUDS = {
    "public": ("core.windows.net", "login.microsoftonline.com", "management.azure.com"),
    "usgovernment": (
        "core.usgovcloudapi.net",
        "login.microsoftonline.us",
        "management.usgovcloudapi.net",
    ),
    "china": ("core.chinacloudapi.cn", "login.chinacloudapi.cn", "management.chinacloudapi.cn"),
}


def _make_client(settings: BackendSettings, account: str) -> Any:
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
            key = _look_up_key(settings, account, group, manager, credential)
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
    if client and tenant and (certificate := _certificate(settings)):
        return CertificateCredential(tenant, client, **certificate, **where)
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


def _look_up_key(
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
