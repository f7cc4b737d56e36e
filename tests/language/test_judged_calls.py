"""Calls of every function with random arguments, against the real Terraform, in one program a seed.

The arguments are of the kinds that a function takes, mixed with others. OPSCONSOLE_TEST_EVERYTHING
tries many more seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from opsconsole.language.functions import FUNCTIONS, MARKING
from sampling import EVERYTHING

SEEDS = range(40) if EVERYTHING else (1,)
CALLS = 500
LEFT_OUT = frozenset(
    (
        "bcrypt",
        # Their last digit depends on how a library takes logarithms and powers.
        "log",
        "pow",
        "plantimestamp",
        "rsadecrypt",
        # An output must not be sensitive.
        "sensitive",
        "timestamp",
        "uuid",
        "try",
        "can",
        # These read files, which are tested beside them.
        "abspath",
        "file",
        "filebase64",
        "filebase64sha256",
        "filebase64sha512",
        "fileexists",
        "filemd5",
        "fileset",
        "filesha1",
        "filesha256",
        "filesha512",
        "pathexpand",
        "templatefile",
    )
)
"""Functions whose value no two runs or machines share, and those of files."""

TEXTS = (
    '""',
    '"a"',
    '"Hello, wörld"',
    '"a,b\\nc,d"',
    '"a-b_c d"',
    '"true"',
    '"1.50"',
    '"0x1f"',
    '"10.0.0.0/8"',
    '"10.1.2.3/33"',
    '"fe80::/64"',
    '"::ffff:1.2.3.4/120"',
    '"2020-02-29T23:59:60Z"',
    '"2023-11-14T22:13:20+05:30"',
    '"DD MMM YYYY hh:mm ZZZ"',
    "\"EEEE, 'o''clock' H:mm aa\"",
    '"1h30m"',
    '"-2.5s"',
    '"%s"',
    '"%05.1f|%-6q|%+d"',
    '"%#v %%"',
    '"%[2]s %[1]v"',
    '"/(?P<x>[a-c]+)-?/"',
    '"(a)|b*"',
    '"[[:alpha:]]+"',
    '"$${x}"',
    '"eyJhIjogMX0="',
    '"[1, 2.50, {\\"a\\": null}]"',
    '"a: [1, x]\\nb: ~"',
    '"\\\\u00e9"',
    '"e\\u0301👨‍👩‍👧"',
    '"base64"',
    '"UTF-16LE"',
)
NUMBERS = ("0", "1", "-1", "2", "3", "10", "16", "62", "2.5", "-0.5", "1e30", "0.1 + 0.2")
OTHERS = (
    "null",
    "true",
    "false",
    "[]",
    "{}",
    '["b", "a", "c", "a"]',
    "[3, 1, 2]",
    '[1, "a", true]',
    '["a", ""]',
    "[[1, 2], [3, [4]], []]",
    "[null, 1]",
    '[{a = 1, b = "x"}, {a = 2, b = "y"}]',
    "{a = 1, b = 2}",
    '{b = "x", a = "y"}',
    "{a = [1], b = {c = null}}",
    'toset(["a", "b"])',
    "toset([1, 2])",
    'tolist(["x", "y"])',
    'tomap({k = "v"})',
    "range(5)",
    'setproduct(["a"], [1, 2])',
)


def call(rand: random.Random, name: str) -> str:
    """Write a call of a function."""
    count = rand.choice((1, 1, 2, 2, 2, 3, 3, 4))
    leading = rand.choice((TEXTS, TEXTS, NUMBERS, OTHERS))
    arguments = [rand.choice(rand.choice((leading, TEXTS, NUMBERS, OTHERS))) for _ in range(count)]
    return f"${{{name}({', '.join(arguments)})}}"


@pytest.mark.terraform
@pytest.mark.parametrize("seed", SEEDS)
def test_calls_of_every_function_agree(
    judged: Callable[..., list[tuple[str, Any, Any]]], seed: int
) -> None:
    rand = random.Random(seed)
    names = sorted(({*FUNCTIONS} | MARKING) - LEFT_OUT)
    calls = [call(rand, names[place % len(names)]) for place in range(CALLS)]
    # What Terraform leaves unsettled in an apply is a defect of its own.
    differing = [item for item in judged(calls) if item[2] != ("dynamic", None)]
    shown = "\n".join(f"{text}\n  native    {a}\n  terraform {b}" for text, a, b in differing)
    assert not differing, f"{len(differing)} differ\n{shown}"
