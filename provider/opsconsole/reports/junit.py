"""A drift report as JUnit XML: a suite for each stack, one case for each resource.

Drift fails its case. An unchecked resource is an error if its coverage is demanded, else skipped.
A check with errors has an additional error case, because an error may belong to no resource.
"""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from opsconsole.diagnostics import has_error
from opsconsole.drift.model import Bucket, DriftReport, Finding, judge
from opsconsole.reports.drift_view import (
    difference_lines,
    entry_text,
    new_text,
    since_text,
    unobserved_text,
)
from opsconsole.reports.terminal import body_of
from opsconsole.reports.view import BUCKET_STYLES
from opsconsole.text import printable

_UNTITLED = "opsconsole drift"


def render(report: DriftReport) -> str:
    root = ElementTree.Element("testsuites", name=_UNTITLED, time=f"{report.seconds:.3f}")
    # A stack whose last drift is resolved may have no findings.
    resolved = () if report.comparison is None else report.comparison.resolved
    stacks: dict[str, list[Finding]] = {entry.stack: [] for entry in resolved}
    for finding in report.findings:
        stacks.setdefault(finding.stack, []).append(finding)
    for stack in sorted(stacks):
        _add_suite(root, stack, stacks[stack], report)
    if report.baseline:
        _add_baseline(root, report)
    if has_error(report.diagnostics):
        _add_errors(root, report)
    for suite in root:
        _count_cases(suite)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(
    root: ElementTree.Element, stack: str, findings: list[Finding], report: DriftReport
) -> None:
    suite = _add(root, "testsuite", name=stack or _UNTITLED, timestamp=report.checked_at)
    stack_report = replace(report, findings=tuple(findings))
    coverage, seen = stack_report.coverage(), stack_report.attribute_coverage()
    facts = [
        ("coverage_percent", f"{round(coverage, 3):g}"),
        ("attribute_coverage_percent", f"{round(seen, 3):g}"),
    ]
    if report.comparison is not None:
        facts.append(("since", since_text(report)))
        facts += [
            ("resolved", entry_text(entry, stacks=False))
            for entry in report.comparison.resolved
            if entry.stack == stack
        ]
    properties = _add(suite, "properties")
    for name, value in facts:
        _add(properties, "property", name=name, value=value)
    for finding in findings:
        _add_case(suite, finding, report)
    if report.diagnostics:
        _add(suite, "system-err", _messages(report))


def _messages(report: DriftReport) -> str:
    return "\n".join(
        f"{item.severity.value}: {item.summary}\n{body_of(item)}" for item in report.diagnostics
    )


def _add_errors(root: ElementTree.Element, report: DriftReport) -> None:
    verdict = judge(report)
    suite = _add(root, "testsuite", name="check", timestamp=report.checked_at)
    case = _add(suite, "testcase", name=verdict.headline, classname="check", time="0")
    _add(case, "error", _messages(report), message=verdict.explanation, type="untold")


def _count_cases(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))


def _add_case(suite: ElementTree.Element, finding: Finding, report: DriftReport) -> None:
    case = _add(suite, "testcase", name=finding.address, classname=finding.type_name, time="0")
    file, _, line = finding.location.rpartition(":")
    if file and line.isascii() and line.isdigit():
        case.set("file", _clean(file))
        case.set("line", line)
    if finding.accepted:
        text = f"accepted by the baseline: {finding.accepted}\n{_details(finding)}"
        _add(case, "system-out", text)
        return
    tag = _tag(finding, report)
    if tag:
        style = BUCKET_STYLES[finding.bucket]
        words = ", ".join(filter(None, (style.word, new_text(finding))))
        message = f"{words}: {finding.reason or style.meaning}"
        result = _add(case, tag, _details(finding), message=message)
        if tag != "skipped":
            result.set("type", finding.bucket.value)
    elif unobserved := unobserved_text(finding):
        _add(case, "system-out", unobserved)


def _tag(finding: Finding, report: DriftReport) -> str:
    if finding.is_drift:
        return "failure"
    if finding.bucket is Bucket.UNCHECKED:
        return "error" if report.must_check(finding) and report.min_coverage > 0 else "skipped"
    return "" if finding.bucket is Bucket.IN_SYNC else "skipped"


def _details(finding: Finding) -> str:
    facts = [
        f"{word}: {text}"
        for word, text in (("id", finding.id), ("construct", finding.construct_path))
        if text
    ]
    facts += [line.plain for line in difference_lines(finding)]
    if unobserved := unobserved_text(finding):
        facts.append(unobserved)
    return "\n".join(facts)


def _add_baseline(root: ElementTree.Element, report: DriftReport) -> None:
    suite = _add(root, "testsuite", name="baseline", timestamp=report.checked_at)
    for item in report.baseline:
        case = _add(suite, "testcase", name=item.entry, classname="baseline", time="0")
        _add(case, "skipped", message=item.problem)


def _add(
    parent: ElementTree.Element, tag: str, text: str = "", **attributes: str
) -> ElementTree.Element:
    clean = {key: _clean(value) for key, value in attributes.items()}
    element = ElementTree.SubElement(parent, tag, clean)
    element.text = _clean(text) or None
    return element


def _clean(text: str) -> str:
    return printable(text, keep="\n\t")
