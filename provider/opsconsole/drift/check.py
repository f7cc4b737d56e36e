"""One check: states and console side by side, every resource in exactly one bucket.

A check takes no lock and writes no state. It sends the requests of a refresh, and requests for the
lists that an operator has named.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opsconsole.address import LOCAL_NAME
from opsconsole.clock import timestamp, utc_now
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.drift import COUNTED_BY_DEFAULT, unmanaged_kinds
from opsconsole.drift.buckets import classify, explain_unread
from opsconsole.drift.model import (
    UNUSED,
    BaselineProblem,
    CheckScope,
    DriftReport,
    Finding,
    Managed,
    Shard,
    ShardResult,
    console_digest,
)
from opsconsole.drift.stack import StackState, StackStates, StateObject, explain_rewritten
from opsconsole.drift.unmanaged import are_lists_read, find_unmanaged
from opsconsole.errors import OpsconsoleError, Stopped, UserError
from opsconsole.lifecycle.interface import ReadOutcome, ReadStatus
from opsconsole.reconcile.prior import unsettled_warning
from opsconsole.reconcile.providers import (
    OpenedProviders,
    Providers,
    Watch,
    provider_key_of,
    read_in_waves,
)
from opsconsole.resources import RESOURCES
from opsconsole.resources.lifecycles import ConfiguredProvider
from opsconsole.v1.operations import has_complete_read
from opsconsole.v1.settings import Settings

if TYPE_CHECKING:
    from opsconsole.drift.baseline import Entry


@dataclass(frozen=True)
class CheckOptions:
    """The options of a check.

    Attributes:
        read_only: Whether to send nothing but GET requests.
        min_coverage: Per cent of the required resources that must be checked.
        baseline: The entries of the accepted drift.
        count_unmanaged: Kinds of unmanaged objects that count as drift, of `unmanaged_kinds`.
        shard: The part of all stacks that is checked; None: all stacks.
        some_stacks: Whether only some stacks of a program are checked.
    """

    read_only: bool = False
    min_coverage: float = 100.0
    baseline: Sequence[Entry] = ()
    count_unmanaged: Collection[str] = COUNTED_BY_DEFAULT
    shard: Shard | None = None
    some_stacks: bool = False


@dataclass
class ProviderPool(OpenedProviders):
    """The providers of one check: stacks with equal settings share one, and its search.

    Attributes:
        environ: The environment that settings fall back on.
        get_only: Whether only GET requests may be sent.
    """

    environ: Mapping[str, str]
    get_only: bool = False

    def _open(self, settings: Settings) -> ConfiguredProvider:
        # In a check, a 404 for an object is a finding, even if a refresh would fail.
        restricted = replace(settings, on_missing="remove", on_missing_host=None)
        # Settings hold a mapping, so they cannot be the keys of a dictionary.
        for provider in self.opened:
            if provider.session.settings == restricted:
                return provider
        provider = ConfiguredProvider(restricted, get_only=self.get_only)
        self.add(provider)
        return provider

    def open_stack(self, state: StackState) -> dict[str, tuple[ConfiguredProvider | None, str]]:
        """Open the providers of the provider configurations in a state.

        Returns:
            For each configuration, as state writes it: its provider, or the reason why it has none.
        """
        program, providers = state.stack.program, None
        if program is not None:
            evaluator = state.stack.evaluator(program, state.values)
            providers = Providers(program, evaluator, self.environ)
        opened: dict[str, tuple[ConfiguredProvider | None, str]] = {}
        for name in dict.fromkeys(item.instance.stored.provider for item in state.objects):
            try:
                opened[name] = self._open(self._settings_of(name, providers)), ""
            except OpsconsoleError as problem:
                opened[name] = None, str(problem)
        return opened

    def _settings_of(self, provider: str, providers: Providers | None) -> Settings:
        """Return the settings of a provider configuration: the program's, or the environment's."""
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


async def check(
    states: StackStates,
    options: CheckOptions,
    environ: Mapping[str, str],
    watch: Watch = lambda providers: None,
) -> DriftReport:
    """Check states against their consoles; Stopped if not everything was read.

    Anything that cannot be read is reported, not raised.

    Args:
        environ: The environment that provider settings fall back on.
    """
    async with ProviderPool(environ, options.read_only) as pool:
        watch(pool)
        return await _check(states, options, pool)


async def _check(states: StackStates, options: CheckOptions, pool: ProviderPool) -> DriftReport:
    counted_types = sorted(unmanaged_kinds()[kind] for kind in options.count_unmanaged)
    objects = await _read_objects(states.read, pool)
    shard = options.shard
    tolerant = options.min_coverage < 100.0
    unmanaged, unlisted = await find_unmanaged(
        objects, counted_types, sharded=shard is not None, tolerant=tolerant
    )
    # Otherwise the report would call everything unchecked that was not read before the stop.
    if pool.stopped:
        raise Stopped("The check was stopped.")
    addresses = {
        (item.provider, item.instance.type_name, item.id): item.address for item in objects
    }
    findings = [*(classify(item, addresses) for item in objects), *unmanaged]
    findings, undetermined = _add_declarations(findings, states.read)
    listed = not unlisted and are_lists_read(objects)
    now = utc_now()
    certain = len(states.read) == len(states.stacks) and not options.some_stacks
    problems: tuple[BaselineProblem, ...] = ()
    if options.baseline:
        from opsconsole.drift.baseline import apply_baseline  # loads YAML and pydantic

        findings, problems = apply_baseline(
            options.baseline,
            findings,
            now.date(),
            certain=certain,
            listed=listed,
            counted=counted_types,
        )
    drifted = any(finding.is_drift for finding in findings)
    return DriftReport(
        findings=tuple(sorted(findings, key=lambda finding: finding.stack)),
        checked_at=timestamp(now),
        read_only=options.read_only,
        method=_describe_reads(objects),
        diagnostics=(
            *states.diagnostics,
            *unlisted,
            *undetermined,
            # Only drift can come from a run that wrote a state meanwhile, and reading states again
            # is slow.
            *(item for state in states.read if drifted for item in explain_rewritten(state)),
            *_diagnose_reads(objects, tolerant),
        ),
        # Another shard may use an entry that this shard does not use. The merge of all shards
        # decides.
        baseline=tuple(item for item in problems if shard is None or item.problem != UNUSED),
        calls=pool.calls,
        seconds=time.monotonic() - states.began,
        # Documented operations read these types.
        required=tuple(name for name, item in RESOURCES.items() if has_complete_read(item)),
        min_coverage=options.min_coverage,
        shard=_make_shard_result(shard, objects, states, problems) if shard else None,
        scope=CheckScope(
            tuple(state.stack.name for state in states.read if not state.never_written),
            tuple(counted_types) if listed else (),
        ),
    )


async def _read_objects(states: Iterable[StackState], pool: ProviderPool) -> list[StateObject]:
    """Read the objects of all stacks: first those without an owner, then those that have one."""
    objects: list[StateObject] = []
    for state in states:
        opened = pool.open_stack(state)
        for item in state.objects:
            provider, why = opened[item.instance.stored.provider]
            if item.unreadable:
                provider, why = None, item.unreadable
            objects.append(replace(item, provider=provider, unreadable=why))
    instances = await read_in_waves([(item.instance, item.provider) for item in objects])
    return [_explain(replace(item, instance=instances[item.instance.address])) for item in objects]


def _explain(item: StateObject) -> StateObject:
    """Return an object after its read, with the reason if nothing was asked about it."""
    read, why = item.instance.read, item.unreadable
    if read is None:
        read = ReadOutcome(None, diagnostics=(error(why),), status=ReadStatus.UNCHECKED, reason=why)
    elif item.instance.unsettled:
        unsettled = unsettled_warning(item.address)
        read = read._replace(reason=unsettled.summary, diagnostics=(unsettled,))
    else:
        return item
    return replace(item, instance=item.instance._replace(read=read))


def _diagnose_reads(objects: Sequence[StateObject], tolerant: bool) -> Iterator[Diagnostic]:
    for item in objects:
        if item.outcome.status is ReadStatus.PRESENT and not item.is_unread:
            yield from item.outcome.diagnostics
    yield from explain_unread(objects, tolerant=tolerant)


def _add_declarations(
    findings: Iterable[Finding], states: Iterable[StackState]
) -> tuple[list[Finding], list[Diagnostic]]:
    """Return findings with their declarations, and the pending resources of all stacks."""
    by_stack = {state.stack.name: state for state in states}
    pending: list[Finding] = []
    diagnostics: list[Diagnostic] = []
    for state in states:
        more, undetermined = state.find_pending()
        pending += more
        diagnostics += undetermined
    located = [by_stack[finding.stack].locate(finding) for finding in (*findings, *pending)]
    return located, diagnostics


def _make_shard_result(
    shard: Shard,
    objects: Iterable[StateObject],
    states: StackStates,
    problems: Iterable[BaselineProblem],
) -> ShardResult:
    return ShardResult(
        shard.number,
        shard.count,
        managed=tuple(
            Managed(console_digest(item.base_url), item.instance.type_name, item.id)
            for item in objects
        ),
        baseline_unused=tuple(item.entry for item in problems if item.problem == UNUSED),
        stacks=len(states.stacks),
        stacks_without_state=sum(state.has_no_state for state in states.read),
    )


def _describe_reads(objects: Iterable[StateObject]) -> str:
    """Describe how hosts were read, or why they were not, in one sentence for each method."""
    methods = dict.fromkeys(
        item.provider.lifecycles[item.instance.type_name].describe_read(item.outcome)
        for item in objects
        if item.provider is not None
    )
    return " ".join(filter(None, methods))
