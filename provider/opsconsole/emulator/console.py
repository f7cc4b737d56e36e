"""The console: its rows, its switches and its callers, and what a rule is given and gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opsconsole.emulator.access import Access, Principal
from opsconsole.emulator.answers import Rendering
from opsconsole.emulator.checks import Checks, Errors
from opsconsole.emulator.profiles import Profile
from opsconsole.emulator.refusal import Refusal, invalid, malformed, not_found
from opsconsole.emulator.store import Store
from opsconsole.emulator.table import Row

TABLES = {
    "host": "hosts",
    "agent": "agents",
    "specialty": "specialties",
    "blacklist": "blacklists",
}
"""Kind of the objects that a path names, to the collection of their rows."""


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """One request, its path taken apart and its caller known."""

    operation: str
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
        self.access = Access(store)
        self.use(profile)

    def use(self, profile: Profile) -> None:
        """Behave by this profile from now on."""
        self.profile = profile
        self.rendering = Rendering(profile)

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
        """Raise 400 for query parameters that the operation has not, where the profile does."""
        if query and self.profile.unknown_parameters == "refused":
            unknown = [name for name in query if name not in known]
            if unknown:
                raise malformed(f"{unknown[0]} is not a query parameter here", unknown[0])
