"""A drift report from and to its JSON (`drift_document`), as `drift merge` and `--since` read it.

Sensitive values are left out, on both sides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from opsconsole import __version__
from opsconsole.diagnostics import Diagnostic, Severity
from opsconsole.document_models import what_is_wrong
from opsconsole.drift.report import (
    BaselineProblem,
    Bucket,
    Comparison,
    Difference,
    DriftEntry,
    DriftReport,
    Finding,
    Managed,
    Scope,
    Share,
    read_shard,
)
from opsconsole.errors import Cause, Problem, ProblemKind, UserError
from opsconsole.reports.drift_document import (
    FORMAT,
    FORMAT_VERSION,
    CauseDocument,
    ComparisonDocument,
    DiagnosticDocument,
    DriftDocument,
    DriftEntryDocument,
    FindingDocument,
    ShardDocument,
)
from opsconsole.reports.json_values import cause_json
from opsconsole.reports.verdict import accepted_drift, judge

_MAX_BYTES: Final = 1 << 30


def render(report: DriftReport) -> str:
    """Return the report as indented JSON: that of a `DriftDocument`."""
    shard = {} if report.share is None else {"shard": _shard(report.share)}
    since = {} if report.comparison is None else {"since": comparison_of(report.comparison)}
    document = _checked(
        DriftDocument,
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "generator": {"name": "opsconsole", "version": __version__},
            "checked_at": report.checked_at,
            "seconds": round(report.seconds, 3),
            "read_only": report.read_only,
            "method": report.method,
            "verdict": verdict_of(report),
            "summary": _summary(report),
            "findings": [],
            "baseline": [
                {"entry": item.entry, "problem": item.problem} for item in report.baseline
            ],
            "diagnostics": [_diagnostic(item) for item in report.diagnostics],
            "calls": dict(report.calls),
            **shard,
            "scope": {"stacks": list(report.scope.stacks), "listed": list(report.scope.listed)},
            **since,
        },
    )
    # One at a time: models of all findings would be held in memory beside what they are made of.
    document["findings"] = [_checked(FindingDocument, _finding(item)) for item in report.findings]
    return json.dumps(document, indent=2) + "\n"


def _checked(model: type[BaseModel], content: Mapping[str, Any]) -> dict[str, Any]:
    return model.model_validate(content).model_dump(mode="json", exclude_unset=True)


def verdict_of(report: DriftReport) -> dict[str, Any]:
    """Return the verdict of a report as JSON."""
    verdict = judge(report)
    return {
        "outcome": verdict.outcome.name.lower(),
        "exit_code": verdict.outcome.value,
        "headline": verdict.headline,
        "explanation": verdict.explanation,
    }


def comparison_of(found: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON."""
    return ComparisonDocument.model_validate(found, from_attributes=True).model_dump(mode="json")


def _shard(share: Share) -> dict[str, Any]:
    return {
        "number": share.shard.number,
        "count": share.shard.count,
        "managed": [[item.console, item.type_name, item.id] for item in share.managed],
        "baseline_unused": list(share.unused),
        "stacks": share.stacks,
        "stacks_without_state": share.absent,
    }


def _summary(report: DriftReport) -> dict[str, Any]:
    counts = report.counts
    return {
        "resources": len(report.findings),
        "buckets": {bucket: counts[bucket] for bucket in Bucket},
        "drifted": len(report.drifted),
        "accepted": len(accepted_drift(report)),
        "coverage": {
            "percent": round(report.coverage, 3),
            "attributes_percent": round(report.attribute_coverage, 3),
            "required_types": list(report.required),
            "required_percent": round(report.required_coverage, 3),
            "minimum_percent": report.min_coverage,
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "stack": finding.stack,
        "address": finding.address,
        "type": finding.type_name,
        "bucket": finding.bucket,
        "id": finding.id,
        "label": finding.label,
        "reason": finding.reason,
        "accepted": finding.accepted,
        "counted": finding.counted,
        "construct_path": finding.construct_path,
        "location": finding.location,
        "differences": [
            {
                "attribute": item.attribute,
                "sensitive": item.sensitive,
                "state": None if item.sensitive else item.state,
                "console": None if item.sensitive else item.console,
                **({"accepted": item.accepted} if item.accepted else {}),
            }
            for item in finding.differences
        ],
        "unobserved": list(finding.unobserved),
        **_cause(finding.cause),
        **({"undecided": True, "console": finding.console} if finding.undecided else {}),
        **({} if finding.new is None else {"new": list(finding.new)}),
    }


def _diagnostic(item: Diagnostic) -> dict[str, Any]:
    return {
        "severity": item.severity.value,
        "summary": item.summary,
        "detail": item.text,
        "path": list(item.path),
        "addresses": list(item.addresses),
        **_cause(item.cause),
    }


def _cause(cause: Cause | None) -> Mapping[str, Any]:
    return {"cause": cause_json(cause)} if cause else {}


def read_report(path: Path) -> DriftReport:
    """Read one report.

    Raises:
        UserError: It cannot be read, or is not a drift report of version 1.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise _wrong(path, f"it has more than {_MAX_BYTES:,} bytes")
        content = json.loads(path.read_bytes())
    except OSError as problem:
        raise UserError(
            f"The report {path} cannot be read: {problem.strerror or problem}.", "Check the path."
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise _wrong(path, "it is not JSON") from problem
    try:
        return report_of(DriftDocument.model_validate(content))
    except ValidationError as problem:
        raise _wrong(path, what_is_wrong(problem)) from None
    except UserError as problem:
        raise _wrong(path, problem.message.removesuffix(".")) from problem


def read_earlier_report(path: Path) -> DriftReport | None:
    """Read the report that a check is compared with; None: there is no such file yet.

    Raises:
        UserError: It cannot be read, is not a drift report, or is that of one shard.
    """
    try:
        report = read_report(path)
    except UserError as problem:
        if isinstance(problem.__cause__, FileNotFoundError):
            return None
        raise
    if report.share is not None:
        raise UserError(
            f"{path} is the report of shard {report.share.shard} alone.",
            "Name the report that `opsconsole drift merge` made of all shards.",
        )
    return report


def _wrong(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is not a drift report: {why}.",
        "Write it with `opsconsole drift --format json=FILE`.",
    )


def report_of(found: DriftDocument) -> DriftReport:
    """Return the report that a document holds; with only the values that it holds.

    Raises:
        UserError: Its shard is not one.
    """
    return DriftReport(
        tuple(map(_finding_of, found.findings)),
        found.checked_at,
        found.read_only,
        found.method,
        tuple(map(_diagnostic_of, found.diagnostics)),
        tuple(BaselineProblem(item.entry, item.problem) for item in found.baseline),
        found.calls,
        found.seconds,
        tuple(found.summary.coverage.required_types),
        found.summary.coverage.minimum_percent,
        _share_of(found.shard) if found.shard else None,
        Scope(tuple(found.scope.stacks), tuple(found.scope.listed)) if found.scope else Scope(),
        _comparison_of(found.since) if found.since else None,
    )


def _comparison_of(found: ComparisonDocument) -> Comparison:
    def entries(items: Sequence[DriftEntryDocument]) -> tuple[DriftEntry, ...]:
        return tuple(
            DriftEntry(item.stack, item.address, item.type, item.label, tuple(item.what), item.seen)
            for item in items
        )

    return Comparison(
        found.checked_at, entries(found.new), entries(found.resolved), entries(found.open)
    )


def _share_of(shard: ShardDocument) -> Share:
    return Share(
        read_shard(f"{shard.number}/{shard.count}"),
        tuple(Managed(*item) for item in shard.managed),
        tuple(shard.baseline_unused),
        shard.stacks,
        shard.stacks_without_state,
    )


def _diagnostic_of(item: DiagnosticDocument) -> Diagnostic:
    return Diagnostic(
        Severity(item.severity),
        item.summary,
        item.detail,
        tuple(item.path),
        _cause_of(item.cause),
        tuple(item.addresses),
    )


def _finding_of(item: FindingDocument) -> Finding:
    return Finding(
        stack=item.stack,
        address=item.address,
        type_name=item.type,
        bucket=item.bucket,
        id=item.id,
        label=item.label,
        differences=tuple(
            Difference(part.attribute, part.state, part.console, part.sensitive, part.accepted)
            for part in item.differences
        ),
        reason=item.reason,
        accepted=item.accepted,
        construct_path=item.construct_path,
        location=item.location,
        values={"id": item.id} if item.id else {},
        unobserved=tuple(item.unobserved),
        counted=item.counted,
        console=item.console,
        undecided=item.undecided,
        cause=_cause_of(item.cause),
        new=None if item.new is None else tuple(item.new),
    )


def _cause_of(item: CauseDocument | None) -> Cause | None:
    """Return an error without its words: the detail or the reason beside it holds them."""
    if item is None:
        return None
    known = {kind.value: kind for kind in ProblemKind}
    answer = None
    if item.status is not None:
        answer = Problem(
            item.status, item.code, item.message, item.request_id, details=item.details
        )
    kind = known.get(item.kind, ProblemKind.OTHER)
    return Cause(kind, item.message, item.operation, answer)
