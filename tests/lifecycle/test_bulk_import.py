"""Which row of an import met which fate, whatever the base of `index` and whatever is left out."""

from typing import Any

import pytest

from opsconsole.resources.host.verdicts import all_created, match_verdicts
from opsconsole.v1.bodies import ImportResult


def told(rows: int, *entries: tuple[Any, str]) -> list[str | None]:
    """Return what each row is told: the status that stands for it, None where there is none."""
    results = [{"index": index, "status": status} for index, status in entries]
    found = match_verdicts(ImportResult.read({"results": results}), rows)
    return [item.status if item.matched else None for item in found]


@pytest.mark.parametrize("base", [0, 1])
def test_a_whole_answer_is_matched_in_any_order(base):
    entries = [(base + number, "abc"[number]) for number in (2, 0, 1)]

    assert told(3, *entries) == ["a", "b", "c"]


def test_rows_after_a_stop_have_no_verdict() -> None:
    assert told(4, (0, "a"), (1, "b")) == ["a", "b", None, None]
    assert told(4, (4, "d"), (3, "c")) == [None, None, "c", "d"]


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [(1, "a"), (2, "b")],
        [(0, "a"), (0, "b"), (1, "c")],
        [(-1, "a"), (0, "b"), (1, "c")],
        [(0, "a"), (3, "b")],
        [(None, "a"), (None, "b"), (None, "c")],
    ],
    ids=str,
)
def test_what_cannot_be_matched_is_not_guessed(entries):
    assert told(3, *entries) == [None, None, None]


@pytest.mark.parametrize("index", [None, "1", True, 1.0])
def test_a_verdict_without_an_index_does_not_hide_its_neighbours(index):
    assert told(3, (0, "a"), (index, "b"), (2, "c")) == ["a", None, "c"]
    assert told(3, (index, "a"), (2, "b"), (3, "c")) == [None, "b", "c"]
    assert told(3, (index, "a"), (1, "b"), (2, "c")) == [None, None, None]


@pytest.mark.parametrize(
    ("counts", "passed"),
    [
        ({"created": 2, "updated": 0, "skipped": 0, "failed": 0}, True),
        ({"created": 2, "updated": 0, "skipped": 0, "failed": 1}, False),
        ({"created": 3, "updated": 0, "skipped": 0, "failed": 0}, False),
        ({"created": "2"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_counts_pass_all_rows_or_none(counts, passed):
    assert all_created(ImportResult.read({"results": [], "counts": counts}), 2) is passed
