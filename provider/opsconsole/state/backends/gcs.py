"""State in Google Cloud Storage: Terraform's `gcs` backend.

The lock is an object that is created only if it does not exist; its generation is the lock's ID. A
state is replaced only if its generation is the one that was read.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from opsconsole.errors import UserError
from opsconsole.state.backend import RunOptions
from opsconsole.state.backends.base import BackendSettings, ObjectBackend, one_line, trusted_file
from opsconsole.state.lock import LockInfo

with warnings.catch_warnings():
    # The library warns about a gRPC package, which nothing here uses.
    warnings.simplefilter("ignore", ImportWarning)
    import google.auth
    from google.api_core import exceptions
    from google.auth import impersonated_credentials
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request as AuthRequest
    from google.cloud import storage
    from google.cloud.storage.retry import DEFAULT_RETRY
    from google.oauth2 import credentials, service_account
    from requests import Session
    from requests.exceptions import RequestException

_SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
_TIMEOUT = (15, 600)
_RETRY = DEFAULT_RETRY.with_timeout(30.0)


class GcsBackend(ObjectBackend):
    """One object of a bucket."""

    _errors = (GoogleAuthError, RequestException, exceptions.GoogleAPIError, OSError)

    def __init__(self, block: Mapping[str, Any], workspace: str, options: RunOptions) -> None:
        settings = BackendSettings("gcs", block)
        self._bucket_name = settings.need("bucket")
        prefix = settings.text("prefix").strip("/")
        self._folder = f"{prefix}/" if prefix else ""
        self._stem = f"{self._folder}{workspace}"
        self._object = f"{self._stem}.tfstate"
        self._lock_name = f"{self._stem}.tflock"
        self._kms = settings.text("kms_encryption_key", "GOOGLE_KMS_ENCRYPTION_KEY") or None
        self._secret = _encryption_key(settings)
        self._bucket_seen = False
        super().__init__(settings, workspace, options, f"gs://{self._bucket_name}/{self._object}")

    def _write(self, data: bytes) -> None:
        try:
            self._seen = self._put(self._object, data, self._seen)
        except exceptions.PreconditionFailed as error:
            self._seen = self._confirm_lost_answer(data, error)

    def _lock(self, info: LockInfo) -> None:
        info = info._replace(path=f"gs://{self._bucket_name}/{self._lock_name}")
        try:
            generation = self._put(self._lock_name, info.to_json(), 0)
        except exceptions.PreconditionFailed as error:
            data, generation = self._get(self._lock_name)
            # An earlier attempt may have created the object, and its answer was lost.
            if data != info.to_json():
                raise self._lock_held(_holder(data, generation)) from error
        self._info = info._replace(id=str(generation))

    def _release(self, info: LockInfo) -> None:
        if str(self._get(self._lock_name)[1]) != info.id:
            return
        # Another run may have released the lock, or taken it again, since it was read.
        with contextlib.suppress(exceptions.NotFound, exceptions.PreconditionFailed):
            self._blob(self._lock_name).delete(if_generation_match=int(info.id), timeout=_TIMEOUT)

    def _check_lock(self, info: LockInfo) -> None:
        holder = self._holder()
        if holder is None or holder.id != info.id:
            raise self._lock_lost(holder)

    def _holder(self) -> LockInfo | None:
        return _holder(*self._get(self._lock_name))

    def _workspaces(self) -> set[str]:
        listed = self._use_client().list_blobs(
            self._bucket_name, prefix=self._folder, delimiter="/", timeout=_TIMEOUT
        )
        names = {blob.name.removeprefix(self._folder) for blob in listed}
        return {name.removesuffix(".tfstate") for name in names if name.endswith(".tfstate")}

    def _get(self, name: str) -> tuple[bytes, int]:
        """Return the bytes and the generation of an object; empty and 0 if there is no object."""
        blob = self._blob(name)
        try:
            data = blob.download_as_bytes(timeout=_TIMEOUT, retry=_RETRY)
        except exceptions.NotFound:
            if not self._has_bucket():
                raise
            return b"", 0
        if not blob.generation:
            blob.reload(timeout=_TIMEOUT)
        return data, int(blob.generation)

    def _has_bucket(self) -> bool:
        """Ask once whether the bucket exists, which a missing object does not show."""
        if not self._bucket_seen:
            # Credentials for single objects may not list. The bucket is then assumed to exist.
            with contextlib.suppress(exceptions.Forbidden):
                try:
                    next(
                        iter(self._use_client().list_blobs(self._bucket_name, max_results=1)), None
                    )
                except exceptions.NotFound:
                    return False
            self._bucket_seen = True
        return True

    def _put(self, name: str, data: bytes, before: int | None = None) -> int:
        blob = self._blob(name, kms=self._kms if name != self._lock_name else None)
        blob.upload_from_string(
            data,
            content_type="application/json",
            if_generation_match=before,
            timeout=_TIMEOUT,
            retry=_RETRY,
            checksum="auto",
        )
        return int(blob.generation)

    def _delete(self, name: str) -> None:
        with contextlib.suppress(exceptions.NotFound):
            self._blob(name).delete(timeout=_TIMEOUT)

    def _blob(self, name: str, kms: str | None = None) -> Any:
        """Return an object of the bucket. The lock's object is not encrypted with a user's key."""
        secret = self._secret if name != self._lock_name else None
        bucket = self._use_client().bucket(self._bucket_name)
        return bucket.blob(name, encryption_key=secret, kms_key_name=kms)

    def _connect(self) -> Any:
        settings = self._settings
        made, project = _credentials(settings)
        target = settings.text(
            "impersonate_service_account",
            "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT",
            "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
        )
        if target:
            made = impersonated_credentials.Credentials(
                made,
                target,
                _SCOPES,
                delegates=settings.texts("impersonate_service_account_delegates"),
            )
        endpoint = settings.text(
            "storage_custom_endpoint",
            "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT",
            "GOOGLE_STORAGE_CUSTOM_ENDPOINT",
        )
        options = None
        if endpoint:
            parts = urlsplit(endpoint)
            options = {"api_endpoint": f"{parts.scheme}://{parts.netloc}"}
        # The client would ask for the bucket in a thread of its own, for traces that nobody takes.
        os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
        client = storage.Client(project=project or "none", credentials=made, client_options=options)
        if authorities := trusted_file():
            # The client requests tokens in a session that reads only this variable.
            os.environ["REQUESTS_CA_BUNDLE"] = authorities
        return client

    def _explain(self, error: Exception) -> tuple[str, str]:
        if isinstance(error, (GoogleAuthError, exceptions.Unauthorized, exceptions.Forbidden)):
            remedy = _LOG_IN
        elif not isinstance(error, exceptions.GoogleAPICallError):
            remedy = "Check the network, the proxy and `storage_custom_endpoint`, then run again."
        elif isinstance(error, exceptions.NotFound):
            remedy = "Make the bucket, or correct `bucket`."
        elif isinstance(error, exceptions.RequestRangeNotSatisfiable):
            remedy = "Run again."
        else:
            remedy = "Check the backend's settings, then run again."
        return one_line(error), remedy


_LOG_IN = (
    "Log in (`gcloud auth application-default login`), or name credentials that may use the"
    " bucket: GOOGLE_CREDENTIALS, `credentials`, `impersonate_service_account`."
)


def _credentials(settings: BackendSettings) -> tuple[Any, str]:
    """Return credentials as Terraform's users configure them, and their project."""
    if token := settings.text("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN"):
        return credentials.Credentials(token), ""
    given = settings.text("credentials", "GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS")
    if not given:
        asking = Session()
        asking.verify = trusted_file() or True
        made, project = google.auth.default(scopes=_SCOPES, request=AuthRequest(asking))
        return made, str(project or "")
    try:
        text = given if given.lstrip().startswith("{") else Path(given).expanduser().read_text()
        info = json.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(
            f"The credentials of the gcs backend are neither JSON nor a file of it: {error}."
        ) from error
    if info.get("type") == "service_account":
        made = service_account.Credentials.from_service_account_info(info, scopes=_SCOPES)
        return made, str(info.get("project_id") or "")
    with warnings.catch_warnings():
        # The library warns of credentials from unknown sources; these are the user's own settings.
        warnings.simplefilter("ignore", DeprecationWarning)
        made, project = google.auth.load_credentials_from_dict(info, scopes=_SCOPES)
    return made, str(project or "")


def _encryption_key(settings: BackendSettings) -> bytes | None:
    key = settings.text("encryption_key", "GOOGLE_ENCRYPTION_KEY")
    if not key:
        return None
    try:
        return base64.b64decode(key, validate=True)
    except ValueError as error:
        raise UserError("`encryption_key` of the gcs backend is not base64.") from error


def _holder(data: bytes, generation: int) -> LockInfo | None:
    if not generation:
        return None
    info = LockInfo.parse(data) or LockInfo(who="someone whom the lock does not name")
    return info._replace(id=str(generation))
