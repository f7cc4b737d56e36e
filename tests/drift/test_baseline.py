"""The baseline of accepted drift: what it accepts, what it reports of itself, what it refuses."""

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from opsconsole.drift import BASELINE_FILE
from opsconsole.drift.baseline import BaselineFile, Entry, apply_baseline, fits, read_baseline
from opsconsole.drift.model import Bucket, Difference, Finding
from opsconsole.errors import UserError
from published_schemas import follows_schema
from text_groups import read_rows

ROWS = read_rows(__file__)

TODAY = date(2026, 3, 10)
WEB = "opsconsole_host.web[0]"


def entry_of(address: str, reason: str, attribute: str = "", **more: Any) -> Entry:
    given = {"attribute": attribute} if attribute else {}
    return Entry(address=address, reason=reason, **given, **more)


def finding(bucket: Bucket = Bucket.CHANGED, *names: str, **facts: Any) -> Finding:
    differences = tuple(Difference(name, "a", "b") for name in names)
    defaults = {"stack": "fleet", "address": WEB, "type_name": "opsconsole_host"}
    return Finding(**{**defaults, "bucket": bucket, "differences": differences, **facts})


@pytest.mark.parametrize(*ROWS["test_patterns_of_baseline_entries"])
def test_patterns_of_baseline_entries(pattern, text, fit):
    assert fits(pattern, text) is fit


@pytest.mark.parametrize("pattern", ["*" * 40 + "x", "*a" * 40 + "x", "*?" * 40 + "x*y"])
def test_a_pattern_of_many_stars_is_read_in_time(pattern):
    """In exponential time, this would run into the timeout of a test."""
    assert not fits(pattern, "a" * 200)


@pytest.mark.parametrize(
    ("entry", "found", "accepted"),
    [
        ({"attribute": "tags"}, finding(Bucket.CHANGED, "tags"), True),
        ({"attribute": "*"}, finding(Bucket.CHANGED, "tags", "name"), True),
        ({"attribute": "tags"}, finding(Bucket.CHANGED, "tags", "name"), False),
        ({"attribute": "tags"}, finding(Bucket.MISSING), False),
        ({"attribute": "*"}, finding(Bucket.MISSING), False),
        ({}, finding(Bucket.CHANGED, "tags", "name"), True),
        ({}, finding(Bucket.MISSING), True),
        ({}, finding(Bucket.UNMANAGED), True),
        ({"bucket": "missing"}, finding(Bucket.MISSING), True),
        ({"bucket": "missing"}, finding(Bucket.CHANGED, "tags"), False),
        ({"bucket": "changed"}, finding(Bucket.CHANGED, "tags"), True),
        ({"stack": "fleet"}, finding(Bucket.MISSING), True),
        ({"stack": "fl*"}, finding(Bucket.MISSING), True),
        ({"stack": "other"}, finding(Bucket.MISSING), False),
        ({"expires": str(TODAY)}, finding(Bucket.MISSING), True),
        ({"expires": TODAY - timedelta(days=1)}, finding(Bucket.MISSING), False),
        ({"expires": TODAY + timedelta(days=1)}, finding(Bucket.MISSING), True),
        ({}, finding(Bucket.IN_SYNC), False),
        ({}, finding(Bucket.UNCHECKED), False),
        ({}, finding(Bucket.PENDING), False),
    ],
)
def test_entry_accepts_drift(entry, found, accepted):
    baseline = [Entry(**{"address": WEB, "reason": "known", **entry})]
    [marked], problems = apply_baseline(baseline, [found], TODAY)
    assert not (accepted and problems)
    assert marked.accepted == ("known" if accepted else "")
    assert marked.is_drift == (found.bucket.is_drift and not accepted)


def test_a_partly_accepted_change_counts_and_says_so():
    entries = (entry_of(WEB, "audit", "tags"), entry_of(WEB, "moved", "target_port"))
    [marked], problems = apply_baseline(
        entries, [finding(Bucket.CHANGED, "tags", "name", "target_port")], TODAY
    )
    assert marked.is_drift
    assert marked.reason == "accepted: tags (audit), target_port (moved)"
    assert problems == ()
    [whole], _ = apply_baseline([*entries, entry_of(WEB, "moved", "name")], [marked], TODAY)
    assert (whole.accepted, whole.reason, whole.is_drift) == ("audit; moved", "", False)
    assert [item.accepted for item in whole.differences] == ["audit", "moved", "moved"]


@pytest.mark.parametrize(
    ("entry", "findings", "certain", "problem"),
    [
        ({}, [finding(Bucket.IN_SYNC)], True, "unused: there is no such drift"),
        ({}, [], True, "unused: there is no such drift"),
        ({"attribute": "name"}, [finding(Bucket.CHANGED, "tags")], True, "unused"),
        ({"expires": date(2026, 1, 1)}, [finding(Bucket.MISSING)], True, "expired on 2026-01-01"),
        # What was not seen may well be in use.
        ({}, [finding(Bucket.UNCHECKED)], True, ""),
        ({"attribute": "name"}, [finding(unobserved=("name",))], True, ""),
        ({}, [], False, ""),
        ({}, [finding(Bucket.MISSING)], True, ""),
    ],
)
def test_expired_and_unused_entries_are_reported(entry, findings, certain, problem):
    baseline = [Entry(**{"address": WEB, "reason": "known", **entry})]
    _, problems = apply_baseline(baseline, findings, TODAY, certain=certain)
    assert [item.problem[: len(problem) or None] for item in problems] == [problem][: bool(problem)]


def test_entry_beside_a_broader_one_is_in_use():
    entries = (entry_of("*", "audit"), entry_of(WEB, "audit", "tags"))
    _, problems = apply_baseline(entries, [finding(Bucket.CHANGED, "tags")], TODAY)
    assert problems == ()


def test_entry_of_an_unlisted_object_is_not_called_unused():
    """An unmanaged object is told by a list; who did not read it cannot say that it is gone."""
    stray, host = entry_of("agt_1/plg_logs", "kept"), entry_of(WEB, "known")
    old = entry_of("opsconsole_host.old", "going", bucket="missing", stack="fl*")
    baseline = [stray, host, old, entry_of("*", "kept", bucket="unmanaged")]
    _, problems = apply_baseline(baseline, [finding(Bucket.IN_SYNC)], TODAY, listed=False)
    assert [item.entry for item in problems] == [str(host), "fl*: opsconsole_host.old, missing"]


@pytest.mark.parametrize(
    ("address", "findings", "used"),
    [
        ("hst_1", [], True),
        ("agt_1/plg_logs", [], False),
        ("spc_*", [finding(Bucket.UNMANAGED, address="spc_1", counted=False)], True),
        ("opsconsole_host.gone", [], False),
    ],
)
def test_an_entry_of_a_kind_that_does_not_count_is_not_called_unused(address, findings, used):
    counted = ["opsconsole_agent_plugin"]
    _, problems = apply_baseline([entry_of(address, "kept")], findings, TODAY, counted=counted)
    assert [item.entry for item in problems] == ([] if used else [address])


WRONG = yaml.safe_load(Path(__file__).with_name("wrong_baselines.yml").read_text())
MISLEADING = [
    ("version: 1\nversion: 1\naccept: []", "duplicate key 'version', first in line 1"),
    (
        "version: 1\naccept:\n- {address: a, reason: b, reason: c}",
        "duplicate key 'reason', first in line 3",
    ),
    ("version: 1\naccept: " + "[" * 400_000, "nested too deeply"),
    ("version: 1\naccept: " + "{a: " * 200_000, "nested too deeply"),
    ("version: 1\nx: &a {b: 1}\naccept: [{<<: *a, address: a, reason: b}]", "merge keys"),
    ("version: 1\n#" + "x" * 2**20, "more than 1,048,576 bytes"),
    (f"accept: []\nversion: {'9' * 101}", "is not YAML: line 2: a number of more than 100 d"),
    (f"version: {'9' * 100}\naccept: []", "version: should be 1, not 999"),
    ("version: 1\naccept: " + "[" * 99 + "]" * 99, "accept.0: should be an object"),
    ("version: 1\naccept: " + "[" * 100 + "]" * 100, "nested too deeply"),
    ("version: 1\naccept: [[], []," + "[" * 99 + "]" * 100, "nested too deeply"),
    ("version: 1\naccept: &a [*a]", "accept.0: should be an object"),
    ("version: " + "1:" * 5000 + "1", "is not YAML"),
]
"""What would mislead or grow is refused before it is compared with the schema."""


@pytest.mark.parametrize(("text", "said"), [*WRONG, *MISLEADING])
def test_a_wrong_file_is_one_clear_error(text, said, tmp_path):
    file = tmp_path / BASELINE_FILE
    file.write_text(text)
    with pytest.raises(UserError, match=re.escape(said)):
        read_baseline(file)
    assert (text, said) in MISLEADING or not follows_schema(yaml.safe_load(text), "drift-baseline")


TEXTS = st.one_of(
    st.sampled_from(["", " ", "\x1c", "tags", "changed", "missing", "2026-12-31", "20261231"]),
    st.sampled_from(["2026-02-30", "2026-12-31\n", "0000-01-01", "soon", "in_sync"]),
    st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, 1.5]),
    st.just([]) | st.just({}),
)
MEMBERS = ("address", "reason", "attribute", "bucket", "stack", "expires")
ENTRIES = st.fixed_dictionaries(
    {"address": st.just("a") | TEXTS, "reason": st.just("b") | TEXTS},
    optional=dict.fromkeys((*MEMBERS[2:], "until"), TEXTS),
)
FILES = st.fixed_dictionaries(
    {"version": st.just(1) | TEXTS},
    optional={"accept": st.lists(ENTRIES | TEXTS, max_size=2) | TEXTS, "ignore": TEXTS},
)


@given(FILES)
def test_baseline_is_read_if_and_only_if_it_follows_the_schema(document):
    try:
        assert BaselineFile.model_validate(document).version == 1
    except ValidationError:
        assert not follows_schema(document, "drift-baseline")
    else:
        assert follows_schema(document, "drift-baseline")


def test_baseline_on_the_command_line(native, world):
    native.apply(**world())
    native.console.change("hosts", native.id_of(WEB), tags=["by:inventory"])
    assert native.drift().code == 2
    soon = datetime.now(UTC).date() + timedelta(days=30)
    tagged = {"attribute": "tags", "reason": "tagged by the inventory", "expires": soon}
    entries: list[dict[str, Any]] = [
        {"address": "opsconsole_host.web[*]", **tagged},
        {"address": "opsconsole_host.gone", "reason": "never seen"},
    ]
    file = native.folder / BASELINE_FILE
    file.write_text(yaml.safe_dump({"version": 1, "accept": entries}))
    found = native.drift(expect=0)
    assert found.of(WEB)["accepted"] == "tagged by the inventory"
    assert found.bucket(WEB) == "changed"
    assert found.document["baseline"] == [
        {"entry": "opsconsole_host.gone", "problem": "unused: there is no such drift"}
    ]

    # Plans leave it alone: the drift is planned away.
    assert "1 to change" in native.run("plan", "-detailed-exitcode", expect=2).out

    entries[0]["expires"] = date(2026, 1, 1)
    elsewhere = native.folder / "accepted.yml"
    elsewhere.write_text(yaml.safe_dump({"version": 1, "accept": entries[:1]}))
    found = native.drift("--baseline", str(elsewhere), expect=2)
    assert found.document["baseline"][0]["problem"] == "expired on 2026-01-01"

    refused = native.run("drift", "--baseline", "nowhere.yml", expect=1).err
    assert "The baseline nowhere.yml cannot be read: No such file or directory." in refused


LONG = "version: 1\naccept: []\n#".ljust(2**20, "x")
MANY = "version: 1\naccept:\n" + "- {address: a, reason: b}\n" * 150


@pytest.mark.parametrize("text", ["", "# nothing yet\n", LONG, MANY], ids=len)
def test_a_file_may_be_empty_or_long(tmp_path, text):
    path = tmp_path / BASELINE_FILE
    path.write_text(text)
    entries = (entry_of("a", "b"),) * text.count("reason")
    assert read_baseline(path) == entries


@pytest.mark.parametrize("fault", [{"status": 403}, {"status": 401}])
def test_an_accepted_plugin_is_not_called_unused_unseen(fault, native, world):
    native.apply(**world())
    agent_id = native.id_of("opsconsole_agent.ops[0]")
    native.console.create("attachments", agent_id=agent_id, plugin_id="plg_logs")
    entry = f"{{address: {agent_id}/plg_logs, reason: kept}}"
    (native.folder / BASELINE_FILE).write_text(f"version: 1\naccept: [{entry}]\n")
    assert native.drift().code == 0
    native.console.fault(path=f"/agents/{agent_id}/plugins", times=None, **fault)
    assert native.drift().document["baseline"] == []
