"""The consoles of one check: one provider for each set of settings.

Stacks with equal settings share a provider, so that one search serves them all. Only this module
restricts settings to the rights of a check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from opsconsole.address import LOCAL_NAME
from opsconsole.drift.stack import StackState
from opsconsole.errors import OpsconsoleError, UserError
from opsconsole.reconcile.providers import Providers, provider_key_of
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.v1.settings import Settings


@dataclass
class Consoles:
    """The providers of one check.

    Attributes:
        environ: The environment that settings fall back on.
        read_only: Whether only GET requests may be sent.
        providers: The providers, by a key that is private to this check.
        stopped: Whether the check was stopped.
    """

    environ: Mapping[str, str]
    read_only: bool = False
    providers: dict[str, ConfiguredProvider] = field(default_factory=dict)
    stopped: bool = False

    def _open(self, settings: Settings) -> str:
        restricted = for_checking(settings, read_only=self.read_only)
        # Settings hold a mapping, so they cannot be the keys of a dictionary.
        for key, provider in self.providers.items():
            if provider.session.settings == restricted:
                return key
        key = str(len(self.providers))
        self.providers[key] = ConfiguredProvider(restricted, read_only=self.read_only)
        # `stop` reached only the providers that were open when it was called.
        if self.stopped:
            self.providers[key].stop()
        return key

    def open_stack(self, state: StackState) -> dict[str, tuple[str, str]]:
        """Open the providers of the provider configurations in a state.

        Returns:
            For each configuration, as state writes it: the key of its provider, or an empty key and
            the reason why it has none.
        """
        program, providers = state.stack.program, None
        if program is not None:
            evaluator = state.stack.evaluator(program, state.values)
            providers = Providers(program, evaluator, self.environ)
        opened: dict[str, tuple[str, str]] = {}
        for name in dict.fromkeys(item.instance.stored.provider for item in state.objects):
            try:
                opened[name] = self._open(self._settings_of(name, providers)), ""
            except OpsconsoleError as problem:
                opened[name] = "", str(problem)
        return opened

    def _settings_of(self, provider: str, providers: Providers | None) -> Settings:
        """Return the settings of a provider configuration: the program's, or the environment's.

        Raises:
            UserError, ConfigurationError: The settings are wrong or cannot be determined.
        """
        key = provider_key_of(provider)
        inside = provider.startswith("module.")
        if inside or (providers is None and key != LOCAL_NAME):
            raise UserError(
                f"its provider configuration {provider if inside else key} is in a program that "
                "was not named (--program, --dir)"
            )
        if providers is None:
            return Settings.from_values({}, self.environ)
        return providers.settings(key)

    @property
    def calls(self) -> dict[str, int]:
        """How many requests were sent, by operation."""
        total: Counter[str] = Counter()
        for provider in self.providers.values():
            total.update(provider.client.calls)
        return dict(sorted(total.items()))

    def stop(self) -> None:
        """Begin no further request; those in flight are finished."""
        self.stopped = True
        for provider in self.providers.values():
            provider.stop()

    async def close(self) -> None:
        """Close every connection."""
        for provider in self.providers.values():
            await provider.close()


def for_checking(settings: Settings, *, read_only: bool) -> Settings:
    """Return the settings of a check; if `read_only`, they only name GET operations."""
    # In a check, a 404 for an object is a finding, even if a refresh would fail.
    settings = replace(settings, on_missing="remove", on_missing_host=None)
    if not read_only:
        return settings
    readable = {
        name: declared
        for name, declared in settings.extra_endpoints.items()
        if declared.startswith("GET ")
    }
    # The empty update, which can read hosts, is a POST.
    return replace(settings, host_read="none", extra_endpoints=readable)
