"""What Terraform 1.11 refuses as a template is refused here, and no text breaks the parser."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsconsole.language.constraints import LITERALS
from opsconsole.language.failures import BeyondBounds, EvaluationError
from opsconsole.language.parser import parse_template

REFUSED = {
    "${": "this is not an expression: it ends too early",
    "${}": "this is not an expression: it has '}' in the place of a value",
    "${a": "a bracket is not closed",
    '${"a}': "a string is not closed",
    '${"a\nb"}': "a string in quotes goes on in another line",
    "${1 +}": "this is not an expression: it has '}' in the place of a value",
    "${1 1}": "'1' is not part of an expression",
    "${1 foo {}}": "'foo' is not part of an expression",
    "${a b}": "'b' is not part of an expression",
    "${f(}": "this is not an expression: it has '}' in the place of a value",
    "${max([1]..., 2)}": "')' is missing before ','",
    "${[1}": "']' is missing before '}'",
    "${1]}": "']' is not part of an expression",
    "${[1,,2]}": "this is not an expression: it has ',' in the place of a value",
    "${a..b}": "a name is missing before '.'",
    "${a.0.1}": "an index behind a dot is followed by another",
    "${a.*.*}": "a splat without brackets cannot follow another",
    r'${"\q"}': r"there is no escape sequence \q",
    r'${"\ud800"}': r"there is no escape sequence \ud800",
    "${x = 1}": "'=' is not part of an expression",
    "${1\n y = 2}": "'y' is not part of an expression",
    "${{a = 1 b = 2}}": "'b' is not part of an expression",
    "${{a.b = 1}}": "the key a.b needs parentheses or quotes",
    "${{for = 1}}": "for needs a name, `in` and a collection",
    "${a ? b}": "':' is missing before '}'",
    "${{a 1}}": "':' is missing before '1'",
    "${{a = 1": "a bracket is not closed",
    "${{for x in [1] : x}}": "'=>' is missing before '}'",
    "${f(1 2)}": "')' is missing before '2'",
    "${[1 2]}": "']' is missing before '2'",
    "${f(1": "a bracket is not closed",
    "${a::b}": "the function a::b is not called",
    "${1.2.3}": "1.2.3 is not a number",
    "${@}": "'@' is not part of an expression",
    "${<<A\nx}": "the heredoc A is not closed",
    "${<<A x}": "a heredoc begins with << and a name, which end the line",
    "%{ if true 1 }x%{ endif }": "'1' is not part of an expression",
    "%{ for x in [1] }x": "a template directive is not closed by %{ endfor }",
    "%{ if true }x": "a template directive is not closed by %{ endif }",
    "%{ if true }x%{ else if true }y%{ endif }": "%{ else } has 'if' behind its keyword",
    "%{ if true }x%{ else }y%{ else }z%{ endif }": "%{ else } does not belong here",
    "%{ endif }": "%{ endif } does not belong here",
    "%{ if true }%{ endfor }": "%{ endfor } does not belong here",
    "%{ for x }%{ endfor }": "%{ for } needs a name, `in` and a collection",
    "%{ for x, y, z in [1] }%{ endfor }": "%{ for } needs a name, `in` and a collection",
    "%{ while true }": "%{ while } does not belong here",
    "%{ }": "a template directive needs a keyword",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_what_terraform_refuses_is_refused(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_template(text)
    assert str(caught.value) == message


def test_nesting_has_a_bound() -> None:
    bounds = (("(", ")", 99, "levels of nesting"), ('"${', '}"', 49, "levels of nesting"),
              ("-", "", 99, "unary operators in a row"))  # fmt: skip
    for opening, closing, most, what in bounds:
        parse_template("${" + opening * most + "1" + closing * most + "}")
        with pytest.raises(BeyondBounds, match=f"^more than 100 {what}$"):
            parse_template("${" + opening * (most + 1) + "1" + closing * (most + 1) + "}")


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
