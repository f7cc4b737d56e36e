"""Terraform's order of calls, against the provider's own calls, in this process.

Only what a fault can bend is here: refresh, plan, apply and destroy of resources that refer to each
other, with taint, replacement, and skipping what depends on a failure. Each phase configures a
provider of its own, as Terraform starts a process of its own for it.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from opsconsole.redaction import Redaction
from opsconsole.resources import PROVIDER, RESOURCES
from opsconsole.state import InstanceObject
from opsconsole.terraform.codec import ObjectCodec
from opsconsole.terraform.main import connect
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.servicer import Servicer
from opsconsole.values import UNKNOWN

SOURCE = 'provider["registry.terraform.io/opsconsole/opsconsole"]'
"""The provider, as states name it."""
_REFERENCE = re.compile(r"^\$\{(\w+\.\w+(?:\[[^]]+\])?)\.(\w+)\}$")

Program = Mapping[str, Mapping[str, Any]]
"""Address to declared attributes, in an order in which what is referred to comes first."""


State = dict[str, InstanceObject]


@dataclass
class RpcRun:
    """How a run ended; `planned` holds actions by address."""

    state: State
    errors: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    planned: dict[str, str] = field(default_factory=dict)
    applied: bool = False

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

    def __init__(self, calls: Servicer, run: RpcRun) -> None:
        self._calls = calls
        self._run = run

    def _codec(self, address: str) -> ObjectCodec:
        return self._calls.codec("resource", type_of(address))

    def note(self, address: str, response: Any) -> bool:
        """Note what a response says; return whether there is an error."""
        failed = False
        for item in response.diagnostics:
            text = f"{item.summary}: {item.detail}"
            is_error = item.severity == pb.Diagnostic.ERROR
            (self._run.errors if is_error else self._run.warnings).append((address, text))
            failed = failed or is_error
        return failed

    async def read(self, address: str, prior: InstanceObject) -> InstanceObject | None:
        state = self._codec(address).encode(prior.attributes)
        request = pb.ReadResource.Request(
            type_name=type_of(address), current_state=state, private=prior.private
        )
        response = await self._calls.read_resource(request)
        if self.note(address, response):
            return prior
        values = self._codec(address).decode(response.new_state)
        if values is None:
            return None
        return prior._replace(attributes=dict(values), private=response.private)

    async def plan(
        self,
        address: str,
        prior: InstanceObject | None,
        config: Mapping[str, Any] | None,
        private: bytes,
    ) -> tuple[Any, Any, bool]:
        codec = self._codec(address)
        wanted = codec.encode(config)
        request = pb.PlanResourceChange.Request(
            type_name=type_of(address),
            prior_state=codec.encode(prior.attributes if prior else None),
            proposed_new_state=wanted,
            config=wanted,
            prior_private=private,
        )
        response = await self._calls.plan_resource_change(request)
        failed = self.note(address, response)
        return response, codec.decode(response.planned_state), failed

    async def apply(
        self,
        address: str,
        prior: InstanceObject | None,
        config: Mapping[str, Any] | None,
        planned: Mapping[str, Any] | None,
        private: bytes,
    ) -> tuple[InstanceObject | None, bool]:
        codec = self._codec(address)
        request = pb.ApplyResourceChange.Request(
            type_name=type_of(address),
            prior_state=codec.encode(prior.attributes if prior else None),
            planned_state=codec.encode(planned),
            config=codec.encode(config),
            planned_private=private,
        )
        response = await self._calls.apply_resource_change(request)
        failed = self.note(address, response)
        values = codec.decode(response.new_state)
        if values is None:
            return None, failed
        tainted = (failed and prior is None) or bool(prior and prior.tainted and planned is None)
        dependencies = prior.dependencies if prior else ()
        made = InstanceObject(SOURCE, dict(values), 0, response.private, dependencies, tainted)
        return made, failed


@contextlib.asynccontextmanager
async def phase(settings: Mapping[str, Any], run: RpcRun) -> AsyncIterator[Phase]:
    calls = Servicer(connect, Redaction())
    config = calls.codec("provider").encode(dict(PROVIDER.empty()) | dict(settings))
    work = Phase(calls, run)
    response = await calls.configure_provider(pb.ConfigureProvider.Request(config=config))
    work.note("provider", response)
    try:
        yield work
    finally:
        await calls.close()


@dataclass
class Step:
    """What is to be done with one address: `replace` deletes before all creates."""

    address: str
    action: str
    private: bytes = b""


async def _make_plan(
    work: Phase, run: RpcRun, program: Program, *, destroy: bool, refresh: bool
) -> list[Step]:
    """Refresh, then plan, address by address; errors stop what depends on them.

    Before it destroys, Terraform makes a plan like any other, unless there is nothing in state.
    """
    state = run.state
    steps = []
    if refresh and (state or not destroy):
        steps = await _plan_resources(work, program, state)
    if destroy:
        steps = []
    if run.errors:
        return steps
    for address in _dependents_first(_uses(state, program)):
        if destroy or address not in program:
            response, _, _ = await work.plan(address, state[address], None, state[address].private)
            steps.append(Step(address, "delete", response.planned_private))
    return steps


def _uses(state: State, program: Program) -> dict[str, list[str]]:
    """Return what each address in state depends on, by the program and by state."""
    return {
        address: [
            other
            for other in state
            if other in references(program.get(address, {})) or block_of(other) in item.dependencies
        ]
        for address, item in state.items()
    }


def _dependents_first(uses: Mapping[str, Sequence[str]]) -> list[str]:
    return [*TopologicalSorter(uses).static_order()][::-1]


async def _plan_resources(work: Phase, program: Program, state: State) -> list[Step]:
    order = [*program, *(address for address in state if address not in program)]
    refreshed: State = {}
    for address in sorted(state, key=order.index):
        read = await work.read(address, state[address])
        if read is not None:
            refreshed[address] = read
    state.clear()
    state.update(refreshed)
    values: dict[str, Mapping[str, Any]] = {}
    steps: list[Step] = []
    broken: set[str] = set()
    for address, declared in program.items():
        if broken.intersection(references(declared)):
            broken.add(address)
            continue
        item = state.get(address)
        config = config_of(address, declared, values)
        prior = None if item is None or item.tainted else item
        private = prior.private if prior else b""
        response, planned, failed = await work.plan(address, prior, config, private)
        action = "create" if item is None else "replace" if item.tainted else ""
        if not failed and prior is not None and response.requires_replace:
            private = response.planned_private
            response, planned, failed = await work.plan(address, None, config, private)
            action = "replace"
        elif prior is not None:
            action = "no-op" if planned == prior.attributes else "update"
        if failed:
            broken.add(address)
            continue
        values[address] = planned
        steps.append(Step(address, action, response.planned_private))
    return steps


async def _delete_all(
    work: Phase, state: State, steps: Sequence[Step], program: Program
) -> set[str]:
    """Delete, dependents first; where that fails, what they depend on stays too."""
    failed: set[str] = set()
    uses = _uses(state, program)
    order = _dependents_first(uses)
    for step in sorted(steps, key=lambda step: order.index(step.address)):
        if any(step.address in uses[other] for other in failed):
            failed.add(step.address)
            continue
        left, bad = await work.apply(step.address, state[step.address], None, None, step.private)
        if left is None:
            state.pop(step.address)
        else:
            state[step.address] = left
        if bad:
            failed.add(step.address)
    return failed


async def _create_and_update(
    work: Phase, state: State, steps: Sequence[Step], program: Program, failed: set[str]
) -> None:
    """Create and update: those that refer to nothing unfinished at the same time."""
    waiting = {step.address: step for step in steps}

    async def one(address: str) -> None:
        prior = state.get(address)
        values = {name: item.attributes for name, item in state.items()}
        config = config_of(address, program[address], values)
        private = prior.private if prior else b""
        response, planned, bad = await work.plan(address, prior, config, private)
        if bad:
            failed.add(address)
            return
        made, bad = await work.apply(address, prior, config, planned, response.planned_private)
        if made is None:
            state.pop(address, None)
        else:
            state[address] = made
        if bad:
            failed.add(address)

    while waiting:
        ready = [
            step
            for address, step in waiting.items()
            if not any(item in waiting for item in references(program[address]))
        ]
        going = []
        for step in ready:
            waiting.pop(step.address)
            if failed.intersection(references(program[step.address])):
                failed.add(step.address)
            elif step.address not in failed and step.action != "no-op":
                going.append(step.address)
        await asyncio.gather(*map(one, going))


def run(
    settings: Mapping[str, Any],
    program: Program,
    state: State,
    *,
    destroy: bool = False,
    apply: bool = True,
    refresh: bool = True,
    folder: Path | None = None,
) -> RpcRun:
    """Plan, and apply; return what came of it. A failed plan changes nothing, state included."""
    run = RpcRun(dict(state))

    async def plan_and_apply() -> None:
        steps = []
        async with phase(settings, run) as work:
            if not run.errors:
                steps = await _make_plan(work, run, program, destroy=destroy, refresh=refresh)
        run.planned = {step.address: step.action for step in steps if step.action != "no-op"}
        if run.errors or not apply:
            run.state = dict(state)
            return
        run.applied = True
        async with phase(settings, run) as work:
            deletes = [step for step in steps if step.action in ("delete", "replace")]
            failed = await _delete_all(work, run.state, deletes, program)
            rest = [step for step in steps if step.action != "delete"]
            await _create_and_update(work, run.state, rest, program, failed)

    with contextlib.chdir(folder) if folder else contextlib.nullcontext():
        asyncio.run(plan_and_apply())
    return run
