"""What Terraform 1.11 refuses as a template is refused here, and no text breaks the parser."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole.language.constraints import LITERALS
from opsconsole.language.failures import BeyondBounds, EvaluationError
from opsconsole.language.parser import parse_expression, parse_template
from text_groups import read_rows

REFUSED = read_rows(__file__)["test_what_terraform_refuses_is_refused"]


@pytest.mark.parametrize(*REFUSED)
def test_what_terraform_refuses_is_refused(text, message):
    with pytest.raises(EvaluationError) as caught:
        parse_template(text)
    assert str(caught.value) == message


def test_nesting_has_a_bound():
    bounds = (("(", ")", 99, "levels of nesting"), ('"${', '}"', 49, "levels of nesting"),
              ("-", "", 99, "unary operators in a row"))  # fmt: skip
    for opening, closing, most, what in bounds:
        parse_template("${" + opening * most + "1" + closing * most + "}")
        with pytest.raises(BeyondBounds, match=f"^more than 100 {what}$"):
            parse_template("${" + opening * (most + 1) + "1" + closing * (most + 1) + "}")


@given(st.text(st.sampled_from('${}%~"\\[]().*:=,?<>-+!|&\n /#a1é') | st.characters()))
def test_any_text_is_parsed_or_refused(text):
    try:
        parse_template(text)
    except (EvaluationError, BeyondBounds):
        assert "{" in text


@given(st.text().map(lambda text: text.replace("${", "$${").replace("%{", "%%{")))
def test_escaped_text_comes_back(text):
    node = parse_template(text)
    expected = text.replace("$${", "${").replace("%%{", "%{")
    assert node.evaluate(LITERALS).data == unicodedata.normalize("NFC", expected)


def test_a_decomposed_name_is_another_name_than_the_composed_one():
    [reference] = parse_expression("local.e\u0301a-b + 1").references()
    assert reference.steps == ("local", "e\u0301a-b")
