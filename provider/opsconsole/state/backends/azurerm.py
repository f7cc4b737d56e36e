"""State in Azure's blob storage: Terraform's `azurerm` backend.

The lock is a lease without end on the state's own blob, and who holds it is in the blob's
metadata. Every write carries the lease, so the service itself refuses one that was lost.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeGuard

from opsconsole.errors import UserError
from opsconsole.state.backends.settings import BackendSettings, need_extra
from opsconsole.state.backends.storage import (
    DEFAULT,
    Companion,
    LockHeld,
    LockLost,
    no_such_lock,
)
from opsconsole.state.lock import LockInfo

try:
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

    from opsconsole.state.backends.azurerm_login import service
except ImportError as error:
    raise need_extra("azurerm", "azure-storage-blob and azure-identity", error) from error

_META = "terraformlockid"
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


class AzurermStorage:
    """One blob of a container."""

    lockable = True
    keeps_companions = True

    def __init__(self, block: Mapping[str, Any], workspace: str = DEFAULT) -> None:
        settings = BackendSettings("azurerm", block)
        self._settings = settings
        self._account = settings.need("storage_account_name")
        self._container = settings.need("container_name")
        self._base = settings.need("key")
        self._workspace = workspace
        self._key = self._base if workspace == DEFAULT else f"{self._base}env:{workspace}"
        self._snapshots = settings.flag("snapshot", "ARM_SNAPSHOT")
        self.identity = self.name = f"{self._account}/{self._container}/{self._key}"
        self._service: Any = None
        self._info: LockInfo | None = None
        self._seen: str | None = None

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no blob, or the empty one of a lock."""
        with self._translating("read"):
            data, self._seen = self._get(self._key)
        return data

    def write(self, data: bytes) -> None:
        """Replace the blob under its lease, if it is the one that was read."""
        if self._seen is None:
            raise ValueError("read first")
        with self._translating("write"):
            self.check_lock()
            blob = self._blob(self._key)
            lease = {"lease": self._info.id} if self._info else {}
            metadata = {_META: _encoded(self._info)} if self._info else None
            if self._snapshots and self._seen:
                blob.create_snapshot(**lease)
            # Making the lock's metadata changed the blob's tag, so a tag is asked for only where
            # it is known to be of the state itself.
            condition: dict[str, Any] = {}
            if self._seen:
                condition = {"etag": self._seen, "match_condition": MatchConditions.IfNotModified}
            try:
                done = blob.upload_blob(
                    data,
                    overwrite=True,
                    metadata=metadata,
                    content_settings=ContentSettings(content_type="application/json"),
                    **lease,
                    **condition,
                )
            except HttpResponseError as error:
                if _code(error) in _LEASE_LOST:
                    raise LockLost(self.name, f"its lease is gone ({_code(error)})") from error
                if error.status_code not in (409, 412):
                    raise
                found, tag = self._get(self._key)
                if found != data:
                    why = "someone else wrote the state since it was read"
                    raise LockLost(self.name, why) from error
                self._seen = tag
            else:
                self._seen = done["etag"]

    def lock(self, info: LockInfo) -> None:
        """Take the lease, then write into the metadata who holds it."""
        info = replace(info, path=f"{self._container}/{self._key}")
        with self._translating("lock"):
            blob = self._blob(self._key)
            try:
                self._lease(info.id).acquire(lease_duration=-1)
            except ResourceNotFoundError as error:
                if _code(error) == "ContainerNotFound":
                    raise
                self._make_empty(blob)
                self._acquire(info.id)
            except HttpResponseError as error:
                self._refuse_held(error)
            self._info = info
            blob.set_blob_metadata({_META: _encoded(info)}, lease=info.id)

    def unlock(self) -> None:
        """Clear the metadata and release the lease, if it is still this run's."""
        info, self._info = self._info, None
        if info is None:
            return
        with self._translating("unlock"):
            self._release(info.id)

    def check_lock(self) -> None:
        """Ask for the blob's properties under the lease: the service refuses another's."""
        if self._info is None:
            return
        with self._translating("check the lock of"):
            try:
                self._blob(self._key).get_blob_properties(lease=self._info.id)
            except HttpResponseError as error:
                if error.status_code not in (404, 412):
                    raise
                holder = self._holder()
                why = f"it is locked by {holder}" if holder else "its lease was broken or released"
                raise LockLost(self.name, why) from error

    def force_unlock(self, lock_id: str) -> None:
        """Release the lease of this ID."""
        holder = self.holder()
        if holder is None or holder.id != lock_id:
            raise no_such_lock(self.name, lock_id, holder)
        with self._translating("unlock"):
            try:
                self._blob(self._key).set_blob_metadata({}, lease=lock_id)
                self._lease(lock_id).release()
            except HttpResponseError as error:
                if error.status_code != 412 and _code(error) not in _LEASE_LOST:
                    raise
                # The metadata names another lease than the one that is held: end that one.
                self._lease(lock_id).break_lease(lease_break_period=0)

    def holder(self) -> LockInfo | None:
        """Return who holds the lease."""
        with self._translating("read the lock of"):
            return self._holder()

    def read_companion(self, which: Companion) -> bytes:
        """Return the blob beside the state; none when there is none."""
        with self._translating("read what is beside"):
            return self._get(self._beside(which))[0]

    def write_companion(self, which: Companion, data: bytes) -> None:
        """Replace the blob beside the state; without bytes, remove it."""
        with self._translating("write what is beside"):
            if data:
                self._blob(self._beside(which)).upload_blob(data, overwrite=True)
            else:
                self._delete(self._beside(which))

    def workspaces(self) -> list[str]:
        """Return the workspaces that hold a blob of this key."""
        start = f"{self._base}env:"
        with self._translating("list the workspaces of"):
            listed = (
                self._connected()
                .get_container_client(self._container)
                .list_blob_names(name_starts_with=start)
            )
            names = {name.removeprefix(start) for name in listed}
        return [DEFAULT, *sorted(name for name in names if "/" not in name)]

    def delete(self) -> None:
        """Delete the blob and its companions."""
        with self._translating("delete"):
            for which in Companion:
                self._delete(self._beside(which))
            self._delete(self._key, **({"lease": self._info.id} if self._info else {}))
            self._info = None  # the lease is gone with the blob

    def close(self) -> None:
        """Close the connections."""
        if self._service is not None:
            self._service.close()
            self._service = None

    def _beside(self, which: Companion) -> str:
        """Return the name of a companion, which Terraform must not take for a workspace."""
        own = "" if self._workspace == DEFAULT else f":{self._workspace}"
        return f"{self._base}.{which}{own}"

    def _get(self, name: str) -> tuple[bytes, str]:
        """Return the bytes and the tag of a blob; nothing where there is none."""
        try:
            found = self._blob(name).download_blob()
            return found.readall(), str(found.properties.etag)
        except ResourceNotFoundError as error:
            if _code(error) == "ContainerNotFound":
                raise
            return b"", ""

    def _make_empty(self, blob: Any) -> None:
        try:
            blob.upload_blob(
                b"",
                overwrite=False,
                content_settings=ContentSettings(content_type="application/json"),
            )
        except ResourceExistsError:
            return  # another made it meanwhile, who may hold it: the lease decides
        except HttpResponseError as error:
            self._refuse_held(error)

    def _acquire(self, lock_id: str) -> None:
        try:
            self._lease(lock_id).acquire(lease_duration=-1)
        except HttpResponseError as error:
            self._refuse_held(error)

    def _refuse_held(self, error: HttpResponseError) -> None:
        if _code(error) in _LEASED or error.status_code == 412:
            raise LockHeld(self.name, self._holder()) from error
        raise error

    def _lease(self, lock_id: str) -> Any:
        return BlobLeaseClient(self._blob(self._key), lease_id=lock_id)

    def _release(self, lock_id: str) -> None:
        try:
            self._blob(self._key).set_blob_metadata({}, lease=lock_id)
            self._lease(lock_id).release()
        except HttpResponseError as error:
            if error.status_code not in (404, 409, 412):
                raise

    def _holder(self) -> LockInfo | None:
        try:
            found = self._blob(self._key).get_blob_properties()
        except ResourceNotFoundError:
            return None
        if found.lease.state != "leased":
            return None
        # Names of metadata are headers: how they are written does not count.
        metadata = {name.lower(): value for name, value in (found.metadata or {}).items()}
        try:
            noted = LockInfo.parse(base64.b64decode(metadata.get(_META, "")))
        except ValueError:
            noted = None
        return noted or LockInfo(who="someone who has not yet written a name")

    def _delete(self, name: str, **lease: str) -> None:
        try:
            self._blob(name).delete_blob(delete_snapshots="include", **lease)
        except ResourceNotFoundError:
            return

    def _blob(self, name: str) -> Any:
        return self._connected().get_blob_client(self._container, name)

    def _connected(self) -> Any:
        if self._service is None:
            self._service = service(self._settings, self._account)
        return self._service

    @contextmanager
    def _translating(self, action: str) -> Iterator[None]:
        """Translate the library's exceptions."""
        try:
            yield
        except AzureError as error:
            said = _said(error)
            if _is_refusal(error):
                said += f" ({_code(error)})"
            raise UserError(
                f"Cannot {action} the state {self.name}: {said}.", self._remedy(error)
            ) from error

    def _remedy(self, error: AzureError) -> str:
        if isinstance(error, (ServiceRequestError, ServiceResponseError)):
            return "Check `storage_account_name`, the network and the proxy, then run again."
        if not _is_refusal(error):
            return _LOG_IN
        if _code(error) in _CREDENTIALS or error.status_code in (401, 403):
            return _LOG_IN
        if _code(error) == "ContainerNotFound":
            return f"Make the container {self._container}, or correct `container_name`."
        if _code(error) == "RequestBodyTooLarge":
            return "The service refuses a state of this size: split the stack."
        return "Check the backend's settings, then run again."


_LOG_IN = (
    "Log in (`az login`), or name credentials that may use the container: `access_key`"
    " (ARM_ACCESS_KEY), `sas_token`, or `use_azuread_auth` with a client, OIDC or an identity."
)


def _is_refusal(error: AzureError) -> TypeGuard[HttpResponseError]:
    """Return whether the service answered, and not that the login is wrong."""
    return isinstance(error, HttpResponseError) and not isinstance(error, ClientAuthenticationError)


def _code(error: HttpResponseError) -> str:
    found = getattr(error, "error_code", None)
    return str(getattr(found, "value", found) or "")


def _encoded(info: LockInfo | None) -> str:
    return base64.b64encode(info.to_json() if info else b"").decode()


def _said(error: Exception) -> str:
    first = str(getattr(error, "message", None) or error).splitlines()
    return " ".join((first[0] if first else type(error).__name__).split()).rstrip(".")
