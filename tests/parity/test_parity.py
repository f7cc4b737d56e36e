"""Random programs: both engines plan the same, and what one applies the other finds in place."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consoles import CONSOLES
from opsconsole.emulator import serve
from parity_cases import Case, Step, cases, declared, whole
from parity_events import happen, prepare
from sampling import EVERYTHING
from worlds import World, actions

BATCHES = 15 if EVERYTHING else 1
CASES = 40 if EVERYTHING else 20
PROFILES = ("default", "sparse", "fickle", "bumping")


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
            worlds = [World(console, terraform({}, console)) for console in (left, right)]
            live(worlds, {f"c{number}": case for number, case in enumerate(batch)})

    run()


def live(worlds: list[World], batch: dict[str, Case]) -> None:
    """Let both worlds live through every step of every case."""
    for world in worlds:
        for prefix in batch:
            prepare(world, prefix)
    for number in range(len(next(iter(batch.values())).steps)):
        steps = {prefix: case.steps[number] for prefix, case in batch.items()}
        for world in worlds:
            for prefix, step in steps.items():
                for event in step.behind:
                    happen(world, prefix, event)
            world.write(whole(steps))
            compare_plans(world, steps)
        ours, theirs = worlds
        ours.native_apply()
        theirs.terraform.apply()
        assert ours.terraform.plan_run().code == 0, "Terraform finds what the native engine left"
        assert theirs.native_plan().empty, "the native engine finds what Terraform left"
        compare_states(ours, theirs)


def compare_plans(world: World, steps: dict[str, Step]) -> None:
    """Both engines plan the same actions; the message names the case that they differ about."""
    native = world.native_plan()
    judge = world.terraform.plan()
    ours, theirs = actions(native), judge.actions
    for address in sorted({*ours, *theirs}):
        prefix = address.partition(".")[2].partition("_")[0]
        if read_before_its_host(address, prefix, steps[prefix]) and address not in ours:
            theirs.pop(address, None)
        if ours.get(address) != theirs.get(address):
            pytest.fail(
                f"{address}: native {ours.get(address)}, Terraform {theirs.get(address)}\n"
                f"{steps[prefix]}"
            )
    assert bool(theirs) == (not native.empty)


def read_before_its_host(address: str, prefix: str, step: Step) -> bool:
    """Tell whether Terraform may think alive what has gone with its host.

    A row of the table of differences (`test_differences`): nothing orders the reading of what has
    left the program, and there are consoles that go on listing the plugins of archived agents.
    """
    declared_here = {f"{kind}.{name}" for kind, name, _ in declared(prefix, step)}
    gone = any(event.what == "delete" and event.host == "alpha" for event in step.behind)
    along = ("opsconsole_agent.", "opsconsole_agent_plugin.")
    return gone and address.startswith(along) and address not in declared_here


def compare_states(ours: World, theirs: World) -> None:
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
