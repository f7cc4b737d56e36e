"""A drift report as Prometheus metrics, for the text file collector and for an exporter."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from opsconsole.drift.report import Bucket, DriftReport
from opsconsole.reports.verdict import Outcome, judge

_PREFIX = "opsconsole_drift"


def render(
    report: DriftReport, *, now: datetime | None = None, last_good: datetime | None = None
) -> str:
    """Return the report's metrics in Prometheus' text format.

    Args:
        now: The moment that ages are measured at; the report's own where it is left out.
        last_good: When a check last could tell; the report's own moment where this one could.
    """
    return generate_latest(registry_of(report, now=now, last_good=last_good)).decode()


def registry_of(
    report: DriftReport, *, now: datetime | None = None, last_good: datetime | None = None
) -> CollectorRegistry:
    """Return the report's metrics; every bucket is there, so that none vanishes at zero."""
    registry = CollectorRegistry()
    _resources(registry, report)
    _coverage(registry, report)
    _times(registry, report, now, last_good)
    calls = Gauge(
        f"{_PREFIX}_calls", "Requests that the check sent.", ["operation"], registry=registry
    )
    for operation, count in sorted(report.calls.items()):
        calls.labels(operation).set(count)
    return registry


def _resources(registry: CollectorRegistry, report: DriftReport) -> None:
    resources = Gauge(
        f"{_PREFIX}_resources",
        "Resources by the bucket that they ended in, accepted ones included.",
        ["stack", "bucket"],
        registry=registry,
    )
    accepted = Gauge(
        f"{_PREFIX}_accepted_resources",
        "Drifted resources that the baseline accepts.",
        ["stack"],
        registry=registry,
    )
    drifted = Gauge(
        f"{_PREFIX}_drifted_resources",
        "Resources that count as drift.",
        ["stack"],
        registry=registry,
    )
    counts = Counter((finding.stack, finding.bucket) for finding in report.findings)
    accepting = Counter(
        item.stack for item in report.findings if item.accepted and item.bucket.is_drift
    )
    drifting = Counter(finding.stack for finding in report.drifted)
    for stack in sorted({finding.stack for finding in report.findings}):
        for bucket in Bucket:
            resources.labels(stack, bucket.value).set(counts[stack, bucket])
        accepted.labels(stack).set(accepting[stack])
        drifted.labels(stack).set(drifting[stack])
    problems = Gauge(
        f"{_PREFIX}_baseline_problems", "Baseline entries expired or unused.", registry=registry
    )
    problems.set(len(report.baseline))


def _coverage(registry: CollectorRegistry, report: DriftReport) -> None:
    coverage = Gauge(
        f"{_PREFIX}_coverage_ratio",
        "Share of the resources in state that was checked, by type.",
        ["type"],
        registry=registry,
    )
    attributes = Gauge(
        f"{_PREFIX}_attribute_coverage_ratio",
        "Share of the attributes of the resources in state that was seen, by type.",
        ["type"],
        registry=registry,
    )
    for type_name in sorted({finding.type_name for finding in report.findings}):
        coverage.labels(type_name).set(report.coverage_of((type_name,)) / 100)
        attributes.labels(type_name).set(report.attribute_coverage_of((type_name,)) / 100)
    required = Gauge(
        f"{_PREFIX}_required_coverage_ratio",
        "Share of what must be checked that was.",
        registry=registry,
    )
    required.set(report.coverage_of(tuple(report.required) or None) / 100)
    outcome = Gauge(
        f"{_PREFIX}_outcome",
        "What the check came to: 1 on exactly one of clean, untold and drift.",
        ["outcome"],
        registry=registry,
    )
    came_to = judge(report).outcome
    for item in Outcome:
        outcome.labels(item.name.lower()).set(item is came_to)


def _times(
    registry: CollectorRegistry,
    report: DriftReport,
    now: datetime | None,
    last_good: datetime | None,
) -> None:
    checked = datetime.fromisoformat(report.checked_at) if report.checked_at else None
    good = checked if judge(report).outcome is not Outcome.UNTOLD else last_good
    now = now or checked
    seconds = Gauge(f"{_PREFIX}_check_seconds", "How long the check took.", registry=registry)
    seconds.set(report.seconds)
    if checked is not None:
        _moment(registry, "last_check", "When the last check ended.", checked)
    if good is not None:
        _moment(registry, "last_good_check", "When a check last could tell.", good)
        if now is not None:
            age = Gauge(
                f"{_PREFIX}_last_good_check_age_seconds",
                "How long ago a check last could tell.",
                registry=registry,
            )
            age.set((now - good).total_seconds())


def _moment(registry: CollectorRegistry, name: str, text: str, moment: datetime) -> None:
    metric = f"{_PREFIX}_{name}_timestamp_seconds"
    Gauge(metric, f"{text} Unix time.", registry=registry).set(moment.timestamp())
