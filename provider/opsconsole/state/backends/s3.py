"""State in S3, or in a store that speaks its protocol: Terraform's `s3` backend.

The lock is an object beside the state (`use_lockfile`), a row of DynamoDB (`dynamodb_table`), or
both. If the lock is an object, a state is replaced only if it has not changed since it was read: a
store that honours the condition on the lock also honours this condition.

By default, credentials come from boto's own chain: environment, profiles, SSO, web identity, the
machine's role. The block may name other credentials. A role is assumed with the credentials of the
chain.
"""

from __future__ import annotations

import base64
import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
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
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, SSOError

from opsconsole.errors import UserError
from opsconsole.state.backend import DEFAULT_WORKSPACE, RunOptions
from opsconsole.state.backends.base import (
    BackendSettings,
    ObjectBackend,
    md5_of,
    one_line,
    trusted_file,
)
from opsconsole.state.lock import LockInfo
from opsconsole.text import parse_duration
from opsconsole.user_files import file_errors

_DIGEST_TRIES = 20
_JSON = "application/json"
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


class S3Backend(ObjectBackend):
    """One object of a bucket."""

    _errors = (ClientError, BotoCoreError)

    def __init__(self, block: Mapping[str, Any], workspace: str, options: RunOptions) -> None:
        settings = BackendSettings("s3", block)
        self._bucket = settings.need("bucket")
        self._base = settings.need("key").lstrip("/")
        self._prefix = settings.text("workspace_key_prefix", default="env:").strip("/")
        folder = f"{self._prefix}/{workspace}/" if workspace != DEFAULT_WORKSPACE else ""
        self._object = self._stem = f"{folder}{self._base}".lstrip("/")
        self._table = settings.text("dynamodb_table")
        self._row = f"{self._bucket}/{self._object}"
        self._lockfile = f"{self._object}.tflock" if settings.flag("use_lockfile") else ""
        self._locks = [lock for lock in (self._lockfile, self._table and self._row) if lock]
        self.lockable = bool(self._locks)
        self._encryption = _encryption(settings)
        name = f"s3://{self._row}"
        endpoint = settings.block("endpoints").get("s3") or settings.text("endpoint")
        super().__init__(settings, workspace, options, name, f"{endpoint} {name}")

    def _disconnect(self) -> None:
        if self._client is not None:
            for client in self._client:
                client.close()
            self._client = None

    def _read(self) -> bytes:
        """Return the state's bytes; UserError if their digest is not the digest in DynamoDB."""
        for attempt in range(_DIGEST_TRIES):
            data, etag = self._get(self._object)
            row = self._item(f"{self._row}-md5") if self._table else {}
            expected = row.get("Digest", {}).get("S", "")
            if not expected or expected == md5_of(data):
                break
            # Another run may be between its write of the state and its write of the digest.
            time.sleep(0.5 if attempt + 1 < _DIGEST_TRIES else 0.0)
        else:
            raise UserError(
                f"The state {self.name} is not the one whose digest DynamoDB holds"
                f" ({md5_of(data) if data else 'there is none'}, not {expected}).",
                "Wait until the store shows the last write, or restore the version of that"
                f" digest; else remove the row {self._row}-md5 from {self._table}.",
            )
        self._seen = (etag, md5_of(data) if data else "")
        return data

    def _write(self, data: bytes) -> None:
        """Replace the object if it has not changed since it was read, then note its digest."""
        etag, digest = self._seen
        condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}
        if not self._lockfile:
            # A store without conditional writes works too, with DynamoDB as its lock.
            condition = {}
            stored_now, _ = self._get(self._object)
            if (md5_of(stored_now) if stored_now else "") != digest:
                raise self._written_by_other()
        try:
            stored = self._put(self._object, data, _JSON, **condition)
        except ClientError as error:
            if _code(error) not in (*_EXISTS, *_MISSING):
                raise
            stored = self._confirm_lost_answer(data, error)
        if self._table:
            row = {**_id(f"{self._row}-md5"), "Digest": {"S": md5_of(data)}}
            self._db.put_item(TableName=self._table, Item=row)
        self._seen = (stored, md5_of(data))

    def _lock(self, info: LockInfo) -> None:
        """Take the lock: the object first, then the row."""
        info = info._replace(path=self._row)
        taken = []
        try:
            for lock in self._locks:
                self._take(lock, info)
                taken.append(lock)
        except BaseException:
            # Also after an interrupt: a remaining half of the lock would keep out every other run.
            for lock in taken:
                self._drop(lock)
            raise
        self._info = info

    def _release(self, info: LockInfo) -> None:
        for lock in reversed(self._locks):
            if _has_id(self._info_of(lock), info.id):
                self._drop(lock)

    def _check_lock(self, info: LockInfo) -> None:
        for lock in self._locks:
            holder = self._info_of(lock)
            if not _has_id(holder, info.id):
                raise self._lock_lost(holder)

    def _holder(self) -> LockInfo | None:
        return next(filter(None, map(self._info_of, self._locks)), None)

    def _lock_ids(self, holder: LockInfo) -> Sequence[str]:
        return [info.id for info in map(self._info_of, self._locks) if info is not None]

    def _take(self, lock: str, info: LockInfo) -> None:
        try:
            if lock == self._lockfile:
                self._put(lock, info.to_json(), _JSON, IfNoneMatch="*")
            else:
                self._db.put_item(
                    TableName=self._table,
                    Item={**_id(lock), "Info": {"S": info.to_json().decode()}},
                    ConditionExpression="attribute_not_exists(LockID)",
                )
        except ClientError as error:
            if _code(error) not in _EXISTS:
                raise
            # An earlier attempt may have taken the lock, and its answer was lost.
            holder = self._info_of(lock)
            if not _has_id(holder, info.id):
                raise self._lock_held(holder) from error

    def _info_of(self, lock: str) -> LockInfo | None:
        if lock == self._lockfile:
            return LockInfo.parse(self._get(lock)[0])
        return LockInfo.parse(self._item(lock).get("Info", {}).get("S", ""))

    def _drop(self, lock: str) -> None:
        if lock == self._lockfile:
            self._delete(lock)
        else:
            self._db.delete_item(TableName=self._table, Key=_id(lock))

    def _workspaces(self) -> set[str]:
        start = f"{self._prefix}/" if self._prefix else ""
        names = set()
        pages = self._s3.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self._bucket, Prefix=start):
            for entry in page.get("Contents", ()):
                name, slash, key = entry["Key"].removeprefix(start).partition("/")
                if slash and key == self._base:
                    names.add(name)
        return names

    def _delete_all(self) -> None:
        super()._delete_all()
        if self._table:
            self._db.delete_item(TableName=self._table, Key=_id(f"{self._row}-md5"))

    @property
    def _s3(self) -> Any:
        return self._use_client()[0]

    @property
    def _db(self) -> Any:
        return self._use_client()[1]

    def _connect(self) -> Any:
        try:
            return _make_clients(self._settings)
        except ValueError as error:
            raise UserError(
                f"The settings of the s3 backend cannot be used: {one_line(error)}.",
                "Correct the backend's block.",
            ) from error

    def _get(self, name: str) -> tuple[bytes, str]:
        secret = {name: value for name, value in self._encryption.items() if "Customer" in name}
        try:
            answer = self._s3.get_object(Bucket=self._bucket, Key=name, **secret)
        except ClientError as error:
            if _code(error) in _MISSING:
                return b"", ""
            raise
        return answer["Body"].read(), answer["ETag"]

    def _put(
        self, name: str, data: bytes, kind: str = "application/octet-stream", **conditions: str
    ) -> str:
        acl = self._settings.text("acl")
        options = {**self._encryption, **conditions, **({"ACL": acl} if acl else {})}
        done = self._s3.put_object(
            Bucket=self._bucket, Key=name, Body=data, ContentType=kind, **options
        )
        return str(done["ETag"])

    def _delete(self, name: str) -> None:
        self._s3.delete_object(Bucket=self._bucket, Key=name)

    def _item(self, name: str) -> dict[str, Any]:
        # By default, a DynamoDB read may miss the most recent writes.
        answer = self._db.get_item(TableName=self._table, Key=_id(name), ConsistentRead=True)
        item: dict[str, Any] = answer.get("Item") or {}
        return item

    def _explain(self, error: ClientError | BotoCoreError) -> tuple[str, str]:
        if isinstance(error, (NoCredentialsError, SSOError)):
            return one_line(error), _LOG_IN
        if isinstance(error, BotoCoreError):
            return one_line(error), "Check region, endpoints, profile and network, then run again."
        code = _code(error)
        said = one_line(error.response.get("Error", {}).get("Message") or code or error)
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
        return f"{said} ({code})", remedy


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


_CHAIN = "credential_provider"
_ROLE = {
    "session_name": "RoleSessionName",
    "external_id": "ExternalId",
    "policy": "Policy",
    "source_identity": "SourceIdentity",
}


def _make_clients(settings: BackendSettings) -> tuple[Any, Any]:
    """Return a client for S3 and a client for DynamoDB. No request is sent yet."""
    session, config = _make_session(settings), _make_config(settings)
    endpoints = BackendSettings("s3", settings.block("endpoints"))
    made = []
    for service, older, *variables in (
        ("s3", "endpoint", "AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"),
        ("dynamodb", "dynamodb_endpoint", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT"),
    ):
        address = endpoints.text(service) or settings.text(older, *variables) or None
        made.append(
            session.client(service, endpoint_url=address, config=config, verify=_verify(settings))
        )
    return made[0], made[1]


def _make_config(settings: BackendSettings) -> Config:
    path_style = settings.flag("use_path_style") or settings.flag("force_path_style")
    checksum = "when_required" if settings.flag("skip_s3_checksum") else "when_supported"
    proxies = {
        scheme: proxy for scheme in ("http", "https") if (proxy := settings.text(f"{scheme}_proxy"))
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


def _make_session(settings: BackendSettings) -> boto3.Session:
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
    endpoints = BackendSettings("s3", settings.block("endpoints"))
    address = endpoints.text("sts") or settings.text("sts_endpoint") or None
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
        load_token = _token_loader(web)
        use(
            AssumeRoleWithWebIdentityCredentialFetcher,
            "assume-role-with-web-identity",
            web,
            web_identity_token_loader=load_token,
        )
    role = settings.block("assume_role")
    if not role.get("role_arn"):
        role = {name: settings.text(name) for name in ("role_arn", *_ROLE)}
    if role.get("role_arn"):
        # If the block names both roles, the chain holds the web identity's role by now.
        source = core.get_component(_CHAIN).load_credentials()
        use(AssumeRoleCredentialFetcher, "assume-role", role, source_credentials=source)


def _token_loader(web: dict[str, Any]) -> Callable[[], str]:
    """Return a function that loads a web identity's token; UserError if the block has none."""
    if given := web.get("web_identity_token"):
        return lambda: str(given)
    path = web.get("web_identity_token_file") or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    if not path:
        raise UserError(
            "`assume_role_with_web_identity` of the s3 backend has no token.",
            "Set web_identity_token_file or web_identity_token in it, or"
            " AWS_WEB_IDENTITY_TOKEN_FILE in the environment.",
        )

    def load() -> str:
        with file_errors("read", str(path), "It is to hold the token of the web identity."):
            return Path(str(path)).read_text(encoding="utf-8", errors="replace")

    return load


def _set_chain(core: Any, credentials: Credentials) -> None:
    """Let the session use these credentials instead of boto's chain."""
    core.register_component(_CHAIN, SimpleNamespace(load_credentials=lambda: credentials))


def _role_arguments(role: dict[str, Any]) -> dict[str, Any]:
    arguments = {wire: role[name] for name, wire in _ROLE.items() if role.get(name)}
    arguments.setdefault("RoleSessionName", "opsconsole")
    settings = BackendSettings("s3", role)
    if policies := settings.texts("policy_arns"):
        arguments["PolicyArns"] = [{"arn": arn} for arn in policies]
    if tags := role.get("tags"):
        if not isinstance(tags, Mapping):
            raise UserError("`tags` of a role of the s3 backend are not a map.")
        arguments["Tags"] = [{"Key": name, "Value": value} for name, value in tags.items()]
    if transitive := settings.texts("transitive_tag_keys"):
        arguments["TransitiveTagKeys"] = transitive
    if duration := role.get("duration"):
        try:
            arguments["DurationSeconds"] = parse_duration(str(duration)) // 10**9
        except ValueError as error:
            raise UserError(f"`duration` of a role of the s3 backend: {error}.") from error
    return arguments
