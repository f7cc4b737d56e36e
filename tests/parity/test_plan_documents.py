"""Random programs: both engines print the same plan document, whole."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from opsconsole import resources
from opsconsole.emulator import serve
from opsconsole.language import lasting_values, resolve_variables
from opsconsole.language.reading import load_directory
from opsconsole.reports import plan_json
from parity_cases import Case, cases, whole
from parity_events import happen, prepare
from worlds import World

CASES: Final = 12
MISSING: Final = "(missing)"
DIFFERENT: Final = {
    "terraform_version": "the native engine names the version of Terraform whose format it prints",
    "timestamp": "each plan has its own",
}
"""Members of the document that differ, and why."""
VARIABLES: Final = {
    "plain": {"type": "string", "default": "a"},
    "number": {"type": "number", "default": "5"},
    "none": {"default": None},
    "secret": {"default": "x", "sensitive": True},
    "set": {"type": "set(string)", "default": ["b", "a"]},
    "object": {"type": "object({a = string, b = optional(number, 3)})", "default": {"a": "1"}},
    "mixed": {"default": [1, "a", {"b": None}]},
    "checked": {
        "default": "ok",
        "validation": [
            {"condition": "${length(var.checked) > 1}", "error_message": "Too short."},
            {"condition": "${length(var.checked) < 9}", "error_message": "Too long."},
        ],
    },
}


@pytest.mark.terraform
@pytest.mark.parity
@pytest.mark.timeout(300)
def test_both_engines_print_the_same_document(terraform):
    @settings(
        max_examples=1,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(cases(), min_size=CASES, max_size=CASES))
    def run(batch: list[Case]) -> None:
        with serve() as console:
            world = World(console, terraform({}, console))
            live(world, {f"c{number}": case for number, case in enumerate(batch)})

    run()


def live(world: World, batch: dict[str, Case]) -> None:
    """Compare the documents of each step of the cases."""
    for prefix in batch:
        prepare(world, prefix)
    for number in range(len(next(iter(batch.values())).steps)):
        steps = {prefix: case.steps[number] for prefix, case in batch.items()}
        for prefix, step in steps.items():
            for event in step.behind:
                happen(world, prefix, event)
        world.write(outputs_of(whole(steps)))
        program = load_directory(world.folder, resources)
        values = resolve_variables(program, directory=world.folder, environment={})
        ours = plan_json.document(
            world.native_plan(), program=program, variables=lasting_values(values)
        )
        theirs = world.terraform.plan().json
        told = list(differences(comparable(ours), comparable(theirs)))
        assert told == [], f"step {number}, native and Terraform:\n" + "\n".join(told[:40])
        world.native_apply()


def outputs_of(program: dict[str, Any]) -> dict[str, Any]:
    """Add outputs that refer to the agents, directly and through a local value."""
    program = program | {"variable": VARIABLES}
    agents = program.get("resource", {}).get("opsconsole_agent", {})
    if not agents:
        return program
    first, *_ = agents
    values = {"host": "${local.host}", "agent": {"name": f"${{opsconsole_agent.{first}.name}}"}}
    return program | {
        "locals": {"host": f"${{opsconsole_agent.{first}.host_id}}"},
        "output": {name: {"value": value} for name, value in values.items()},
    }


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Return what both engines must agree about; Terraform orders some lists at random."""
    kept = {name: item for name, item in document.items() if name not in DIFFERENT}
    if "relevant_attributes" in kept:
        kept["relevant_attributes"] = sorted(kept["relevant_attributes"], key=str)
    for item in kept.get("resource_changes", ()):
        # Terraform has no word for the adoption of a specialty.
        if item["type"] == "opsconsole_specialty" and item["change"]["before"] is None:
            item["change"] = item["change"] | {"actions": ["create"], "importing": {}}
    if "prior_state" in kept:
        kept["prior_state"] = kept["prior_state"] | {"terraform_version": ""}
    return kept


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield each place where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            left, right = ours.get(name, MISSING), theirs.get(name, MISSING)
            yield from differences(left, right, f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (left, right) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(left, right, f"{path}[{index}]")
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{path}: {ours!r:.300} {theirs!r:.300}"
