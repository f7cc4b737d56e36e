"""A drift report from and to its JSON (`drift_document`), as `drift merge` and `--since` read it.

Sensitive values are left out, on both sides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from opsconsole import __version__
from opsconsole.diagnostics import Diagnostic
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
    FindingDocument,
    ShardDocument,
)
from opsconsole.reports.drift_report import accepted_drift, judge

_MAX_BYTES: Final = 1 << 30


def render(report: DriftReport) -> str:
    """Return the report as indented JSON: that of a `DriftDocument`."""
    document = _dump(
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
            "baseline": report.baseline,
            "diagnostics": report.diagnostics,
            "calls": dict(report.calls),
            "shard": report.share and _shard(report.share),
            "scope": report.scope,
            "since": report.comparison,
        },
    )
    # One at a time: models of all findings would be held in memory beside what they are made of.
    document["findings"] = [_dump(FindingDocument, item) for item in report.findings]
    return json.dumps(document, indent=2) + "\n"


def _dump(model: type[BaseModel], content: object) -> dict[str, Any]:
    return model.model_validate(content).model_dump(mode="json", exclude_defaults=True)


def verdict_of(report: DriftReport) -> dict[str, Any]:
    """Return the verdict of a report as JSON."""
    verdict = judge(report)
    return {
        "outcome": verdict.outcome.name.lower(),
        "exit_code": verdict.exit_code,
        "headline": verdict.headline,
        "explanation": verdict.explanation,
    }


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
    new, resolved, still_open = (
        tuple(
            DriftEntry(item.stack, item.address, item.type, item.label, tuple(item.what), item.seen)
            for item in entries
        )
        for entries in (found.new, found.resolved, found.open)
    )
    return Comparison(found.checked_at, new, resolved, still_open)


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
        item.severity,
        item.summary,
        item.detail,
        tuple(item.path),
        _cause_of(item.cause),
        tuple(item.addresses),
    )


def _finding_of(item: FindingDocument) -> Finding:
    known = dict(item)
    known |= {
        "type_name": known.pop("type"),
        "differences": tuple(Difference(**dict(part)) for part in item.differences),
        "values": {"id": item.id} if item.id else {},
        "unobserved": tuple(item.unobserved),
        "cause": _cause_of(item.cause),
        "new": None if item.new is None else tuple(item.new),
    }
    return Finding(**known)


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
