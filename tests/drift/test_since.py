"""`drift --since`: what is new, resolved and still open, in every format, and who is told."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from loopback import Posts, serve_posts
from opsconsole.diagnostics import error
from opsconsole.drift.model import Bucket, CheckScope, Difference, DriftReport, Finding
from opsconsole.drift.since import compare
from opsconsole.reports.formats import FORMATS
from published_schemas import follows_schema

WEB = "opsconsole_host.web[0]"
OTHER = "opsconsole_host.web[1]"
SECRET = "T0/B0/secret"
SCOPE = CheckScope(("fleet",), ("opsconsole_host",))


def finding(bucket: Bucket, *attributes: str, **facts: Any) -> Finding:
    differences = tuple(Difference(name, "a", "b") for name in attributes)
    known = {"stack": "fleet", "address": WEB, "type_name": "opsconsole_host", "label": "web"}
    return Finding(bucket=bucket, differences=differences, **(known | facts))


def report(*findings: Finding, **facts: Any) -> DriftReport:
    return DriftReport(findings, "2026-03-01T02:00:00Z", **({"scope": SCOPE} | facts))


CHANGED = finding(Bucket.CHANGED, "tags")
BOTH = finding(Bucket.CHANGED, "tags", "mac")
SYNC = finding(Bucket.IN_SYNC)
UNMANAGED = finding(Bucket.UNMANAGED, address="hst_9")
ELSEWHERE = replace(UNMANAGED, stack="other", accepted="known")
FAILED = {"diagnostics": (error("x: its state was not read"),)}


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (report(SYNC), report(CHANGED), ("new tags",)),
        (report(replace(CHANGED, accepted="known")), report(CHANGED), ("new tags",)),
        (report(CHANGED), report(CHANGED), ("open tags",)),
        (report(CHANGED), report(BOTH), ("new mac", "open tags")),
        (report(BOTH), report(CHANGED), ("resolved mac", "open tags")),
        (report(CHANGED), report(SYNC), ("resolved tags",)),
        (report(CHANGED), report(), ("resolved tags",)),
        (report(CHANGED), report(replace(CHANGED, accepted="known")), ("resolved tags",)),
        (report(CHANGED), report(finding(Bucket.UNCHECKED)), ("unseen tags",)),
        (report(CHANGED), report(replace(SYNC, unobserved=("tags",))), ("unseen tags",)),
        (report(CHANGED), report(SYNC, **FAILED), ("unseen tags",)),
        (report(CHANGED), report(**FAILED), ("unseen tags",)),
        (report(CHANGED), report(scope=CheckScope(("other",))), ()),
        (report(CHANGED), report(finding(Bucket.MISSING)), ("new missing",)),
        (report(finding(Bucket.MISSING)), report(CHANGED), ("new tags", "resolved missing")),
        (report(UNMANAGED), report(replace(UNMANAGED, stack="other")), ("open unmanaged",)),
        (report(UNMANAGED), report(), ("resolved unmanaged",)),
        (
            report(UNMANAGED),
            report(ELSEWHERE, scope=CheckScope(("fleet",))),
            ("resolved unmanaged",),
        ),
        (report(UNMANAGED), report(scope=CheckScope(("fleet",))), ("unseen unmanaged",)),
        (report(UNMANAGED), report(replace(UNMANAGED, counted=False)), ("unseen unmanaged",)),
    ],
)
def test_new_resolved_and_open_drift(before, now, words):
    found = compare(now, before).comparison
    assert found is not None
    seen = {
        f"{word if entry.seen else 'unseen'} {', '.join(entry.what)}"
        for word in ("new", "resolved", "open")
        for entry in getattr(found, word)
    }
    assert seen == set(words)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("prometheus", 'since_resources{since="resolved",stack="fleet"} 1.0'),
        ("junit", f'<property name="resolved" value="{WEB} (web): tags" />'),
    ],
)
def test_last_drift_of_a_stack_is_resolved(name, told):
    assert told in FORMATS[name](compare(report(), report(CHANGED)))


def test_drift_that_was_not_seen_in_between_is_neither_new_nor_lost():
    unseen = compare(report(finding(Bucket.UNCHECKED)), compare(report(CHANGED), None))
    again = compare(report(CHANGED), unseen).comparison
    assert again is not None and again.new == () and again.open[0].seen
    mended = compare(report(SYNC), unseen).comparison
    assert mended is not None and [(entry.what, entry.seen) for entry in mended.resolved] == [
        (("tags",), True)
    ]


@pytest.fixture
def webhook() -> Iterator[Posts]:
    """A service that takes notifications."""
    with serve_posts() as posts:
        yield posts


def test_every_format_tells_new_resolved_and_open_apart(native, world):
    native.apply(**world())
    words = ("--since", "last.json", "--format", "json=last.json")
    native.console.change("hosts", native.id_of(WEB), tags=["owner:me"])
    ran = native.run("drift", *words, "--format", "terminal", expect=2)
    assert f"~ {WEB} (web-0), new\n" in ran.out
    assert "There is no earlier report, so all drift is new." in ran.out

    native.run("apply", "-auto-approve")
    native.console.change("hosts", native.id_of(OTHER), tags=["owner:me"], knowledge="new")
    files = [f"--format={name}=drift.{name}" for name in FORMATS if name != "json"]
    native.run("drift", *words, *files, expect=2)
    document = json.loads((native.folder / "last.json").read_text())
    assert follows_schema(document, "drift-report")
    since = document["since"]
    assert document["scope"]["listed"] == ["opsconsole_agent_plugin"]
    both = ["tags", "knowledge"]
    assert [(item["address"], item["what"]) for item in since["new"]] == [(OTHER, both)]
    assert [(item["address"], item["what"]) for item in since["resolved"]] == [(WEB, ["tags"])]
    assert [item["new"] for item in document["findings"] if item["address"] == OTHER] == [both]
    for name in FORMATS.keys() - {"json", "prometheus"}:
        text = (native.folder / f"drift.{name}").read_text()
        assert "1 new, 1 resolved, 0 still open." in text, name
        assert "resolved" in text.lower(), name
        marked = r'web-1 \*\*new|web-1\), new\n|"verb">new<|"changed, new'
        assert re.search(marked, text), name
    metrics = (native.folder / "drift.prometheus").read_text()
    assert 'since_resources{since="resolved",stack=' in metrics

    ran = native.run("drift", "--json", "--since", "last.json", expect=2)
    assert [item["address"] for item in json.loads(ran.out)["since"]["open"]] == [OTHER]


@pytest.mark.parametrize("kind", ["json", "slack", "teams"])
def test_a_webhook_is_told_of_news_only(kind, native, world, webhook, monkeypatch):
    native.apply(**world())
    monkeypatch.setenv("OPSCONSOLE_NOTIFY_URL", f"{webhook.address}/{SECRET}")
    words = ("--since", "last.json", "--format", "json=last.json", "--notify-format", kind)

    def check() -> tuple[int, str]:
        ran = native.run("drift", *words, expect=None)
        assert SECRET not in ran.text
        return ran.code, ran.err

    assert check() == (0, "No drift. 8 of 11 resources in state checked.\n")
    assert webhook.kept == []
    native.console.change("hosts", native.id_of(WEB), tags=["owner:me"])
    assert check()[0] == 2
    [post] = webhook.kept
    assert post.path == f"/{SECRET}"
    body = json.loads(post.body)
    text = json.dumps(body)
    assert WEB in text and "tags" in text and "owner:me" not in text
    if kind == "json":
        assert follows_schema(body, "drift-notification")
        assert body["counts"] == {"new": 1, "resolved": 0, "open": 0}
    else:
        assert body["blocks" if kind == "slack" else "attachments"]
    assert check()[0] == 2
    assert len(webhook.kept) == 1
    native.run("apply", "-auto-approve")
    webhook.status = 500
    code, err = check()
    assert code == 0
    assert "Warning: The notification was not sent: the webhook answered 500.\n" in err
    assert len(webhook.kept) == 2
    native.console.change("hosts", native.id_of(WEB), tags=["owner:me"])
    monkeypatch.setenv("OPSCONSOLE_NOTIFY_URL", f"http://127.0.0.1:9/{SECRET}")
    code, err = check()
    assert code == 2
    assert "the webhook cannot be reached (ConnectError)" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--notify", f"https://hooks.example.com/{SECRET}"), "Add --since REPORT"),
        (("--since", "x.json", "--notify", f"http://hooks.example.com/{SECRET}"), "unencrypted"),
        (("--since", "x.json", "--notify", f"hooks.example.com/{SECRET}"), "--notify is not one"),
        (("--since", "x.json", "--notify", f"https://[{SECRET}"), "is not one"),
        (("--since", "cdk.tf.json"), "cdk.tf.json is not a drift report"),
        (("--since", "."), "cannot be read"),
        (("--since", "x.json", "--shard", "1/2"), "opsconsole drift merge"),
    ],
)
def test_wrong_options_are_refused_before_the_check(words, said, native, world):
    native.write(**world())
    native.console.reset_log()
    ran = native.run("drift", *words, expect=1)
    assert ran.out == ""
    assert said in ran.err and SECRET not in ran.err
    assert native.console.requests() == []


def test_a_wrong_variable_is_named(native, world, monkeypatch):
    native.write(**world())
    monkeypatch.setenv("OPSCONSOLE_NOTIFY_URL", f"hooks.example.com/{SECRET}")
    assert "URL of OPSCONSOLE_NOTIFY_URL" in native.run("drift", "--since", "x", expect=1).err
