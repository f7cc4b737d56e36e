"""State in Azure's blob storage: Terraform's `azurerm` backend.

The lock is an infinite lease on the state's own blob, and the blob's metadata names the holder.
Every write carries the lease, so the service itself refuses a write whose lease was lost.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping
from typing import Any

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
from azure.storage.blob import BlobLeaseClient, ContentSettings

from opsconsole.state.backend import DEFAULT_WORKSPACE, RunOptions
from opsconsole.state.backends.azurerm_login import service
from opsconsole.state.backends.base import JOURNAL, LockLost, ObjectBackend, one_line
from opsconsole.state.backends.settings import BackendSettings
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
    """One blob of a container."""

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
        with contextlib.suppress(ResourceNotFoundError):
            self._blob(name).delete_blob(delete_snapshots="include", **lease)

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
        return service(self._settings, self._account)

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
    found = getattr(error, "error_code", None)
    return str(getattr(found, "value", found) or "")


def _lock_metadata(info: LockInfo) -> dict[str, str]:
    return {_META: base64.b64encode(info.to_json()).decode()}
