"""Writes a drift report as JSON (`drift_document`), and reads it, without sensitive values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from opsconsole import __version__
from opsconsole.diagnostics import Diagnostic
from opsconsole.document_models import describe_errors
from opsconsole.drift.model import (
    BaselineProblem,
    Bucket,
    CheckScope,
    Comparison,
    Difference,
    DriftEntry,
    DriftReport,
    Finding,
    Managed,
    ShardResult,
    judge,
    read_shard,
)
from opsconsole.errors import Cause, ErrorAnswer, ProblemKind, UserError
from opsconsole.reports.drift_document import (
    FORMAT,
    FORMAT_VERSION,
    CauseDocument,
    ComparisonDocument,
    DriftDocument,
    FindingDocument,
    ShardDocument,
)

Value = TypeVar("Value")
_MAX_BYTES: Final = 1 << 30


def render(report: DriftReport) -> str:
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
            "verdict": judge(report),
            "summary": _summary(report),
            "findings": [],
            "baseline": report.baseline,
            "diagnostics": report.diagnostics,
            "calls": dict(report.calls),
            "shard": report.shard,
            "scope": report.scope,
            "since": report.comparison,
        },
    )
    # Findings are converted one at a time. Otherwise all models would be in memory together with
    # all findings.
    document["findings"] = [_dump(FindingDocument, item) for item in report.findings]
    return json.dumps(document, indent=2) + "\n"


def _dump(model: type[BaseModel], content: object) -> dict[str, Any]:
    return model.model_validate(content).model_dump(mode="json", exclude_defaults=True)


def _summary(report: DriftReport) -> dict[str, Any]:
    counts = report.counts
    return {
        "resources": len(report.findings),
        "buckets": {bucket: counts[bucket] for bucket in Bucket},
        "drifted": len(report.drifted_findings),
        "accepted": len(report.accepted_findings),
        "coverage": {
            "percent": round(report.coverage(), 3),
            "attributes_percent": round(report.attribute_coverage(), 3),
            "required_types": list(report.required),
            "required_percent": round(report.required_coverage, 3),
            "minimum_percent": report.min_coverage,
        },
    }


def read_report(path: Path) -> DriftReport:
    """Read one report; raise UserError if it is unreadable, or not a drift report of version 1."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise _refuse(path, f"it has more than {_MAX_BYTES:,} bytes")
        content = json.loads(path.read_bytes())
    except OSError as problem:
        raise UserError(
            f"The report {path} cannot be read: {problem.strerror or problem}.", "Check the path."
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise _refuse(path, "it is not JSON") from problem
    try:
        return report_of(DriftDocument.model_validate(content))
    except ValidationError as problem:
        raise _refuse(path, describe_errors(problem)) from None
    except UserError as problem:
        raise _refuse(path, problem.message.removesuffix(".")) from problem


def read_earlier_report(path: Path) -> DriftReport | None:
    """Read the earlier report of a comparison, or return None if there is no file yet."""
    try:
        report = read_report(path)
    except UserError as problem:
        # The first run of a job has no earlier report yet.
        if isinstance(problem.__cause__, FileNotFoundError):
            return None
        raise
    if report.shard is not None:
        raise UserError(
            f"{path} is the report of shard {report.shard} alone.",
            "Name the report that `opsconsole drift merge` made of all shards.",
        )
    return report


def _refuse(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is not a drift report: {why}.",
        "Write it with `opsconsole drift --format json=FILE`.",
    )


def report_of(document: DriftDocument) -> DriftReport:
    """Return the report in a document, with only the values that the document has."""
    coverage, since = document.summary.coverage, document.since
    return DriftReport(
        findings=tuple(map(_finding_of, document.findings)),
        checked_at=document.checked_at,
        read_only=document.read_only,
        method=document.method,
        diagnostics=tuple(
            _make_value(Diagnostic, item, cause=_cause_of(item.cause))
            for item in document.diagnostics
        ),
        baseline=tuple(_make_value(BaselineProblem, item) for item in document.baseline),
        calls=document.calls,
        seconds=document.seconds,
        required=tuple(coverage.required_types),
        min_coverage=coverage.minimum_percent,
        shard=_shard_of(document.shard) if document.shard else None,
        scope=_make_value(CheckScope, document.scope) if document.scope else CheckScope(),
        comparison=_comparison_of(since) if since else None,
    )


def _make_value(kind: Callable[..., Value], part: BaseModel, **members: object) -> Value:
    """Return the value of a report from a part of a document, and from `members`."""
    values = {name: tuple(member) if isinstance(member, list) else member for name, member in part}
    if "type" in values:
        values["type_name"] = values.pop("type")
    return kind(**values | members)


def _comparison_of(since: ComparisonDocument) -> Comparison:
    parts = (since.new, since.resolved, since.open)
    entries = (tuple(_make_value(DriftEntry, item) for item in listed) for listed in parts)
    return Comparison(since.checked_at, *entries)


def _shard_of(shard: ShardDocument) -> ShardResult:
    read_shard(f"{shard.number}/{shard.count}")
    return _make_value(ShardResult, shard, managed=tuple(Managed(*item) for item in shard.managed))


def _finding_of(item: FindingDocument) -> Finding:
    return _make_value(
        Finding,
        item,
        # A list is a value here, not a sequence of the report.
        differences=tuple(
            _make_value(Difference, part, state=part.state, console=part.console)
            for part in item.differences
        ),
        values={"id": item.id} if item.id else {},
        cause=_cause_of(item.cause),
    )


def _cause_of(item: CauseDocument | None) -> Cause | None:
    """Return an error without its text, which the detail or the reason beside it has."""
    if item is None:
        return None
    kinds = {kind.value: kind for kind in ProblemKind}
    # A later release may have written a kind that this release does not know.
    kind = kinds.get(item.kind, ProblemKind.OTHER)
    answer = None
    if item.status is not None and kind is not ProblemKind.UNEXPECTED_ANSWER:
        answer = ErrorAnswer(
            item.status, item.code, item.message, item.request_id, details=item.details
        )
    return Cause(kind, item.message, item.operation, answer, status=item.status)
