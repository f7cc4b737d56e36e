"""State behind an HTTP address, as GitLab keeps it: Terraform's `http` backend."""

from __future__ import annotations

import base64
import hashlib
import ssl
import tempfile
import time
from collections.abc import Mapping
from typing import Any

import httpx

from opsconsole.errors import UserError
from opsconsole.state.backend import DEFAULT_WORKSPACE, RunOptions
from opsconsole.state.backends.base import BackendSettings, LockLost, SharedBackend, one_line
from opsconsole.state.lock import LockHeld, LockInfo
from opsconsole.state.objects import decode, encode, fields_of, lay_out

_HELD = (409, 423)
_FIELD = "opsconsole_journal"
"""The field of the document that embeds the journal."""
_TIMEOUT = httpx.Timeout(60.0, connect=15.0)
_LOG_IN = "Check username and password (TF_HTTP_USERNAME, TF_HTTP_PASSWORD)."
_REMEDIES = {
    401: _LOG_IN,
    403: _LOG_IN,
    404: "Check the addresses of the backend's block.",
    413: "The server refuses a state of this size: raise its limit, or split the stack.",
}
"""Remedies, by the status of an answer."""


class HttpBackend(SharedBackend):
    """One state behind an address.

    Methods and addresses are settings, as in Terraform. Without `lock_address` there is no lock.
    """

    keeps_journal = False
    embeds_journal = True

    def __init__(self, block: Mapping[str, Any], workspace: str, options: RunOptions) -> None:
        if workspace != DEFAULT_WORKSPACE:
            raise _no_workspaces()
        settings = BackendSettings("http", block)
        self._address = settings.need("address", "TF_HTTP_ADDRESS")
        name = str(_url("address", self._address).copy_with(username=None, password=None))
        self._update = settings.text("update_method", "TF_HTTP_UPDATE_METHOD", default="POST")
        self._lock_request = (
            settings.text("lock_method", "TF_HTTP_LOCK_METHOD", default="LOCK"),
            settings.text("lock_address", "TF_HTTP_LOCK_ADDRESS"),
        )
        self._unlock_request = (
            settings.text("unlock_method", "TF_HTTP_UNLOCK_METHOD", default="UNLOCK"),
            settings.text("unlock_address", "TF_HTTP_UNLOCK_ADDRESS"),
        )
        for setting, (_, address) in (
            ("lock_address", self._lock_request),
            ("unlock_address", self._unlock_request),
        ):
            if address:
                _url(setting, address)
        # As in Terraform's client, a negative number retries nothing and waits for nothing.
        self._tries = 1 + max(0, settings.number("retry_max", "TF_HTTP_RETRY_MAX", default=2))
        self._waits = (
            max(0, settings.number("retry_wait_min", "TF_HTTP_RETRY_WAIT_MIN", default=1)),
            max(0, settings.number("retry_wait_max", "TF_HTTP_RETRY_WAIT_MAX", default=30)),
        )
        self.lockable = bool(self._lock_request[1])
        self._lost: LockLost | None = None
        self._sent: Any = None
        self._embedded = b""
        super().__init__(settings, workspace, options, name)

    def check_lock(self) -> None:
        # A lock that was lost stays lost.
        if self._lost is not None:
            raise self._lost
        super().check_lock()

    def read_with_journal(self) -> tuple[bytes, bytes]:
        return self.read(), self._embedded

    def write(self, data: bytes, journal: bytes = b"") -> None:
        """Replace the state, with the rest of the journal as the last field of its document."""
        if journal:
            # Terraform ignores a field that it does not know, and drops the field when it writes.
            data = lay_out(encode({**fields_of(data), _FIELD: journal.decode()}))
        super().write(data)

    def _read(self) -> bytes:
        data = self._get()
        self._seen, self._embedded = _digest(data), b""
        try:
            fields = fields_of(data)
            if _FIELD in fields:
                self._embedded = str(decode(fields.pop(_FIELD))).encode()
                return encode(fields)
        except ValueError:
            # The data is not a state; reading it reports that.
            pass
        return data

    def _write(self, data: bytes) -> None:
        """Replace the state, unless it is not the one that was read."""
        # A write that was answered with an error may have taken effect.
        if _digest(self._get()) not in (self._seen, self._sent):
            raise self._remember_loss(self._written_by_other())
        # A server that knows the lock's ID can refuse the write as well.
        params = {"ID": self._info.id} if self._info else {}
        self._sent = _digest(data)
        answer = self._request(self._update, self._address, data, params, quick=False)
        if answer.status_code in _HELD:
            why = f"the server refused the write ({answer.status_code})"
            raise self._remember_loss(LockLost(self.name, why))
        if answer.status_code not in (200, 201, 204):
            raise self._refused_error("write", answer)
        self._seen = self._sent

    def _lock(self, info: LockInfo) -> None:
        answer = self._request(*self._lock_request, info.to_json())
        if answer.status_code in _HELD:
            holder = LockInfo.parse(answer.content)
            # An earlier attempt may have taken the lock, and its answer was lost.
            if holder is None or holder.id != info.id:
                raise self._lock_held(holder)
        elif not answer.is_success:
            raise self._refused_error("lock", answer)
        self._info, self._lost = info, None

    def _release(self, info: LockInfo) -> None:
        if self._lost is None and self._unlock_request[1]:
            self._unlock(info.to_json())

    def _check_lock(self, info: LockInfo) -> None:
        """Request the lock again under the same ID, which is refused while this run holds it."""
        answer = self._request(*self._lock_request, info.to_json())
        if answer.status_code in _HELD:
            holder = LockInfo.parse(answer.content)
            if holder is not None and holder.id and holder.id != info.id:
                raise self._remember_loss(self._lock_lost(holder))
        elif not answer.is_success:
            raise self._refused_error("check the lock of", answer)
        # A server that grants the lock to its holder again does so once more. On any other server,
        # the lock had been released, and the first request has taken it again.
        elif not self._request(*self._lock_request, info.to_json()).is_success:
            self._request(*self._unlock_request, info.to_json())
            raise self._remember_loss(self._lock_lost(None))

    def _force_unlock(self, holder: LockInfo) -> None:
        self._unlock(b"")

    def _holder(self) -> LockInfo | None:
        """Return the holder of the lock. Only a lock request shows it, so take the lock briefly."""
        probe = LockInfo.own("force-unlock", self.name)
        try:
            self.lock(probe)
        except LockHeld as held:
            return held.holder or LockInfo(who="someone whom the server does not name")
        self.unlock()
        return None

    def _workspaces(self) -> set[str]:
        raise _no_workspaces()

    def _delete_all(self) -> None:
        raise _no_workspaces()

    def _unlock(self, body: bytes) -> None:
        answer = self._request(*self._unlock_request, body)
        if not answer.is_success:
            raise self._refused_error("unlock", answer)

    def _remember_loss(self, loss: LockLost) -> LockLost:
        self._lost = loss
        return loss

    def _get(self) -> bytes:
        answer = self._request("GET", self._address, None)
        if answer.status_code in (204, 404):
            return b""
        if answer.status_code != 200:
            raise self._refused_error("read", answer)
        expected = answer.headers.get("Content-MD5")
        if expected and expected != _digest(answer.content):
            raise UserError(
                f"The state {self.name} arrived damaged: its Content-MD5 differs.", "Run again."
            )
        return answer.content

    def _request(
        self,
        method: str,
        address: str,
        body: bytes | None,
        params: Mapping[str, str] | None = None,
        *,
        quick: bool = True,
    ) -> httpx.Response:
        headers = {}
        if body is not None:
            headers = {"Content-Type": "application/json", "Content-MD5": _digest(body)}
        url = httpx.URL(address).copy_merge_params(dict(params)) if params else httpx.URL(address)
        pause, longest = self._waits
        left = self._tries
        while True:
            left -= 1
            try:
                answer: httpx.Response = self._use_client().request(
                    method, url, content=body, headers=headers, timeout=_TIMEOUT if quick else 600.0
                )
            except httpx.HTTPError as error:
                if not left:
                    raise UserError(
                        f"Cannot reach the state {self.name}: {one_line(error)}.",
                        "Check the address, the network and the proxy settings, then run again.",
                    ) from error
            else:
                if not left or (answer.status_code < 500 and answer.status_code != 429):
                    return answer
            time.sleep(pause)
            pause = min(pause * 2, longest)

    def _connect(self) -> httpx.Client:
        name = self._settings.text("username", "TF_HTTP_USERNAME")
        password = self._settings.text("password", "TF_HTTP_PASSWORD")
        return httpx.Client(
            auth=httpx.BasicAuth(name, password) if name else None,
            verify=self._tls(),
            follow_redirects=True,
        )

    def _tls(self) -> ssl.SSLContext | bool:
        settings = self._settings
        if settings.flag("skip_cert_verification"):
            return False
        authority = settings.text("client_ca_certificate_pem", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM")
        certificate = settings.text("client_certificate_pem", "TF_HTTP_CLIENT_CERTIFICATE_PEM")
        key = settings.text("client_private_key_pem", "TF_HTTP_CLIENT_PRIVATE_KEY_PEM")
        if not authority and not certificate:
            return True
        try:
            context = ssl.create_default_context(cadata=authority or None)
            if certificate:
                # The ssl module reads a client's certificate and key only from a file.
                with tempfile.NamedTemporaryFile("w", prefix="opsconsole-", suffix=".pem") as file:
                    file.write(f"{certificate}\n{key}\n")
                    file.flush()
                    context.load_cert_chain(file.name)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise UserError(
                f"The http backend's certificates cannot be used: {error}.",
                "Each client_… setting holds PEM text, not the name of a file.",
            ) from error
        return context

    def _refused_error(self, action: str, answer: httpx.Response) -> UserError:
        status = answer.status_code
        return UserError(
            f"Cannot {action} the state {self.name}: the server answered {status}"
            f" {answer.reason_phrase}.",
            _REMEDIES.get(status, "Look at the server, then run again."),
        )


def _url(setting: str, address: str) -> httpx.URL:
    """Return the URL that a setting holds; UserError if it is not the URL of a server."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise UserError(
            f"`{setting}` of the http backend is not a URL: {one_line(error)}.",
            "Write it as https://HOST/PATH.",
        ) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UserError(
            f"`{setting}` of the http backend must begin with http:// or https:// and a host.",
            "Write it as https://HOST/PATH.",
        )
    return url


def _digest(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def _no_workspaces() -> UserError:
    return UserError(
        "The http backend has no workspaces.",
        "Give each environment an address of its own, or use another backend.",
    )
