"""A lifecycle against an emulated console, and the five steps as a test takes them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from opsconsole.diagnostics import Severity
from opsconsole.emulator import Emulator
from opsconsole.lifecycle.base import BaseLifecycle
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanOutcome,
    PlanRemoval,
    PlanRequest,
    RemovalReason,
    UpdateRequest,
)
from opsconsole.lifecycle.interface import ReadRequest as Read
from opsconsole.resources import RESOURCES
from opsconsole.resources.host import known
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.v1.settings import Settings


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a host that exists at once: no deletion of a test's makes room for it."""
    monkeypatch.setattr(known, "_PATIENCE", 0)


async def created(lifecycle: BaseLifecycle, requests: Sequence[CreateRequest]) -> list[Outcome]:
    """Create, and return the last that was reported of each."""
    found: dict[int, Outcome] = {}

    async def report(
        results: Sequence[tuple[CreateRequest, Outcome]], *, final: bool = True
    ) -> None:
        for request, outcome in results:
            assert id(request) not in found, "reported again after its last report"
            if final:
                found[id(request)] = outcome

    await lifecycle.create(requests, report)
    return [found[id(request)] for request in requests]


def open_provider(console: Emulator, settings: dict[str, Any]) -> ConfiguredProvider:
    """Open the provider of one run."""
    values = {"max_retries": 0} | console.provider_settings | settings
    return ConfiguredProvider(Settings.from_values(values, {}))


class Steps:
    """One resource's steps, each for one of them; every step starts a run of its own."""

    def __init__(self, console: Emulator, type_name: str, settings: dict[str, Any]) -> None:
        self.console = console
        self.type_name = type_name
        self.definition = RESOURCES[type_name]
        self.settings = settings
        self.provider: ConfiguredProvider | None = None

    def open(self) -> ConfiguredProvider:
        return open_provider(self.console, self.settings)

    def config(self, **values: Any) -> dict[str, Any]:
        return self.definition.empty() | values

    async def _run(self, step: Callable[[Any], Awaitable[Any]]) -> Any:
        provider = self.provider or self.open()
        try:
            return await step(provider.lifecycles[self.type_name])
        finally:
            if self.provider is None:
                await provider.close()

    async def plan(
        self,
        prior: Outcome | None,
        config: dict[str, Any] | None,
        removal: RemovalReason = RemovalReason.UNEXPLAINED,
    ) -> PlanOutcome:
        request: PlanRequest
        if prior is None or prior.state is None:
            # Without a value: the creation half of a replacement.
            request = PlanCreation(config or {}, prior.private if prior else b"")
        elif config is None:
            request = PlanRemoval(prior.state, prior.private, removal)
        else:
            request = PlanChange(prior.state, config, prior.private, removal)
        return (await self._run(lambda lifecycle: lifecycle.plan([request])))[0]

    async def create_all(
        self, *configs: dict[str, Any], replaced: Outcome | None = None
    ) -> list[Outcome]:
        requests = []
        for config in configs:
            plan = await self.plan(replaced and replaced._replace(state=None), config)
            assert not plan.failed, plan.diagnostics
            requests.append(CreateRequest(config, plan.planned, plan.private))
        return await self._run(lambda lifecycle: created(lifecycle, requests))

    async def create(self, **values: Any) -> Outcome:
        return (await self.create_all(self.config(**values)))[0]

    async def change(self, prior: Outcome, **values: Any) -> Outcome:
        config = self.config(**values)
        plan = await self.plan(prior, config)
        assert not plan.failed, plan.diagnostics
        assert not plan.requires_replace, plan.requires_replace
        request = UpdateRequest(prior.state, config, plan.planned, plan.private)
        return await self._run(lambda lifecycle: lifecycle.update(request))

    async def read(self, prior: Outcome) -> Outcome:
        assert prior.state is not None
        request = Read(prior.state, prior.private)
        return (await self._run(lambda lifecycle: lifecycle.read([request])))[0]

    async def delete(
        self, prior: Outcome, removal: RemovalReason = RemovalReason.UNEXPLAINED
    ) -> Outcome:
        plan = await self.plan(prior, None, removal)
        assert not plan.failed, plan.diagnostics
        request = DeleteRequest(prior.state, plan.private)
        return await self._run(lambda lifecycle: lifecycle.delete(request))


@pytest.fixture
def steps_of(console: Emulator, no_patience: None) -> Callable[..., Steps]:
    """Make the steps of a resource: `(name, **settings)`."""

    def make(name: str, **settings: Any) -> Steps:
        return Steps(console, f"opsconsole_{name}", settings)

    return make


@pytest.fixture
def agent_values(console: Emulator) -> dict[str, Any]:
    """What an agent of a host `web` is declared with."""
    required = {"credential_id": "crd_1", "credential_role": "login", "order": 1}
    credentials = {"credential_config": [required | {"is_required": True}]}
    credentials["accessible_credential_ids"] = ["crd_2", "crd_1"]
    host = console.create("hosts", name="web")["id"]
    own = {"name": "keeper", "main_engine": "engine-a", **credentials}
    return {"host_id": host, "specialty_id": "spc_linux", **own}


@pytest.fixture
async def one_run(
    console: Emulator, no_patience: None
) -> AsyncIterator[Callable[..., ConfiguredProvider]]:
    """Make the provider of one run, which is closed at the end: `(**settings)`."""
    opened: list[ConfiguredProvider] = []

    def make(**settings: Any) -> ConfiguredProvider:
        opened.append(open_provider(console, settings))
        return opened[-1]

    yield make
    for provider in opened:
        await provider.close()


def errors(outcome: Any) -> list[str]:
    """Return the summaries of its errors."""
    return _summaries(outcome, Severity.ERROR)


def warnings(outcome: Any) -> list[str]:
    """Return the summaries of its warnings."""
    return _summaries(outcome, Severity.WARNING)


def _summaries(outcome: Any, severity: Severity) -> list[str]:
    return [item.summary for item in outcome.diagnostics if item.severity is severity]
