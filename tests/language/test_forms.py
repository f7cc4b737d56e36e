"""Programs that Terraform refuses for their form are refused here, and no others."""

import json
import random
import re
import shutil
from functools import partial
from pathlib import Path

import pytest

from engines import run_program
from opsconsole import resources
from opsconsole.errors import UserError
from opsconsole.language.reading import load_directory
from program_forms import ACCEPTED, HOST, REFUSED, SAID, Program, evaluate_all, program
from sampling import EVERYTHING

SAMPLE = 6


def without_names(text: str) -> str:
    """Leave out the attributes of a definition: a new one changes no message here."""
    return re.sub(r"There are: \w+(, \w+){9,}( and \d+ more)?", "There are: …", text)


def write(program: Program, directory: Path) -> Path:
    """Write a program's files and return their directory."""
    directory.mkdir(exist_ok=True)
    for name, text in program.items():
        (directory / name).write_text(text, "utf-8")
    return directory


def check(directory: Path) -> None:
    """Do what a plan does with a program before it asks the console."""
    evaluate_all(load_directory(directory, resources), directory)


@pytest.mark.parametrize("name", REFUSED)
def test_what_terraform_refuses_for_its_form_is_refused(name, tmp_path):
    with pytest.raises(UserError) as caught:
        check(write(REFUSED[name], tmp_path))
    assert without_names(str(caught.value).replace(f"{tmp_path}/", "")) == SAID[name]


@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_forms_that_terraform_accepts_are_accepted(name, tmp_path):
    check(write(ACCEPTED[name], tmp_path))


@pytest.mark.terraform
@pytest.mark.parity
@pytest.mark.timeout(3600 if EVERYTHING else 300)
def test_terraform_says_the_same_of_each(terraform_binary, cli_environment, tmp_path):
    environment = cli_environment(None, OPSCONSOLE_BASE_URL="http://127.0.0.1:1")
    prepared = write(program("within", HOST), tmp_path / "prepared")

    terraform = partial(run_program, terraform_binary, environment=environment)
    terraform("init", folder=prepared)
    (prepared / "main.tf.json").unlink()
    everything = [*((name, False) for name in REFUSED), *((name, True) for name in ACCEPTED)]
    seed = random.randrange(10**6)
    chosen = random.Random(seed).sample(everything, SAMPLE)
    for name, valid in everything if EVERYTHING else chosen:
        directory = tmp_path / "judged"
        shutil.copytree(prepared, directory, symlinks=True)
        write((ACCEPTED if valid else REFUSED)[name], directory)
        told = json.loads(terraform("validate", "-json", folder=directory, expect=None).out)
        assert told["valid"] is valid, (seed, name, told["diagnostics"])
        shutil.rmtree(directory)
