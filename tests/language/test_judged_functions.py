"""Every function and operator against the real Terraform: same values and types, or both fail."""

import json
import random
import re
from itertools import chain
from pathlib import Path

import pytest

from opsconsole.language.functions import FUNCTIONS
from sampling import EVERYTHING
from text_groups import read_groups

EXPRESSIONS = read_groups(Path(__file__).with_name("expressions.txt"))
OTHERS = (
    '"é"',
    "<<E\n  x ${1 + 1} \\n\nE\n",
    "<<-E\n    x\n\n  ${1}\n      y\n    E\n",
    "[<<E\na\nE\n, upper(<<E\nb\nE\n)]",
    '{\n  a = {\n    b = "x"\n d = (\n1\n)\ne = "${1 +\n1}"\n  } # c\n\n  c : [\n1,\n  ] // d\n}',
    "[" + '-1, "", ' * 101 + "]",
    "true\n? 1 /* c */\n: 2",
    'length("ábc")',
    'strrev("ábc")',
    'jsonencode("\u2028\x01é\\u007f")',
)
"""Expressions of several lines, and of characters that a text file does not show."""


@pytest.mark.terraform
def test_expressions_come_to_what_terraform_makes_of_them(assert_judged_alike):
    refusals = read_groups(Path(__file__).with_name("refusals.txt"))
    failing = [group for said, group in refusals.items() if said.startswith("cannot be evaluated")]
    texts = chain(OTHERS, *EXPRESSIONS.values(), *failing)
    assert_judged_alike([f"${{{text}}}" for text in texts])


CALL_SEEDS = range(40) if EVERYTHING else (1,)
CALLS = 500
LEFT_OUT = {
    # The last digit of `log` and `pow` depends on how a library takes logarithms and powers.
    *("bcrypt", "log", "pow", "plantimestamp", "rsadecrypt", "timestamp", "uuid", "try", "can"),
    # An output must not be sensitive.
    "sensitive",
    # These read files, which are tested beside them.
    *("abspath", "file", "filebase64", "filebase64sha256", "filebase64sha512", "fileexists"),
    *("filemd5", "fileset", "filesha1", "filesha256", "filesha512", "pathexpand", "templatefile"),
}
"""Functions whose value no two runs or machines share, and those of files."""

NUMBERS = ("0", "1", "-1", "2", "3", "10", "16", "62", "2.5", "-0.5", "1e30", "0.1 + 0.2")
ARGUMENTS = (EXPRESSIONS["texts"], NUMBERS, EXPRESSIONS["other arguments"])


def call(rand: random.Random, name: str) -> str:
    """Write a call of a function; its arguments are of one kind, mixed with others."""
    count = rand.choice((1, 1, 2, 2, 2, 3, 3, 4))
    leading = rand.choice((ARGUMENTS[0], *ARGUMENTS))
    arguments = [rand.choice(rand.choice((leading, *ARGUMENTS))) for _ in range(count)]
    return f"${{{name}({', '.join(arguments)})}}"


@pytest.mark.terraform
@pytest.mark.parametrize("seed", CALL_SEEDS)
def test_calls_of_every_function_agree(assert_judged_alike, seed):
    rand = random.Random(seed)
    names = sorted({*FUNCTIONS} - LEFT_OUT)
    calls = [call(rand, names[place % len(names)]) for place in range(CALLS)]
    # What Terraform leaves unsettled in an apply is a defect of its own.
    assert_judged_alike(calls, apart_from=("dynamic", None))


LOCALS = {"n": 2, "s": "text", "l": ["x", "y"], "m": {"a": 1, "b": "z"}, "t": True}
TEXTS = ("", "a", "b", "true", "12", "x y", "é", "a,b", '"', "\\", "\n", "${", "%{", "e\u0301",
         "-1")  # fmt: skip
SEEDS = (1, 2, 3)
"""Of 24,000 expressions, a dozen come to something here where Terraform refuses them, each because
of the type that Terraform gives to a part which is wrong and not used.
"""
KINDS = ("number", "text", "flag", "texts", "numbers", "mapping", "mixed", "set")
FORMS = read_groups(Path(__file__).with_name("random_forms.txt"))


def write(rand: random.Random, kind: str, depth: int) -> str:
    """Write an expression of `kind`, or now and then of another; `depth` bounds its size."""
    if rand.random() < 0.04:
        kind = rand.choice(KINDS)
    form = rand.choice(FORMS[kind if depth > 0 else f"{kind}, at the end"])
    return re.sub("«(.+?)»", lambda match: fill(rand, match[1], depth - 1), form)


def fill(rand: random.Random, hole: str, depth: int) -> str:
    """Write what a form has between « and »."""
    if hole == "any":
        hole = rand.choice(KINDS)
    if hole in KINDS:
        return write(rand, hole, depth)
    if hole == "content":
        text = json.dumps(rand.choice(TEXTS), ensure_ascii=False)[1:-1]
        return text.replace("${", "$${").replace("%{", "%%{")
    return rand.choice(hole.split(" "))


@pytest.mark.terraform
@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_agree(assert_judged_alike, seed):
    rand = random.Random(seed)
    assert_judged_alike(
        [f"${{{write(rand, rand.choice(KINDS), 1 + place % 3)}}}" for place in range(400)], LOCALS
    )
