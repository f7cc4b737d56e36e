"""Random expressions against the real Terraform: same values and types, or both fail.

Most are well typed, so that they come to something; one in a few mixes types. The seeds are fixed:
of 24,000 expressions, a dozen come to something here where Terraform refuses them, each because
of the type that Terraform gives to a part which is wrong and not used.
"""

import json
import random
import re
from pathlib import Path

import pytest

from text_groups import read_groups

LOCALS = {"n": 2, "s": "text", "l": ["x", "y"], "m": {"a": 1, "b": "z"}, "t": True}
TEXTS = ("", "a", "b", "true", "12", "x y", "é", "a,b", '"', "\\", "\n", "${", "%{", "e\u0301",
         "-1")  # fmt: skip
SEEDS = (1, 2, 3)
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
