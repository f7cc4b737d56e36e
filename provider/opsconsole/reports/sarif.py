"""A drift report as SARIF 2.1.0, for code scanning: one rule a bucket, one result a finding."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final
from urllib.parse import quote

from opsconsole import __version__
from opsconsole.drift.report import Bucket, DriftReport, Finding
from opsconsole.reports.diagnostics_text import body_of
from opsconsole.reports.drift_text import difference_lines
from opsconsole.reports.styles import BUCKET_STYLES
from opsconsole.reports.text import printable
from opsconsole.reports.verdict import CheckOutcome, judge, unseen_text

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_BUCKETS = tuple(bucket for bucket, style in BUCKET_STYLES.items() if style.sarif)


def render(report: DriftReport, *, unlocated: str = "") -> str:
    """Return the report as a SARIF log.

    Args:
        unlocated: The file to name for findings whose place in the program is not known, relative
            to the repository; empty: they get a logical location only, which some services refuse.
    """
    run = {
        "tool": {"driver": _driver()},
        "invocations": [_invocation(report)],
        "results": [
            _result(item, unlocated) for item in report.findings if item.bucket in _BUCKETS
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "coveragePercent": round(report.coverage, 3),
            "attributeCoveragePercent": round(report.attribute_coverage, 3),
        },
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _driver() -> dict[str, Any]:
    return {
        "name": "opsconsole drift",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": _rule(bucket),
                "name": f"{bucket.value.capitalize()}Resource",
                "shortDescription": {"text": f"Resource {BUCKET_STYLES[bucket].word}"},
                "fullDescription": {"text": BUCKET_STYLES[bucket].meaning},
                "defaultConfiguration": {"level": BUCKET_STYLES[bucket].sarif},
            }
            for bucket in _BUCKETS
        ],
    }


def _rule(bucket: Bucket) -> str:
    return f"drift/{bucket.value}"


def _invocation(report: DriftReport) -> dict[str, Any]:
    verdict = judge(report)
    found: dict[str, Any] = {
        "executionSuccessful": verdict.outcome is not CheckOutcome.UNTOLD,
        "exitCode": verdict.outcome.value,
    }
    if report.checked_at:
        found["endTimeUtc"] = report.checked_at
    notes = [
        {
            "level": item.severity.value,
            "message": {"text": printable(f"{item.summary} {body_of(item)}".strip(), keep="\n")},
        }
        for item in report.diagnostics
    ]
    if notes:
        found["toolExecutionNotifications"] = notes
    return found


def _result(finding: Finding, unlocated: str) -> dict[str, Any]:
    print_of = "\0".join((finding.stack, finding.address, finding.bucket.value))
    found: dict[str, Any] = {
        "ruleId": _rule(finding.bucket),
        "ruleIndex": _BUCKETS.index(finding.bucket),
        "level": BUCKET_STYLES[finding.bucket].sarif if finding.counted else "note",
        "message": {"text": _message(finding)},
        "locations": [_location(finding, unlocated)],
        "partialFingerprints": {
            "opsconsoleFinding/v1": hashlib.sha256(_bytes(print_of)).hexdigest()
        },
        "properties": {"stack": finding.stack, "id": finding.id, "type": finding.type_name},
    }
    if finding.accepted:
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": printable(finding.accepted)}
        ]
    return found


def _message(finding: Finding) -> str:
    label = f" ({printable(finding.label)})" if finding.label else ""
    style = BUCKET_STYLES[finding.bucket]
    reason = printable(finding.reason) or style.meaning
    opening = f"{printable(finding.address)}{label} is {style.word}: {reason}"
    lines = [line.plain.strip() for line in difference_lines(finding)]
    if unseen := unseen_text(finding):
        lines.append(printable(unseen))
    return "\n".join([opening, *lines])


def _location(finding: Finding, unlocated: str) -> dict[str, Any]:
    logical = {"fullyQualifiedName": finding.address, "kind": "resource"}
    found: dict[str, Any] = {"logicalLocations": [logical]}
    file, _, line = finding.location.rpartition(":")
    number = int(line) if file and line.isascii() and line.isdigit() else 0
    uri = file if number else finding.location or unlocated
    if uri:
        found["physicalLocation"] = {
            "artifactLocation": {"uri": quote(_bytes(uri.replace("\\", "/")), safe="/.-_~+@")},
            "region": {"startLine": max(number, 1)},
        }
    return found


def _bytes(text: str) -> bytes:
    """Return UTF-8 of any text: names of files and keys may hold what is not a character."""
    return text.encode("utf-8", "backslashreplace")
