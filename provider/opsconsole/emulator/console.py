"""The console: its rows, its switches and its callers, and what a rule is given and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from opsconsole.emulator.access import Access, Principal
from opsconsole.emulator.answers import Rendering
from opsconsole.emulator.checks import Checks, Errors, faults
from opsconsole.emulator.profile import Profile
from opsconsole.emulator.refusal import hidden, invalid, malformed, not_found
from opsconsole.emulator.routes import TEMPLATES
from opsconsole.emulator.store import Store
from opsconsole.emulator.table import Row, Table


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """One request, its path taken apart and its caller known."""

    operation: str
    ids: tuple[str, ...]
    query: Mapping[str, str]
    body: bytes
    content_type: str
    principal: Principal

    @property
    def reads(self) -> bool:
        """Whether the operation is a GET."""
        return TEMPLATES[self.operation].startswith("GET ")


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

    def seen(self, table: Table, what: str, row_id: str, principal: Principal) -> Row:
        """Return the row; 404 when there is none that this caller can see."""
        row = table.get(row_id)
        if row is not None and principal.sees(row):
            return row
        # The document says 404 for the blacklist; for the others it is not shown.
        if row is not None and self.profile.hidden_status == 403 and table.name != "blacklists":
            raise hidden(what, row_id)
        raise not_found(what, row_id)

    def writable(self, table: Table, what: str, row_id: str, principal: Principal) -> Row:
        """Return the row; 404 when it is not seen, 403 when its scope may not be written."""
        row = self.seen(table, what, row_id, principal)
        principal.authorize(row.get("org_id"))
        return row

    def check(self, fields: dict[str, Any], checks: Checks, *, nulls: bool | None = None) -> None:
        """Raise 400 VALIDATION_FAILED for what is wrong with a body."""
        errors = self.errors(fields, checks, nulls=nulls)
        if errors:
            raise invalid(errors)

    def errors(
        self, fields: dict[str, Any], checks: Checks, *, nulls: bool | None = None
    ) -> Errors:
        """Return what is wrong with a body."""
        return faults(
            fields,
            checks,
            refuse_unknown=self.profile.unknown_fields == "refused",
            nulls=self.profile.nulls == "clear" if nulls is None else nulls,
        )

    def check_query(self, query: Mapping[str, str], known: tuple[str | None, ...]) -> None:
        """Raise 400 for query parameters that the operation has not, where the profile does."""
        if query and self.profile.unknown_parameters == "refused":
            unknown = [name for name in query if name not in known]
            if unknown:
                raise malformed(f"{unknown[0]} is not a query parameter here", unknown[0])
