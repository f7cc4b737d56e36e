"""Every function and operator against the real Terraform: same values, same types."""

from itertools import chain
from pathlib import Path

import pytest

from text_groups import read_groups

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
    groups = read_groups(Path(__file__).with_name("expressions.txt"))
    refusals = read_groups(Path(__file__).with_name("refusals.txt"))
    failing = [group for said, group in refusals.items() if said.startswith("cannot be evaluated")]
    texts = chain(OTHERS, *groups.values(), *failing)
    assert_judged_alike([f"${{{text}}}" for text in texts])
