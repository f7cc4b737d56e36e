"""The console: its rows, its switches, its callers, and its answers with rows and lists."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from opsconsole.emulator.bodies import Bodies, Refusal, bad_request, not_found, unauthorized
from opsconsole.emulator.document import CREDENTIAL_FIELDS, FIELDS, HOST_SETS, KINDS, LISTS
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.store import MAIN_ORG, Row, Store

MOST_PER_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Caller:
    """The rights of a key (Authentication, blacklist update rules); None means every org."""

    org_id: str
    read_orgs: frozenset[str] | None
    write_orgs: frozenset[str] | None
    tenant_write: bool

    def can_see(self, row: Row) -> bool:
        """Return whether the caller may see the row; everyone may see tenant-wide rows."""
        org_id = row.get("org_id")
        return self.read_orgs is None or org_id is None or org_id in self.read_orgs

    def authorize(self, org_id: str | None) -> None:
        """Raise 403 if the caller may not write in this scope; None is the whole tenant."""
        if org_id is None:
            if not self.tenant_write:
                raise Refusal(403, "FORBIDDEN", "a tenant-wide row takes tenant-level access")
        elif self.write_orgs is not None and org_id not in self.write_orgs:
            message = f"this key may not write in org {org_id}"
            raise Refusal(403, "ORG_ACCESS_DENIED", message, "org_id")


class ConsoleRequest(NamedTuple):
    """One request, with a parsed path and a known caller."""

    ids: Sequence[str]
    query: Mapping[str, str]
    body: bytes
    headers: Headers
    caller: Caller


class Answer(NamedTuple):
    """A success: the body, and the status unless the profile decides on the status."""

    body: Any
    status: int | None = None


class EmulatedConsole:
    """One console. Each method runs within one request: it is a transaction."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self.store = store
        self.use(profile)

    def use(self, profile: Profile) -> None:
        self.profile = profile
        self.bodies = Bodies(profile)
        self.rendering = Rendering(profile)

    def identify(self, headers: Iterable[tuple[bytes, bytes]]) -> Caller:
        """Return the caller; 401 UNAUTHORIZED without valid credentials."""
        sent = dict(headers)
        if authorization := sent.get(b"authorization", b"").decode("latin-1"):
            scheme, _, secret = authorization.partition(" ")
            if scheme.lower() != "bearer" or not secret.startswith("svc_ak_"):
                raise unauthorized("the Authorization header holds no API key")
            return _caller(self.store.keys.find("secret", secret))
        cookies = cookie_parser(sent.get(b"cookie", b"").decode("latin-1"))
        if value := cookies.get(self.profile.cookie_name):
            return _caller(self.store.keys.find("cookie", value))
        raise unauthorized("no credentials")

    def get_visible(self, kind: str, request: ConsoleRequest) -> Row:
        """Return the row that the path names; 404 if the caller can see no such row."""
        row_id = request.ids[0]
        row = self.store.tables[KINDS[kind].collection].get(row_id)
        if row is not None and request.caller.can_see(row):
            return row
        # The document says 404 for the blacklist, and does not show the status for the others.
        if row is not None and self.profile.hidden_status == 403 and kind != "blacklist":
            message = f"this key may not see {kind} {row_id}"
            raise Refusal(403, "ORG_ACCESS_DENIED", message)
        raise not_found("blacklisted command" if kind == "blacklist" else kind, row_id)

    def get_writable(self, kind: str, request: ConsoleRequest) -> Row:
        """Return the row; 404 if the caller cannot see it, 403 if the caller cannot write it."""
        row = self.get_visible(kind, request)
        request.caller.authorize(row.get("org_id"))
        return row

    def change(self, kind: str, row: Row, fields: Mapping[str, Any]) -> Row:
        """Change fields of a row; if none differs, the profile decides about `updated_at`."""
        differs = any(row.get(name) != value for name, value in fields.items())
        if differs or self.profile.idle_update_bumps:
            return self.store.change(KINDS[kind].collection, row["id"], fields)
        return row

    def show(self, kind: str, row: Row, status: int | None = None) -> Answer:
        return Answer(self.rendering.render(kind, row), status)

    def check_query(self, query: Mapping[str, str], known: Sequence[str | None]) -> None:
        """Raise 400 for unknown query parameters, if the profile refuses them."""
        if query and self.profile.unknown_parameters == "refused":
            unknown = [name for name in query if name not in known]
            if unknown:
                raise bad_request(f"{unknown[0]} is not a query parameter here", unknown[0])


Handler: TypeAlias = Callable[[EmulatedConsole, ConsoleRequest], Answer]
"""Carries out an operation."""


def _caller(rows: list[Row]) -> Caller:
    if not rows:
        raise unauthorized("the key is invalid")
    row = rows[0]
    status = row.get("status", "active")
    if status != "active":
        raise unauthorized(f"the key is {status}")
    write_orgs = _orgs(row.get("write_orgs"))
    read_orgs = _orgs(row.get("read_orgs"))
    if read_orgs is not None:
        # A key may read everywhere it may write.
        read_orgs = None if write_orgs is None else read_orgs | write_orgs
    return Caller(
        org_id=row.get("org_id") or MAIN_ORG,
        read_orgs=read_orgs,
        write_orgs=write_orgs,
        tenant_write=bool(row.get("tenant_write")),
    )


def _orgs(value: object) -> frozenset[str] | None:
    return frozenset(map(str, value)) if isinstance(value, list) else None


class Rendering:
    """Renders rows by a profile's switches: the fields, their order, and null or absent values."""

    def __init__(self, profile: Profile) -> None:
        self._order = profile.order
        self._alternates = profile.unset == "alternating"
        self._leaves_out = profile.unset == "absent"
        self._unsets_empty = profile.unset_lists == "unset"
        self._nulls: dict[str, dict[str, Any]] = {}
        self._absents: dict[str, dict[str, Any]] = {}
        for kind, names in FIELDS.items():
            lists = LISTS[kind] if profile.unset_lists == "empty" else ()
            self._nulls[kind] = {name: [] if name in lists else None for name in names}
            self._absents[kind] = {name: [] for name in lists}
        # All fields of a blacklisted command are always present.
        self._absents["blacklist"] = self._nulls["blacklist"]

    def _leaves_out_next(self) -> bool:
        if self._alternates:
            self._leaves_out = not self._leaves_out
        return self._leaves_out

    def render(self, kind: str, row: Row) -> dict[str, Any]:
        return self._body(kind, row, self._leaves_out_next())

    def render_all(self, kind: str, rows: Iterable[Row]) -> list[dict[str, Any]]:
        leaving_out = self._leaves_out_next()
        return [self._body(kind, row, leaving_out) for row in rows]

    def _body(self, kind: str, row: Row, leaving_out: bool) -> dict[str, Any]:
        shown = {n: v for n, v in row.items() if v != []} if self._unsets_empty else row
        body = {**(self._absents if leaving_out else self._nulls)[kind], **shown}
        if kind == "host" and self._order != "as_sent":
            for name in HOST_SETS:
                if values := body.get(name):
                    body[name] = sorted(values) if self._order == "sorted" else values[::-1]
        elif kind == "agent" and not leaving_out and (entries := row.get("credential_config")):
            body["credential_config"] = [
                {**dict.fromkeys(CREDENTIAL_FIELDS), **entry} for entry in entries
            ]
        return body

    def optional(self, body: dict[str, Any], name: str, value: Any) -> None:
        """Set a member of a body; None becomes null or is left out."""
        if value is not None:
            body[name] = value
        # `_leaves_out_next` alternates, but within one answer all members follow the same rule.
        elif not self._leaves_out:
            body[name] = None


def object_handler(kind: str) -> Handler:
    return lambda console, request: console.show(kind, console.get_visible(kind, request))


def list_handler(kind: str) -> Handler:
    """Return the handler that lists the visible objects of a kind, archived ones included."""

    def handle(console: EmulatedConsole, request: ConsoleRequest) -> Answer:
        rows = filter(request.caller.can_see, console.store.tables[KINDS[kind].collection])
        return Answer(page(console, kind, list(rows), request.query))

    return handle


def page(
    console: EmulatedConsole, kind: str, rows: Sequence[Row], query: Mapping[str, str]
) -> dict[str, Any]:
    """Return one page of `rows` as a list envelope (List envelope; cursor pagination not shown)."""
    profile = console.profile
    asked = profile.cursor_parameter
    named = (asked, profile.page_size_parameter, profile.total_count_parameter)
    console.check_query(query, (*named, profile.filter_parameter))
    if profile.filter_parameter is not None and (word := query.get(profile.filter_parameter)):
        named_by = ("key", "name", "pattern")
        rows = [row for row in rows if any(word in str(row.get(name, "")) for name in named_by)]
    start = _page_start(query.get(asked)) if asked else 0
    size = _page_size(profile, query)
    end = len(rows) if size is None else start + size
    has_more = end < len(rows)
    body: dict[str, Any] = {
        "object": "list",
        "data": console.rendering.render_all(kind, rows[start:end]),
    }
    if profile.has_more == "true_or_false":
        body["has_more"] = has_more
    elif profile.has_more != "absent":
        body["has_more"] = profile.has_more == "always_true"
    asked_for = query.get(profile.total_count_parameter) == "total_count"
    if profile.total_count == "always" or (profile.total_count == "asked" and asked_for):
        body["total_count"] = len(rows)
    if asked:
        cursor = urlsafe_b64encode(f"after:{end}".encode()).decode() if has_more else None
        console.rendering.optional(body, profile.cursor_field, cursor)
    return body


def _page_size(profile: Profile, query: Mapping[str, str]) -> int | None:
    asked = query.get(profile.page_size_parameter) if profile.page_size_parameter else None
    if asked is None:
        return profile.page_size
    # Python refuses to convert thousands of digits, and nine digits are already too many for a
    # page.
    if not (asked.isascii() and asked.isdigit() and 1 <= int(asked[:9]) <= MOST_PER_PAGE):
        raise bad_request(f"must be 1 to {MOST_PER_PAGE}", profile.page_size_parameter)
    return int(asked)


def _page_start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        word, _, position = urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if word == "after" and position.isascii() and position.isdigit():
            # Nine digits are beyond the end of any list, and Python refuses to convert thousands.
            return int(position[:9])
    except ValueError:
        pass  # Refused below, like any other text.
    raise Refusal(400, "INVALID_CURSOR", "the cursor is not one of this list")
