"""What can only be adopted and is gone from the console, and what destroys everything else."""

from typing import Any

import pytest

from declarations import agent_on, held, program
from engines import ON_TERRAFORM


def declared() -> dict[str, Any]:
    return program(
        specialty={"linux": {"key": "linux-server", "deletion_policy": "delete"}},
        blacklisted_command={"format": {"id": "blk_format"}},
        host={"web": {"name": "web", "depends_on": ["opsconsole_specialty.linux"]}},
        agent={"a": agent_on("web", "a", specialty_id="${opsconsole_specialty.linux.id}")},
    )


@ON_TERRAFORM
def test_a_gone_specialty_forbids_no_destroy(applied, console):
    engine = applied(declared(), console, {"max_retries": 0})
    console.delete("specialties", "spc_linux")
    console.delete("blacklists", "blk_format")
    plan = engine.plan_run(expect={2})
    assert any("There is no specialty" in item["summary"] for item in plan.warnings)
    engine.destroy()
    assert held(engine) == {}
    assert console.rows("hosts") == []


@pytest.mark.parametrize("seen", [True, False])
def test_a_lost_answer_to_its_deletion_ends_in_a_destroy(applied, console, seen):
    """A search settles it; where that fails too, the next destroy does."""
    engine = applied(declared(), console, {"max_retries": 0})
    console.fault(kind="reset_after", operation="specialty_delete")
    if not seen:
        # The refresh and its plan search once.
        console.fault(kind="internal_error", operation="specialty_search", skip=1)
    engine.destroy(expect={0 if seen else 1})
    engine.destroy()
    assert held(engine) == {}
    assert console.row("specialties", "spc_linux") is None
    assert console.rows("hosts") == []
