"""Attribute diffs line by line, as Terraform's users read them."""

import json
from pathlib import Path
from typing import Any

import pytest

from opsconsole.definition import Kind
from opsconsole.reports import value_diff
from opsconsole.reports.value_diff import count_unknown, diff_lines
from opsconsole.values import UNKNOWN
from text_groups import read_groups

KINDS = {"tags": Kind.STRING_SET, "jumps": Kind.STRING_LIST, "text": Kind.STRING}


def shown(before: Any, after: Any, **facts: Any) -> str:
    lines = diff_lines(before, after, kinds=KINDS, **facts)
    return "\n".join(line.plain.removeprefix("    ") for line in lines)


CASES = read_groups(Path(__file__).with_name("attribute_diffs.txt"))


@pytest.mark.parametrize("case", CASES)
def test_lines(case):
    before, after, *expected = CASES[case]
    values = [json.loads(text, parse_constant=lambda _: UNKNOWN) for text in (before, after)]
    assert shown(*values) == "\n".join(expected)


def test_equal_values_have_no_line_of_their_own():
    value = {"id": "a", "x": [{"a": 1}], "n": None}
    assert shown(value, dict(value)) == '    id = "a"\n    # (1 unchanged attribute hidden)'


def test_a_number_is_no_truth_value():
    assert shown({"x": 1}, {"x": True}) == "  ~ x = 1 -> true"


@pytest.mark.parametrize(
    ("before", "after", "sign"),
    [
        (None, {"key": "hush"}, "+"),
        ({"key": "hush"}, None, "-"),
        ({"key": "hush"}, {"key": "hush2"}, "~"),
        ({"key": ["hush"]}, {"key": UNKNOWN}, "~"),
        ({"key": None}, {"key": "hush"}, "+"),
    ],
)
def test_sensitive_values_are_masked(before, after, sign):
    text = shown(before, after, sensitive=frozenset({"key"}))
    assert "hush" not in text
    assert text.startswith(f"  {sign} key = (sensitive value)")


def test_what_forces_replacement_is_marked_once():
    text = shown({"tags": ["a"]}, {"tags": ["b"]}, forcing=frozenset({"tags"}))
    assert text.splitlines()[0] == "  ~ tags = [ # forces replacement"
    assert text.count("forces replacement") == 1


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ('say "hi"', r'"say \"hi\""'),
        ("${var}", '"$${var}"'),
        ("\x1b[31mred", r'"\u001b[31mred"'),
        ("\u202egnp.exe", r'"\u202egnp.exe"'),
        ("tab\there", r'"tab\there"'),
        ("naïve ✓", '"naïve ✓"'),
    ],
)
def test_nothing_steers_the_terminal(value, literal):
    assert shown(None, {"x": value}) == f"  + x = {literal}"


def test_a_long_text_shows_only_the_surroundings_of_its_change():
    lines = [f"line {number}" for number in range(60)]
    text = shown({"text": "\n".join(lines)}, {"text": "\n".join([*lines[:30], "new", *lines[30:]])})
    assert "+ new" in text
    assert "(24 unchanged lines hidden)" in text
    assert len(text.splitlines()) < 20


def test_texts_of_any_length_are_compared_in_a_moment():
    old = [f"line {number}" for number in range(20_000)]
    new = [*old[:100], *(f"other {number}" for number in range(20_000)), *old[-100:]]
    lines = diff_lines({"text": "\n".join(old)}, {"text": "\n".join(new)}, kinds=KINDS)
    signs = [line.sign for line in lines]
    assert signs.count("-") == 19_800
    assert signs.count("+") == 20_000


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("abc", "abc", [("equal", 0, 3, 0, 3)]), ("", "ab", [("replace", 0, 0, 0, 2)])],
)
def test_what_is_too_long_is_compared_from_both_ends(monkeypatch, left, right, expected):
    monkeypatch.setattr(value_diff, "_COMPARABLE", -1)
    assert value_diff.edit_script(left, right) == expected


def test_what_is_known_after_apply_is_counted_and_takes_no_room():
    values = {"a": "x", "created_at": UNKNOWN, "port": 22, "tags": ["k:v"], "updated_at": UNKNOWN}
    lines = count_unknown(diff_lines(None, values, kinds=KINDS))
    assert [line.plain.removeprefix("    ") for line in lines] == [
        '  + a    = "x"',
        "  + port = 22",
        "  + tags = [",
        '      + "k:v",',
        "    ]",
        "    # (2 attributes known after apply)",
    ]
    lines = count_unknown(diff_lines({"a": "x", "id": None}, {"a": "y", "id": UNKNOWN}))
    assert [line.plain.strip() for line in lines] == [
        '~ a  = "x" -> "y"',
        "# (1 attribute known after apply)",
    ]
