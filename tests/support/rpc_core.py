"""Terraform's order of calls, against the provider's own calls, in this process.

Only what a fault can bend is here: refresh, plan, apply and destroy of resources that refer to each
other, with taint, replacement, and skipping what depends on a failure. Each phase configures a
provider of its own, as Terraform starts a process of its own for it.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from opsconsole.redaction import Redaction
from opsconsole.resources import PROVIDER, RESOURCES
from opsconsole.terraform.codec import ObjectCodec
from opsconsole.terraform.main import connect
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.servicer import Servicer
from opsconsole.values import UNKNOWN

NULL = pb.DynamicValue(msgpack=b"\xc0")
_REFERENCE = re.compile(r"^\$\{(\w+\.\w+(?:\[[^]]+\])?)\.(\w+)\}$")

Program = Mapping[str, Mapping[str, Any]]
"""Address to declared attributes, in an order in which what is referred to comes first."""


@dataclass(frozen=True)
class Held:
    """What state holds of one resource."""

    value: Mapping[str, Any]
    private: bytes = b""
    tainted: bool = False
    dependencies: Sequence[str] = ()
    """Addresses without keys, as state lists them."""


State = dict[str, Held]


@dataclass
class Told:
    """How a run ended."""

    state: State
    errors: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    planned: dict[str, str] = field(default_factory=dict)
    applied: bool = False
    skipped: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(f"{address}: {text}" for address, text in self.errors + self.warnings)


def type_of(address: str) -> str:
    return address.partition(".")[0]


def block_of(address: str) -> str:
    """Return an address without its key."""
    return address.partition("[")[0]


def references(declared: Mapping[str, Any]) -> list[str]:
    values = [
        item
        for value in declared.values()
        for item in (value if isinstance(value, list) else [value])
    ]
    found = (_REFERENCE.match(value) for value in values if isinstance(value, str))
    return [match[1] for match in found if match]


def config_of(
    address: str, declared: Mapping[str, Any], values: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    return {**RESOURCES[type_of(address)].empty(), **evaluate(declared, values)}


def evaluate(declared: Any, values: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return what is declared with its references replaced by values, as far as they are known."""
    if isinstance(declared, Mapping):
        return {name: evaluate(value, values) for name, value in declared.items()}
    if isinstance(declared, list):
        return [evaluate(item, values) for item in declared]
    match = _REFERENCE.match(declared) if isinstance(declared, str) else None
    return values.get(match[1], {}).get(match[2], UNKNOWN) if match else declared


class Phase:
    """One provider process: its calls, with values decoded."""

    def __init__(self, calls: Servicer, told: Told) -> None:
        self._calls = calls
        self._told = told

    def _codec(self, address: str) -> ObjectCodec:
        return self._calls.codec("resource", type_of(address))

    def _note(self, address: str, response: Any) -> bool:
        failed = False
        for item in response.diagnostics:
            text = f"{item.summary}: {item.detail}"
            is_error = item.severity == pb.Diagnostic.ERROR
            (self._told.errors if is_error else self._told.warnings).append((address, text))
            failed = failed or is_error
        return failed

    async def read(self, address: str, held: Held) -> Held | None:
        response = await self._calls.read_resource(
            pb.ReadResource.Request(
                type_name=type_of(address),
                current_state=self._codec(address).encode(held.value),
                private=held.private,
            )
        )
        if self._note(address, response):
            return held
        value = self._codec(address).decode(response.new_state)
        return None if value is None else replace(held, value=value, private=response.private)

    async def plan(
        self, address: str, held: Held | None, config: Mapping[str, Any] | None, private: bytes
    ) -> tuple[Any, Any, bool]:
        codec = self._codec(address)
        wanted = codec.encode(config)
        response = await self._calls.plan_resource_change(
            pb.PlanResourceChange.Request(
                type_name=type_of(address),
                prior_state=codec.encode(held.value if held else None),
                proposed_new_state=wanted,
                config=wanted,
                prior_private=private,
            )
        )
        failed = self._note(address, response)
        return response, codec.decode(response.planned_state), failed

    async def apply(
        self,
        address: str,
        held: Held | None,
        config: Mapping[str, Any] | None,
        planned: Mapping[str, Any] | None,
        private: bytes,
    ) -> tuple[Held | None, bool]:
        codec = self._codec(address)
        response = await self._calls.apply_resource_change(
            pb.ApplyResourceChange.Request(
                type_name=type_of(address),
                prior_state=codec.encode(held.value if held else None),
                planned_state=codec.encode(planned),
                config=codec.encode(config),
                planned_private=private,
            )
        )
        failed = self._note(address, response)
        value = codec.decode(response.new_state)
        if value is None:
            return None, failed
        tainted = (failed and held is None) or bool(held and held.tainted and planned is None)
        dependencies = held.dependencies if held else ()
        return Held(value, response.private, tainted, dependencies), failed


@contextlib.asynccontextmanager
async def phase(settings: Mapping[str, Any], told: Told) -> AsyncIterator[Phase]:
    calls = Servicer(connect, Redaction())
    config = calls.codec("provider").encode(dict(PROVIDER.empty()) | dict(settings))
    response = await calls.configure_provider(pb.ConfigureProvider.Request(config=config))
    for item in response.diagnostics:
        is_error = item.severity == pb.Diagnostic.ERROR
        (told.errors if is_error else told.warnings).append(
            ("provider", f"{item.summary}: {item.detail}")
        )
    try:
        yield Phase(calls, told)
    finally:
        await calls.close()


@dataclass
class Step:
    """What is to be done with one address: `replace` deletes what is held, before all creates."""

    address: str
    action: str
    private: bytes = b""


async def _make_plan(
    work: Phase, told: Told, program: Program, state: State, *, destroy: bool, refresh: bool
) -> list[Step]:
    """Refresh, then plan, address by address; errors stop what depends on them.

    Before it destroys, Terraform makes a plan like any other, unless there is nothing in state.
    """
    order = [*program, *(address for address in state if address not in program)]
    steps = (
        await _plan_resources(work, told, program, state, order)
        if refresh and (state or not destroy)
        else []
    )
    if destroy:
        steps = []
    if told.errors:
        return steps
    for address in _dependents_first(state, program):
        if destroy or address not in program:
            response, _, _ = await work.plan(address, state[address], None, state[address].private)
            steps.append(Step(address, "delete", response.planned_private))
    return steps


def _dependents_first(state: State, program: Program) -> list[str]:
    """Return the addresses in state, each after all its dependents."""
    used = {
        address: [
            other
            for other in state
            if other in references(program.get(address, {})) or block_of(other) in held.dependencies
        ]
        for address, held in state.items()
    }
    return [*TopologicalSorter(used).static_order()][::-1]


async def _plan_resources(
    work: Phase, told: Told, program: Program, state: State, order: Sequence[str]
) -> list[Step]:
    refreshed: State = {}
    for address in sorted(state, key=order.index):
        found = await work.read(address, state[address])
        if found is not None:
            refreshed[address] = found
    state.clear()
    state.update(refreshed)
    values: dict[str, Mapping[str, Any]] = {}
    steps: list[Step] = []
    broken: set[str] = set()
    for address, declared in program.items():
        if broken.intersection(references(declared)):
            broken.add(address)
            continue
        held = state.get(address)
        config = config_of(address, declared, values)
        prior = None if held is None or held.tainted else held
        private = prior.private if prior else b""
        response, planned, failed = await work.plan(address, prior, config, private)
        action = "create" if held is None else "replace" if held.tainted else ""
        if not failed and prior is not None and response.requires_replace:
            private = response.planned_private
            response, planned, failed = await work.plan(address, None, config, private)
            action = "replace"
        elif prior is not None:
            action = "no-op" if planned == dict(prior.value) else "update"
        if failed:
            broken.add(address)
            continue
        values[address] = planned
        steps.append(Step(address, action, response.planned_private))
    return steps


async def _delete_all(
    work: Phase, told: Told, state: State, steps: Sequence[Step], program: Program
) -> set[str]:
    failed: set[str] = set()
    order = _dependents_first(state, program)
    for step in sorted(steps, key=lambda step: order.index(step.address)):
        dependents = {
            address
            for address, held in state.items()
            if step.address in references(program.get(address, {}))
            or block_of(step.address) in held.dependencies
        }
        # Dependents are deleted first; where that fails, both stay.
        if dependents & failed:
            failed.add(step.address)
            told.skipped.append(step.address)
            continue
        held, bad = await work.apply(step.address, state[step.address], None, None, step.private)
        if held is None:
            state.pop(step.address)
        else:
            state[step.address] = held
        if bad:
            failed.add(step.address)
    return failed


async def _create_and_update(
    work: Phase, told: Told, state: State, steps: Sequence[Step], program: Program, failed: set[str]
) -> None:
    """Create and update: those that refer to nothing unfinished at the same time."""
    waiting = {step.address: step for step in steps}

    async def one(step: Step) -> None:
        address, held = step.address, state.get(step.address)
        values = {name: item.value for name, item in state.items()}
        config = config_of(address, program[address], values)
        response, planned, bad = await work.plan(
            address, held, config, held.private if held else b""
        )
        if bad:
            failed.add(address)
            return
        found, bad = await work.apply(address, held, config, planned, response.planned_private)
        if found is None:
            state.pop(address, None)
        else:
            state[address] = found
        if bad:
            failed.add(address)

    while waiting:
        ready = [
            step
            for address, step in waiting.items()
            if not any(item in waiting for item in references(program[address]))
        ]
        for step in ready:
            waiting.pop(step.address)
        going = []
        for step in ready:
            if step.address in failed:
                continue
            if failed.intersection(references(program[step.address])):
                failed.add(step.address)
                told.skipped.append(step.address)
            elif step.action != "no-op":
                going.append(step)
        await asyncio.gather(*map(one, going))


async def _run(
    settings: Mapping[str, Any],
    program: Program,
    state: State,
    *,
    destroy: bool,
    apply: bool,
    refresh: bool,
) -> Told:
    told = Told(dict(state))
    steps = []
    async with phase(settings, told) as work:
        if not told.errors:
            steps = await _make_plan(
                work, told, program, told.state, destroy=destroy, refresh=refresh
            )
    told.planned = {step.address: step.action for step in steps if step.action != "no-op"}
    if told.errors or not apply:
        return told
    told.applied = True
    async with phase(settings, told) as work:
        deletes = [step for step in steps if step.action in ("delete", "replace")]
        failed = await _delete_all(work, told, told.state, deletes, program)
        rest = [step for step in steps if step.action != "delete"]
        await _create_and_update(work, told, told.state, rest, program, failed)
    return told


def run(
    settings: Mapping[str, Any],
    program: Program,
    state: State,
    *,
    destroy: bool = False,
    apply: bool = True,
    refresh: bool = True,
    folder: Path | None = None,
) -> Told:
    """Plan, and apply; return what came of it. A failed plan changes nothing, state included."""
    with contextlib.chdir(folder) if folder else contextlib.nullcontext():
        told = asyncio.run(
            _run(settings, program, state, destroy=destroy, apply=apply, refresh=refresh)
        )
    if not told.applied and apply:
        told.state = dict(state)
    return told
