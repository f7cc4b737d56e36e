"""The lifecycles under a program's provider configurations, and the reads through them: of the
objects in state, and of those that `import` blocks name.

One object of a console has one address. Two addresses of one object are an error of the plan.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from opsconsole.address import LOCAL_NAME, SOURCE
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import ConfigurationError, OpsconsoleError, Stopped, UserError
from opsconsole.language import Evaluator, Program
from opsconsole.lifecycle.answers import is_sentinel
from opsconsole.lifecycle.interface import ReadRequest, Seen
from opsconsole.reconcile.cascade import Targets
from opsconsole.reconcile.changes import Action, Change
from opsconsole.reconcile.prior import Identity, Prior, PriorInstance
from opsconsole.resources import RESOURCES, owners_above
from opsconsole.resources.lifecycles import Lifecycle
from opsconsole.state import InstanceObject
from opsconsole.v1.limiter import HeldBack
from opsconsole.v1.settings import Settings
from opsconsole.values import unknown_names

MakeLifecycle = Callable[[Settings], Lifecycle]
OnStop = Callable[[Callable[[], None]], None]
"""Takes what is to be called when the run is told to stop."""


def full_source(program: Program) -> str:
    """Return the source of the provider with the host that the program or its engine gives it."""
    required = program.required_providers.get(LOCAL_NAME, {})
    parts = str(required.get("source") or SOURCE).lower().split("/")
    return "/".join(parts if len(parts) == 3 else [program.engine.host, *parts])


def provider_in_state(program: Program, key: str) -> str:
    """Return how state writes the address of the provider configuration `key`."""
    _, dot, alias = key.partition(".")
    return f'provider["{full_source(program)}"]{dot}{alias}'


def provider_key_of(address: str) -> str:
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
        make: Makes a lifecycle of settings.
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
            session.command, session.plans_whole = "opsconsole", True
            for other in self.opened.values():
                if other.session.settings.base_url == session.settings.base_url:
                    session.holders = other.session.holders
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
        return self.console_of(provider_key_of(item.held.provider))

    def identity_of(self, item: PriorInstance) -> Identity:
        """Return what tells the object of an instance from all others."""
        return self.console_holding(item), item.type_name, item.before["id"]

    def by_state_address(self, known: Iterable[PriorInstance]) -> dict[str, Lifecycle]:
        """Return the lifecycles of instances in state, by the provider's address there."""
        return {
            address: self.of(provider_key_of(address))
            for address in {i.held.provider for i in known}
        }

    @property
    def waiting(self) -> HeldBack:
        """How long the consoles' limits on requests have the run wait: the longest wait."""
        found = [lifecycle.client.waiting for lifecycle in self.opened.values()]
        return max(found, key=lambda item: item.seconds, default=HeldBack(0, 0.0))

    @property
    def calls(self) -> dict[str, int]:
        """How many requests were sent, by operation."""
        total = Counter(self._closed)
        for lifecycle in self.opened.values():
            total.update(lifecycle.client.calls)
        return dict(total)

    def stop(self) -> None:
        """Begin no further request; those in flight are finished."""
        self.stopped = True
        for lifecycle in self.opened.values():
            lifecycle.stop()

    def check_stopped(self) -> None:
        """Raise where the run was told to stop: the reads since are incomplete.

        Raises:
            Stopped: It was.
        """
        if self.stopped:
            raise Stopped("The run was told to stop.")

    async def close(self) -> None:
        """Let go of every connection."""
        for lifecycle in self.opened.values():
            await lifecycle.close()
            self._closed.update(lifecycle.client.calls)
        self.opened.clear()


async def take_imports(
    prior: Prior, providers: Providers, evaluator: Evaluator
) -> list[Diagnostic]:
    """Add the objects of `import` blocks to the known ones; each is read with the rest.

    Args:
        evaluator: Resolves the references of the blocks.

    Returns:
        Why some could not be imported.
    """
    diagnostics: list[Diagnostic] = []
    named: set[str] = set()
    for target in evaluator.imports():
        address = str(target.address)
        if address in named:
            raise UserError(
                f"Two import blocks name {address}.", "An instance is one object: keep one of them."
            )
        named.add(address)
        if address in prior.known:
            continue
        config = providers.program.blocks.get(target.address.config)
        if config is None:
            diagnostics.append(
                error(
                    f"An import block names {address}, which the program does not declare",
                    "Declare the resource, or let "
                    f"`{providers.program.engine.command} plan -generate-config-out` write it.",
                )
            )
            continue
        provider = target.provider or config.provider
        found, problems = await named_by_import(
            providers, provider, address, config.type_name, target.id
        )
        diagnostics += problems
        if found is not None:
            prior.known[address] = found
            prior.imports[address] = target.id
    return diagnostics


async def named_by_import(
    providers: Providers, provider: str, address: str, type_name: str, import_id: str
) -> tuple[PriorInstance | None, Sequence[Diagnostic]]:
    """Return the object of an import id, before it is read."""
    outcome = await providers.of(provider).resources[type_name].import_state(import_id)
    if outcome.state is None:
        return None, outcome.diagnostics
    written = provider_in_state(providers.program, provider)
    held = InstanceObject(written, outcome.state, private=outcome.private)
    return PriorInstance(address, type_name, held, outcome.state), outcome.diagnostics


def not_there(type_name: str, import_id: str) -> Diagnostic:
    """Report that an object to import does not exist; it is never created instead."""
    return error(
        f"There is no {RESOURCES[type_name].title} {import_id} that this key can see",
        "Check the id, the key and the org. Nothing was changed.",
    )


def undeclared_imports(
    prior: Prior, targets: Targets, declared: Container[str]
) -> Iterator[Diagnostic]:
    """Yield an error for each import that no instance of the program takes.

    An imported object that is not declared would be destroyed.
    """
    for address in prior.imports:
        if address in targets and address not in declared:
            summary = f"An import block names {address}, which the program does not declare"
            yield error(summary, "The resource has no instance with this key.").about(address)


async def refresh(
    known: Sequence[PriorInstance], lifecycles: Mapping[str, Lifecycle]
) -> dict[str, PriorInstance]:
    """Read instances; return them with the results, by address.

    Args:
        known: The instances; those whose provider has no lifecycle are left unread.
        lifecycles: A lifecycle by the provider's address as state writes it.
    """
    found = {item.address: item for item in known}
    # Owners are read in earlier waves: with one that is gone, what it owns is gone.
    waves: dict[int, dict[tuple[str, str], list[PriorInstance]]] = {}
    depth = {name: len(owners_above(definition)) for name, definition in RESOURCES.items()}
    for item in known:
        if item.held.provider in lifecycles:
            groups = waves.setdefault(depth[item.type_name], {})
            groups.setdefault((item.held.provider, item.type_name), []).append(item)
    for _, groups in sorted(waves.items()):
        done = await asyncio.gather(
            *(
                _read(lifecycles[provider], type_name, group)
                for (provider, type_name), group in groups.items()
            )
        )
        for group in done:
            found.update((item.address, item) for item in group)
    return found


async def _read(
    lifecycle: Lifecycle, type_name: str, group: Sequence[PriorInstance]
) -> Iterable[PriorInstance]:
    requests = [ReadRequest(item.before, item.held.private, item.address) for item in group]
    outcomes = await lifecycle.resources[type_name].read(requests)
    return [replace(item, read=outcome) for item, outcome in zip(group, outcomes, strict=True)]


def is_partly_shown(item: PriorInstance) -> bool:
    """Return whether a read left out a value that a program may declare and that state holds."""
    if item.read is None or item.read.seen is not Seen.PRESENT:
        return False
    unseen = map(RESOURCES[item.type_name].by_name.__getitem__, item.read.unobserved)
    return any(
        attribute.settable and item.before.get(attribute.name) is not None for attribute in unseen
    )


def addresses_by_identity(
    known: Iterable[PriorInstance], providers: Providers
) -> dict[Identity, list[str]]:
    """Return the addresses of each object that state holds, or an `import` block names."""
    found: dict[Identity, list[str]] = {}
    for item in known:
        object_id = item.before["id"]
        if isinstance(object_id, str) and not is_sentinel(object_id):
            found.setdefault(providers.identity_of(item), []).append(item.address)
    return found


def adopted_by_identity(
    changes: Iterable[Change], providers: Providers
) -> dict[Identity, list[str]]:
    """Return the addresses of each object that creations adopt: its id is known in the plan."""
    found: dict[Identity, list[str]] = {}
    for change in changes:
        object_id = (change.after or {}).get("id")
        if change.action in (Action.CREATE, Action.ADOPT) and isinstance(object_id, str):
            identity = (providers.console_of(change.provider), change.type_name, object_id)
            found.setdefault(identity, []).append(change.address)
    return found


def held_twice(by_identity: Mapping[Identity, list[str]]) -> Iterator[Diagnostic]:
    """Yield an error for each object that has several addresses.

    An object that was gone and is created again under its id has the same address twice. Dropping
    one of several addresses would delete the object of the others.
    """
    for (_, type_name, object_id), several in by_identity.items():
        addresses = list(dict.fromkeys(several))
        if len(addresses) > 1:
            yield error(
                f"{' and '.join(addresses)} are the same {RESOURCES[type_name].title}, {object_id}",
                "One object has one address: removing one of the two would delete what the other "
                "manages. Keep one of them. If the other is in state, `opsconsole state rm "
                "ADDRESS` forgets it without a change to the console. If it is only declared or "
                "imported, take it out of the program, or move it with a `moved` block.",
            ).about(several[-1])
