"""Validation blocks of variables; Terraform is the judge of what passes."""

from pathlib import Path
from typing import Any

import pytest

from engines import run_program
from opsconsole import resources
from opsconsole.errors import UserError
from opsconsole.language.failures import OnlyTerraform
from opsconsole.language.reading import load_directory
from opsconsole.language.variables import resolve_variables


def rule(condition: str, message: str = "m") -> dict[str, str]:
    return {"condition": f"${{{condition}}}", "error_message": message}


RULES = [
    rule('contains(["north", "south"], var.site)', "There is no site ${var.site}."),
    rule("length(var.site) > var.least", "Too short."),
]


UNSUPPORTED = "does not support a validation that"


def program(site: Any, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a program with two variables, the first with rules."""
    return {
        "variable": {
            "site": {"type": "string", "default": site, "validation": list(rules), **more},
            "least": {"type": "number", "default": 2},
        }
    }


def resolve(directory: Path, *words: str) -> dict[str, Any]:
    found = [("var", word) for word in words]
    return resolve_variables(
        load_directory(directory, resources), directory=directory, environment={}, arguments=found
    )


@pytest.mark.terraform
@pytest.mark.parametrize(
    ("site", "least", "broken"),
    [
        ("north", "2", []),
        ("west", "2", ["There is no site west."]),
        ("north", "9", ["Too short."]),
        ("w", "9", ["There is no site w.", "Too short."]),
    ],
)
def test_rules_pass_and_break_as_in_terraform(write_program, terraform_binary, site, least, broken):
    directory = write_program(program("north", *RULES))
    told = ""
    try:
        resolve(directory, f"site={site}", f"least={least}")
    except UserError as error:
        told = error.message
    words = ("-input=false", f"-var=site={site}", f"-var=least={least}", "-json")
    judge = run_program(terraform_binary, "plan", *words, folder=directory, expect=None)
    theirs = [item["detail"] for item in judge.diagnostics()]

    assert [sentence for sentence in broken if sentence not in told] == []
    assert bool(told) == bool(broken) == bool(judge.code)
    assert len(theirs) == len(broken)
    assert all(any(sentence in detail for detail in theirs) for sentence in broken)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("var.site == null ? null : null", "null"),
        ("var.site", "validation cannot be"),
        ("nothing(var.site)", "nothing"),
        (
            "data.opsconsole_specialty.s.id == var.site",
            f"{UNSUPPORTED} refers to data.opsconsole_specialty.s.id",
        ),
        ("var.site != timestamp()", f"{UNSUPPORTED} is known only during the apply"),
    ],
)
def test_rules_that_are_no_rules_say_so(write_program, condition, words):
    with pytest.raises(UserError, match=words) as raised:
        resolve(write_program(program("north", rule(condition))))
    assert "site" in str(raised.value)
    assert not isinstance(raised.value, OnlyTerraform) or raised.value.program is not None


def test_a_message_does_not_give_a_secret_away(write_program):
    directory = write_program(program("hidden", *RULES, sensitive=True))
    with pytest.raises(UserError, match="holds a sensitive value") as raised:
        resolve(directory)
    assert "hidden" not in str(raised.value)
