"""The JSON of a plan has the configuration and the relevant attributes that Terraform prints."""

import json
from pathlib import Path

import pytest

PROGRAM = json.loads(Path(__file__).with_suffix(".tf.json").read_text())


@pytest.mark.terraform
def test_the_configuration_is_the_one_that_terraform_prints(
    standin, installed_terraform, console_of
):
    console = console_of("default")
    ours = standin(PROGRAM, console).plan().json
    theirs = installed_terraform(PROGRAM, console).plan().json
    assert ours["configuration"] == theirs["configuration"]
    assert ours["planned_values"]["outputs"] == theirs["planned_values"]["outputs"]
    relevant = [sorted(found["relevant_attributes"], key=str) for found in (ours, theirs)]
    assert len(relevant[1]) > 4
    assert relevant[0] == relevant[1]


def test_it_holds_no_credential(standin, console_of):
    console = console_of("default")
    program = {**PROGRAM, "provider": {"opsconsole": {"api_key": console.api_key}}}
    said = standin(program, console, init=False).run("plan", OPSCONSOLE_API_KEY="").text
    assert console.api_key not in said
    planned = json.dumps(standin({**PROGRAM, "provider": {"opsconsole": {}}}, console).plan().json)
    assert console.api_key not in planned
