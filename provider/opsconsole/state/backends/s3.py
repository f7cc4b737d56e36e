"""State in S3, or a store that speaks its protocol: Terraform's `s3` backend.

The lock is an object beside the state (`use_lockfile`), a row of DynamoDB (`dynamodb_table`), or
both. A state is replaced only if it is still the one that was read, where the lock is an object:
a store that honours the one condition honours the other.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

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
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, SSOError

    from opsconsole.state.backends.s3_session import clients
except ImportError as error:
    raise need_extra("s3", "boto3", error) from error

_DIGEST_TRIES = 20
_EXISTS = ("PreconditionFailed", "ConditionalRequestConflict", "ConditionalCheckFailedException")
_MISSING = ("NoSuchKey", "404", "NotFound")
_CREDENTIALS = (
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
    "403",
    "Forbidden",
)


class S3Storage:
    """One object of a bucket."""

    keeps_companions = True

    def __init__(self, block: Mapping[str, Any], workspace: str = DEFAULT) -> None:
        settings = BackendSettings("s3", block)
        self._settings = settings
        self._bucket = settings.need("bucket")
        self._base = settings.need("key").lstrip("/")
        self._prefix = settings.text("workspace_key_prefix", default="env:").strip("/")
        self._workspace = workspace
        at = self._base if workspace == DEFAULT else f"{self._prefix}/{workspace}/{self._base}"
        self._key = at.lstrip("/")
        self._lockfile = settings.flag("use_lockfile")
        self._table = settings.text("dynamodb_table")
        self.lockable = self._lockfile or bool(self._table)
        self.name = f"s3://{self._bucket}/{self._key}"
        endpoint = settings.block("endpoints").get("s3") or settings.text("endpoint")
        self.identity = f"{endpoint} {self.name}"
        self._encryption = _encryption(settings)
        self._clients: tuple[Any, Any] | None = None
        self._info: LockInfo | None = None
        self._seen: tuple[str, str] | None = None

    def read(self) -> bytes:
        """Return the state's bytes; none when there is no object.

        Raises:
            UserError: It is not the state whose digest is in DynamoDB, or it cannot be read.
        """
        with self._translating("read"):
            for attempt in range(_DIGEST_TRIES):
                data, etag = self._get(self._key)
                expected = self._digest_row()
                if not expected or expected == _md5(data):
                    break
                # Somebody may be between the two writes.
                time.sleep(0.5 if attempt + 1 < _DIGEST_TRIES else 0.0)
            else:
                raise UserError(
                    f"The state {self.name} is not the one whose digest DynamoDB holds"
                    f" ({_md5(data) if data else 'there is none'}, not {expected}).",
                    "Wait until the store shows the last write, or restore the version of that"
                    f" digest; else remove the row {self._row}-md5 from {self._table}.",
                )
        self._seen = (etag, _md5(data) if data else "")
        return data

    def write(self, data: bytes) -> None:
        """Replace the object if it is still the one that was read, then note its digest."""
        if self._seen is None:
            raise ValueError("read first")
        etag, digest = self._seen
        with self._translating("write"):
            self.check_lock()
            condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}
            if not self._lockfile:
                # A store without conditions serves too, with DynamoDB as its lock.
                condition = {}
                found, _ = self._get(self._key)
                if (_md5(found) if found else "") != digest:
                    raise self._foreign()
            try:
                stored = self._put(self._key, data, **condition)
            except ClientError as error:
                if _code(error) not in (*_EXISTS, *_MISSING):
                    raise
                found, stored = self._get(self._key)
                if found != data:
                    raise self._foreign() from error
            self._note_digest(data)
        self._seen = (stored, _md5(data))

    def lock(self, info: LockInfo) -> None:
        """Take the lock: the object first, then the row."""
        info = replace(info, path=self._row)
        with self._translating("lock"):
            if self._lockfile:
                self._lock_object(info)
            if self._table:
                try:
                    self._lock_row(info)
                except BaseException:
                    if self._lockfile:
                        self._delete(self._lock_key)
                    raise
        self._info = info

    def unlock(self) -> None:
        """Release what still is this run's lock."""
        info, self._info = self._info, None
        if info is None:
            return
        with self._translating("unlock"):
            if self._table and _has_id(self._row_info(), info.id):
                self._unlock_row()
            if self._lockfile and _has_id(self._object_info(), info.id):
                self._delete(self._lock_key)

    def check_lock(self) -> None:
        """Look whether object and row still carry this run's ID."""
        if self._info is None:
            return
        with self._translating("check the lock of"):
            for asked, found in (
                (self._lockfile, self._object_info),
                (bool(self._table), self._row_info),
            ):
                holder = found() if asked else self._info
                if not _has_id(holder, self._info.id):
                    why = f"it is locked by {holder}" if holder else "someone released it"
                    raise LockLost(self.name, why)

    def force_unlock(self, lock_id: str) -> None:
        """Release the lock of this ID: row and object, as far as they carry it."""
        with self._translating("unlock"):
            row = self._row_info() if self._table else None
            lock = self._object_info() if self._lockfile else None
            if not (_has_id(row, lock_id) or _has_id(lock, lock_id)):
                raise no_such_lock(self.name, lock_id, lock or row)
            if _has_id(row, lock_id):
                self._unlock_row()
            if _has_id(lock, lock_id):
                self._delete(self._lock_key)

    def holder(self) -> LockInfo | None:
        """Return who holds the lock."""
        with self._translating("read the lock of"):
            found = self._object_info() if self._lockfile else None
            return found or (self._row_info() if self._table else None)

    def read_companion(self, which: Companion) -> bytes:
        """Return the object beside the state; none when there is none."""
        with self._translating("read what is beside"):
            return self._get(f"{self._key}.{which}")[0]

    def write_companion(self, which: Companion, data: bytes) -> None:
        """Replace the object beside the state; without bytes, remove it."""
        with self._translating("write what is beside"):
            if data:
                self._put(f"{self._key}.{which}", data, kind="application/octet-stream")
            else:
                self._delete(f"{self._key}.{which}")

    def workspaces(self) -> list[str]:
        """Return the workspaces that hold an object of this key."""
        start = f"{self._prefix}/" if self._prefix else ""
        names = set()
        with self._translating("list the workspaces of"):
            pages = self._s3.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=start):
                for item in page.get("Contents", ()):
                    name, slash, key = item["Key"].removeprefix(start).partition("/")
                    if slash and key == self._base:
                        names.add(name)
        return [DEFAULT, *sorted(names - {DEFAULT})]

    def delete(self) -> None:
        """Delete the object, its digest and its companions."""
        with self._translating("delete"):
            for which in Companion:
                self._delete(f"{self._key}.{which}")
            self._delete(self._key)
            if self._table:
                self._db.delete_item(TableName=self._table, Key=_id(f"{self._row}-md5"))

    def close(self) -> None:
        """Close the connections."""
        if self._clients is not None:
            for client in self._clients:
                client.close()
            self._clients = None

    @property
    def _row(self) -> str:
        return f"{self._bucket}/{self._key}"

    @property
    def _lock_key(self) -> str:
        return f"{self._key}.tflock"

    @property
    def _s3(self) -> Any:
        return self._connected()[0]

    @property
    def _db(self) -> Any:
        return self._connected()[1]

    def _connected(self) -> tuple[Any, Any]:
        if self._clients is None:
            self._clients = clients(self._settings)
        return self._clients

    def _get(self, key: str) -> tuple[bytes, str]:
        """Return the bytes and the version of an object; nothing where there is none."""
        secret = {name: value for name, value in self._encryption.items() if "Customer" in name}
        try:
            found = self._s3.get_object(Bucket=self._bucket, Key=key, **secret)
        except ClientError as error:
            if _code(error) in _MISSING:
                return b"", ""
            raise
        return found["Body"].read(), found["ETag"]

    def _put(self, key: str, data: bytes, kind: str = "application/json", **conditions: str) -> str:
        acl = self._settings.text("acl")
        options = {**self._encryption, **conditions, **({"ACL": acl} if acl else {})}
        done = self._s3.put_object(
            Bucket=self._bucket, Key=key, Body=data, ContentType=kind, **options
        )
        return str(done["ETag"])

    def _delete(self, key: str) -> None:
        self._s3.delete_object(Bucket=self._bucket, Key=key)

    def _lock_object(self, info: LockInfo) -> None:
        try:
            self._put(self._lock_key, info.to_json(), IfNoneMatch="*")
        except ClientError as error:
            if _code(error) not in _EXISTS:
                raise
            holder = self._object_info()
            if not _has_id(holder, info.id):
                raise LockHeld(self.name, holder) from error

    def _object_info(self) -> LockInfo | None:
        return LockInfo.parse(self._get(self._lock_key)[0])

    def _lock_row(self, info: LockInfo) -> None:
        row = {**_id(self._row), "Info": {"S": info.to_json().decode()}}
        try:
            self._db.put_item(
                TableName=self._table, Item=row, ConditionExpression="attribute_not_exists(LockID)"
            )
        except ClientError as error:
            if _code(error) not in _EXISTS:
                raise
            holder = self._row_info()
            if not _has_id(holder, info.id):
                raise LockHeld(self.name, holder) from error

    def _unlock_row(self) -> None:
        self._db.delete_item(TableName=self._table, Key=_id(self._row))

    def _row_info(self) -> LockInfo | None:
        found = self._item(self._row).get("Info", {}).get("S")
        return LockInfo.parse(found) if found else None

    def _digest_row(self) -> str:
        return self._item(f"{self._row}-md5").get("Digest", {}).get("S", "") if self._table else ""

    def _note_digest(self, data: bytes) -> None:
        if self._table:
            row = {**_id(f"{self._row}-md5"), "Digest": {"S": _md5(data)}}
            self._db.put_item(TableName=self._table, Item=row)

    def _item(self, name: str) -> dict[str, Any]:
        found = self._db.get_item(TableName=self._table, Key=_id(name), ConsistentRead=True)
        item: dict[str, Any] = found.get("Item") or {}
        return item

    def _foreign(self) -> LockLost:
        return LockLost(self.name, "someone else wrote the state since it was read")

    @contextmanager
    def _translating(self, action: str) -> Iterator[None]:
        """Translate boto's exceptions."""
        try:
            yield
        except ClientError as error:
            raise self._refused(action, error) from error
        except (NoCredentialsError, SSOError) as error:
            raise UserError(f"Cannot {action} the state {self.name}: {error}.", _LOG_IN) from error
        except BotoCoreError as error:
            raise UserError(
                f"Cannot {action} the state {self.name}: {str(error).rstrip('.')}.",
                "Check region, endpoints, profile and network, then run again.",
            ) from error

    def _refused(self, action: str, error: ClientError) -> UserError:
        code = _code(error)
        message = str(error.response.get("Error", {}).get("Message") or code)
        said = " ".join(message.split()).rstrip(".")
        if code == "NoSuchBucket":
            said, remedy = f"there is no bucket {self._bucket}", "Make it, or correct `bucket`."
        elif code == "ResourceNotFoundException":
            said = f"there is no DynamoDB table {self._table}"
            remedy = "Make it with the key LockID (text), or correct `dynamodb_table`."
        elif code in _CREDENTIALS:
            remedy = _LOG_IN
        elif code == "EntityTooLarge":
            remedy = "The store refuses a state of this size: split the stack."
        else:
            remedy = "Check the backend's settings, then run again."
        return UserError(f"Cannot {action} the state {self.name}: {said} ({code}).", remedy)


_LOG_IN = (
    "Check the credentials: log in again (`aws sso login`), name a profile, or give the role that"
    " may use the bucket."
)


def _encryption(settings: BackendSettings) -> dict[str, str]:
    """Return the headers that encrypt the state and its lock, as Terraform sends them."""
    if not settings.flag("encrypt"):
        return {}
    if key := settings.text("kms_key_id"):
        return {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key}
    if secret := settings.text("sse_customer_key", "AWS_SSE_CUSTOMER_KEY"):
        with contextlib.suppress(ValueError):
            # boto encodes the bytes of the key itself.
            key_bytes = base64.b64decode(secret, validate=True)
            return {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": key_bytes}  # type: ignore[dict-item]
        raise UserError("`sse_customer_key` of the s3 backend is not base64.")
    return {"ServerSideEncryption": "AES256"}


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _id(name: str) -> dict[str, Any]:
    return {"LockID": {"S": name}}


def _has_id(info: LockInfo | None, lock_id: str) -> bool:
    return info is not None and info.id == lock_id


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
