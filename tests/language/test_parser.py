"""What Terraform 1.11 refuses as a template is refused here, and no text breaks the parser."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole.language.constraints import LITERALS
from opsconsole.language.failures import BeyondBounds, EvaluationError
from opsconsole.language.parser import parse_template

REFUSED = (
    "${",
    "${}",
    "${a",
    '${"a}',
    '${"a\nb"}',
    "${1 +}",
    "${1 1}",
    "${1 foo {}}",
    "${a b}",
    "${f(}",
    "${max([1]..., 2)}",
    "${[1}",
    "${1]}",
    "${[1,,2]}",
    "${a..b}",
    "${a.0.1}",
    "${a.*.*}",
    r'${"\q"}',
    r'${"\ud800"}',
    "${x = 1}",
    "${1\n y = 2}",
    "${{a = 1 b = 2}}",
    "${{a.b = 1}}",
    "${{for = 1}}",
    "${a ? b}",
    "${@}",
    "${<<A\nx}",
    "%{ if true }x",
    "%{ if true }x%{ else if true }y%{ endif }",
    "%{ if true }x%{ else }y%{ else }z%{ endif }",
    "%{ endif }",
    "%{ if true }%{ endfor }",
    "%{ for x }%{ endfor }",
    "%{ for x, y, z in [1] }%{ endfor }",
    "%{ while true }",
    "%{ }",
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_terraform_refuses_is_refused(text: str) -> None:
    with pytest.raises(EvaluationError):
        parse_template(text)


def test_nesting_has_a_bound() -> None:
    with pytest.raises(BeyondBounds, match="levels of nesting"):
        parse_template("${" + "(" * 5000 + "1" + ")" * 5000 + "}")


@given(st.text(st.sampled_from('${}%~"\\[]().*:=,?<>-+!|&\n /#a1é') | st.characters()))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse_template(text)
    except (EvaluationError, BeyondBounds):
        assert "{" in text


@given(st.text().map(lambda text: text.replace("${", "$${").replace("%{", "%%{")))
def test_escaped_text_comes_back(text: str) -> None:
    node = parse_template(text)
    expected = text.replace("$${", "${").replace("%%{", "%{")
    assert node.evaluate(LITERALS).data == unicodedata.normalize("NFC", expected)
