"""A drift report in each of its formats."""

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from opsconsole.diagnostics import error
from opsconsole.drift.model import (
    Bucket,
    CheckOutcome,
    Difference,
    DriftReport,
    Finding,
    ShardResult,
    format_percent,
    judge,
)
from opsconsole.errors import ErrorAnswer, Forbidden
from opsconsole.reports import (
    drift_json,
    junit,
    markdown,
    plan_json,
    plan_text,
    plan_view,
    prometheus,
)
from opsconsole.reports.drift_document import DriftDocument
from opsconsole.reports.formats import FORMATS
from opsconsole.reports.html import page
from opsconsole.resources.host.definition import HOST
from opsconsole.text import Pen
from published_schemas import follows_schema, published_schema

HOSTILE = Finding(
    stack="s",
    address='opsconsole_host.x["<script>"]',
    type_name="opsconsole_host",
    bucket=Bucket.CHANGED,
    label="\x1b[31m</testcase>\x00\ud800",
    reason="a\nb",
    differences=(Difference("name", "\x07", "`|\x0b"),),
)


@pytest.mark.parametrize("name", [*FORMATS])
def test_every_format_shows_no_sensitive_value_and_names_every_drift(name, report):
    text = FORMATS[name](report)
    assert "hush-hush" not in text
    assert text.endswith("\n") or name == "html"
    if name != "prometheus":
        assert "plg_metrics" in html.unescape(text)


def test_plan_formats_but_terraforms_show_no_sensitive_value(plan):
    assert "hush-hush" in json.dumps(plan_json.document(plan))
    assert "hush-hush" not in plan_text.render(plan)
    for module in (markdown, page):
        assert "hush-hush" not in module.render(plan_view.make_view(plan))


@pytest.mark.parametrize("name", [*FORMATS])
def test_hostile_names_break_no_format_and_unseen_attributes_are_named(name):
    assert FORMATS[name](DriftReport((), "2026-03-01T02:00:00Z"))
    found = replace(HOSTILE, unobserved=("mac", "knowledge"))
    text = FORMATS[name](DriftReport((found,), "2026-03-01T02:00:00Z"))
    assert name == "prometheus" or ("mac" in text and "knowledge" in text)
    text.encode()
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", text)
    if name == "json":
        json.loads(text)
    elif name == "junit":
        ElementTree.fromstring(text)
    elif name == "prometheus":
        list(text_string_to_metric_families(text))
    elif name in ("html", "markdown"):
        assert '["<script>"]' not in text


UNDER = {"required": ("opsconsole_host",), "min_coverage": 100.0}


@pytest.mark.parametrize(
    ("facts", "outcome", "explanation"),
    [
        ({}, CheckOutcome.DRIFT, "8 resources drifted. 1 accepted."),
        (
            UNDER,
            CheckOutcome.UNDETERMINED,
            "Required coverage is 98.4 %, below the minimum of 100 %; 8 resources drifted.",
        ),
        (
            UNDER | {"required": ("opsconsole_agent",)},
            CheckOutcome.DRIFT,
            "8 resources drifted. 1 accepted.",
        ),
        ({"findings": ()}, CheckOutcome.CLEAN, "State is empty."),
        (
            {"findings": (), "shard": ShardResult(1, 2)},
            CheckOutcome.CLEAN,
            "No stack belongs to this shard. This is shard 1/2: unmanaged objects count once "
            "`opsconsole drift merge` has the reports of all shards.",
        ),
    ],
)
def test_verdicts(report, facts, outcome, explanation):
    verdict = judge(replace(report, **facts))
    assert (verdict.outcome, verdict.explanation) == (outcome, explanation)


def test_errors_outweigh_drift_and_accepted_drift_is_none(report, failure):
    verdict = judge(replace(report, diagnostics=(failure,)))
    assert verdict.outcome is CheckOutcome.UNDETERMINED
    assert "8 resources drifted" in verdict.explanation
    quiet = tuple(
        replace(finding, accepted="known") if finding.bucket.is_drift else finding
        for finding in report.findings
    )
    assert judge(replace(report, findings=quiet)).outcome is CheckOutcome.CLEAN


@pytest.mark.parametrize(
    ("value", "shown"), [(100.0, "100 %"), (99.97, "99.9 %"), (99.5, "99.5 %"), (0.0, "0 %")]
)
def test_coverage_never_rounds_up_to_all(value, shown):
    assert format_percent(value) == shown


def test_text_has_a_section_for_each_bucket_and_the_verdict_last(report):
    text = FORMATS["terminal"](report)
    for heading in ("Missing (2)", "Archived (1)", "Changed (4)", "Unmanaged (1)", "Pending (1)"):
        assert f"\n{heading}\n" in f"\n{text}"
    assert "\nPending (1)\nDeclared in the program, not applied yet.\n\n  * " in text
    assert "In sync (" not in text
    assert "accepted: port moved for the audit, ticket 12" in text
    assert "Drift. 8 resources drifted." in text.partition("╵")[2]
    assert "\x1b" not in text
    assert re.sub(r"\x1b\[[0-9;]*m", "", FORMATS["terminal"](report, pen=Pen(colour=True))) == text


def test_the_end_of_the_text_repeats_no_number(report):
    text = FORMATS["terminal"](replace(report, **UNDER))
    assert "Coverage 99.5 % · Required coverage 98.4 % (minimum 100 %) · Requests" in text
    assert "\n2 missing, 1 archived, 4 changed, 1 unmanaged, 1 unchecked, 1 pending, 211" in text
    in_sync = tuple(item for item in report.findings if item.bucket is Bucket.IN_SYNC)
    text = FORMATS["terminal"](replace(report, findings=in_sync, diagnostics=(), baseline=()))
    assert text.splitlines()[:2] == [
        "No drift. 211 resources in state checked.",
        "Checked 2026-03-01 02:00:00 UTC · Coverage 100 % · Requests 120 · Took 1.2 s",
    ]


def test_a_reason_that_resources_share_is_shown_once():
    kinds = [HOST.type_name] * 8 + ["opsconsole_agent"] * 4
    findings = tuple(
        Finding("s", f"{kind}.x[{number}]", kind, Bucket.UNCHECKED, reason="the key is refused")
        for number, kind in enumerate(kinds)
    )
    text = FORMATS["terminal"](DriftReport(findings, ""))
    assert text.count("the key is refused") == 1
    assert "and 9 more resources; the other formats list all" in text


def test_several_stacks_are_distinguished(report):
    first, *rest = report.findings
    both = replace(report, findings=(replace(first, stack="other"), *rest))
    assert 'fleet: opsconsole_host.db["7"]' in FORMATS["terminal"](both)


def test_json_follows_its_schema(report):
    schema = published_schema("drift-report")
    found = json.loads(drift_json.render(report))
    assert follows_schema(found, "drift-report")
    assert found["summary"]["buckets"] == {
        bucket.value: count for bucket, count in report.counts.items()
    }
    assert len(found["findings"]) == len(report.findings)
    # What only shards and comparisons have is checked with them.
    assert schema["properties"].keys() - {"shard", "since"} == found.keys()
    finding = schema["$defs"]["FindingDocument"]["properties"]
    only_some = {"cause", "undecided", "console", "new"}
    assert finding.keys() - only_some == found["findings"][0].keys() - only_some


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found.update(format_version="2.0"),
        lambda found: found["findings"][0].update(bucket="fine"),
        lambda found: found["summary"]["buckets"].pop("missing"),
        lambda found: found["findings"][0].update(
            differences=[{"attribute": "a", "sensitive": True, "state": "x", "console": None}]
        ),
    ],
)
def test_the_schema_refuses_what_is_wrong(report, spoil):
    found = json.loads(drift_json.render(report))
    spoil(found)
    assert not follows_schema(found, "drift-report")
    with pytest.raises(ValidationError):
        DriftDocument.model_validate(found)


def test_json_of_a_later_minor_version_is_read_back(report, tmp_path):
    """Also with names that are no valid text."""
    written = drift_json.render(report)
    found = DriftDocument.model_validate_json(written)
    assert [item.bucket for item in found.findings] == [item.bucket for item in report.findings]
    file = tmp_path / "report.json"
    file.write_text(written)
    read = drift_json.read_report(file)
    assert drift_json.render(read) == written
    shown, given = (
        [each for item in of.findings for each in item.differences] for of in (read, report)
    )
    assert shown == [
        replace(item, state=None, console=None) if item.sensitive else item for item in given
    ]

    later = json.loads(written) | {"format_version": "1.99"}
    later["findings"][0]["colour"] = "red"
    assert DriftDocument.model_validate(later).findings[0].address == report.findings[0].address

    first, *rest = report.findings
    odd = replace(report, findings=(replace(first, label="\ud800", stack="a\udcff"), *rest))
    found = DriftDocument.model_validate_json(drift_json.render(odd))
    assert (found.findings[0].label, found.findings[0].stack) == ("\\ud800", "a\\udcff")


def test_what_the_console_answered_is_told_to_programs(report):
    """A program need not look for a request id in a sentence."""
    answer = ErrorAnswer(403, "FORBIDDEN", "not allowed", "req_7", details={"scope": "org"})
    cause = Forbidden(answer, "POST /api/v1/hosts/{id}").cause
    first, *rest = report.findings
    unseen = replace(first, bucket=Bucket.UNCHECKED, differences=(), cause=cause)
    refused = error("1 host could not be checked", cause=cause).about(first.address)
    both = replace(report, findings=(unseen, *rest), diagnostics=(refused,))
    found = DriftDocument.model_validate_json(drift_json.render(both))
    [told] = found.diagnostics
    assert told.addresses == [first.address]
    assert told.cause == found.findings[0].cause
    assert (told.cause.kind, told.cause.status, told.cause.code) == ("forbidden", 403, "FORBIDDEN")
    assert (told.cause.request_id, told.cause.details) == ("req_7", {"scope": "org"})
    assert told.cause.operation == "POST /api/v1/hosts/{id}"
    assert "request id req_7" in told.detail


def test_junit_has_one_case_a_resource_and_fails_what_must_be_checked(report):
    root = ElementTree.fromstring(junit.render(report))
    suite = root.find("testsuite[@name='fleet']")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert len(cases) == len(report.findings) == int(suite.get("tests", "0"))
    assert len(suite.findall("testcase/failure")) == len(report.drifted_findings) == 8
    assert int(root.get("failures", "0")) == 8
    unchecked = cases['opsconsole_host.cache["8"]']
    assert [part.tag for part in unchecked] == ["skipped"]
    accepted = cases['opsconsole_host.queue["4"]']
    assert [part.tag for part in accepted] == ["system-out"]
    assert "ticket 12" in (accepted[0].text or "")
    assert cases['opsconsole_host.app["1"]'].get("line") == "42"
    root = ElementTree.fromstring(junit.render(replace(report, min_coverage=100.0)))
    assert [case.get("type") for case in root.iter("error")] == ["unchecked"]


def test_junit_is_never_green_where_the_check_met_errors(failure):
    """A state that cannot be read has no resource whose case could say so."""
    root = ElementTree.fromstring(junit.render(DriftReport((), "", diagnostics=(failure,))))
    assert int(root.get("errors", "0")) == 1
    [case] = root.findall("testsuite[@name='check']/testcase")
    [error] = case
    assert "met errors" in error.get("message", "")
    assert failure.summary in (error.text or "")


def samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics(report):
    found = samples(prometheus.render(report))
    for bucket, count in report.counts.items():
        assert found["opsconsole_drift_resources", bucket.value, "fleet"] == count
    assert found["opsconsole_drift_drifted_resources", "fleet"] == 8
    assert found["opsconsole_drift_calls", "host_update"] == 60
    assert found["opsconsole_drift_coverage_ratio", "opsconsole_agent"] == 1
    assert 0.98 < found["opsconsole_drift_coverage_ratio", "opsconsole_host"] < 1
    assert found["opsconsole_drift_outcome", "drift"] == 1
    checked = datetime(2026, 3, 1, 2, tzinfo=UTC)
    assert found["opsconsole_drift_last_check_timestamp_seconds",] == checked.timestamp()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("terminal", "Coverage 100 % ({part:.1f} % of the attributes)"),
        ("markdown", "Coverage 100 % ({part:.1f} % of the attributes)"),
        ("html", "100 % ({part:.1f} % of the attributes)"),
        ("json", '"attributes_percent": {part:.3f}'),
        ("junit", '<property name="attribute_coverage_percent" value="{part:.3f}" />'),
        ("prometheus", 'attribute_coverage_ratio{{type="opsconsole_host"}} {cut}'),
    ],
)
def test_coverage_is_counted_in_attributes_too(name, text):
    seen = replace(HOSTILE, bucket=Bucket.IN_SYNC, differences=(), reason="")
    report = DriftReport((replace(seen, unobserved=("mac", "knowledge")),), "2026-03-01T02:00:00Z")
    ratio = 1 - 2 / sum(not attribute.volatile for attribute in HOST.answer_fields)
    # An agent whose plugins alone are shown is unchecked; so is what was not read at all.
    partly = replace(report.findings[0], bucket=Bucket.UNCHECKED)
    beside = (replace(seen, bucket=bucket) for bucket in (Bucket.UNMANAGED, Bucket.PENDING))
    other = replace(seen, type_name="opsconsole_specialty")
    mixed = DriftReport((partly, replace(partly, unobserved=()), *beside, other), "")
    assert mixed.attribute_coverage(HOST.type_name) == pytest.approx(50 * ratio)
    # Prometheus gets every digit.
    cut = int(1000 * ratio) / 1000
    assert text.format(part=100 * ratio, cut=cut) in FORMATS[name](report)
    if name == "junit":
        assert "not seen by this check: mac, knowledge" in FORMATS[name](report)
