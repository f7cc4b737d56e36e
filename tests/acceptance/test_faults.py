"""A sample of the fault matrix through the real program: what a driven provider cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from declarations import held, program
from engines import Terraform
from opsconsole.emulator import Emulator

REAL = '"dry_run":false'


def declared() -> dict[str, Any]:
    return program(
        host={name: {"name": name} for name in ("a", "b")},
        agent={
            name: {
                "name": f"agent-{name}",
                "main_engine": "engine-a",
                "host_id": f"${{opsconsole_host.{name}.id}}",
                "specialty_id": "spc_linux",
            }
            for name in ("a", "b")
        },
    )


@pytest.mark.parametrize(
    ("operation", "kind", "holds", "code"),
    [
        ("agent_create", "request_timeout_after", "agent-a", 1),
        ("agent_create", "other_object", "agent-a", 1),
        ("host_import", "ids_crossed", REAL, 0),
        ("host_import", "ids_null", REAL, 0),
    ],
)
def test_nothing_is_there_twice_and_nothing_is_forgotten(
    project: Callable[..., Terraform],
    console: Emulator,
    operation: str,
    kind: str,
    holds: str,
    code: int,
) -> None:
    engine = project(declared(), console, {"max_retries": 0})
    console.fault(kind=kind, operation=operation, holds=holds)
    engine.apply(expect={code})
    engine.apply(expect={code})
    engine.plan_run(expect={2 if code else 0})
    for collection in ("hosts", "agents"):
        names = Counter(row["name"] for row in console.rows(collection))
        assert set(names.values()) == {1}, names
    state = held(engine)
    assert len(state) == 4
    for collection, type_name in (("hosts", "opsconsole_host"), ("agents", "opsconsole_agent")):
        ids = {row["id"]: row["name"] for row in console.rows(collection)}
        for address, values in state.items():
            if address.startswith(f"{type_name}.") and values["id"] in ids:
                assert ids[values["id"]] == values["name"]
