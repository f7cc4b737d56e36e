"""The providers of one run, and their reads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from opsconsole.address import LOCAL_NAME, SOURCE
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import ConfigurationError, OpsconsoleError, Stopped, UserError
from opsconsole.language import Evaluator, Program
from opsconsole.lifecycle.interface import ReadRequest, ReadStatus
from opsconsole.reconcile.prior import Identity, PriorInstance
from opsconsole.resources import RESOURCES, owners_above
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.v1.limiter import HeldBack
from opsconsole.v1.settings import Settings
from opsconsole.values import Values, unknown_names

_APPLY_FIRST: Final = "Apply what it depends on first, with --target."


def full_source(program: Program) -> str:
    """Return the provider's source with its host: the program's, else its engine's."""
    required = program.required_providers.get(LOCAL_NAME, {})
    parts = str(required.get("source") or SOURCE).lower().split("/")
    return "/".join(parts if len(parts) == 3 else [program.cli.host, *parts])


def provider_in_state(program: Program, key: str) -> str:
    """Return the address of a provider configuration as state writes it."""
    _, dot, alias = key.partition(".")
    return f'provider["{full_source(program)}"]{dot}{alias}'


def provider_key_of(address: str) -> str:
    """Return the key of the provider configuration that state writes as `address`."""
    _, _, alias = address.partition('"].')
    return f"{LOCAL_NAME}.{alias}" if alias else LOCAL_NAME


@dataclass
class OpenedProviders:
    """Providers that are stopped and closed together; `opened` keeps their order."""

    opened: list[ConfiguredProvider] = field(default_factory=list, init=False)
    stopped: bool = field(default=False, init=False)

    def add(self, provider: ConfiguredProvider) -> None:
        self.opened.append(provider)
        if self.stopped:
            provider.stop()

    @property
    def calls(self) -> dict[str, int]:
        """The number of requests sent, by operation."""
        total: Counter[str] = Counter()
        for provider in self.opened:
            total.update(provider.client.calls)
        return dict(sorted(total.items()))

    @property
    def waiting(self) -> HeldBack:
        """The longest wait that the consoles' rate limits impose on the run."""
        waits = [provider.client.waiting for provider in self.opened]
        return max(waits, key=lambda item: item.seconds, default=HeldBack(0, 0.0))

    def stop(self) -> None:
        """Begin no further request; requests in flight finish."""
        self.stopped = True
        for provider in self.opened:
            provider.stop()

    def check_stopped(self) -> None:
        """Refuse to go on with incomplete reads after a stop.

        Raises:
            Stopped: The run was told to stop.
        """
        if self.stopped:
            raise Stopped("The run was told to stop.")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        # They stay among the opened ones: a step that is late must not open another.
        for provider in self.opened:
            await provider.close()


Watch = Callable[[OpenedProviders], None]
"""Receives the providers of a run before its first request, to show its progress and to stop it."""


@dataclass
class Providers(OpenedProviders):
    """The providers of one program, each opened when first asked for.

    Attributes:
        environ: The environment, which supplies the settings that the blocks leave out.
        parallelism: Overrides the setting `max_concurrency`; None: the setting counts.
        in_state: Evaluates settings that `evaluator` does not know yet, with the values in state.
        by_key: The opened providers, by the key of their provider configuration.
    """

    program: Program
    evaluator: Evaluator
    environ: Mapping[str, str]
    parallelism: int | None = None
    in_state: Evaluator | None = None
    by_key: dict[str, ConfiguredProvider] = field(default_factory=dict, init=False)
    _settings: dict[str, Settings] = field(default_factory=dict, init=False)
    _from_state: dict[str, Values] = field(default_factory=dict, init=False)

    def of(self, key: str) -> ConfiguredProvider:
        """Return the provider of a provider configuration.

        Raises:
            UserError, ConfigurationError: Its settings are wrong, or not known yet.
        """
        if key not in self.by_key:
            made = ConfiguredProvider(self.settings(key))
            session = made.session
            session.command, session.sees_whole_plan = "opsconsole", True
            # Two configurations may lead to one console.
            for other in self.opened:
                if other.session.settings.base_url == session.settings.base_url:
                    session.share(other.session)
            self.by_key[key] = made
            self.add(made)
        return self.by_key[key]

    def settings(self, key: str) -> Settings:
        """Return the settings of a provider configuration; raises as `of` does."""
        if key in self._settings:
            return self._settings[key]
        values = self.evaluator.provider_config(key).values
        if self.in_state is not None and unknown_names(values):
            values = self._from_state[key] = self.in_state.provider_config(key).values
        unknown = unknown_names(values)
        if unknown:
            raise UserError(
                f"{', '.join(unknown)} of provider {key} is known only after apply.", _APPLY_FIRST
            )
        try:
            settings = Settings.from_values(values, self.environ)
        except ConfigurationError as problem:
            problem.message = f"provider {key}: {problem.message}"
            raise
        limit = self.parallelism or settings.max_concurrency
        self._settings[key] = replace(settings, max_concurrency=limit)
        return self._settings[key]

    def changed_settings_errors(self, evaluator: Evaluator) -> Iterator[Diagnostic]:
        """Yield an error for each opened provider whose settings in state are out of date.

        Args:
            evaluator: Knows the values that the settings should have.
        """
        for key, used in self._from_state.items():
            values = evaluator.provider_config(key).values if key in self.by_key else used
            changed = [name for name in used if used[name] != values[name]]
            if changed:
                yield error(
                    f"{', '.join(changed)} of provider {key} is not up to date in state",
                    f"Its objects were read with the value in state. {_APPLY_FIRST}",
                )

    def console_of(self, key: str) -> str:
        """Return the console of a provider configuration: its URL, or the key if unknown."""
        try:
            return self.settings(key).base_url
        except OpsconsoleError:
            # Its settings may be known later; an error in them is reported at their use.
            return key

    def console_holding(self, item: PriorInstance) -> str:
        """Return the console that holds an instance in state."""
        return self.console_of(provider_key_of(item.stored.provider))

    def identity_of(self, item: PriorInstance) -> Identity:
        return self.console_holding(item), item.type_name, item.stored_values["id"]

    async def refresh(self, instances: Sequence[PriorInstance]) -> dict[str, PriorInstance]:
        """Read instances under their providers; return them with the results, by address."""
        return await read_in_waves(
            [(item, self.of(provider_key_of(item.stored.provider))) for item in instances]
        )


async def read_in_waves(
    instances: Sequence[tuple[PriorInstance, ConfiguredProvider | None]],
) -> dict[str, PriorInstance]:
    """Read instances; return them with the results, by address.

    Args:
        instances: Each instance with the provider that reads it; None leaves it unread.
    """
    refreshed = {item.address: item for item, _ in instances}
    # Owners are read in earlier waves: if an owner is gone, its objects are gone too.
    waves: dict[int, dict[tuple[ConfiguredProvider, str], list[PriorInstance]]] = {}
    depth = {name: len(owners_above(definition)) for name, definition in RESOURCES.items()}
    for item, provider in instances:
        if provider is not None:
            groups = waves.setdefault(depth[item.type_name], {})
            groups.setdefault((provider, item.type_name), []).append(item)
    for _, groups in sorted(waves.items()):
        done = await asyncio.gather(
            *(
                _read_group(provider, type_name, group)
                for (provider, type_name), group in groups.items()
            )
        )
        for group in done:
            refreshed.update((item.address, item) for item in group)
    return refreshed


async def _read_group(
    provider: ConfiguredProvider, type_name: str, group: Sequence[PriorInstance]
) -> Iterable[PriorInstance]:
    requests = [
        ReadRequest(item.stored_values, item.stored.private, item.address) for item in group
    ]
    outcomes = await provider.lifecycles[type_name].read(requests)
    return [item._replace(read=outcome) for item, outcome in zip(group, outcomes, strict=True)]


def is_partly_observed(item: PriorInstance) -> bool:
    """Return whether a read left out a value in state that a program may declare."""
    if item.read is None or item.read.status is not ReadStatus.PRESENT:
        return False
    unobserved = map(RESOURCES[item.type_name].by_name.__getitem__, item.read.unobserved)
    return any(
        attribute.settable and item.stored_values.get(attribute.name) is not None
        for attribute in unobserved
    )
