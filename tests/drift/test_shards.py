"""Shards of a check on several machines, and the one report that is merged of theirs."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from commands import run_command
from opsconsole.drift.report import Shard, read_shard
from opsconsole.errors import UserError

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "drift-report-1.schema.json"
NAMES = ("alpha", "beta", "gamma", "delta")
KEYS = dict(zip(NAMES, ("linux-server", "database", "network", "identity"), strict=True))


def run(*words: str) -> tuple[int, str]:
    """Run `opsconsole`; return its exit code and all that it wrote."""
    ended = run_command(*words)
    return ended.code, ended.text


@pytest.fixture
def console(console_of, tmp_path, monkeypatch):
    """Four states, each of a specialty and a host with an agent, applied."""
    console = console_of("default")
    for name, value in console.environment.items():
        monkeypatch.setenv(name, value)
    for name in NAMES:
        folder = tmp_path / "programs" / name
        folder.mkdir(parents=True)
        agent = {"name": name, "host_id": "${opsconsole_host.h.id}", "specialty_id": "spc_linux"}
        resources = {
            "opsconsole_specialty": {"s": {"key": KEYS[name]}},
            "opsconsole_host": {"h": {"name": name}},
            "opsconsole_agent": {"a": agent},
        }
        state = tmp_path / "states" / f"terraform.{name}.tfstate"
        state.parent.mkdir(exist_ok=True)
        program = {"terraform": {"backend": {"local": {"path": str(state)}}}, "resource": resources}
        (folder / "main.tf.json").write_text(json.dumps(program))
        monkeypatch.chdir(folder)
        code, said = run("apply", "-auto-approve")
        assert code == 0, said
    monkeypatch.chdir(tmp_path)
    return console


def shards(count: int, expect: int = 0, *words: str) -> list[str]:
    """Check every shard; return the names of the reports."""
    names = []
    for number in range(1, count + 1):
        name = f"{number}.json"
        which = ("--shard", f"{number}/{count}", "--format", f"json={name}", *words)
        code, said = run("drift", "states", *which)
        assert code == expect, said
        jsonschema.validate(json.loads(Path(name).read_text()), json.loads(SCHEMA.read_text()))
        names.append(name)
    return names


def merged(*reports: str, expect: int) -> Any:
    code, said = run("drift", "merge", *reports, "--format=json=all.json", "--format=html=all.html")
    assert code == expect, said
    document = json.loads(Path("all.json").read_text())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    return document


def key_of(finding: dict[str, Any]) -> tuple[str, ...]:
    return finding["stack"], finding["address"], finding["bucket"]


COUNTED = "--count-unmanaged=plugins,specialties"


def test_a_merge_says_what_a_check_of_all_says(console):
    whole_code, said = run("drift", "states", COUNTED, "--format=json=whole.json")
    whole = json.loads(Path("whole.json").read_text())
    reports = shards(3, 0, COUNTED)
    document = merged(*reports, expect=whole_code)
    assert sorted({key_of(item)[1:] for item in document["findings"]}) == sorted(
        {key_of(item)[1:] for item in whole["findings"]}
    ), said
    assert document["summary"]["buckets"] == whole["summary"]["buckets"]
    assert document["summary"]["drifted"] == whole["summary"]["drifted"]
    seen = [item for name in reports for item in json.loads(Path(name).read_text())["findings"]]
    shown = {item["label"] for item in seen if item["bucket"] == "unmanaged"}
    assert shown & set(KEYS.values()), "a shard sees what another shard manages"

    # A shard without a report is an error.
    document = merged(*reports[:2], expect=1)
    assert "1 of 3 shards have no report: 3" in document["diagnostics"][0]["summary"]
    assert document["summary"]["drifted"] == 0


def test_drift_of_one_shard_is_drift_of_all(console):
    [host] = [row for row in console.rows("hosts") if row["name"] == "beta"]
    console.change("hosts", host["id"], private_ip="10.9.9.9", tags=["x", "y"])
    for number in (1, 2):
        which = ("--shard", f"{number}/2", f"--format=json={number}.json")
        assert run("drift", "states", *which)[0] == (2 if Shard(number, 2).takes("beta") else 0)
    document = merged("2.json", "1.json", expect=2)
    assert [item["stack"] for item in document["findings"] if item["bucket"] == "changed"] == [
        "beta"
    ]
    assert "beta" in Path("all.html").read_text()
    for name in ("terminal", "markdown", "junit", "prometheus"):
        code, said = run("drift", "merge", "1.json", "2.json", f"--format={name}")
        assert code == 2
        assert "beta" in said

    # Drift of a shard that has no report is not resolved.
    Path("all.json").rename("last.json")
    accepted = [{"address": f"opsconsole_host.{name}", "reason": "known"} for name in ("h", "old")]
    Path("base.yml").write_text(json.dumps({"version": 1, "accept": accepted}))
    told = merged(*shards(2, 0, "--baseline=base.yml"), expect=0)["baseline"]
    assert [item["entry"] for item in told] == ["opsconsole_host.old"]
    console.change("hosts", host["id"], private_ip=None, tags=[])
    shards(2)
    missing = next(number for number in (1, 2) if Shard(number, 2).takes("beta"))
    since = ("--since=last.json", "--json")
    assert json.loads(run("drift", "merge", "1.json", "2.json", *since)[1])["since"]["resolved"]
    _, said = run("drift", "merge", f"{3 - missing}.json", *since)
    assert [item["seen"] for item in json.loads(said)["since"]["open"]] == [False]
    assert "is the report of shard" in run("drift", "states", "--since=1.json")[1]


def test_merge_is_a_verb_where_it_comes_first(console):
    assert "usage: opsconsole drift merge [options] REPORT" in run("drift", "merge", "--help")[1]
    Path("states/terraform.beta.tfstate").rename("merge")
    assert run("drift", "./merge")[0] == 0
    code, said = run("drift", "--", "merge")
    assert code == 0
    assert "resources in state checked" in said


def test_reports_that_do_not_belong_together_are_refused(console):
    [one, _] = shards(2)
    assert "two reports of shard 1/2" in run("drift", "merge", one, one)[1]
    Path(one).rename("other.json")
    shards(3)
    code, said = run("drift", "merge", "other.json", "2.json")
    assert code == 1
    assert "not shares of one whole" in said
    run("drift", "states", "--format=json=plain.json")
    assert "not of a shard" in run("drift", "merge", "plain.json")[1]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "opsconsole-drift"}', "{broken"])
def test_what_is_no_report_is_one_error(text, tmp_path):
    file = tmp_path / "report.json"
    file.write_text(text)
    code, said = run("drift", "merge", str(file))
    assert code == 1
    assert "is not a drift report" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(UserError, match="is not a shard"):
        read_shard(text)
    assert run("drift", f"--shard={text}")[0] == 1
