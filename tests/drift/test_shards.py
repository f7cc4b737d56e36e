"""Shards of a check on several machines, and the one report that is merged of theirs."""

import json
from pathlib import Path
from typing import Any

import pytest

from opsconsole.diagnostics import error
from opsconsole.drift.merging import merge_reports
from opsconsole.drift.model import DriftReport, Shard, ShardResult, judge, read_shard
from opsconsole.errors import TRY_LATER, UnexpectedAnswer, UserError
from opsconsole.reports import drift_json
from published_schemas import follows_schema

NAMES = ("alpha", "beta", "gamma", "delta")
KEYS = dict(zip(NAMES, ("linux-server", "database", "network", "identity"), strict=True))


@pytest.fixture
def states(native: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Four states, each of a specialty and a host with an agent, applied."""
    for name in NAMES:
        agent = {"name": name, "host_id": "${opsconsole_host.h.id}", "specialty_id": "spc_linux"}
        resources = {
            "opsconsole_specialty": {"s": {"key": KEYS[name]}},
            "opsconsole_host": {"h": {"name": name}},
            "opsconsole_agent": {"a": agent},
        }
        state = native.at("states").folder / f"terraform.{name}.tfstate"
        backend = {"backend": {"local": {"path": str(state)}}}
        native.at(f"programs/{name}").apply(resources, terraform=backend)
    monkeypatch.chdir(native.folder)
    return native


def shards(states: Any, count: int, *words: str) -> list[str]:
    """Check every shard; return the names of the reports."""
    names = []
    for number in range(1, count + 1):
        name = f"{number}.json"
        which = ("--shard", f"{number}/{count}", "--format", f"json={name}", *words)
        states.run("drift", "states", *which)
        assert follows_schema(json.loads(Path(name).read_text()), "drift-report")
        names.append(name)
    return names


def merged(states: Any, *reports: str, expect: int) -> Any:
    formats = ("--format=json=all.json", "--format=html=all.html")
    states.run("drift", "merge", *reports, *formats, expect=expect)
    document = json.loads(Path("all.json").read_text())
    assert follows_schema(document, "drift-report")
    return document


def places(report: dict[str, Any]) -> set[tuple[str, str]]:
    return {(item["address"], item["bucket"]) for item in report["findings"]}


COUNTED = "--count-unmanaged=plugins,specialties"


def test_a_merge_says_what_a_check_of_all_says_and_misses_a_report(states):
    ended = states.run("drift", "states", COUNTED, "--format=json=whole.json", expect=None)
    whole = json.loads(Path("whole.json").read_text())
    reports = shards(states, 3, COUNTED)
    document = merged(states, *reports, expect=ended.code)
    assert places(document) == places(whole), ended.text
    assert document["summary"]["buckets"] == whole["summary"]["buckets"]
    assert not any("console" in item for item in document["findings"])
    assert document["summary"]["drifted"] == whole["summary"]["drifted"]
    seen = [item for name in reports for item in json.loads(Path(name).read_text())["findings"]]
    shown = {item["label"] for item in seen if item["bucket"] == "unmanaged"}
    assert {len(item["console"]) for item in seen if "console" in item} == {16}, "in any release"
    assert shown & set(KEYS.values()), "a shard sees what another shard manages"

    document = merged(states, *reports[:2], expect=1)
    assert "1 of 3 shards have no report: 3" in document["diagnostics"][0]["summary"]
    assert document["summary"]["drifted"] == 0


def test_drift_of_one_shard_is_drift_of_all(states):
    console = states.console
    [host] = [row for row in console.rows("hosts") if row["name"] == "beta"]
    console.change("hosts", host["id"], private_ip="10.9.9.9", tags=["x", "y"])
    for number in (1, 2):
        which = ("--shard", f"{number}/2", f"--format=json={number}.json")
        drifted = Shard(number, 2).takes("beta")
        states.run("drift", "states", *which, expect=2 if drifted else 0)
    document = merged(states, "2.json", "1.json", expect=2)
    changed = [item["stack"] for item in document["findings"] if item["bucket"] == "changed"]
    assert changed == ["beta"]
    assert "beta" in Path("all.html").read_text()
    merge = ("drift", "merge", "1.json", "2.json")
    for name in ("terminal", "markdown", "junit", "prometheus"):
        assert "beta" in states.run(*merge, f"--format={name}", expect=2).text

    # Drift of a shard that has no report is not resolved.
    Path("all.json").rename("last.json")
    accepted = [{"address": f"opsconsole_host.{name}", "reason": "known"} for name in ("h", "old")]
    Path("base.yml").write_text(json.dumps({"version": 1, "accept": accepted}))
    told = merged(states, *shards(states, 2, "--baseline=base.yml"), expect=0)["baseline"]
    assert [item["entry"] for item in told] == ["opsconsole_host.old"]
    console.change("hosts", host["id"], private_ip=None, tags=[])
    shards(states, 2)
    missing = next(number for number in (1, 2) if Shard(number, 2).takes("beta"))
    since = ("--since=last.json", "--json")
    assert json.loads(states.run(*merge, *since).out)["since"]["resolved"]
    left = states.run("drift", "merge", f"{3 - missing}.json", *since, expect=1).out
    assert [item["seen"] for item in json.loads(left)["since"]["open"]] == [False]
    refused = states.run("drift", "states", "--since=1.json", expect=1).text
    assert "is the report of shard" in refused


def test_a_merge_knows_that_the_console_was_too_busy(tmp_path):
    cause = UnexpectedAnswer("too large", status=503).cause
    shard = ShardResult(1, 1, stacks=1)
    report = DriftReport(
        (), "2026-03-01T02:00:00Z", diagnostics=(error("x", cause=cause),), shard=shard
    )
    assert judge(report).exit_code == TRY_LATER
    file = tmp_path / "1.json"
    file.write_text(drift_json.render(report))
    merged_report = merge_reports([drift_json.read_report(file)])
    assert judge(merged_report).exit_code == TRY_LATER


def test_merge_is_a_verb_where_it_comes_first(states):
    shown = states.run("drift", "merge", "--help").text
    assert "usage: opsconsole drift merge [options] REPORT" in shown
    Path("states/terraform.beta.tfstate").rename("merge")
    states.run("drift", "./merge")
    assert "resources in state checked" in states.run("drift", "--", "merge").text


def test_reports_that_do_not_belong_together_are_refused(states):
    def refusal(*reports: str) -> str:
        return str(states.run("drift", "merge", *reports, expect=1).text)

    [one, _] = shards(states, 2)
    assert "two reports of shard 1/2" in refusal(one, one)
    Path(one).rename("other.json")
    shards(states, 3)
    assert "not the shards of one check: 1/2, 2/3." in refusal("other.json", "2.json")
    states.run("drift", "states", "--format=json=plain.json")
    assert "not of a shard" in refusal("plain.json")


def test_a_merge_names_what_no_shard_has():
    def report(number: int, count: int, method: str = "", *, unused: Any = (), **facts: Any) -> Any:
        result = ShardResult(number, count, baseline_unused=tuple(unused), **facts)
        return DriftReport((), "2026-03-01T02:00:00Z", method=method, shard=result)

    def told(*reports: DriftReport) -> list[str]:
        return [item.summary for item in merge_reports(reports).diagnostics]

    # Each shard runs on a machine of its own, and another release may run on it.
    owned = [[Shard(n, 7).takes(name) for name in NAMES].index(True) for n in (1, 2, 3, 4)]
    assert owned == [0, 3, 2, 1]
    most = ", ".join(map(str, range(1, 21)))
    assert told(report(21, 21)) == [f"20 of 21 shards have no report: {most}"]
    assert told(report(22, 22)) == [f"21 of 22 shards have no report: {most} and 1 more"]
    nowhere = ["No stack of any shard has a state, so nothing was checked"]
    one = report(1, 2, stacks=1, stacks_without_state=1)
    assert told(one, report(2, 2, stacks=2, stacks_without_state=2)) == nowhere
    assert told(one, report(2, 2, stacks=2, stacks_without_state=1)) == []
    first, last = report(1, 3, "A.", unused="ba"), report(3, 3, "B.", unused="ab")
    merged = merge_reports([first, report(2, 3, unused="ab"), last])
    assert merged.method == "A. B."
    assert [item.entry for item in merged.baseline] == ["b", "a"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "opsconsole-drift"}', "{broken"])
def test_wrong_report_is_one_error(text, native):
    (native.folder / "report.json").write_text(text)
    said = native.run("drift", "merge", "report.json", expect=1).text
    assert "is not a drift report" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_wrong_shard_is_refused(text, native):
    with pytest.raises(UserError, match="is not a shard"):
        read_shard(text)
    native.run("drift", f"--shard={text}", expect=1)
