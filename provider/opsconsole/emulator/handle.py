"""The handle to a running emulator: what tests do behind the API's back, over the control side."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

from opsconsole.emulator.profiles import Profile


class ControlError(Exception):
    """The control side refused a request."""


class Emulator:
    """A handle to a running emulator: its address, its key, and the control side behind its API.

    Every method is a request to the control side, so that it may be called from any thread.
    """

    def __init__(
        self, base_url: str, api_key: str, profile: Profile, control_url: str | None = None
    ) -> None:
        self.base_url = base_url
        self.api_key = api_key
        self.profile = profile
        self._address = urlsplit(control_url or base_url).netloc

    @property
    def provider_settings(self) -> dict[str, Any]:
        """The provider's settings: base_url, api_key, and those that go with the profile."""
        return {
            "base_url": self.base_url,
            "api_key": self.api_key,
            **self.profile.provider_settings,
        }

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the provider finds this console."""
        return {"OPSCONSOLE_BASE_URL": self.base_url, "OPSCONSOLE_API_KEY": self.api_key}

    def requests(self, limit: int = 1000) -> list[dict[str, Any]]:
        """Return the last requests, oldest first."""
        entries: list[dict[str, Any]] = self.traffic(limit)["entries"]
        return entries

    def traffic(self, limit: int = 0) -> dict[str, Any]:
        """Return total, counts, statuses, in_flight, most_in_flight, and the last entries."""
        answer: dict[str, Any] = self._ask("GET", f"requests?limit={limit}")
        return answer

    def request_counts(self) -> dict[str, int]:
        """Return how many requests each operation had; `unknown`: those of none."""
        counts: dict[str, int] = self.traffic()["counts"]
        return counts

    def reset_log(self) -> None:
        """Forget the requests that were counted and logged."""
        self._ask("POST", "reset", {"what": ["log"]})

    def reset(self) -> None:
        """Go back to the start: log, faults, data and switches."""
        self._ask("POST", "reset", {"what": ["log", "faults", "data", "switches"]})

    def fault(self, **members: Any) -> None:
        """Ask for a fault: the members of `faults.Fault`."""
        self._ask("POST", "faults", members)

    def refuse(self) -> None:
        """Refuse every connection to the API, until `accept`; only where `serve` runs it."""
        self._ask("POST", "door", {"open": False})

    def accept(self) -> None:
        """Accept connections to the API again."""
        self._ask("POST", "door", {"open": True})

    def clear_faults(self) -> None:
        """Forget every fault, and let the requests go on that one holds."""
        self._ask("POST", "reset", {"what": ["faults"]})

    def waiting_faults(self) -> list[dict[str, Any]]:
        """Return the faults that are not used up."""
        faults: list[dict[str, Any]] = self._ask("GET", "faults")["faults"]
        return faults

    def switch(self, **values: Any) -> None:
        """Turn switches of the profile while it runs."""
        self._ask("PATCH", "profile", values)

    def rows(self, collection: str) -> list[dict[str, Any]]:
        """Return the rows of a collection as they are stored: only fields that are set."""
        rows: list[dict[str, Any]] = self._ask("GET", f"data/{collection}")["rows"]
        return rows

    def row(self, collection: str, row_id: str) -> dict[str, Any] | None:
        """Return one row, or None."""
        row: dict[str, Any] | None = self._ask("GET", _one(collection, row_id), missing=True)
        return row

    def create(self, collection: str, **fields: Any) -> dict[str, Any]:
        """Add a row; id, tenant, org and timestamps are made up where they are not given."""
        rows: list[dict[str, Any]] = self._ask("POST", f"data/{collection}", fields)["rows"]
        return rows[0]

    def create_many(self, collection: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add rows."""
        added: list[dict[str, Any]] = self._ask("POST", f"data/{collection}", rows)["rows"]
        return added

    def change(self, collection: str, row_id: str, **fields: Any) -> dict[str, Any]:
        """Change fields of a row, None clearing them; `updated_at` moves by itself."""
        row: dict[str, Any] = self._ask("PATCH", _one(collection, row_id), fields)
        return row

    def delete(self, collection: str, row_id: str) -> None:
        """Take a row out, alone: the agents of a host, say, stay as they are."""
        self._ask("DELETE", _one(collection, row_id))

    def _ask(self, method: str, path: str, body: Any = None, *, missing: bool = False) -> Any:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, f"/_emulator/{path}", content)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status == 404 and missing:
            return None
        if answer.status != 200:
            raise ControlError(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text)


def _one(collection: str, row_id: str) -> str:
    return f"data/{collection}/{quote(row_id, safe='')}"
