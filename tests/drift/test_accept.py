"""`opsconsole drift --accept`: what is written into the baseline, and what the report then says."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from opsconsole.drift import BASELINE_FILE
from opsconsole.drift.accepting import add_entries, entries_for
from opsconsole.drift.baseline import Entry, apply_baseline, read_baseline
from opsconsole.drift.model import Bucket, Difference, Finding
from opsconsole.errors import UserError
from published_schemas import follows_schema
from text_groups import read_rows

ROWS = read_rows(__file__)

WEB, OTHER = "opsconsole_host.web[0]", "opsconsole_host.web[1]"
DAY = timedelta(days=1)
LATER = (datetime.now(UTC) + timedelta(days=30)).date()


@pytest.fixture
def drifted(native: Any, world: Callable[..., dict[str, Any]]) -> Any:
    """The world with one host changed and another one gone."""
    native.apply(**world())
    native.console.change("hosts", native.id_of(WEB), tags=["owner:me"], knowledge="by hand")
    native.console.delete("hosts", native.id_of(OTHER))
    return native


def entries(native: Any) -> list[dict[str, Any]]:
    document = yaml.safe_load((native.folder / BASELINE_FILE).read_text())
    assert follows_schema(document, "drift-baseline")
    found: list[dict[str, Any]] = document["accept"]
    return found


def test_one_address_is_accepted_by_attribute(drifted):
    words = ["--reason", "für das Audit", "--until", str(LATER), "--baseline", BASELINE_FILE]
    ran = drifted.run("drift", "--accept", WEB, *words, expect=2)
    added = f"Added 2 entries to {BASELINE_FILE}: drift of 1 resource is accepted.\n"
    assert ran.err.startswith(added)
    assert "1 accepted." in ran.out
    assert (drifted.folder / BASELINE_FILE).read_text().count("reason: für das Audit\n") == 2
    assert entries(drifted) == [
        {"address": WEB, "attribute": name, "reason": "für das Audit", "expires": LATER}
        for name in ("tags", "knowledge")
    ]
    assert drifted.drift().of(WEB)["accepted"] == "für das Audit"


def test_all_drift_is_accepted_and_the_check_is_clean(drifted):
    for words in (["--accept", "--reason", "known"], []):
        said = drifted.run("drift", *words).out
        assert "No drift." in said and " accepted." in said
    written = entries(drifted)
    assert {"address": OTHER, "bucket": "missing", "reason": "known"} in written
    again = drifted.run("drift", "--accept", "--reason", "again").err
    assert again.splitlines()[0] == "There is no drift to accept."
    assert entries(drifted) == written


@pytest.mark.parametrize(*ROWS["test_options_of_accept_are_checked"])
def test_options_of_accept_are_checked(words, text, native):
    assert text in native.run("drift", *words, expect=1).err
    assert native.console.traffic()["total"] == 0


def test_an_address_that_did_not_drift_is_refused(drifted):
    words = ["--accept", "opsconsole_host.db", "--reason", "x"]
    refused = drifted.run("drift", *words, expect=1).err
    assert "opsconsole_host.db names no drift. Nothing was accepted.\n" in refused
    assert WEB in refused
    assert not (drifted.folder / BASELINE_FILE).exists()


ADDED_BY_HAND = """in its present form. Add this to its `accept` list:
  - address: opsconsole_host.web[0]
    attribute: tags
"""
NEW = (
    Entry(address=WEB, reason="why: because", attribute="tags", expires=date(2030, 1, 2)),
    Entry(stack="fleet", address="a.b", reason="x", bucket="missing"),
)


ADDITIONS = yaml.safe_load(Path(__file__).with_name("additions.yml").read_text("utf-8"))


@pytest.mark.parametrize(("text", "expected"), ADDITIONS)
def test_entries_are_added_to_every_form_of_file(text, expected, tmp_path):
    path = tmp_path / "base.yml"
    for line_end in ("\n", "\r\n", "\r"):
        path.write_text(text, "utf-8", newline=line_end)
        before = read_baseline(path)
        assert add_entries(path, NEW) == read_baseline(path) == (*before, *NEW)
        end = line_end.encode() if "\n" in text else b"\n"
        assert path.read_bytes() == expected.encode().replace(b"\n", end)
    assert [item.name for item in tmp_path.iterdir()] == ["base.yml"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version: 1\naccept: [{address: a.c, reason: old}]\n", ADDED_BY_HAND),
        # The column of the list is that of its anchor: the entries would belong to the text.
        (b"version: 1\naccept: &all\n- address: a.c\n  reason: |\n    old\n", ADDED_BY_HAND),
        (b"version: 1\naccept: !!seq\n- address: a.c\n  reason: old\n", ADDED_BY_HAND),
        # Behind an alias, the last entry ends elsewhere.
        (b"version: 1\naccept:\n- &a {address: a, reason: b}\n- *a\n", ADDED_BY_HAND),
        ("version: 1\naccept: []\n".encode("utf-16"), "Save it as UTF-8."),
        (b"version: 1\naccept: []\n".ljust(2**20, b"#"), "it would have more than 1,048,576 bytes"),
        (b"{version: 1, accept: []}\n", ADDED_BY_HAND),
        (b'{"version": 1, "accept": [\n]}', "without braces, brackets, tabs, anchors and tags."),
        (b"version: 1\naccept: []\t# none yet\n", ADDED_BY_HAND),
    ],
)
def test_a_file_to_which_nothing_can_be_added_stays_as_it_is(content, said, tmp_path):
    path = tmp_path / "base.yml"
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        add_entries(path, NEW)
    assert said in str(refused.value)
    assert path.read_bytes() == content
    with pytest.raises(UserError, match=r"base\.yml/x cannot be written: Not a directory\.$"):
        add_entries(path / "x", NEW)
    assert [item.name for item in tmp_path.iterdir()] == ["base.yml"]


def test_accepted_drift_is_not_written_again():
    differences = (Difference("tags", "a", "b"), Difference("name", "a", "b"))
    found = Finding("fleet", WEB, "opsconsole_host", Bucket.CHANGED, differences=differences)
    held = [
        Entry(address=WEB, reason="x", attribute="tags", expires=LATER - DAY * n) for n in (0, 1)
    ]
    for entry, names in zip(held, (["name"], ["tags", "name"]), strict=True):
        marked, _ = apply_baseline([entry], [found], LATER)
        written = entries_for(marked, "x", None, name_stacks=False)
        assert [item.attribute for item in written] == names


def test_an_unmanaged_object_is_accepted_whatever_its_stack():
    kinds = (Bucket.UNMANAGED, Bucket.MISSING)
    findings = [Finding("fleet", WEB, "opsconsole_host", kind) for kind in kinds]
    written = entries_for(findings, "x", None, name_stacks=True)
    assert [item.stack for item in written] == ["", "fleet"]
