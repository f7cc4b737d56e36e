"""The values of a drift check: findings, each in one bucket, the report, and its verdict."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Final, NamedTuple

from opsconsole.diagnostics import Diagnostic, are_temporary, has_error
from opsconsole.errors import TRY_LATER, Cause, UserError
from opsconsole.lifecycle.private_state import is_sentinel
from opsconsole.resources import RESOURCES
from opsconsole.text import capitalise_first, plural
from opsconsole.values import Value, Values


class Bucket(Enum):
    """The result for one resource.

    IN_SYNC means that every value in state was seen and is equal. A resource with a value in state
    that was not seen, and without a differing one, is UNCHECKED.
    """

    IN_SYNC = "in_sync"
    CHANGED = "changed"
    MISSING = "missing"
    ARCHIVED = "archived"
    UNCHECKED = "unchecked"
    UNMANAGED = "unmanaged"
    PENDING = "pending"

    @property
    def is_drift(self) -> bool:
        return self in (Bucket.CHANGED, Bucket.MISSING, Bucket.ARCHIVED, Bucket.UNMANAGED)

    @property
    def is_in_state(self) -> bool:
        return self not in (Bucket.UNMANAGED, Bucket.PENDING)


@dataclass(frozen=True, slots=True)
class Difference:
    """One attribute that differs between state and console; `accepted` is the baseline's reason."""

    attribute: str
    state: Value
    console: Value
    sensitive: bool = False
    accepted: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One resource and its bucket.

    Attributes:
        stack: Name of the stack or state file.
        address: Its address; for an unmanaged object, the id on the console.
        type_name: Terraform type name.
        id: The console's id.
        label: Its name, key, pattern or plugin id, for readers.
        differences: The differing attributes of a CHANGED resource.
        reason: Why it is in its bucket, with the text of `cause`; or a remark, such as the accepted
            part of its drift.
        cause: The error that made it unchecked, if any.
        accepted: The baseline's reason to accept it, or empty. Accepted drift is shown but does not
            count.
        construct_path: The path of the construct that declares it, if the program is known.
        location: `FILE:LINE` of its declaration, if the metadata has it.
        values: The state's values, for graphs and pages.
        unobserved: Attributes that this check could not see; empty if an unchecked resource showed
            none.
        counted: Whether it counts if its bucket is drift; false for unmanaged objects that are only
            shown.
        console: For UNMANAGED in a sharded check: its console, as in `Managed`.
        undecided: Whether one shard alone takes it for unmanaged; the merge decides.
        new: The part of `drifting` that is new since an earlier report; None if not compared.
    """

    stack: str
    address: str
    type_name: str
    bucket: Bucket
    id: str = ""
    label: str = ""
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    accepted: str = ""
    construct_path: str = ""
    location: str = ""
    values: Values = field(default_factory=dict)
    unobserved: tuple[str, ...] = ()
    counted: bool = True
    console: str = ""
    undecided: bool = False
    cause: Cause | None = None
    new: tuple[str, ...] | None = None

    @property
    def is_drift(self) -> bool:
        """Whether it counts as drift: decided, and not accepted."""
        counts = self.counted and not self.undecided and not self.accepted
        return self.bucket.is_drift and counts

    @property
    def drifting(self) -> tuple[str, ...]:
        """The units of its drift: the attributes of a CHANGED resource, otherwise the bucket."""
        if self.bucket is not Bucket.CHANGED:
            return (self.bucket.value,)
        return tuple(item.attribute for item in self.differences if not item.accepted)


@dataclass(frozen=True, slots=True)
class DriftEntry:
    """Drift of one resource that is new, resolved or open since an earlier report.

    Attributes:
        what: The attributes that differ, or the bucket that the resource is in.
        seen: Whether this check saw the drift. Open drift that was not seen stays open.
    """

    stack: str
    address: str
    type_name: str
    label: str
    what: tuple[str, ...]
    seen: bool = True


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison with an earlier report: new, resolved and open drift (`drift/since.py`).

    Attributes:
        checked_at: When the earlier check ended; empty if there is no earlier report.
    """

    checked_at: str
    new: tuple[DriftEntry, ...] = ()
    resolved: tuple[DriftEntry, ...] = ()
    open: tuple[DriftEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckScope:
    """The scope of a check; a comparison never reports drift outside the scope as resolved.

    Attributes:
        stacks: The stacks whose states were read.
        listed: The types whose unmanaged objects count, if every list was read to its end.
    """

    stacks: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineProblem:
    """An entry of the baseline that is expired or matched nothing."""

    entry: str
    problem: str


UNUSED: Final = "unused: there is no such drift"
"""The problem of a baseline entry that matched nothing."""


class Managed(NamedTuple):
    """An object that a state manages.

    Attributes:
        console: A digest of the console's address; empty if the console is not known.
        type_name: Terraform type name.
        id: The console's id; for an attachment `AGENT/PLUGIN`, as for unmanaged attachments.
    """

    console: str
    type_name: str
    id: str


def console_digest(base_url: str) -> str:
    """Return a digest that stands for a console's address in reports; empty if it is not known."""
    return hashlib.sha256(base_url.encode()).hexdigest()[:16] if base_url else ""


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (from 1) of `count` parts of the stacks, for machines that work together."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def takes(self, stack: str) -> bool:
        """Return whether a stack belongs to this shard, by its name alone."""
        # hash() would differ between processes, and each shard runs in its own process.
        digest = hashlib.sha256(stack.encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


def read_shard(text: str) -> Shard:
    """Read `K/N`; raise UserError for another form, or if K is not from 1 to N."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(int(match[1]), int(match[2])) if match else None
    if shard is None or not 1 <= shard.number <= shard.count:
        raise UserError(
            f"{text!r} is not a shard.", "Write K/N with K from 1 to N, such as --shard 1/4."
        )
    return shard


@dataclass(frozen=True, slots=True)
class ShardResult(Shard):
    """A shard, with the facts for the merge of all shards.

    Attributes:
        managed: The objects that its states manage.
        baseline_unused: The baseline entries that matched nothing in this shard.
        stacks: The number of its stacks.
        stacks_without_state: The number of its stacks with a program but no state.
    """

    managed: tuple[Managed, ...] = ()
    baseline_unused: tuple[str, ...] = ()
    stacks: int = 0
    stacks_without_state: int = 0


@dataclass(frozen=True)
class DriftReport:
    """One check of one or several states.

    Attributes:
        findings: One for each resource, grouped by stack in the order of the state; then unmanaged
            objects and pending resources.
        checked_at: When the check ended, in ISO 8601 and UTC.
        read_only: Whether nothing but GET was sent.
        method: How hosts were read, or why they were not, in one sentence for each method.
        diagnostics: Everything that could not be checked, with the reasons.
        baseline: Entries of the baseline that are expired or unused.
        calls: Requests sent, by operation.
        seconds: The duration of the check.
        required: Type names whose coverage `min_coverage` demands.
        min_coverage: Per cent of required resources that must have been checked.
        shard: The facts for the merge, in the report of one shard.
        scope: The stacks and lists that it read, for a comparison with a later report.
        comparison: The changes since an earlier report, if compared with one.
    """

    findings: tuple[Finding, ...]
    checked_at: str
    read_only: bool = False
    method: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    baseline: tuple[BaselineProblem, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    required: Sequence[str] = ()
    min_coverage: float = 100.0
    shard: ShardResult | None = None
    scope: CheckScope = CheckScope()
    comparison: Comparison | None = None

    @property
    def is_conclusive(self) -> bool:
        """Whether the check had no error and reached `min_coverage`."""
        enough = self.required_coverage >= self.min_coverage
        return enough and not has_error(self.diagnostics)

    @property
    def counts(self) -> Mapping[Bucket, int]:
        """The number of resources in each bucket, accepted ones included."""
        counts = Counter(finding.bucket for finding in self.findings)
        return {bucket: counts[bucket] for bucket in Bucket}

    def coverage(self, *types: str) -> float:
        """Return the percentage of resources in state (all, or of `types`) that were checked."""
        return _coverage_of(item for item in self.findings if not types or item.type_name in types)

    @property
    def required_coverage(self) -> float:
        """The percentage of the required resources that were checked."""
        return _coverage_of(finding for finding in self.findings if self.must_check(finding))

    @property
    def may_be_conclusive_later(self) -> bool:
        """Whether it is inconclusive only because the console was too busy."""
        # Another check sees no more of a resource that is unchecked for a lasting cause.
        demanded = (finding for finding in self.findings if self.must_check(finding))
        possible = _coverage_of(demanded, later=True)
        return are_temporary(self.diagnostics) and possible >= self.min_coverage

    def must_check(self, finding: Finding) -> bool:
        """Return whether a resource must be checked: by its type, or as an unsettled creation."""
        is_required_type = not self.required or finding.type_name in self.required
        # After an unsettled create, only a check shows whether the console has the object.
        return is_required_type or is_sentinel(finding.id)

    def attribute_coverage(self, *types: str) -> float:
        """Return the percentage of attributes that were seen; 100 if there are none."""
        total = seen = 0
        for finding in self.findings:
            if not finding.bucket.is_in_state or (types and finding.type_name not in types):
                continue
            count = _attributes_of(finding.type_name)
            total += count
            # An unchecked resource without a list of unobserved attributes was not seen at all.
            if finding.bucket is not Bucket.UNCHECKED or finding.unobserved:
                seen += count - len(finding.unobserved)
        return 100.0 * seen / total if total else 100.0

    @property
    def drifted_findings(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.is_drift)

    @property
    def accepted_findings(self) -> tuple[Finding, ...]:
        return tuple(item for item in self.findings if item.accepted and item.bucket.is_drift)

    @property
    def has_several_stacks(self) -> bool:
        return len({finding.stack for finding in self.findings}) > 1


def _coverage_of(findings: Iterable[Finding], *, later: bool = False) -> float:
    """Return the percentage of resources in state that were checked; 100 if there are none.

    Args:
        later: Whether resources that the console was too busy to show count as checked.
    """
    managed = [finding for finding in findings if finding.bucket.is_in_state]
    if not managed:
        return 100.0
    unchecked = sum(
        finding.bucket is Bucket.UNCHECKED
        and not (later and finding.cause is not None and finding.cause.is_temporary)
        for finding in managed
    )
    return 100.0 * (len(managed) - unchecked) / len(managed)


@cache
def _attributes_of(type_name: str) -> int:
    definition = RESOURCES.get(type_name)
    return sum(not item.volatile for item in definition.answer_fields) if definition else 0


class CheckOutcome(Enum):
    """The outcome of a check."""

    CLEAN = "clean"
    # Version 1 of the report has this word.
    UNDETERMINED = "untold"
    DRIFT = "drift"


_EXIT_CODES: Final = {
    CheckOutcome.CLEAN: 0,
    CheckOutcome.UNDETERMINED: 1,
    CheckOutcome.DRIFT: 2,
}


class Verdict(NamedTuple):
    """The outcome, a headline, its explanation, and the exit code of the command."""

    outcome: CheckOutcome
    headline: str
    explanation: str
    exit_code: int


def judge(report: DriftReport) -> Verdict:
    """Return the verdict of a report; the report of one shard leaves unmanaged objects undecided.

    "Could not tell" takes precedence over drift. Drift that was seen is still named.
    """
    outcome, headline, explanation = _judge_outcome(report)
    if report.shard is not None:
        explanation += (
            f" This is shard {report.shard}: unmanaged objects count once "
            "`opsconsole drift merge` has the reports of all shards."
        )
    # A console that was only too busy is no error, and another check may see enough.
    is_temporary = report.may_be_conclusive_later and not report.drifted_findings
    code = TRY_LATER if is_temporary else _EXIT_CODES[outcome]
    return Verdict(outcome, headline, explanation, code)


def _judge_outcome(report: DriftReport) -> tuple[CheckOutcome, str, str]:
    drifted = len(report.drifted_findings)
    seen = f"{plural(drifted, 'resource')} drifted" if drifted else "no drift was seen"
    # This comes before drift, so that a check of half a fleet never looks like a check of the whole
    # fleet.
    if not report.is_conclusive:
        why = "The check met errors"
        if not has_error(report.diagnostics):
            required = format_percent(report.required_coverage)
            minimum = format_percent(report.min_coverage)
            why = f"Required coverage is {required}, below the minimum of {minimum}"
        return CheckOutcome.UNDETERMINED, "Could not tell", f"{why}; {seen}."
    accepted = len(report.accepted_findings)
    note = f" {accepted:,} accepted." if accepted else ""
    if drifted:
        return CheckOutcome.DRIFT, "Drift", f"{capitalise_first(seen)}.{note}"
    in_state = [item.bucket for item in report.findings if item.bucket.is_in_state]
    unchecked = in_state.count(Bucket.UNCHECKED)
    part = f"{len(in_state) - unchecked:,} of " if unchecked else ""
    text = f"{part}{plural(len(in_state), 'resource')} in state checked."
    if not in_state:
        alone = report.shard is not None and not report.shard.stacks
        text = "No stack belongs to this shard." if alone else "State is empty."
    return CheckOutcome.CLEAN, "No drift", f"{text}{note}"


def format_percent(value: float) -> str:
    """Return a percentage that shows 100 only if nothing is missing."""
    shown = f"{value:.1f}".removesuffix(".0")
    return "99.9 %" if shown == "100" and value < 100 else f"{shown} %"
