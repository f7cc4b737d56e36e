"""One check: states and console side by side, every resource in exactly one bucket.

Takes no lock and writes no state. Costs what a refresh of the reconciler costs, and the lists that
an operator has named.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.drift.baseline import Baseline
from opsconsole.drift.buckets import Neighbours, finding_of
from opsconsole.drift.consoles import Consoles, method_of, why_unread
from opsconsole.drift.declared import Declarations
from opsconsole.drift.problems import is_unread, problems
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
    absent,
    has_no_state,
    read_stack,
    rewritten,
)
from opsconsole.drift.unmanaged import (
    COUNTED,
    Inventory,
    cut_short,
    inventory,
    unmanaged,
    unmanaged_kinds,
)
from opsconsole.errors import Stopped, UserError
from opsconsole.lifecycle.interface import Outcome, Seen
from opsconsole.lifecycle.session import Session
from opsconsole.reconcile.prior import PriorInstance
from opsconsole.reconcile.providers import OnStop, refresh
from opsconsole.reconcile.unknown_outcomes import unsettled_warnings
from opsconsole.resources import HOST, RESOURCES


def required_types() -> tuple[str, ...]:
    """Return the types whose coverage is demanded: those that the documented operations show."""
    return tuple(name for name, definition in RESOURCES.items() if definition.reads_whole)


def _read_by_lists() -> set[str]:
    """Return the types that are read by documented lists, or whose plugins are."""
    lists = {item.operations["list"] for item in RESOURCES.values() if "list" in item.operations}
    return {name for name, item in RESOURCES.items() if item.operations.get("read") in lists}


@dataclass(frozen=True)
class CheckOptions:
    """What is asked of a check.

    Attributes:
        read_only: Let nothing but GET leave this process.
        min_coverage: Per cent of the required resources that must be checked.
        baseline: Drift that is accepted.
        counted: Kinds of unmanaged objects that count as drift, of `unmanaged_kinds`.
        root: The directory that places are relative to.
        shard: Which share of all stacks these are; None: they are all.
    """

    read_only: bool = False
    min_coverage: float = 100.0
    baseline: Baseline = field(default_factory=Baseline)
    counted: Collection[str] = COUNTED
    root: Path = field(default_factory=Path.cwd)
    shard: Shard | None = None


async def check(
    stacks: Sequence[Stack],
    options: CheckOptions,
    environ: Mapping[str, str],
    on_stop: OnStop = lambda stop: None,
) -> DriftReport:
    """Check the states of `stacks` against their consoles.

    What cannot be read is in the report, never an exception.

    Args:
        environ: The environment that provider settings fall back on.
        on_stop: Takes what stops the check.

    Raises:
        Stopped: The check was stopped: what was read is not whole.
    """
    run = _Check(stacks, options, environ)
    on_stop(run.consoles.stop)
    try:
        return await run.report()
    finally:
        await run.consoles.close()


class _Check:
    def __init__(
        self, stacks: Sequence[Stack], options: CheckOptions, environ: Mapping[str, str]
    ) -> None:
        self._stacks = stacks
        self._options = options
        self._diagnostics: list[Diagnostic] = []
        self._why: dict[str, str] = {}
        self._listed: dict[str, Inventory] = {}
        self._cut = False
        self._shown: set[tuple[str, str, str]] = set()
        self.consoles = Consoles(environ, options.read_only)

    async def report(self) -> DriftReport:
        started = time.monotonic()
        options = self._options
        read = self._read_states()
        held = [item for found in read for item in found.held]
        outcomes = await self._refreshed(read)
        for key in dict.fromkeys(self._console_of[item.known.address] for item in held):
            await self._list(key)
        if self.consoles.stopped:
            raise Stopped("The check was stopped.")
        findings = self._with_declarations(self._findings(held, outcomes), read)
        now = datetime.now(UTC)
        listed = self._all_listed(held, outcomes)
        findings, baseline, unused = self._accepted(findings, read, now.date(), listed=listed)
        if any(finding.is_drift for finding in findings):
            self._diagnostics += (item for found in read for item in rewritten(found))
        seen = (i for i in outcomes.values() if i and i.seen is Seen.PRESENT and not is_unread(i))
        self._diagnostics += (diagnostic for item in seen for diagnostic in item.diagnostics)
        diagnostics = problems(
            (
                (item, outcomes[item.known.address], self._why.get(item.known.address, ""))
                for item in held
            ),
            tolerant=options.min_coverage < 100.0,
        )
        return DriftReport(
            tuple(sorted(findings, key=lambda item: item.stack)),
            now.isoformat(timespec="seconds").replace("+00:00", "Z"),
            options.read_only,
            method_of(self._sessions_with_hosts(held), read_only=options.read_only),
            (*self._diagnostics, *diagnostics),
            baseline,
            self.consoles.calls,
            time.monotonic() - started,
            required_types(),
            options.min_coverage,
            self._share(held, unused, read),
            self._scope(read, listed=listed),
        )

    def _sessions_with_hosts(self, held: Sequence[StateObject]) -> list[Session]:
        keys = (
            self._console_of[item.known.address]
            for item in held
            if item.known.type_name == HOST.type_name
        )
        lifecycles = self.consoles.lifecycles
        return [lifecycles[key].session for key in dict.fromkeys(keys) if key in lifecycles]

    def _scope(self, read: Sequence[StackState], *, listed: bool) -> Scope:
        counted = sorted(unmanaged_kinds()[kind] for kind in self._options.counted)
        there = (found.stack.name for found in read if not found.absent)
        return Scope(tuple(there), tuple(counted) if listed else ())

    def _accepted(
        self, findings: Sequence[Finding], read: Sequence[StackState], today: date, *, listed: bool
    ) -> tuple[list[Finding], tuple[BaselineProblem, ...], tuple[str, ...]]:
        """Return the findings with what is accepted marked, and the entries to look at.

        The last are entries that this shard does not use: another one may, so that the merge of
        all decides.
        """
        baseline = self._options.baseline
        certain = len(read) == len(self._stacks)
        marked, problems_found = baseline.applied(findings, today, certain=certain, listed=listed)
        if self._options.shard is None:
            return marked, problems_found, ()
        _, sure = baseline.applied(findings, today, certain=False)
        return marked, sure, tuple(item.entry for item in problems_found if item not in sure)

    def _share(
        self, held: Sequence[StateObject], unused: tuple[str, ...], read: Sequence[StackState]
    ) -> Share | None:
        """Return what the merge with other shards needs of this one; None: there are no others."""
        shard = self._options.shard
        if shard is None:
            return None
        managed = tuple(
            Managed(
                self._digest_of(self._console_of[item.known.address]),
                item.known.type_name,
                _id_of(item),
            )
            for item in held
        )
        return Share(shard, managed, unused, len(self._stacks), sum(map(has_no_state, read)))

    def _digest_of(self, key: str) -> str:
        """Return a digest of a console's address; a report must not hold the address."""
        lifecycle = self.consoles.lifecycles.get(key)
        if lifecycle is None:
            return ""
        base_url = lifecycle.session.settings.base_url
        return hashlib.sha256(base_url.encode()).hexdigest()[:16]

    def _read_states(self) -> list[StackState]:
        found: list[StackState] = []
        for stack in self._stacks:
            try:
                read, diagnostics = read_stack(stack)
            except UserError as problem:
                self._diagnostics.append(
                    error(f"{stack.name}: its state was not read", cause=problem.cause)
                )
                continue
            found.append(read)
            self._diagnostics += diagnostics
        self._diagnostics += absent(found, whole=self._options.shard is None)
        return found

    async def _refreshed(self, read: Sequence[StackState]) -> dict[str, Outcome | None]:
        """Read everything at once, hosts of all stacks first; return outcomes by unique address."""
        known: list[PriorInstance] = []
        for found in read:
            keys, problems_of = self.consoles.open_stack(
                found.stack,
                {item.address: item.known.before for item in found.held},
                {item.provider for item in found.held},
            )
            for item in found.held:
                why = item.unreadable or problems_of.get(item.provider, "")
                if why:
                    self._why[item.known.address] = why
                slim = item.known.held._replace(provider="" if why else keys[item.provider])
                known.append(replace(item.known, held=slim))
        done = await refresh(known, self.consoles.lifecycles)
        self._console_of = {item.address: item.held.provider for item in known}
        own = {item.known.address: item.address for found in read for item in found.held}
        return {address: self._explained(item, own[address]) for address, item in done.items()}

    async def _list(self, key: str) -> None:
        """Read the lists of a console that are asked for."""
        lifecycle = self.consoles.lifecycles.get(key)
        if lifecycle is not None:
            asked = {unmanaged_kinds()[kind] for kind in self._options.counted}
            self._listed[key], diagnostics = await inventory(lifecycle.session, asked)
            self._diagnostics += diagnostics
            self._cut = self._cut or bool(diagnostics)

    def _explained(self, item: PriorInstance, address: str) -> Outcome | None:
        """Return what the read showed; of a host that the settings hide, which settings do.

        Args:
            address: Its address in its own state, which commands take.
        """
        read = item.read
        if read is not None and item.unsettled:
            [(_, unsettled)] = unsettled_warnings([address])
            return read._replace(reason=unsettled.summary, diagnostics=(unsettled,))
        if read is None or read.seen is not Seen.UNCHECKED or item.type_name != HOST.type_name:
            return read
        session = self.consoles.lifecycles[item.held.provider].session
        why = why_unread(session, read_only=self._options.read_only)
        return read._replace(reason=why) if why and read.cause is None else read

    def _findings(
        self, held: Sequence[StateObject], outcomes: Mapping[str, Outcome | None]
    ) -> list[Finding]:
        found: list[Finding] = []
        by_console: dict[str, list[StateObject]] = {}
        for item in held:
            by_console.setdefault(self._console_of[item.known.address], []).append(item)
        for key, items in by_console.items():
            lifecycle = self.consoles.lifecycles.get(key)
            neighbours = Neighbours(
                {(item.known.type_name, _id_of(item)): item.address for item in items},
                lifecycle.session.gone if lifecycle else {},
            )
            for item in items:
                address = item.known.address
                why = self._why.get(address, "")
                found.append(finding_of(item, outcomes[address], neighbours, why))
            if lifecycle is not None:
                found += self._unmanaged(items, held, key)
        return found

    def _all_listed(
        self, held: Sequence[StateObject], outcomes: Mapping[str, Outcome | None]
    ) -> bool:
        """Return whether no list was left out or cut short that may show unmanaged objects."""
        lists = _read_by_lists()
        read = (outcomes[item.known.address] for item in held if item.known.type_name in lists)
        return not self._cut and all(
            outcome is not None and not is_unread(outcome) for outcome in read
        )

    def _unmanaged(
        self, items: Sequence[StateObject], held: Sequence[StateObject], key: str
    ) -> list[Finding]:
        """Return what a console shows beside what this check found in any state of it."""
        session = self.consoles.lifecycles[key].session
        there = {
            other
            for other, lifecycle in self.consoles.lifecycles.items()
            if lifecycle.session.settings.base_url == session.settings.base_url
        }
        # An object whose console is not known may belong to this one.
        there.add("")
        managed = [item for item in held if self._console_of[item.known.address] in there]
        counted, listed = self._options.counted, self._listed.get(key, {})
        cut = [*cut_short(session, counted, listed)]
        self._diagnostics += cut
        self._cut = self._cut or bool(cut)
        sharded = self._options.shard is not None
        where = self._digest_of(key) if sharded else ""
        found: list[Finding] = []
        for finding in unmanaged(items, managed, session, counted, listed):
            what = (session.settings.base_url, finding.type_name, finding.id)
            # It may have been shown before, under other settings of its console.
            if what not in self._shown:
                self._shown.add(what)
                found.append(replace(finding, undecided=sharded, console=where))
        return found

    def _with_declarations(
        self, findings: Sequence[Finding], read: Sequence[StackState]
    ) -> list[Finding]:
        """Add what is declared and not applied yet, and where each resource is declared."""
        found = list(findings)
        declared: dict[str, Declarations] = {}
        for item in read:
            own = declared[item.stack.name] = Declarations(item.stack, self._options.root)
            pending, diagnostics = own.pending(
                {held.address: held.known.before for held in item.held}
            )
            found += pending
            self._diagnostics += diagnostics
        return [declared[finding.stack].located(finding) for finding in found]


def _id_of(item: StateObject) -> str:
    """Return the console's id of an object, in the form in which unmanaged ones are reported."""
    return str(item.known.before["id"])
