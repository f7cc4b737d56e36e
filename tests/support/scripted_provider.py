"""The real provider process with a lifecycle whose behaviour each test scripts by name.

Run as a program. `SCRIPTED_PARTIES` says how many agent creations wait for each other,
`SCRIPTED_PARTING` how many seconds closing takes.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any

from opsconsole.definition import DataSourceDefinition, ResourceDefinition
from opsconsole.diagnostics import error, warning
from opsconsole.errors import ConfigurationError
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    PlanRequest,
    ReadOutcome,
    ReadRequest,
    ReportOutcomes,
    UpdateRequest,
)
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.terraform.main import main
from opsconsole.terraform.servicer import Servicer
from opsconsole.values import UNKNOWN, Values

SECRET = "svc_ak_script"


class Lifecycle:
    """Keeps what it is told; a name that begins with `raise` raises, in every step."""

    def __init__(self, definition: ResourceDefinition, meeting: asyncio.Barrier) -> None:
        self.definition = definition
        self.meeting = meeting

    async def plan_one(self, request: PlanRequest) -> PlanOutcome:
        if isinstance(request, PlanRemoval):
            return PlanOutcome(None, private=b"gone", diagnostics=(warning("leaves"),))
        _maybe_raise(request.config)
        planned = {
            item.name: UNKNOWN
            if item.computed and request.config[item.name] is None
            else request.config[item.name]
            for item in self.definition
        }
        moved = (
            not isinstance(request, PlanCreation) and request.prior["org_id"] != planned["org_id"]
        )
        return PlanOutcome(planned, ("org_id",) if moved else (), b"planned")

    async def read_one(self, request: ReadRequest) -> ReadOutcome:
        _maybe_raise(request.prior)
        is_gone = request.prior["name"] == "gone"
        return ReadOutcome(None if is_gone else request.prior, request.private)

    @property
    def max_creates_at_once(self) -> int:
        return 500 if self.definition.name == "host" else 1

    async def create(self, requests: Sequence[CreateRequest], report: ReportOutcomes) -> None:
        for request in requests:
            _maybe_raise(request.planned)
        if self.definition.name == "agent":
            await self.meeting.wait()
        else:
            await asyncio.sleep(0.02)
        await report([(request, self._created(request, len(requests))) for request in requests])

    def _created(self, request: CreateRequest | UpdateRequest, together: int) -> Outcome:
        planned = request.planned
        if planned["name"] == "refused":
            problem = error("refused", f"with {SECRET}, Authorization: Bearer x", ("tags", 0))
            return Outcome(None, diagnostics=(problem,))
        state = {name: None if value is UNKNOWN else value for name, value in planned.items()}
        return Outcome(state, str(together).encode())

    async def update(self, request: UpdateRequest) -> Outcome:
        _maybe_raise(request.planned)
        return self._created(request, 1)

    async def delete(self, request: DeleteRequest) -> Outcome:
        _maybe_raise(request.prior)
        return Outcome(None)

    async def import_state(self, import_id: str) -> Outcome:
        if not import_id.startswith("hst_"):
            return Outcome(None, diagnostics=(error("no such host", path=("id",)),))
        return Outcome(self.definition.empty() | {"id": import_id}, b"imported")


def _maybe_raise(values: Values) -> None:
    name = values.get("name")
    if isinstance(name, str) and name.startswith("raise"):
        raise RuntimeError(f"scripted, with {SECRET}")


class Provider:
    """Every resource, scripted."""

    def __init__(self) -> None:
        meeting = asyncio.Barrier(int(os.environ.get("SCRIPTED_PARTIES", "1")))
        self.lifecycles = {name: Lifecycle(item, meeting) for name, item in RESOURCES.items()}
        self.data_sources: dict[str, DataSourceDefinition] = dict(DATA_SOURCES)

    async def read_data(self, type_name: str, config: Values) -> Outcome:
        return Outcome(config)

    def stop(self) -> None:
        print("stopped", file=sys.stderr)

    async def close(self) -> None:
        await asyncio.sleep(float(os.environ.get("SCRIPTED_PARTING", "0")))
        print("closed", file=sys.stderr)


async def connect(config: Values) -> Any:
    print("stray print")
    if config["base_url"] == "wrong":
        raise ConfigurationError("base_url is wrong.", "Mend it.", "base_url")
    return Provider()


if __name__ == "__main__":
    sys.exit(main(lambda redaction: Servicer(connect, redaction)))
