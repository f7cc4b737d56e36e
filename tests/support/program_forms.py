"""Programs that Terraform refuses for their form, and some of odd forms that it accepts.

Each is text, because much of what is wrong cannot be written with a dict: names that stand twice.
What Terraform says of each was asked of Terraform itself; a test asks it again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

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
"""What stands around the texts of program_forms.txt, each in the place of `…`."""


def program(form: str, text: str) -> Program:
    """Return a program of one file."""
    return {"main.tf.json": FORMS[form].replace("…", text)}


def _programs(kind: str) -> dict[str, Program]:
    groups = read_groups(Path(__file__).with_suffix(".txt"))
    forms = {name.partition(" ")[2]: groups[name] for name in groups if name.startswith(kind)}
    return {f"{form} {text}": program(form, text) for form in forms for text in forms[form]}


def _two_files(text: str, other: str) -> Program:
    return {**program("within", text), "other.tf.json": other}


REFUSED: Final[Mapping[str, Program]] = {
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
    **{
        f"one {text!r}": program("one", text) for text in ("", "  ", f"\ufeff{{{REQUIRED},{HOST}}}")
    },
    **_programs("refused"),
}
"""Terraform and the native engine refuse each of these."""

ACCEPTED: Final[Mapping[str, Program]] = {
    "two files required_version": {
        "a.tf.json": '{"terraform":{"required_version":">= 1.0"}}',
        "b.tf.json": '{"terraform":{"required_version":">= 1.1"}}',
    },
    **_programs("accepted"),
}
"""Terraform and the native engine accept each of these."""
