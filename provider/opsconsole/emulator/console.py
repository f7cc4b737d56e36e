"""The console: its rows, its switches and its callers, and what a rule is given and gives back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opsconsole.emulator.answers import Rendering
from opsconsole.emulator.checks import Checks, Errors
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.refusal import Refusal, invalid, malformed, not_found, unauthorized
from opsconsole.emulator.store import MAIN_ORG, Store
from opsconsole.emulator.table import Row

TABLES = {
    "host": "hosts",
    "agent": "agents",
    "specialty": "specialties",
    "blacklist": "blacklists",
}
"""Kind of the objects that a path names, to the collection of their rows."""

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Principal:
    """What a key may see and change (Authentication, blacklist update rules).

    None means every org.
    """

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


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """One request, its path taken apart and its caller known."""

    ids: tuple[str, ...]
    query: Mapping[str, str]
    body: bytes
    content_type: str
    principal: Principal


class Answer(NamedTuple):
    """A success: the body, and the status where it is not the profile's."""

    body: Any
    status: int | None = None


class EmulatedConsole:
    """One console. Everything here runs to its end within one request: each is a transaction."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self.store = store
        self._principals: dict[bytes, Principal] = {}
        self._keys_version = -1
        self.use(profile)

    def use(self, profile: Profile) -> None:
        """Behave by this profile from now on."""
        self.profile = profile
        self.rendering = Rendering(profile)

    def principal(self, headers: Headers) -> Principal:
        """Return the caller; 401 UNAUTHORIZED where there is none that counts."""
        if self._keys_version != self.store.keys.version:
            self._principals.clear()
            self._keys_version = self.store.keys.version
        authorization = cookie = b""
        for name, value in headers:
            if name == b"authorization":
                authorization = value
            elif name == b"cookie":
                cookie = value
        known = self._principals.get(authorization)
        if known is not None:
            return known
        if authorization:
            found = self._by_key(authorization)
            self._principals[authorization] = found
            return found
        return self._by_cookie(cookie)

    def _by_key(self, authorization: bytes) -> Principal:
        scheme, _, secret = authorization.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not secret.startswith("svc_ak_"):
            raise unauthorized("the Authorization header holds no API key")
        return _principal(self.store.keys.find("secret", secret))

    def _by_cookie(self, cookie: bytes) -> Principal:
        for part in cookie.decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.profile.cookie_name and value:
                return _principal(self.store.keys.find("cookie", value))
        raise unauthorized("no credentials")

    def seen(self, kind: str, request: ConsoleRequest) -> Row:
        """Return the row that the path names; 404 when there is none that the caller can see."""
        row_id = request.ids[0]
        row = self.store.tables[TABLES[kind]].get(row_id)
        if row is not None and request.principal.sees(row):
            return row
        # The document says 404 for the blacklist; for the others it is not shown.
        if row is not None and self.profile.hidden_status == 403 and kind != "blacklist":
            message = f"this key may not see {kind} {row_id}"
            raise Refusal(403, "ORG_ACCESS_DENIED", message)
        raise not_found("blacklisted command" if kind == "blacklist" else kind, row_id)

    def writable(self, kind: str, request: ConsoleRequest) -> Row:
        """Return the row; 404 when it is not seen, 403 when its scope may not be written."""
        row = self.seen(kind, request)
        request.principal.authorize(row.get("org_id"))
        return row

    def check(
        self,
        fields: dict[str, Any],
        checks: Checks,
        *,
        nulls: bool | None = None,
        required: Sequence[str] = (),
    ) -> None:
        """Raise 400 VALIDATION_FAILED for what is wrong with a body, or absent from it."""
        absent = [name for name in required if fields.get(name) is None]
        errors = self.errors(fields, checks, nulls=nulls)
        if errors or absent:
            errors = [item for item in errors if item[0] not in absent]
            raise invalid(errors + [(name, "is required") for name in absent])

    def errors(
        self, fields: dict[str, Any], checks: Checks, *, nulls: bool | None = None
    ) -> Errors:
        """Return what is wrong with a body; with `nulls`, null passes every check."""
        refuse_unknown = self.profile.unknown_fields == "refused"
        if nulls is None:
            nulls = self.profile.nulls == "clear"
        errors: Errors = []
        for name, value in fields.items():
            check = checks.get(name)
            if check is None:
                if refuse_unknown:
                    errors.append((name, "is not a field of this operation"))
            elif (value is not None or not nulls) and (wrong := check(value)):
                errors.append((name, wrong))
        return errors

    def check_query(self, query: Mapping[str, str], known: tuple[str | None, ...]) -> None:
        """Raise 400 for unknown query parameters, if the profile refuses them."""
        if query and self.profile.unknown_parameters == "refused":
            unknown = [name for name in query if name not in known]
            if unknown:
                raise malformed(f"{unknown[0]} is not a query parameter here", unknown[0])


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
