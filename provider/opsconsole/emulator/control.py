"""The control side, under `/_emulator/`: what tests and demos do behind the API's back.

No key is asked for; callers that are not on this machine are refused.
"""

from __future__ import annotations

import inspect
import ipaddress
import json
import logging
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import unquote

import msgspec
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from opsconsole.emulator.blacklists import text_hash
from opsconsole.emulator.bodies import BadBody, Body, read, with_switches
from opsconsole.emulator.console import EmulatedConsole
from opsconsole.emulator.door import Door
from opsconsole.emulator.faults import Faults, read_fault
from opsconsole.emulator.profiles import SWITCHES
from opsconsole.emulator.store import COLLECTIONS, MAIN_ORG, fault_of_row
from opsconsole.emulator.traffic import Traffic

NO_DOOR = (
    "connections can be refused only where the control side has an address of its own, as with "
    "opsconsole.emulator.running.serve"
)
LOGGER = logging.getLogger("opsconsole.emulator")
_IN_AN_ORG = ("hosts", "agents", "plugins", "specialties", "blacklists")


class ResetBody(Body):
    """What is to be forgotten."""

    what: list[Literal["log", "faults", "data", "switches"]] = Field(default=["log", "faults"])


class DoorBody(Body):
    """Whether the API is to accept connections."""

    open: bool


class Control:
    """The state that the control side may look at and change; see `Application` for `sow`."""

    def __init__(
        self,
        console: EmulatedConsole,
        faults: Faults,
        traffic: Traffic,
        door: Door,
        sow: Callable[[], None],
    ) -> None:
        self._console = console
        self._faults = faults
        self._traffic = traffic
        self._door = door
        self._sow = sow
        self._profile = console.profile

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
            Route(f"/{path}", self._guarded(handle), methods=methods)
            for path, handle, methods in routes
        ]

    def _guarded(self, handle: Callable[[Request, Any], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if request.client and not ipaddress.ip_address(request.client.host).is_loopback:
                return _answer({"message": "only from this machine"}, 403)
            try:
                raw = await request.body()
                answer = handle(request, json.loads(raw) if raw else {})
                return _answer(await answer if inspect.isawaitable(answer) else answer)
            except (BadBody, ValueError, RecursionError) as failure:
                return _answer({"message": str(failure)}, 400)
            except KeyError as failure:
                return _answer({"message": f"there is no {failure.args[0]}"}, 404)
            except Exception as failure:
                LOGGER.exception("%s %s", request.method, request.url.path)
                return _answer({"message": f"the emulator has a defect: {failure!r}"}, 500)

        return endpoint

    def requests(self, request: Request, _body: Any) -> Any:
        """GET: counts, and the last entries (`?limit=`, 1000 by default)."""
        return self._traffic.summary(max(0, int(request.query_params.get("limit", "1000"))))

    def reset(self, _request: Request, body: Any) -> Any:
        """POST: `{"what": ["log", "faults", "data", "switches"]}`; log and faults by default."""
        what = read("reset", ResetBody.model_validate, body).what
        if "log" in what:
            self._traffic.reset()
        if "faults" in what:
            self._faults.forget()
        if "switches" in what:
            self._console.use(self._profile)
        if "data" in what:
            for table in self._console.store.tables.values():
                table.clear()
            self._sow()
            self._console.store.commit()
        return {"reset": what}

    def faults(self, request: Request, body: Any) -> Any:
        """GET: the faults that wait. POST: add one, or a list of them."""
        if request.method == "POST":
            added = [read_fault(item) for item in _listed(body)]
            if any(fault.refuse for fault in added) and not self._door.movable:
                raise BadBody(NO_DOOR)
            self._faults.waiting += added
        return {"faults": [fault.model_dump() for fault in self._faults.waiting]}

    async def door(self, _request: Request, body: Any) -> Any:
        """POST: `{"open": false}` refuses connections to the API, `{"open": true}` accepts them."""
        wanted = read("door", DoorBody.model_validate, body).open
        if not self._door.movable:
            raise BadBody(NO_DOOR)
        await (self._door.open() if wanted else self._door.close())
        return {"open": wanted}

    def profile(self, request: Request, body: Any) -> Any:
        """GET: the switches. PATCH: turn some."""
        if request.method == "PATCH":
            self._console.use(with_switches(self._console.profile, _object(body)))
        profile = self._console.profile
        values = profile.model_dump(mode="json", include=set(SWITCHES))
        return {"name": profile.name, "summary": profile.summary, "switches": values}

    def sizes(self, _request: Request, _body: Any) -> Any:
        """GET: how many rows each collection holds."""
        return {name: len(table) for name, table in self._console.store.tables.items()}

    def rows(self, request: Request, body: Any) -> Any:
        """GET: the rows of a collection, as they are stored. POST: add one, or a list of them."""
        collection = _collection(request)
        if request.method == "GET":
            return {"rows": list(self._console.store.tables[collection])}
        added = [self._add(collection, _fields(fields)) for fields in _listed(body)]
        self._console.store.commit()
        return {"rows": added}

    def row(self, request: Request, body: Any) -> Any:
        """GET, POST (add), PATCH (change; null clears) or DELETE one row."""
        store = self._console.store
        collection, row_id = _collection(request), unquote(request.path_params["row_id"])
        if request.method == "POST":
            row: Any = self._add(collection, _fields({**_object(body), "id": row_id}))
        elif request.method == "PATCH":
            row = store.change(collection, row_id, _fields(body))
        elif request.method == "DELETE":
            row = store.tables[collection].remove(row_id)
        else:
            row = store.tables[collection].get(row_id)
        store.commit()
        if row is None:
            raise KeyError(f"{row_id} in {collection}")
        return row

    def _add(self, collection: str, fields: dict[str, Any]) -> dict[str, Any]:
        if collection in _IN_AN_ORG:
            fields = {"org_id": MAIN_ORG, **fields}
        if collection == "blacklists" and isinstance(fields.get("pattern"), str):
            fields.setdefault("text_hash", text_hash(fields["pattern"]))
        if collection == "agents":
            fields.setdefault("status", "idle")
        return self._console.store.add(collection, fields)


def encode(body: Any) -> bytes:
    """Return a body as JSON."""
    try:
        return msgspec.json.encode(body)
    except (OverflowError, UnicodeEncodeError):  # beyond 64 bits; lone surrogates
        return json.dumps(body, separators=(",", ":")).encode()


def _answer(body: Any, status: int = 200) -> Response:
    return Response(encode(body), status, media_type="application/json")


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadBody("expected an object")
    return value


def _fields(value: Any) -> dict[str, Any]:
    fields = _object(value)
    if wrong := fault_of_row(fields):
        raise BadBody(wrong)
    return fields


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _collection(request: Request) -> str:
    name: str = request.path_params["collection"]
    if name not in COLLECTIONS:
        raise KeyError(f"collection {name}")
    return name
