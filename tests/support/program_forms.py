"""Programs that Terraform refuses for their form, and some of odd forms that it accepts.

Each is text, because much of what is wrong cannot be written with a dict: names that stand twice.
What Terraform says of each was asked of Terraform itself; a test asks it again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from opsconsole.language import Evaluator, build_graph, resolve_variables
from opsconsole.language import Program as Loaded
from text_groups import read_groups

Program = Mapping[str, str]
"""Name to text of the files of a program."""

REQUIRED = '"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}}'
HOST = '"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
FORMS: Final[Mapping[str, str]] = {
    "one": "…",
    "within": f"{{{REQUIRED},…}}",
    "hosts": f'{{{REQUIRED},"resource":{{"opsconsole_host":{{…}}}}}}',
    "attribute": f'{{{REQUIRED},"resource":{{"opsconsole_host":{{"a":{{"name":"x",…}}}}}}}}',
    "lifecycle": f'{{{REQUIRED},{HOST[:-3]},"lifecycle":{{…}}}}}}}}}}',
    "beside_host": f"{{{REQUIRED},…,{HOST}}}",
    "specialty": f'{{{REQUIRED},"data":{{"opsconsole_specialty":{{"s":{{"key":"x",…}}}}}}}}',
    "output": f'{{{REQUIRED},"output":{{"a":{{"value":1,…}}}}}}',
    "variable": f'{{{REQUIRED},"variable":{{"a":{{…}}}}}}',
    "provider": f'{{{REQUIRED},"provider":{{"opsconsole":…}}}}',
    "local": '{"locals":{"a":…}}',
    "settings": '{"terraform":{…}}',
    "required_provider": f"{{{REQUIRED[:-3]},…}}}}}}}}",
}
"""What stands around the texts of a program, each in the place of `…`."""


def program(form: str, text: str) -> Program:
    """Return a program of one file."""
    return {"main.tf.json": FORMS[form].replace("…", text)}


def _groups(name: str) -> dict[str, list[str]]:
    return read_groups(Path(__file__).with_name(name))


def _two_files(text: str, other: str) -> Program:
    return {**program("within", text), "other.tf.json": other}


_FILES: Final[Mapping[str, Program]] = {
    "two files dup resource": _two_files(HOST, f"{{{HOST}}}"),
    "two files dup output": _two_files(
        '"output":{"a":{"value":1}}', '{"output":{"a":{"value":1}}}'
    ),
    "two files dup local": _two_files('"locals":{"a":1}', '{"locals":{"a":1}}'),
    "two files dup variable": _two_files('"variable":{"a":{}}', '{"variable":{"a":{}}}'),
    "two files dup provider": _two_files(
        '"provider":{"opsconsole":{}}', '{"provider":{"opsconsole":{}}}'
    ),
    "two files dup rp": _two_files('"locals":{}', f"{{{REQUIRED}}}"),
    "two files backend": {
        "a.tf.json": '{"terraform":{"backend":{"local":{}}}}',
        "b.tf.json": '{"terraform":{"backend":{"local":{}}}}',
    },
    "an empty file": {"main.tf.json": ""},
    "a blank file": {"main.tf.json": "  "},
    "a byte order mark": {"main.tf.json": f"\ufeff{{{REQUIRED},{HOST}}}"},
}
"""The programs of program_refusals.txt that no form and text can write."""

SAID: Final[Mapping[str, str]] = {
    name: said for said, names in _groups("program_refusals.txt").items() for name in names
}
"""What the native engine says of each program that it refuses."""

REFUSED: Final[Mapping[str, Program]] = {
    name: _FILES.get(name) or program(*name.split(" ", 1)) for name in SAID
}
"""Terraform and the native engine refuse each of these."""

ACCEPTED: Final[Mapping[str, Program]] = {
    "two files required_version": {
        "a.tf.json": '{"terraform":{"required_version":">= 1.0"}}',
        "b.tf.json": '{"terraform":{"required_version":">= 1.1"}}',
    },
    **{
        f"{form} {text}": program(form, text)
        for form, texts in _groups("program_forms.txt").items()
        for text in texts
    },
}
"""Terraform and the native engine accept each of these."""


def evaluate_all(loaded: Loaded, directory: Path) -> None:
    """Evaluate a program, as a plan does before it asks the console."""
    build_graph(loaded)
    environment = {
        f"TF_VAR_{name}": "1" for name, item in loaded.variables.items() if not item.optional
    }
    variables = resolve_variables(loaded, directory=directory, environment=environment)
    evaluator = Evaluator(loaded, variables, lambda address: None)
    for block in loaded.blocks.values():
        for instance in evaluator.instances(block).values():
            evaluator.config(instance)
            evaluator.triggers(instance)
    for key in loaded.providers:
        evaluator.provider_config(key)
    evaluator.imports()
    evaluator.outputs()
