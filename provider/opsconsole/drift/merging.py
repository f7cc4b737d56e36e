"""Merges the reports of all shards: objects that another shard manages are not unmanaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from opsconsole.diagnostics import Diagnostic, error
from opsconsole.drift.model import (
    UNUSED,
    BaselineProblem,
    Bucket,
    CheckScope,
    DriftReport,
    Finding,
    Managed,
    ShardResult,
)
from opsconsole.errors import UserError
from opsconsole.text import first_items


def merge_reports(reports: Sequence[DriftReport]) -> DriftReport:
    """Return the report of all shards together; UserError if they are not of one check.

    A missing report is an error in it; unmanaged objects are then uncertain: shown, not counted.
    """
    shards = [report.shard for report in reports if report.shard is not None]
    if len(shards) < len(reports):
        raise UserError(
            "A report to merge is not of a shard, so it does not say what its states manage.",
            "Write it with `opsconsole drift --shard K/N --format json=FILE`.",
        )
    missing = _explain_missing(shards)
    findings = list(_merge_findings(reports, shards, complete=not missing))
    return DriftReport(
        findings=tuple(sorted(findings, key=lambda finding: finding.stack)),
        checked_at=min(report.checked_at for report in reports),
        read_only=all(report.read_only for report in reports),
        method=" ".join(dict.fromkeys(report.method for report in reports if report.method)),
        diagnostics=(
            *missing,
            *_explain_no_state(shards),
            # Shards of one console meet the same problems.
            *dict.fromkeys(diagnostic for report in reports for diagnostic in report.diagnostics),
        ),
        baseline=_merge_baseline(reports, shards, certain=not missing),
        calls=sum((Counter(report.calls) for report in reports), Counter()),
        seconds=sum(report.seconds for report in reports),
        required=tuple(dict.fromkeys(name for report in reports for name in report.required)),
        min_coverage=max(report.min_coverage for report in reports),
        scope=CheckScope(
            tuple(dict.fromkeys(stack for report in reports for stack in report.scope.stacks)),
            tuple(sorted(set.intersection(*(set(report.scope.listed) for report in reports)))),
        ),
    )


def _explain_missing(shards: Sequence[ShardResult]) -> tuple[Diagnostic, ...]:
    counts = {shard.count for shard in shards}
    if len(counts) > 1:
        raise UserError(
            f"The reports are not the shards of one check: {', '.join(map(str, shards))}.",
            "Merge reports that were made with the same N of --shard K/N.",
        )
    numbers = Counter(shard.number for shard in shards)
    twice = [number for number, times in numbers.items() if times > 1]
    if twice:
        raise UserError(
            f"There are two reports of shard {twice[0]}/{counts.pop()}.", "Name each report once."
        )
    [count] = counts
    absent = [str(number) for number in range(1, count + 1) if number not in numbers]
    if not absent:
        return ()
    return (
        error(
            f"{len(absent)} of {count} shards have no report: {first_items(absent)}",
            "Their stacks were not checked, and what they manage is not known. Run them again.",
        ),
    )


def _explain_no_state(shards: Sequence[ShardResult]) -> tuple[Diagnostic, ...]:
    stacks = sum(shard.stacks for shard in shards)
    if not stacks or sum(shard.stacks_without_state for shard in shards) < stacks:
        return ()
    why = "Check that their backends name the places where the states are kept."
    return (error("No stack of any shard has a state, so nothing was checked", why),)


def _merge_findings(
    reports: Sequence[DriftReport], shards: Iterable[ShardResult], *, complete: bool
) -> Iterator[Finding]:
    managed = {item for shard in shards for item in shard.managed}
    seen: set[Managed] = set()
    for finding in (item for report in reports for item in report.findings):
        if finding.bucket is not Bucket.UNMANAGED:
            yield finding
            continue
        identity = Managed(finding.console, finding.type_name, finding.id)
        # An object whose console is not known may belong to this one.
        # Shards of one console show the same unmanaged objects.
        if identity in seen or identity in managed or identity._replace(console="") in managed:
            continue
        seen.add(identity)
        # The shard whose report is missing may manage it.
        console = "" if complete else finding.console
        yield replace(finding, undecided=not complete, console=console)


def _merge_baseline(
    reports: Sequence[DriftReport], shards: Sequence[ShardResult], *, certain: bool
) -> tuple[BaselineProblem, ...]:
    problems = list(dict.fromkeys(item for report in reports for item in report.baseline))
    if certain:
        # A shard that could not check names no unused entries. An entry is unused if every shard
        # says so.
        common = set.intersection(*(set(shard.baseline_unused) for shard in shards))
        problems += [
            BaselineProblem(entry, UNUSED) for entry in shards[0].baseline_unused if entry in common
        ]
    return tuple(problems)
