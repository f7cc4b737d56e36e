"""A drift report as metrics for the textfile collector of Prometheus' node_exporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from opsconsole.drift.model import Bucket, CheckOutcome, DriftReport, judge

_Metric: TypeAlias = tuple[str, str, str, Mapping[Any, float]]
"""Its name, its help, the names of its labels, and a value for each tuple of labels."""


def render(report: DriftReport) -> str:
    # The default registry would add the metrics of this process.
    registry = CollectorRegistry()
    for name, text, labels, values in (*_by_stack(report), *_of_check(report)):
        metric = Gauge(f"opsconsole_drift_{name}", text, labels.split(), registry=registry)
        for key, value in values.items():
            (metric.labels(*key) if key else metric).set(value)
    return generate_latest(registry).decode()


def _by_stack(report: DriftReport) -> Iterator[_Metric]:
    # A stack whose last finding is resolved has series, too.
    stacks = sorted({*report.scope.stacks, *(finding.stack for finding in report.findings)})
    counts = Counter((finding.stack, finding.bucket) for finding in report.findings)
    accepting = Counter(finding.stack for finding in report.accepted_findings)
    drifting = Counter(finding.stack for finding in report.drifted_findings)
    # Every bucket is present, so that no series disappears at zero.
    resources = {(stack, item.value): counts[stack, item] for stack in stacks for item in Bucket}
    text = "Resources by the bucket that they ended in, accepted ones included."
    yield "resources", text, "stack bucket", resources
    accepted = {(stack,): accepting[stack] for stack in stacks}
    text = "Drifted resources that the baseline accepts."
    yield "accepted_resources", text, "stack", accepted
    drifted = {(stack,): drifting[stack] for stack in stacks}
    yield "drifted_resources", "Resources that count as drift.", "stack", drifted
    if (comparison := report.comparison) is not None:
        entries = {"new": comparison.new, "resolved": comparison.resolved, "open": comparison.open}
        since = {
            (stack, name): sum(entry.stack == stack for entry in listed)
            for stack in stacks
            for name, listed in entries.items()
        }
        text = "Resources with drift that is new, resolved or open since the earlier report."
        yield "since_resources", text, "stack since", since


def _of_check(report: DriftReport) -> Iterator[_Metric]:
    problems = {(): len(report.baseline)}
    yield "baseline_problems", "Baseline entries expired or unused.", "", problems
    types = sorted({finding.type_name for finding in report.findings})
    checked = {(name,): report.coverage(name) / 100 for name in types}
    text = "Share of the resources in state that was checked, by type."
    yield "coverage_ratio", text, "type", checked
    seen = {(name,): report.attribute_coverage(name) / 100 for name in types}
    text = "Share of the attributes of the resources in state that was seen, by type."
    yield "attribute_coverage_ratio", text, "type", seen
    text = "Share of the required resources that was checked."
    yield "required_coverage_ratio", text, "", {(): report.required_coverage / 100}
    outcome = judge(report).outcome
    outcomes = {(item.value,): item is outcome for item in CheckOutcome}
    text = "The outcome of the check: 1 on exactly one of clean, untold and drift."
    yield "outcome", text, "outcome", outcomes
    yield "check_seconds", "How long the check took.", "", {(): report.seconds}
    if report.checked_at:
        ended = datetime.fromisoformat(report.checked_at).timestamp()
        text = "When the check ended, in Unix time: an old value is an old file."
        yield "last_check_timestamp_seconds", text, "", {(): ended}
    calls = {(operation,): count for operation, count in sorted(report.calls.items())}
    yield "calls", "Requests that the check sent.", "operation", calls
