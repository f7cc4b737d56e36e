"""Markdown for step summaries: escaping, sections, and the limit in bytes."""

import html
import re
from dataclasses import replace

import pytest

from fleet_reports import make_creation, make_report
from opsconsole.diagnostics import warning
from opsconsole.drift.model import BaselineProblem, Bucket, Difference
from opsconsole.reconcile.plan import Action, Plan
from opsconsole.reports import drift_view, plan_view
from opsconsole.reports.formats import FORMATS
from opsconsole.reports.markdown import LIMIT, MarkdownSection, code, fence, fit, plain, render

STEP_SUMMARY = 1024 * 1024


def test_the_drift_report_has_its_sections(report):
    text = render(drift_view.make_view(report))
    assert text.startswith("## ❌ Drift\n")
    assert "| Missing | 2 |" in text
    assert "| In sync | 211 |" in text
    for heading in ("Missing (2)", "Changed (4)", "Unchecked (1)", "Accepted (1)"):
        assert f"\n### {heading}\n" in text
    assert "!  target_port = 22 -> 2200\n" in text
    assert "hush" not in text


def test_the_plan_has_its_sections_gravest_first(plan):
    text = render(plan_view.make_view(plan))
    assert text.startswith("## ⚠️ Plan: 1 to import, 6 to add, 4 to change, 6 to destroy\n")
    words = ("Destroy (1)", "Replace (2)", "Change (4)", "Create (4)", "Stop managing (1)")
    places = [text.index(f"### {word}") for word in words]
    assert places == sorted(places)
    assert "Archived with it, without a call: 3 resources" in text
    assert ("### Outputs" in text) == any(item.action is not Action.NO_OP for item in plan.outputs)
    assert "### Outputs" not in render(plan_view.make_view(replace(plan, outputs=())))
    assert "hush" not in text


def test_an_empty_and_a_failed_plan(failure):
    assert render(plan_view.make_view(Plan(()))).startswith("## ✅ No changes")
    destroyed = render(plan_view.make_view(Plan((), mode="destroy", targeted=True)))
    assert "For the targets, there is nothing to destroy." in destroyed
    failed = render(plan_view.make_view(Plan((), diagnostics=(failure, warning("w")))))
    assert failed.startswith("## ❌ Planning failed")
    said = warning("It is gone", "The console answers 404.")
    told = render(plan_view.make_view(Plan((), diagnostics=(said, warning("Alone")))))
    assert "It is gone. The console answers 404.\n" in told
    assert "The console refuses the key" in failed


def test_a_large_fleet_stays_under_the_limit_and_counts_what_was_cut():
    hosts = 500
    report = make_report(hosts)
    change = {"bucket": Bucket.CHANGED, "accepted": ""}
    change["differences"] = (Difference("name", "x" * 200, "y" * 200),)
    drifted = tuple(
        replace(finding, **change) if finding.bucket is Bucket.IN_SYNC else finding
        for finding in report.findings
    )
    for text in (
        render(drift_view.make_view(replace(report, findings=drifted))),
        render(plan_view.make_view(make_creation(4 * hosts))),
    ):
        assert LIMIT * 0.9 < len(text.encode()) <= LIMIT < STEP_SUMMARY
        cut = re.search(r"_… and ([\d,]+) more resources, cut to keep this page small._", text)
        assert cut is not None
        shown = text.count("<details><summary>")
        total = re.search(r"### (?:Changed|Create) \(([\d,]+)\)", text)
        assert shown + number(cut[1]) >= number(total[1])
    assert 60_000 < len(FORMATS["github-issue"](replace(report, findings=drifted))) <= 65_536
    # The smaller sections keep everything.
    text = render(drift_view.make_view(replace(report, findings=drifted)))
    assert "### Missing (2)" in text
    assert "agt_00010/plg_metrics" in html.unescape(text)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_fit_gives_each_section_its_share_first():
    sections = [
        MarkdownSection("# a\n", ["a" * 99 + "\n"] * 100),
        MarkdownSection("# b\n", ["b" * 9 + "\n"] * 20),
    ]
    text = fit("", sections, 3000)
    assert len(text) <= 3000
    assert text.count("b" * 9) == 20
    kept = text.count("a" * 99)
    assert 10 < kept < 100
    assert f"and {100 - kept} more resources" in text


def test_fit_survives_items_larger_than_the_limit():
    text = fit("head", [MarkdownSection("# a\n", ["x" * 5000], "message")], 1000)
    assert len(text) <= 1000
    assert "and 1 more message," in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("*bold* _i_ `c`", r"\*bold\* \_i\_ \`c\`"),
        ("# head", r"\# head"),
        ("- list", r"\- list"),
        ("1. one", r"1\. one"),
        ("web-1.example", "web-1.example"),
        ("@team", "@<!-- -->team"),
        ("two\nlines", "two\\\\nlines"),
    ],
)
def test_plain_text_stays_plain(text, shown):
    assert plain(text) == shown


def test_code_and_fences_hold_whatever_they_are_given():
    assert "|" not in code("a|b`c`")
    assert "<script>" not in code("<script>")
    block = fence(["+ ```", "+ ````"])
    assert block.startswith("`````diff\n")
    assert block.endswith("\n`````\n")


def test_baseline_entries_that_are_cut_are_counted(report):
    problems = tuple(
        BaselineProblem(f"opsconsole_host.h{number}", "x" * 99) for number in range(99)
    )
    text = render(drift_view.make_view(replace(report, findings=(), baseline=problems)), limit=5000)
    assert re.search(r"and \d+ more problems, cut", text)
