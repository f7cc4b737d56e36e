"""The consoles of one check: one provider for each set of settings.

Stacks with equal settings share a provider, so that one search serves them all. Only this module
restricts settings to the rights of a check.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from opsconsole.address import LOCAL_NAME
from opsconsole.drift.stack import Stack
from opsconsole.errors import OpsconsoleError, UserError
from opsconsole.language import Evaluator
from opsconsole.reconcile.workspace import Providers, provider_key_of
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.v1.settings import Settings
from opsconsole.values import Values


@dataclass
class Consoles:
    """The providers of one check.

    Attributes:
        environ: The environment that settings fall back on.
        read_only: Whether only GET requests may be sent.
        providers: The providers, by a key that is private to this check.
        settings: The settings of each provider, in the order of those keys.
        stopped: Whether the check was stopped.
    """

    environ: Mapping[str, str]
    read_only: bool = False
    providers: dict[str, ConfiguredProvider] = field(default_factory=dict)
    settings: list[Settings] = field(default_factory=list)
    stopped: bool = False

    def _open(self, settings: Settings) -> str:
        restricted = for_checking(settings, read_only=self.read_only)
        # Settings hold a mapping, so they cannot be the keys of a dictionary.
        if restricted not in self.settings:
            self.settings.append(restricted)
            key = str(len(self.settings) - 1)
            self.providers[key] = ConfiguredProvider(restricted, read_only=self.read_only)
            # `stop` reached only the providers that were open when it was called.
            if self.stopped:
                self.providers[key].stop()
        return str(self.settings.index(restricted))

    def open_stack(
        self, stack: Stack, values: Mapping[str, Values], providers: Iterable[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Open the providers of a stack's provider configurations.

        Args:
            values: The values in state, by address.
            providers: The configurations, as state writes them.

        Returns:
            For each configuration the key of its provider, or the reason why it has none.
        """
        opened: Providers | None = None
        if stack.program is not None:
            evaluator = Evaluator(
                stack.program, stack.variables, values.get, workspace=stack.workspace
            )
            opened = Providers(stack.program, evaluator, self.environ)
        keys: dict[str, str] = {}
        why: dict[str, str] = {}
        for provider in providers:
            try:
                keys[provider] = self._open(self._settings_of(provider, opened))
            except OpsconsoleError as problem:
                why[provider] = str(problem)
        return keys, why

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

    def sharing(self, key: str) -> list[str]:
        """Return the keys of the same console, under any settings."""
        base_url = self.providers[key].session.settings.base_url
        return [
            other
            for other, provider in self.providers.items()
            if provider.session.settings.base_url == base_url
        ]

    def digest_of(self, key: str) -> str:
        """Return a digest of a console's address, which no report has; empty if not known."""
        if key not in self.providers:
            return ""
        base_url = self.providers[key].session.settings.base_url
        return hashlib.sha256(base_url.encode()).hexdigest()[:16]

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
