"""The control side, under `/_emulator/`: actions of tests and demos that bypass the API.

No key is needed. Callers from other machines are refused.
"""

from __future__ import annotations

import http.client
import inspect
import ipaddress
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote, urlsplit

import msgspec
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from opsconsole.emulator.bodies import BadBody, ControlBody, read, with_switches
from opsconsole.emulator.catalogue import text_hash
from opsconsole.emulator.document import KINDS
from opsconsole.emulator.faults import read_fault
from opsconsole.emulator.profiles import SWITCHES, Profile
from opsconsole.emulator.store import COLLECTIONS, MAIN_ORG, Row, check_row

if TYPE_CHECKING:
    from opsconsole.emulator.application import Application
    from opsconsole.emulator.server import ConsoleServer

LOGGER = logging.getLogger("opsconsole.emulator")


class ResetBody(ControlBody):
    """The parts to reset."""

    what: list[Literal["log", "faults", "data", "switches"]] = Field(default=["log", "faults"])


class DoorBody(ControlBody):
    """Whether the API shall accept connections."""

    open: bool


class Control:
    """Reads and changes the parts of an application."""

    def __init__(self, application: Application) -> None:
        self._app = application
        self._console = application.console
        self._first_profile = application.console.profile

    def routes(self) -> list[Route]:
        """Return the control side's routes, below `/_emulator/`."""
        routes: list[tuple[str, Callable[[Request, Any], Any], list[str]]] = [
            ("requests", self.requests, ["GET"]),
            ("reset", self.reset, ["POST"]),
            ("faults", self.faults, ["GET", "POST"]),
            ("door", self.door, ["POST"]),
            ("profile", self.profile, ["GET", "PATCH"]),
            ("data", self.sizes, ["GET"]),
            ("data/{collection}", self.rows, ["GET", "POST"]),
            ("data/{collection}/{row_id:path}", self.row, ["GET", "POST", "PATCH", "DELETE"]),
        ]
        return [
            Route(f"/{path}", self._catch_errors(handle), methods=methods)
            for path, handle, methods in routes
        ]

    def _catch_errors(self, handle: Callable[[Request, Any], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if request.client and not ipaddress.ip_address(request.client.host).is_loopback:
                return _answer({"message": "only from this machine"}, 403)
            try:
                raw = await request.body()
                answer = handle(request, json.loads(raw) if raw else {})
                return _answer(await answer if inspect.isawaitable(answer) else answer)
            except (BadBody, ValueError, RecursionError) as problem:
                # Python's JSON decoder raises a RecursionError for a body nested too deeply.
                return _answer({"message": str(problem)}, 400)
            except KeyError as problem:
                return _answer({"message": f"there is no {problem.args[0]}"}, 404)
            except Exception as problem:
                LOGGER.exception("%s %s", request.method, request.url.path)
                return _answer({"message": f"the emulator has a defect: {problem!r}"}, 500)

        return endpoint

    def requests(self, request: Request, _body: Any) -> Any:
        """GET: counts, and the last entries (`?limit=`, 1000 by default)."""
        return self._app.traffic.summary(max(0, int(request.query_params.get("limit", "1000"))))

    def reset(self, _request: Request, body: Any) -> Any:
        """POST: `{"what": ["log", "faults", "data", "switches"]}`; log and faults by default."""
        what = read("reset", ResetBody.model_validate, body).what
        if "log" in what:
            self._app.traffic.reset()
        if "faults" in what:
            self._app.faults.forget()
        if "switches" in what:
            self._console.use(self._first_profile)
        if "data" in what:
            for table in self._console.store.tables.values():
                table.clear()
            self._app.reseed()
            self._console.store.commit()
        return {"reset": what}

    def faults(self, request: Request, body: Any) -> Any:
        """GET: the waiting faults. POST: add one fault, or a list of faults."""
        if request.method == "POST":
            added = [read_fault(item) for item in _as_list(body)]
            if any(fault.refuse for fault in added):
                self._closable_server()
            self._app.faults.waiting += added
        return {"faults": [fault.model_dump() for fault in self._app.faults.waiting]}

    async def door(self, _request: Request, body: Any) -> Any:
        """POST: `{"open": false}` refuses connections to the API, `{"open": true}` accepts them."""
        wanted = read("door", DoorBody.model_validate, body).open
        server = self._closable_server()
        await (server.accept() if wanted else server.refuse())
        return {"open": wanted}

    def _closable_server(self) -> ConsoleServer:
        """Return the server; refuse the request if closing the API would close this side too."""
        server = self._app.server
        if server is None or not server.can_refuse:
            raise BadBody(
                "connections can be refused only where the control side has an address of its own, "
                "as with opsconsole.emulator.serve"
            )
        return server

    def profile(self, request: Request, body: Any) -> Any:
        """GET: the switches. PATCH: turn some."""
        if request.method == "PATCH":
            self._console.use(with_switches(self._console.profile, _check_object(body)))
        profile = self._console.profile
        values = profile.model_dump(mode="json", include=set(SWITCHES))
        return {"name": profile.name, "summary": profile.summary, "switches": values}

    def sizes(self, _request: Request, _body: Any) -> Any:
        """GET: how many rows each collection holds."""
        return {name: len(table) for name, table in self._console.store.tables.items()}

    def rows(self, request: Request, body: Any) -> Any:
        """GET: the rows of a collection as stored. POST: add one row, or a list of rows."""
        collection = _collection_of(request)
        if request.method == "GET":
            return {"rows": list(self._console.store.tables[collection])}
        added = [self._add(collection, _check_fields(fields)) for fields in _as_list(body)]
        self._console.store.commit()
        return {"rows": added}

    def row(self, request: Request, body: Any) -> Any:
        """GET, POST (add), PATCH (change; null clears) or DELETE one row."""
        store = self._console.store
        collection, row_id = _collection_of(request), unquote(request.path_params["row_id"])
        if request.method == "POST":
            row: Row | None = self._add(
                collection, _check_fields({**_check_object(body), "id": row_id})
            )
        elif request.method == "PATCH":
            row = store.change(collection, row_id, _check_fields(body))
        elif request.method == "DELETE":
            row = store.tables[collection].remove(row_id)
        else:
            row = store.tables[collection].get(row_id)
        store.commit()
        if row is None:
            raise KeyError(f"{row_id} in {collection}")
        return row

    def _add(self, collection: str, fields: dict[str, Any]) -> dict[str, Any]:
        if any(collection == kind.collection for kind in KINDS.values()):
            fields = {"org_id": MAIN_ORG, **fields}
        if collection == "blacklists" and isinstance(fields.get("pattern"), str):
            fields.setdefault("text_hash", text_hash(fields["pattern"]))
        if collection == "agents":
            fields.setdefault("status", "idle")
        return self._console.store.add(collection, fields)


def encode(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (OverflowError, UnicodeEncodeError):  # beyond 64 bits; lone surrogates
        return json.dumps(body, separators=(",", ":")).encode()


def _answer(body: Any, status: int = 200) -> Response:
    return Response(encode(body), status, media_type="application/json")


def _check_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadBody("expected an object")
    return value


def _check_fields(value: Any) -> dict[str, Any]:
    fields = _check_object(value)
    if wrong := check_row(fields):
        raise BadBody(wrong)
    return fields


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _collection_of(request: Request) -> str:
    name: str = request.path_params["collection"]
    if name not in COLLECTIONS:
        raise KeyError(f"collection {name}")
    return name


class ControlError(Exception):
    """The control side refused a request."""


class Emulator:
    """A handle to a running emulator: its address, its key, and its control side.

    Every method is a request to the control side, so any thread may call it.
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
        """The provider's settings: base_url, api_key, and the settings for the profile."""
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
        return list(self.traffic(limit)["entries"])

    def traffic(self, limit: int = 0) -> dict[str, Any]:
        """Return total, counts, statuses, in_flight, most_in_flight, and the last entries."""
        return dict(self._ask("GET", f"requests?limit={limit}"))

    def request_counts(self) -> dict[str, int]:
        """Return the number of requests by operation; `unknown` counts those without one."""
        return dict(self.traffic()["counts"])

    def reset_log(self) -> None:
        """Clear the counts and the log of requests."""
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
        """Clear all faults, and let held requests continue."""
        self._ask("POST", "reset", {"what": ["faults"]})

    def waiting_faults(self) -> list[dict[str, Any]]:
        """Return the faults that are not used up yet."""
        return list(self._ask("GET", "faults")["faults"])

    def switch(self, **values: Any) -> None:
        """Turn switches of the profile while it runs."""
        self._ask("PATCH", "profile", values)

    def rows(self, collection: str) -> list[dict[str, Any]]:
        """Return the rows of a collection as they are stored: only fields that are set."""
        return list(self._ask("GET", f"data/{collection}")["rows"])

    def row(self, collection: str, row_id: str) -> dict[str, Any] | None:
        """Return one row, or None."""
        row: dict[str, Any] | None = self._ask("GET", _row_path(collection, row_id), missing=True)
        return row

    def create(self, collection: str, **fields: Any) -> dict[str, Any]:
        """Add a row; id, tenant, org and timestamps are generated if not given."""
        return self.create_many(collection, [fields])[0]

    def create_many(self, collection: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add rows."""
        return list(self._ask("POST", f"data/{collection}", rows)["rows"])

    def change(self, collection: str, row_id: str, **fields: Any) -> dict[str, Any]:
        """Change fields of a row, None clearing them; `updated_at` moves by itself."""
        return dict(self._ask("PATCH", _row_path(collection, row_id), fields))

    def delete(self, collection: str, row_id: str) -> None:
        """Remove one row only; the agents of a host, for example, stay unchanged."""
        self._ask("DELETE", _row_path(collection, row_id))

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


def _row_path(collection: str, row_id: str) -> str:
    return f"data/{collection}/{quote(row_id, safe='')}"
