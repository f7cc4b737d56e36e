"""The provider configurations of a program, and the lifecycles that work under them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from opsconsole.address import SOURCE, TERRAFORM_HOST
from opsconsole.errors import ConfigurationError, OpsconsoleError, Stopped, UserError
from opsconsole.language import Evaluator, Program
from opsconsole.lifecycle.lifecycle import Lifecycle
from opsconsole.reconcile.declaration import Place, PriorInstance
from opsconsole.v1.limiter import HeldBack
from opsconsole.v1.settings import Settings
from opsconsole.values import unknown_names

LOCAL_NAME = "opsconsole"
MakeLifecycle = Callable[[Settings], Lifecycle]
OnStop = Callable[[Callable[[], None]], None]
"""Takes what is to be called when the run is told to stop."""


def in_state(program: Program, key: str) -> str:
    """Return how state writes the address of the provider configuration `key`."""
    required = program.required_providers.get(LOCAL_NAME, {})
    source = required.get("source") or SOURCE
    parts = str(source).lower().split("/")
    full = "/".join(parts if len(parts) == 3 else [TERRAFORM_HOST, *parts])
    _, dot, alias = key.partition(".")
    return f'provider["{full}"]{dot}{alias}'


def key_of(address: str) -> str:
    """Return the key of a provider configuration that state writes as `address`."""
    _, _, alias = address.partition('"].')
    return f"{LOCAL_NAME}.{alias}" if alias else LOCAL_NAME


@dataclass
class Providers:
    """The lifecycles of one run, made as they are asked for.

    Attributes:
        program: The program whose provider blocks configure them.
        evaluator: Evaluates these blocks.
        environ: The environment that fills what they leave out.
        stopped: Whether the run was told to stop.
        opened: The lifecycles made so far, by key.
    """

    program: Program
    evaluator: Evaluator
    environ: Mapping[str, str]
    make: MakeLifecycle = Lifecycle
    stopped: bool = False
    opened: dict[str, Lifecycle] = field(default_factory=dict)
    _closed: Counter[str] = field(default_factory=Counter)
    _consoles: dict[str, str] = field(default_factory=dict)

    def of(self, key: str) -> Lifecycle:
        """Return the lifecycle under a provider configuration.

        Raises:
            UserError, ConfigurationError: its settings are wrong, or not known yet.
        """
        if key not in self.opened:
            made = self.make(self.settings(key))
            session = made.session
            session.command, session.reads_first = "opsconsole", True
            for other in self.opened.values():
                if other.session.settings.base_url == session.settings.base_url:
                    session.held = other.session.held
                    break
            self.opened[key] = made
            if self.stopped:
                self.opened[key].stop()
        return self.opened[key]

    def settings(self, key: str) -> Settings:
        """Return the settings of a provider configuration; raises as `of`."""
        values = self.evaluator.provider_config(key).values
        unknown = unknown_names(values)
        if unknown:
            raise UserError(
                f"{', '.join(unknown)} of provider {key} is known only after apply.",
                "Apply what it depends on first, with -target.",
            )
        try:
            return Settings.from_values(values, self.environ)
        except ConfigurationError as problem:
            problem.message = f"provider {key}: {problem.message}"
            raise

    def console_of(self, key: str) -> str:
        """Return what tells the console of a provider configuration from others."""
        if key not in self._consoles:
            try:
                self._consoles[key] = self.settings(key).base_url
            except OpsconsoleError:
                # An error in its settings is reported where the provider is used. They may be known
                # later.
                return key
        return self._consoles[key]

    def console_holding(self, item: PriorInstance) -> str:
        """Return what tells the console of an instance in state from others."""
        return self.console_of(key_of(item.held.provider))

    def place_of(self, item: PriorInstance) -> Place:
        """Return what the object of an instance in state is known by."""
        return self.console_holding(item), item.type_name, item.before["id"]

    def by_state_address(self, known: Iterable[PriorInstance]) -> dict[str, Lifecycle]:
        """Return the lifecycles of instances in state, by the provider's address there."""
        return {address: self.of(key_of(address)) for address in {i.held.provider for i in known}}

    @property
    def waiting(self) -> HeldBack:
        """What the consoles' limits on requests have the run wait for: the longest wait."""
        found = [lifecycle.waiting for lifecycle in self.opened.values()]
        return max(found, key=lambda item: item.seconds, default=HeldBack(0, 0.0))

    @property
    def calls(self) -> dict[str, int]:
        """How many requests were sent, by operation."""
        total = Counter(self._closed)
        for lifecycle in self.opened.values():
            total.update(lifecycle.calls)
        return dict(total)

    def stop(self) -> None:
        """Begin no further request; those in flight are finished."""
        self.stopped = True
        for lifecycle in self.opened.values():
            lifecycle.stop()

    def check_stopped(self) -> None:
        """Raise where the run was told to stop: what was read since is not whole.

        Raises:
            Stopped: It was.
        """
        if self.stopped:
            raise Stopped("The run was told to stop.")

    async def close(self) -> None:
        """Let go of every connection."""
        for lifecycle in self.opened.values():
            await lifecycle.close()
            self._closed.update(lifecycle.calls)
        self.opened.clear()
