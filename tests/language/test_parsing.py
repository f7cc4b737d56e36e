"""The short way past hcl2 leads to the same trees; bad templates are told."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opsconsole.language import hcl_tree
from opsconsole.language.failures import BeyondBounds, EvaluationError, UnsupportedExpression
from opsconsole.language.parsing import assemble, parse_template, plain_reference
from opsconsole.language.scanning import Source, split_template
from opsconsole.language.syntax import Node, Quoted, Reference
from opsconsole.language.value_types import normalised

NAMES = st.from_regex(re.compile(r"[a-z_][a-z0-9_-]{0,8}", re.ASCII), fullmatch=True).filter(
    lambda name: name not in ("true", "false", "null")
)
KEYS = st.text(
    st.characters(codec="utf-8", exclude_characters='"\\$%', exclude_categories=["C"]), max_size=6
)
STEPS = st.one_of(
    NAMES.map(lambda name: f".{name}"),
    st.integers(0, 999).map(lambda index: f"[{index}]"),
    KEYS.map(lambda key: f'["{key}"]'),
)


def _by_hcl2(text: str) -> Any:
    """Take the long way: through the scanner and hcl2's tree."""

    def tree_of(source: Source) -> Node:
        strings = [assemble(parts, tree_of) for parts in source.strings]
        return hcl_tree.parse(source.text, strings)

    return assemble(split_template(text), tree_of)


@given(st.tuples(NAMES, st.lists(STEPS, min_size=1, max_size=6)))
@example(("a", [".b", '["\uf900"]']))
def test_a_plain_reference_is_the_same_tree_both_ways(parts: Any) -> None:
    name, steps = parts
    text = name + "".join(steps)
    short = plain_reference(text)
    long = _by_hcl2(f"${{{text}}}")
    assert isinstance(short, Reference)
    assert short == long
    assert [type(step) for step in short.steps] == [type(step) for step in long.steps]
    assert parse_template(f"${{{text}}}") == short
    assert short.written() == normalised(text)


def test_an_index_that_is_a_text_leads_where_the_attribute_does() -> None:
    quoted = plain_reference('a.b["c"]')
    assert quoted == plain_reference("a.b.c")
    assert quoted is not None
    assert isinstance(quoted.steps[2], Quoted)


def test_the_same_text_is_parsed_once() -> None:
    assert parse_template("x ${a.b + 1}") is parse_template("x ${a.b + 1}")


@pytest.mark.parametrize(
    "text",
    [
        "${",
        "${}",
        "${a",
        '${"a}',
        "${1 +}",
        "${1 1}",
        "${a b}",
        "${f(}",
        "${[1}",
        "${1]}",
        "${a..b}",
        r'${"\q"}',
        "${x = 1}",
        "${1\n y = 2}",
        "%{ if true }x",
        "%{ endif }",
        "%{ if true }%{ endfor }",
        "%{ for x }%{ endfor }",
        "%{ while true }",
        "${a ? b}",
        "${@}",
        "%{ }",
    ],
)
def test_what_is_no_template_is_an_error(text: str) -> None:
    with pytest.raises(EvaluationError):
        parse_template(text)


def test_what_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(BeyondBounds, match="100 levels"):
        parse_template("${" + "(" * 5000 + "1" + ")" * 5000 + "}")


def test_a_heredoc_is_left_to_terraform() -> None:
    with pytest.raises(UnsupportedExpression, match="heredoc"):
        parse_template("${<<EOT\nx\nEOT\n}")


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse_template(text)
    except (EvaluationError, UnsupportedExpression):
        assert "{" in text


@given(st.text().map(lambda text: text.replace("${", "$${").replace("%{", "%%{")))
def test_escaped_text_comes_back(text: str) -> None:
    node = parse_template(text)
    expected = text.replace("$${", "${").replace("%%{", "%{")
    assert node.evaluate(None) == unicodedata.normalize("NFC", expected)  # type: ignore[arg-type]  # a literal asks nothing of its scope
