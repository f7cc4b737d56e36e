"""Calls of every function with random arguments, against the real Terraform, in one program a seed.

The arguments are of the kinds that a function takes, mixed with others. OPSCONSOLE_TEST_EVERYTHING
tries many more seeds.
"""

import random
from pathlib import Path

import pytest

from opsconsole.language.functions import FUNCTIONS
from sampling import EVERYTHING
from text_groups import read_groups

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
        *("abspath", "file", "filebase64", "filebase64sha256", "filebase64sha512", "fileexists"),
        *("filemd5", "fileset", "filesha1", "filesha256", "filesha512", "pathexpand"),
        "templatefile",
    )
)
"""Functions whose value no two runs or machines share, and those of files."""

GROUPS = read_groups(Path(__file__).with_name("expressions.txt"))
TEXTS, OTHERS = GROUPS["texts"], GROUPS["other arguments"]
NUMBERS = ("0", "1", "-1", "2", "3", "10", "16", "62", "2.5", "-0.5", "1e30", "0.1 + 0.2")


def call(rand: random.Random, name: str) -> str:
    """Write a call of a function."""
    count = rand.choice((1, 1, 2, 2, 2, 3, 3, 4))
    leading = rand.choice((TEXTS, TEXTS, NUMBERS, OTHERS))
    arguments = [rand.choice(rand.choice((leading, TEXTS, NUMBERS, OTHERS))) for _ in range(count)]
    return f"${{{name}({', '.join(arguments)})}}"


@pytest.mark.terraform
@pytest.mark.parametrize("seed", SEEDS)
def test_calls_of_every_function_agree(assert_judged_alike, seed):
    rand = random.Random(seed)
    names = sorted({*FUNCTIONS} - LEFT_OUT)
    calls = [call(rand, names[place % len(names)]) for place in range(CALLS)]
    # What Terraform leaves unsettled in an apply is a defect of its own.
    assert_judged_alike(calls, apart_from=("dynamic", None))
