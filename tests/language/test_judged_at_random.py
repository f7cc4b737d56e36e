"""Random expressions against the real Terraform: same values and types, or both fail.

Most are well typed, so that they come to something; one in a few mixes types. The seeds are fixed:
of 24,000 expressions, a dozen come to something here where Terraform refuses them, each because
of the type that Terraform gives to a part which is wrong and not used.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

LOCALS = {"n": 2, "s": "text", "l": ["x", "y"], "m": {"a": 1, "b": "z"}, "t": True}
TEXTS = ("", "a", "b", "true", "12", "x y", "é", "a,b", '"', "\\", "\n", "${", "%{", "e\u0301",
         "-1")  # fmt: skip
SEEDS = (1, 2, 3)
KINDS = ("number", "text", "flag", "texts", "numbers", "mapping", "mixed", "set")


class Writer:
    """Writes random expressions of a kind; `depth` bounds their size."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def any(self, depth: int) -> str:
        """Write an expression of any kind."""
        return self.of(self.random.choice(KINDS), depth)

    def of(self, kind: str, depth: int) -> str:
        """Write an expression of `kind`, or now and then of another."""
        if self.random.random() < 0.04:
            kind = self.random.choice(KINDS)
        forms = getattr(self, f"_{kind}")(depth - 1) if depth > 0 else getattr(self, f"_{kind}_0")()
        return str(self.random.choice(forms)())

    def _quoted(self) -> str:
        text = json.dumps(self.random.choice(TEXTS), ensure_ascii=False)
        return text.replace("${", "$${").replace("%{", "%%{")

    def _number_0(self) -> list[Callable[[], str]]:
        numbers = ("0", "1", "2", "3", "-3", "2.5", "0.1", "10", "1e3", "local.n", '"7"')
        return [lambda: self.random.choice(numbers)]

    def _number(self, d: int) -> list[Callable[[], str]]:
        n, x = lambda: self.of("number", d), lambda: self.of("texts", d)
        return [
            lambda: f"({n()} {self.random.choice('+-*')} {n()})",
            lambda: f"({n()} / 4)",
            lambda: f"({n()} % 3)",
            lambda: f"(1 - {n()})",
            lambda: f"length({self.any(d)})",
            lambda: f"{self.random.choice(('abs', 'ceil', 'floor', 'signum'))}({n()})",
            lambda: f"{self.random.choice(('max', 'min'))}({n()}, {n()})",
            lambda: f"sum({self.of('numbers', d)})",
            lambda: f"({self.of('flag', d)} ? {n()} : {n()})",
            lambda: f"index({x()}, {self.of('text', d)})",
            lambda: f'parseint("{self.random.choice(("ff", "10", "7a"))}", 16)',
            lambda: f"tonumber({self.of('text', d)})",
            lambda: f"try({n()}, {n()})",
            lambda: f"element({self.of('numbers', d)}, {n()})",
        ]

    def _text_0(self) -> list[Callable[[], str]]:
        return [self._quoted, lambda: "local.s", lambda: "local.l[1]"]

    def _text(self, d: int) -> list[Callable[[], str]]:
        t, n = lambda: self.of("text", d), lambda: self.of("number", d)
        simple = ("upper", "lower", "title", "strrev", "trimspace", "chomp", "base64encode", "sha1",
                  "urlencode", "jsonencode", "tostring")  # fmt: skip
        paired = ("trim", "trimprefix", "trimsuffix")
        return [
            lambda: f'"{self._quoted()[1:-1]}${{{t()}}}-${{{n()}}}"',
            lambda: f'"%{{ if {self.of("flag", d)} }}${{{t()}}}%{{ else ~}}  n%{{ endif }}"',
            lambda: f'"%{{ for k, v in {self.any(d)} }}${{k}}%{{ endfor }}"',
            lambda: f"{self.random.choice(simple)}({t()})",
            lambda: f"{self.random.choice(paired)}({t()}, {t()})",
            lambda: f"substr({t()}, {n()}, {n()})",
            lambda: f"replace({t()}, {t()}, {t()})",
            lambda: f"join({t()}, {self.of('texts', d)})",
            lambda: f'format("%s|%5s|%v|%q", {t()}, {t()}, {self.any(d)}, {t()})',
            lambda: f'format("%d %03d %.2f %v", {n()}, {n()}, {n()}, {n()})',
            lambda: f"jsonencode({self.any(d)})",
            lambda: f"({self.of('flag', d)} ? {t()} : {t()})",
            lambda: f"coalesce({t()}, {t()}, null)",
            lambda: f"element({self.of('texts', d)}, {n()})",
            lambda: f"{self.of('texts', d)}[0]",
            lambda: f"lookup({self.of('mapping', d)}, {t()}, {t()})",
        ]

    def _flag_0(self) -> list[Callable[[], str]]:
        return [lambda: self.random.choice(("true", "false", "local.t", '"true"'))]

    def _flag(self, d: int) -> list[Callable[[], str]]:
        f, n = lambda: self.of("flag", d), lambda: self.of("number", d)
        compare = ("<", "<=", ">", ">=", "==", "!=")
        return [
            lambda: f"({n()} {self.random.choice(compare)} {n()})",
            lambda: f"({self.any(d)} {self.random.choice(('==', '!='))} {self.any(d)})",
            lambda: f"({f()} {self.random.choice(('&&', '||'))} {f()})",
            lambda: f"!{f()}",
            lambda: f"contains({self.of('texts', d)}, {self.of('text', d)})",
            lambda: f"can({self.any(d)})",
            lambda: f"{self.random.choice(('alltrue', 'anytrue'))}([{f()}, {f()}])",
            lambda: f"startswith({self.of('text', d)}, {self.of('text', d)})",
            lambda: f"tobool({f()})",
        ]

    def _texts_0(self) -> list[Callable[[], str]]:
        return [
            lambda: "local.l",
            lambda: "[]",
            lambda: f"[{self._quoted()}, {self._quoted()}]",
            lambda: f"tolist([{self._quoted()}])",
        ]

    def _texts(self, d: int) -> list[Callable[[], str]]:
        x, t = lambda: self.of("texts", d), lambda: self.of("text", d)
        one = ("sort", "distinct", "compact", "reverse", "tolist", "flatten")
        return [
            lambda: f"[{t()}, {t()}]",
            lambda: f"concat({x()}, {x()})",
            lambda: f"{self.random.choice(one)}({x()})",
            lambda: f"split({t()}, {t()})",
            lambda: f"slice({x()}, 0, {self.of('number', d)})",
            lambda: f"[for v in {x()} : upper(v) if v != {t()}]",
            lambda: f"keys({self.of('mapping', d)})",
            lambda: f"tolist({self.of('set', d)})",
            lambda: f"({self.of('flag', d)} ? {x()} : {x()})",
            lambda: f'formatlist("%s-%s", {x()}, {t()})',
            lambda: f"[{{a = {t()}}}, {{a = {t()}}}][*].a",
            lambda: f"chunklist({x()}, 2)[0]",
            lambda: f"coalescelist({x()}, {x()})",
        ]

    def _numbers_0(self) -> list[Callable[[], str]]:
        return [lambda: "[1, 2, 3]", lambda: "[2.5]", lambda: "tolist([1, -1])", lambda: "range(3)"]

    def _numbers(self, d: int) -> list[Callable[[], str]]:
        n, z = lambda: self.of("number", d), lambda: self.of("numbers", d)
        return [
            lambda: f"[{n()}, {n()}]",
            lambda: f"[for i, v in {self.any(d)} : i]",
            lambda: f"[for v in {z()} : v * 2]",
            lambda: f"concat({z()}, {z()})",
            lambda: f"reverse({z()})",
            lambda: f"values({{b = {n()}, a = {n()}}})",
        ]

    def _mapping_0(self) -> list[Callable[[], str]]:
        return [
            lambda: "local.m",
            lambda: "{}",
            lambda: f"{{a = {self._quoted()}, b = {self._quoted()}}}",
            lambda: f"tomap({{a = {self._quoted()}}})",
        ]

    def _mapping(self, d: int) -> list[Callable[[], str]]:
        m, t = lambda: self.of("mapping", d), lambda: self.of("text", d)
        return [
            lambda: f"merge({m()}, {m()})",
            lambda: f"{{a = {self.any(d)}, (upper({t()})) = {t()}}}",
            lambda: f"tomap({m()})",
            lambda: f"{{for k, v in {m()} : upper(k) => {t()}}}",
            lambda: f"{{for v in {self.of('texts', d)} : v => v...}}",
            lambda: f"zipmap({self.of('texts', d)}, {self.of('texts', d)})",
            lambda: f"({self.of('flag', d)} ? {m()} : {m()})",
            lambda: f"jsondecode(jsonencode({m()}))",
        ]

    def _set_0(self) -> list[Callable[[], str]]:
        return [lambda: 'toset(["b", "a"])', lambda: "toset([3, 1])", lambda: "toset([])"]

    def _set(self, d: int) -> list[Callable[[], str]]:
        x = lambda: self.of("texts", d)  # noqa: E731  # short, as the others of its kind
        three = ("setunion", "setintersection", "setsubtract")
        return [
            lambda: f"toset({x()})",
            lambda: f"{self.random.choice(three)}({x()}, {x()})",
            lambda: f"setproduct({self.of('set', d)}, {x()})",
            lambda: f"toset([{self.of('mapping', d)}, {self.of('mapping', d)}])",
        ]

    def _mixed_0(self) -> list[Callable[[], str]]:
        return [lambda: '[1, "a"]', lambda: "{a = 1, b = [true]}", lambda: "local.m.a"]

    def _mixed(self, d: int) -> list[Callable[[], str]]:
        a = lambda: self.any(d)  # noqa: E731  # short, as the others of its kind
        access = ("[0]", "[1]", ".a", '["b"]', "[*]", "[*].a", ".*.b")
        return [
            lambda: f"[{a()}, {a()}]",
            lambda: f"{{a = {a()}, b = {a()}}}",
            lambda: f"({a()}){self.random.choice(access)}",
            lambda: f"(local.t ? {a()} : {a()})",
            lambda: f"[for k, v in {a()} : [k, v]]",
            lambda: f"{{for k, v in {a()} : k => v}}",
            lambda: f"flatten([{a()}, {a()}])",
            lambda: f"try({a()}, {a()})",
            lambda: f"one({a()})",
            lambda: f"nonsensitive(sensitive({a()}))",
        ]


@pytest.mark.terraform
@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_agree(
    judged: Callable[..., list[tuple[str, Any, Any]]], seed: int
) -> None:
    writer = Writer(seed)
    expressions = [f"${{{writer.any(1 + place % 3)}}}" for place in range(400)]
    differing = judged(expressions, LOCALS)
    shown = "\n".join(
        f"{text}\n  native    {mine}\n  terraform {theirs}" for text, mine, theirs in differing
    )
    assert not differing, f"{len(differing)} differ\n{shown}"
