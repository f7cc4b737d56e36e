"""Who calls, and what the caller may see and write (Authentication, blacklist update rules)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opsconsole.emulator.refusal import Refusal, unauthorized
from opsconsole.emulator.store import MAIN_ORG, TENANT, Store
from opsconsole.emulator.table import Row

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Principal:
    """What a key may see and change. None means every org."""

    org_id: str
    read_orgs: frozenset[str] | None
    write_orgs: frozenset[str] | None
    tenant_write: bool

    def sees(self, row: Row) -> bool:
        """Return whether the row is shown to this caller: tenant-wide rows are, to everyone."""
        org_id = row.get("org_id")
        return self.read_orgs is None or org_id is None or org_id in self.read_orgs

    def authorize(self, org_id: str | None) -> None:
        """Raise the 403 that writing in this scope brings; None is the whole tenant."""
        if org_id is None:
            if not self.tenant_write:
                raise Refusal(403, "FORBIDDEN", "a tenant-wide row takes tenant-level access")
        elif self.write_orgs is not None and org_id not in self.write_orgs:
            message = f"this key may not write in org {org_id}"
            raise Refusal(403, "ORG_ACCESS_DENIED", message, "org_id")


class Access:
    """Finds the principal of a request by its key or session cookie."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[bytes, Principal] = {}
        self._version = -1

    def principal(self, headers: Headers, cookie_name: str) -> Principal:
        """Return the caller; 401 UNAUTHORIZED where there is none that counts."""
        if self._version != self._store.keys.version:
            self._known.clear()
            self._version = self._store.keys.version
        authorization = cookie = b""
        for name, value in headers:
            if name == b"authorization":
                authorization = value
            elif name == b"cookie":
                cookie = value
        known = self._known.get(authorization)
        if known is not None:
            return known
        if authorization:
            found = self._by_key(authorization)
            self._known[authorization] = found
            return found
        return self._by_cookie(cookie, cookie_name)

    def _by_key(self, authorization: bytes) -> Principal:
        scheme, _, secret = authorization.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not secret.startswith("svc_ak_"):
            raise unauthorized("the Authorization header holds no API key")
        return _principal(self._store.keys.find("secret", secret))

    def _by_cookie(self, cookie: bytes, cookie_name: str) -> Principal:
        for part in cookie.decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == cookie_name and value:
                return _principal(self._store.keys.find("cookie", value))
        raise unauthorized("no credentials")


def _principal(rows: list[Row]) -> Principal:
    if not rows:
        raise unauthorized("the key is invalid")
    row = rows[0]
    status = row.get("status", "active")
    if status != "active":
        raise unauthorized(f"the key is {status}")
    write_orgs = _orgs(row.get("write_orgs"))
    read_orgs = _orgs(row.get("read_orgs"))
    if read_orgs is not None:
        read_orgs = None if write_orgs is None else read_orgs | write_orgs
    return Principal(
        org_id=row.get("org_id") or MAIN_ORG,
        read_orgs=read_orgs,
        write_orgs=write_orgs,
        tenant_write=bool(row.get("tenant_write")),
    )


def _orgs(value: object) -> frozenset[str] | None:
    return frozenset(map(str, value)) if isinstance(value, list) else None


def key_row(secret: str) -> Row:
    """Make the row of a key that may do everything in the tenant."""
    return {
        "id": "key_main",
        "secret": secret,
        "cookie": "session-key_main",
        "status": "active",
        "org_id": MAIN_ORG,
        "tenant_id": TENANT,
        "tenant_write": True,
    }
