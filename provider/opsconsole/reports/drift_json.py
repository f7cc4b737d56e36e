"""A drift report as JSON: a documented, versioned format (docs/schemas, docs/guides/reports.md).

Within version 1 members are only added. Sensitive values are left out, on both sides.
"""

from __future__ import annotations

import json
from typing import Any, Final

from opsconsole import __version__
from opsconsole.drift.report import Bucket, Difference, DriftReport, Finding, Share
from opsconsole.reports.json_values import cause_json
from opsconsole.reports.verdict import judge

FORMAT: Final = "opsconsole-drift"
FORMAT_VERSION: Final = "1.1"


def render(report: DriftReport) -> str:
    """Return the report as indented JSON."""
    return json.dumps(document(report), indent=2) + "\n"


def document(report: DriftReport) -> dict[str, Any]:
    """Return the report as the JSON value that `render` prints."""
    verdict = judge(report)
    share = report.share
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "generator": {"name": "opsconsole", "version": __version__},
        "checked_at": report.checked_at,
        "seconds": round(report.seconds, 3),
        "read_only": report.read_only,
        "method": report.method,
        "verdict": {
            "outcome": verdict.outcome.name.lower(),
            "exit_code": verdict.outcome.value,
            "headline": verdict.headline,
            "explanation": verdict.explanation,
        },
        "summary": _summary(report),
        "findings": [_finding(finding) for finding in report.findings],
        "baseline": [{"entry": item.entry, "problem": item.problem} for item in report.baseline],
        "diagnostics": [
            {
                "severity": item.severity.value,
                "summary": item.summary,
                "detail": item.text,
                "path": list(item.path),
                "addresses": list(item.addresses),
                **({"cause": cause_json(item.cause)} if item.cause else {}),
            }
            for item in report.diagnostics
        ],
        "calls": dict(report.calls),
        **({} if share is None else {"shard": _share(share)}),
    }


def _share(share: Share) -> dict[str, Any]:
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
        "buckets": {bucket.value: counts[bucket] for bucket in Bucket},
        "drifted": len(report.drifted),
        "accepted": sum(
            bool(finding.accepted) and finding.bucket.is_drift for finding in report.findings
        ),
        "coverage": {
            "percent": round(report.coverage, 3),
            "required_types": list(report.required),
            "required_percent": round(report.coverage_of(tuple(report.required) or None), 3),
            "minimum_percent": report.min_coverage,
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "stack": finding.stack,
        "address": finding.address,
        "type": finding.type_name,
        "bucket": finding.bucket.value,
        "id": finding.id,
        "label": finding.label,
        "reason": finding.reason,
        "accepted": finding.accepted,
        "counted": finding.counted,
        "construct_path": finding.construct_path,
        "location": finding.location,
        "differences": [_difference(item) for item in finding.differences],
        "unobserved": list(finding.unobserved),
        **({"cause": cause_json(finding.cause)} if finding.cause else {}),
        **({"undecided": True, "console": finding.console} if finding.undecided else {}),
    }


def _difference(item: Difference) -> dict[str, Any]:
    return {
        "attribute": item.attribute,
        "sensitive": item.sensitive,
        "state": None if item.sensitive else item.state,
        "console": None if item.sensitive else item.console,
    }
