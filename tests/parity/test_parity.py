"""Random programs: both engines plan the same, and what one applies the other finds in place.

On a sensible console they print the same plan document, whole.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consoles import CONSOLES
from opsconsole.emulator import serve
from parity_cases import Case, Step, cases, declared, happen, prepare, whole
from sampling import EVERYTHING
from shared_stack import SharedStack, actions

BATCHES = 15 if EVERYTHING else 1
CASES = 40 if EVERYTHING else 20
PROFILES = ("default", "sparse", "fickle", "bumping")


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


@pytest.mark.unmeasured
@pytest.mark.terraform
@pytest.mark.parity
@pytest.mark.timeout(7200 if EVERYTHING else 300)
@pytest.mark.parametrize("profile", PROFILES if EVERYTHING else PROFILES[:2])
def test_both_engines_agree(profile, terraform):
    @settings(
        max_examples=BATCHES,
        deadline=None,
        database=None,
        derandomize=not EVERYTHING,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(cases(), min_size=CASES, max_size=CASES))
    def run(batch: list[Case]) -> None:
        with serve(CONSOLES[profile]) as left, serve(CONSOLES[profile]) as right:
            stacks = [SharedStack(console, terraform({}, console)) for console in (left, right)]
            live(stacks, {f"c{number}": case for number, case in enumerate(batch)})

    run()


def live(stacks: list[SharedStack], batch: dict[str, Case]) -> None:
    """Apply every step of every case to both stacks."""
    for stack in stacks:
        for prefix in batch:
            prepare(stack, prefix)
    for number in range(len(next(iter(batch.values())).steps)):
        steps = {prefix: case.steps[number] for prefix, case in batch.items()}
        for stack in stacks:
            for prefix, step in steps.items():
                for event in step.behind:
                    happen(stack, prefix, event)
            stack.write(with_outputs(whole(steps)))
            compare_plans(stack, steps)
        ours, theirs = stacks
        ours.native.apply()
        theirs.terraform.apply()
        assert ours.terraform.plan_run().code == 0, "Terraform finds what the native engine left"
        assert theirs.native.plan_run().code == 0, "the native engine finds what Terraform left"
        compare_states(ours, theirs)


def compare_plans(stack: SharedStack, steps: dict[str, Step]) -> None:
    """Both engines plan the same actions; the message names the case that they differ about."""
    native, judge = stack.native.plan(), stack.terraform.plan()
    ours, theirs = actions(native), judge.actions
    if stack.console.profile.name == "default":
        told = list(differences(comparable(native.json), comparable(judge.json)))
        assert told == [], "native and Terraform:\n" + "\n".join(told[:40])
    for address in sorted({*ours, *theirs}):
        prefix = address.partition(".")[2].partition("_")[0]
        if read_before_its_host(address, prefix, steps[prefix]) and address not in ours:
            theirs.pop(address, None)
        if ours.get(address) != theirs.get(address):
            pytest.fail(
                f"{address}: native {ours.get(address)}, Terraform {theirs.get(address)}\n"
                f"{steps[prefix]}"
            )
    assert bool(theirs) == bool(native.code)


def read_before_its_host(address: str, prefix: str, step: Step) -> bool:
    """Tell whether Terraform may think alive what has gone with its host.

    A row of the table of differences (`test_differences`): nothing orders the reading of what has
    left the program, and there are consoles that go on listing the plugins of archived agents.
    """
    declared_here = {f"{kind}.{name}" for kind, name, _ in declared(prefix, step)}
    gone = any(event.what == "delete" and event.host == "alpha" for event in step.behind)
    along = ("opsconsole_agent.", "opsconsole_agent_plugin.")
    return gone and address.startswith(along) and address not in declared_here


def compare_states(ours: SharedStack, theirs: SharedStack) -> None:
    """Both engines left the same in state, but for ids and times."""
    left, right = ours.normalised_state(), theirs.normalised_state()
    for address in sorted({*left, *right}):
        mine, judge = left.get(address), right.get(address)
        if mine != judge:
            keys = {*(mine or {}), *(judge or {})}
            told = {
                key: ((mine or {}).get(key), (judge or {}).get(key))
                for key in keys
                if (mine or {}).get(key) != (judge or {}).get(key)
            }
            pytest.fail(f"{address} in state, native and Terraform: {told}")


def with_outputs(program: dict[str, Any]) -> dict[str, Any]:
    """Add variables, and outputs that refer to the agents, directly and through a local value."""
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
        item.pop("opsconsole", None)  # Facts that have no place in Terraform's format.
        # Terraform has no word for the adoption of a specialty.
        if item["type"] == "opsconsole_specialty" and item["change"]["before"] is None:
            item["change"] = item["change"] | {"actions": ["create"], "importing": {}}
        # Terraform shows a deleted resource as the state has it, the native engine as it was read.
        if item["change"]["actions"] == ["delete"]:
            del item["change"]["before"], item["change"]["before_sensitive"]
    if "prior_state" in kept:
        kept["prior_state"] = kept["prior_state"] | {"terraform_version": ""}
        for item in kept["prior_state"]["values"]["root_module"].get("resources", ()):
            # The native engine names the dependencies of the program, Terraform the old ones too.
            item.pop("depends_on", None)
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
