"""A drift report as metrics for the textfile collector of Prometheus' node_exporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from opsconsole.drift.report import Bucket, DriftReport
from opsconsole.reports.drift_report import CheckOutcome, accepted_drift, judge

_PREFIX = "opsconsole_drift"


def render(report: DriftReport) -> str:
    """Return the report's metrics."""
    # The default registry would add the metrics of this process.
    registry = CollectorRegistry()
    _resources(registry, report)
    _coverage(registry, report)
    outcome = judge(report).outcome
    text = "The outcome of the check: 1 on exactly one of clean, untold and drift."
    outcomes = {(item.written,): item is outcome for item in CheckOutcome}
    _gauge(registry, "outcome", text, outcomes, "outcome")
    _gauge(registry, "check_seconds", "How long the check took.", {(): report.seconds})
    if report.checked_at:
        text = "When the check ended, in Unix time: an old value is an old file."
        ended = {(): datetime.fromisoformat(report.checked_at).timestamp()}
        _gauge(registry, "last_check_timestamp_seconds", text, ended)
    calls = {(operation,): count for operation, count in sorted(report.calls.items())}
    _gauge(registry, "calls", "Requests that the check sent.", calls, "operation")
    return generate_latest(registry).decode()


def _gauge(
    registry: CollectorRegistry,
    name: str,
    text: str,
    values: Mapping[Any, float],
    *labels: str,
) -> None:
    """Add a metric with a value for each tuple of its labels; without labels, for `()`."""
    metric = Gauge(f"{_PREFIX}_{name}", text, labels, registry=registry)
    for key, value in values.items():
        (metric.labels(*key) if key else metric).set(value)


def _resources(registry: CollectorRegistry, report: DriftReport) -> None:
    stacks = sorted({finding.stack for finding in report.findings})
    counts = Counter((finding.stack, finding.bucket) for finding in report.findings)
    accepting = Counter(finding.stack for finding in accepted_drift(report))
    drifting = Counter(finding.stack for finding in report.drifted_findings)
    _gauge(
        registry,
        "resources",
        "Resources by the bucket that they ended in, accepted ones included.",
        # Every bucket is present, so that no series disappears at zero.
        {(stack, bucket.value): counts[stack, bucket] for stack in stacks for bucket in Bucket},
        "stack",
        "bucket",
    )
    text = "Drifted resources that the baseline accepts."
    accepted = {(stack,): accepting[stack] for stack in stacks}
    _gauge(registry, "accepted_resources", text, accepted, "stack")
    drifted = {(stack,): drifting[stack] for stack in stacks}
    _gauge(registry, "drifted_resources", "Resources that count as drift.", drifted, "stack")
    if (comparison := report.comparison) is not None:
        entries = {"new": comparison.new, "resolved": comparison.resolved, "open": comparison.open}
        since = {
            (stack, name): sum(entry.stack == stack for entry in listed)
            for stack in stacks
            for name, listed in entries.items()
        }
        text = "Resources with drift that is new, resolved or open since the earlier report."
        _gauge(registry, "since_resources", text, since, "stack", "since")
    text = "Baseline entries expired or unused."
    _gauge(registry, "baseline_problems", text, {(): len(report.baseline)})


def _coverage(registry: CollectorRegistry, report: DriftReport) -> None:
    types = sorted({finding.type_name for finding in report.findings})
    text = "Share of the resources in state that was checked, by type."
    checked = {(name,): report.coverage(name) / 100 for name in types}
    _gauge(registry, "coverage_ratio", text, checked, "type")
    text = "Share of the attributes of the resources in state that was seen, by type."
    seen = {(name,): report.attribute_coverage(name) / 100 for name in types}
    _gauge(registry, "attribute_coverage_ratio", text, seen, "type")
    required = report.required_coverage / 100
    text = "Share of the required resources that was checked."
    _gauge(registry, "required_coverage_ratio", text, {(): required})
