"""One check: states and console side by side, every resource in exactly one bucket.

A check takes no lock and writes no state. It sends the requests of a refresh, and those for the
lists that an operator has named.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from opsconsole.clock import timestamp, utc_now
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.drift import COUNTED, unmanaged_kinds
from opsconsole.drift.baseline import Entry, apply_baseline
from opsconsole.drift.buckets import classify, explain_unread
from opsconsole.drift.consoles import Consoles
from opsconsole.drift.report import (
    BaselineProblem,
    DriftReport,
    Finding,
    Managed,
    Scope,
    Shard,
    Share,
)
from opsconsole.drift.stack import (
    Stack,
    StackState,
    StateObject,
    StatesRead,
    report_rewritten,
)
from opsconsole.drift.unmanaged import (
    find_unmanaged,
    read_inventory,
    report_incomplete_lists,
)
from opsconsole.errors import Stopped
from opsconsole.lifecycle.interface import Outcome, Seen
from opsconsole.reconcile.prior import warn_unsettled
from opsconsole.reconcile.providers import OnStop, refresh
from opsconsole.resources import HOST, RESOURCES
from opsconsole.resources.host.reading import HostReader
from opsconsole.v1.operations import documented_for, reads_whole


@dataclass(frozen=True)
class CheckOptions:
    """The options of a check.

    Attributes:
        read_only: Whether to send nothing but GET requests.
        min_coverage: Per cent of the required resources that must be checked.
        baseline: The entries of the accepted drift.
        counted: Kinds of unmanaged objects that count as drift, of `unmanaged_kinds`.
        root: The directory to which source locations are relative.
        shard: The share of all stacks that these are; None if these are all stacks.
    """

    read_only: bool = False
    min_coverage: float = 100.0
    baseline: Sequence[Entry] = ()
    counted: Collection[str] = COUNTED
    root: Path = field(default_factory=Path.cwd)
    shard: Shard | None = None


async def check(
    read: StatesRead,
    options: CheckOptions,
    environ: Mapping[str, str],
    on_stop: OnStop = lambda stop: None,
) -> DriftReport:
    """Check states against their consoles.

    Anything that cannot be read appears in the report and never raises an exception.

    Args:
        environ: The environment that provider settings fall back on.
        on_stop: Takes what stops the check.

    Raises:
        Stopped: The check was stopped before everything was read.
    """
    consoles = Consoles(environ, options.read_only)
    on_stop(consoles.stop)
    try:
        return await _check(read, options, consoles)
    finally:
        await consoles.close()


async def _check(read: StatesRead, options: CheckOptions, consoles: Consoles) -> DriftReport:
    states = read.states
    counted = sorted(unmanaged_kinds()[kind] for kind in options.counted)
    objects = await _read_objects(states, consoles)
    sharded = options.shard is not None
    unmanaged, unlisted = await _find_unmanaged(objects, counted, sharded=sharded)
    # Otherwise the report would call everything unchecked that was not read before the stop.
    if consoles.stopped:
        raise Stopped("The check was stopped.")
    addresses = {
        (item.provider, item.instance.type_name, item.id): item.address for item in objects
    }
    findings = [*(classify(item, addresses) for item in objects), *unmanaged]
    findings, undetermined = _add_declarations(findings, states, options.root)
    listed = not unlisted and _lists_were_read(objects)
    now = utc_now()
    certain = len(states) == len(read.stacks)
    findings, baseline, unused = _accept(
        findings, options, now.date(), certain=certain, listed=listed
    )
    drifted = any(finding.is_drift for finding in findings)
    read_whole = [
        item.outcome for item in objects if item.outcome.seen is Seen.PRESENT and not item.is_unread
    ]
    return DriftReport(
        findings=tuple(sorted(findings, key=lambda finding: finding.stack)),
        checked_at=timestamp(now),
        read_only=options.read_only,
        method=_describe_host_reads(objects, read_only=options.read_only),
        diagnostics=(
            *read.diagnostics,
            *unlisted,
            *undetermined,
            # Only drift can come from a run that wrote a state meanwhile, and reading states again
            # is slow.
            *(item for state in states if drifted for item in report_rewritten(state)),
            *(item for outcome in read_whole for item in outcome.diagnostics),
            *explain_unread(objects, tolerant=options.min_coverage < 100.0),
        ),
        baseline=baseline,
        calls=consoles.calls,
        seconds=time.monotonic() - read.began,
        # Documented operations read these types.
        required=tuple(name for name, definition in RESOURCES.items() if reads_whole(definition)),
        min_coverage=options.min_coverage,
        share=_share(options.shard, objects, unused, read.stacks, states),
        scope=Scope(
            tuple(state.stack.name for state in states if not state.absent),
            tuple(counted) if listed else (),
        ),
    )


async def _read_objects(states: Iterable[StackState], consoles: Consoles) -> list[StateObject]:
    """Read all objects concurrently, starting with the hosts of all stacks."""
    objects: list[tuple[StateObject, str]] = []
    for state in states:
        opened = consoles.open_stack(state)
        for item in state.objects:
            stored = item.instance.stored
            key, why = ("", item.unreadable) if item.unreadable else opened[stored.provider]
            # `refresh` finds the provider by this key, and leaves an object without one unread.
            instance = replace(item.instance, stored=stored._replace(provider=key))
            provider = consoles.providers.get(key)
            objects.append((replace(item, instance=instance, provider=provider), why))
    done = await refresh([item.instance for item, _ in objects], consoles.providers)
    return [
        _explain(replace(item, instance=done[item.instance.address]), why, consoles.read_only)
        for item, why in objects
    ]


def _explain(item: StateObject, why: str, read_only: bool) -> StateObject:
    """Return an object after its read; if the settings hide a host, name the missing setting.

    Args:
        why: Why it could not be requested.
    """
    read = item.instance.read
    if read is None:
        read = Outcome(None, diagnostics=(error(why),), seen=Seen.UNCHECKED, reason=why)
    elif item.instance.unsettled:
        unsettled = warn_unsettled(item.address)
        read = read._replace(reason=unsettled.summary, diagnostics=(unsettled,))
    elif (
        read.seen is Seen.UNCHECKED
        and read.cause is None
        and item.instance.type_name == HOST.type_name
        and item.provider is not None
    ):
        reader = item.provider.session.get(HostReader)
        reason = reader.explain_unreadable(read_only=read_only)
        read = read._replace(reason=reason or read.reason)
    else:
        return item
    return replace(item, instance=replace(item.instance, read=read))


async def _find_unmanaged(
    objects: Sequence[StateObject], counted: Collection[str], *, sharded: bool
) -> tuple[list[Finding], list[Diagnostic]]:
    """Read the lists of the counted types, of each console that has at least one object.

    Returns:
        The objects that no state manages, and a diagnostic for each list that was not read, or not
        to its end.
    """
    findings: dict[tuple[str, str, str], Finding] = {}
    unlisted: list[Diagnostic] = []
    cut: list[Diagnostic] = []
    for provider in filter(None, dict.fromkeys(item.provider for item in objects)):
        session, base_url = provider.session, provider.session.settings.base_url
        listed, problems = await read_inventory(session, counted)
        unlisted += problems
        cut += report_incomplete_lists(session, counted, listed)
        # An object whose console is not known may belong to this one.
        managed = [item for item in objects if item.base_url in (base_url, "")]
        on_console = [item for item in objects if item.provider is provider]
        where = _digest_of(base_url) if sharded else ""
        for finding in find_unmanaged(on_console, managed, session, counted, listed):
            # The object may have been found already, under other settings of the same console.
            what = (base_url, finding.type_name, finding.id)
            findings.setdefault(what, replace(finding, undecided=sharded, console=where))
    return list(findings.values()), [*unlisted, *cut]


def _lists_were_read(objects: Iterable[StateObject]) -> bool:
    """Return whether every list that shows both managed and unmanaged objects was read."""
    lists = {documented_for(item, "list") for item in RESOURCES.values()} - {None}
    types = {name for name, item in RESOURCES.items() if documented_for(item, "read") in lists}
    return not any(item.is_unread and item.instance.type_name in types for item in objects)


def _add_declarations(
    findings: Iterable[Finding], states: Iterable[StackState], root: Path
) -> tuple[list[Finding], list[Diagnostic]]:
    stacks = {state.stack.name: state.stack for state in states}
    pending: list[Finding] = []
    diagnostics: list[Diagnostic] = []
    for state in states:
        more, undetermined = state.stack.find_pending(state.values)
        pending += more
        diagnostics += undetermined
    located = [stacks[finding.stack].locate(finding, root) for finding in (*findings, *pending)]
    return located, diagnostics


def _accept(
    findings: Sequence[Finding], options: CheckOptions, today: date, *, certain: bool, listed: bool
) -> tuple[list[Finding], tuple[BaselineProblem, ...], tuple[str, ...]]:
    """Mark accepted findings; return all findings, entries with problems, and unused entries."""
    marked, entries = apply_baseline(
        options.baseline, findings, today, certain=certain, listed=listed
    )
    if options.shard is None:
        return marked, entries, ()
    # Another shard may use an entry that this shard does not use. The merge of all shards decides.
    _, sure = apply_baseline(options.baseline, findings, today, certain=False)
    return marked, sure, tuple(item.entry for item in entries if item not in sure)


def _share(
    shard: Shard | None,
    objects: Iterable[StateObject],
    unused: tuple[str, ...],
    stacks: Sequence[Stack],
    states: Iterable[StackState],
) -> Share | None:
    """Return this shard's facts for the merge, or None if there are no other shards."""
    if shard is None:
        return None
    managed = tuple(
        Managed(_digest_of(item.base_url), item.instance.type_name, item.id) for item in objects
    )
    absent = sum(state.has_no_state for state in states)
    return Share(shard.number, shard.count, managed, unused, len(stacks), absent)


def _digest_of(base_url: str) -> str:
    """Return a digest of a console's address, which no report has; empty if not known."""
    return hashlib.sha256(base_url.encode()).hexdigest()[:16] if base_url else ""


def _describe_host_reads(objects: Iterable[StateObject], *, read_only: bool) -> str:
    """Describe how hosts were read, or why they were not, with one sentence for each method."""
    methods: dict[str, None] = {}
    for item in objects:
        if item.provider is not None and item.instance.type_name == HOST.type_name:
            reader = item.provider.session.get(HostReader)
            # A console that gave no answer did not show how hosts are read.
            if item.outcome.seen is not Seen.UNCHECKED or reader.operation is None:
                methods[reader.describe(read_only=read_only)] = None
    return " ".join(methods)
