"""Variables: sources and their order, types, what is missing; Terraform is the judge of values."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from opsconsole import resources
from opsconsole.diagnostics import Mistakes
from opsconsole.errors import UserError
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.reading import load_directory
from opsconsole.language.variables import resolve_variables

TYPES: dict[str, tuple[str, Any]] = {
    "string": ("string", 5),
    "number": ("number", "1.50"),
    "bool": ("bool", "true"),
    "any_list": ("list(any)", ["a", 1, True]),
    "numbers": ("list(number)", ["1", 2]),
    "names": ("set(string)", ["b", "a", "b", 1]),
    "map": ("map(number)", {"b": "2", "a": 1}),
    "composed": ("map(set(string))", {"e\u0301": ["e\u0301", "é"]}),
    "tuple": ("tuple([string, number])", [1, "2"]),
    "object": (
        'object({a = string, b = optional(number), c = optional(list(string), ["x"])})',
        {"a": 1, "extra": True},
    ),
    "nested": (
        "map(object({name = string, port = optional(number, [{n = 22}].*.n[0]), "
        'tags = optional(set(string), [for v in [["a"]] : v[0]])}))',
        {"x": {"name": "n"}, "y": {"name": "m", "port": "23", "tags": ["a"]}},
    ),
    "untyped": ("any", {"a": [1, "b", None]}),
    "bare_list": ("list", [1, "a"]),
}


DOCUMENT = {
    "variable": {name: {"type": kind, "default": it} for name, (kind, it) in TYPES.items()},
    "output": {name: {"value": f"${{var.{name}}}"} for name in TYPES},
}


Arguments = Sequence[tuple[str, str]]


def _resolve(directory: Path, arguments: Arguments = (), **environment: str) -> dict[str, Any]:
    program = load_directory(directory, resources)
    return resolve_variables(
        program, directory=directory, environment=environment, arguments=arguments
    )


def _native(directory: Path, arguments: Arguments = (), **environment: str) -> dict[str, Any]:
    program = load_directory(directory, resources)
    values = _resolve(directory, arguments, **environment)
    found = Evaluator(program, values, lambda address: None, applying=True).outputs()
    return {name: [item.type, item.value] for name, item in found.items()}


def _judged(directory: Path, terraform: Callable[..., str], arguments: Arguments) -> dict[str, Any]:
    flags = [f"-{kind}={text}" for kind, text in arguments]
    terraform(directory, "apply", "-auto-approve", "-no-color", *flags)
    found = json.loads(terraform(directory, "output", "-json"))
    return {name: [item["type"], item["value"]] for name, item in found.items()}


@pytest.mark.terraform
def test_defaults_are_converted_as_terraform_does(write_program, terraform):
    directory = write_program(DOCUMENT)
    native = _native(directory)
    judged = _judged(directory, terraform, [])
    native["untyped"][0] = judged["untyped"][0]  # the type of a null is not kept
    native["object"][0] = judged["object"][0]
    assert native == judged


@pytest.mark.terraform
def test_sources_win_in_terraforms_order(write_program, terraform, monkeypatch):
    directory = write_program(DOCUMENT)
    (directory / "terraform.tfvars").write_text(
        '# notes\nstring = "plain"\nnumber = 2\nnames = [\n  "x", # one\n  "y",\n]\n'
        'map = {\n  a = 1\n  "b" = -2.5\n}\n'
        'object = { a = "t ${"u"}", c : [] }\n/* more */ bool = false\n'
    )
    (directory / "terraform.tfvars.json").write_text('{"number": 3, "numbers": [7]}')
    (directory / "b.auto.tfvars").write_text(
        'numbers = [8]\r\nstring = <<-EOT\r\n    two\r\n      lines "q"\n  EOT\r\n'
    )
    (directory / "a.auto.tfvars.json").write_text('{"numbers": [9], "any_list": [1, 2]}')
    (directory / "more.tfvars").write_text('tuple = ["from file", 1]\nbare_list = [1]\n')
    arguments = [
        ("var", "bool=true"),
        ("var-file", str(directory / "more.tfvars")),
        ("var", 'tuple=["x", 3]'),
        ("var", 'nested={k = {name = "n", tags = ["q"]}}'),
        ("var", "untyped=[1]"),
    ]
    native = _native(directory, arguments, TF_VAR_number="9", TF_VAR_any_list="[5]")
    judged = _judged(directory, terraform, arguments)
    native["object"][0] = judged["object"][0]
    assert native == judged
    assert native["string"][1] == 'two\r\n  lines "q"\n'


def test_the_environment_is_read_by_type(write_program):
    directory = write_program(DOCUMENT)
    texts = {"string": "[1]\udcff", "bare_list": '["\udcff"]', "numbers": '[1, "2"]'}
    texts |= {"map": "{a = 1}", "unheard_of": "x"}
    values = _native(directory, **{f"TF_VAR_{name}": text for name, text in texts.items()})
    # As in Terraform, the replacement character stands for a byte that is not UTF-8.
    found = [values[name][1] for name in ("string", "bare_list", "numbers", "map")]
    assert found == ["[1]\ufffd", ["\ufffd"], [1, 2], {"a": 1}]


def test_sensitive_and_ephemeral_values_are_marked(write_program):
    key = {"sensitive": True, "ephemeral": True}
    directory = write_program({"variable": {"key": key, "none": {"nullable": True}}})
    values = _resolve(directory, TF_VAR_key="svc_ak_secret", TF_VAR_none="")
    assert values["key"].marks == {"sensitive", "ephemeral"}
    assert "svc_ak_secret" not in repr(values["key"])


@pytest.mark.parametrize(
    ("variable", "arguments", "message"),
    [
        ({"type": "number"}, [("var", "v=x")], "v .--var v. does not fit its type"),
        ({"type": "list(string)"}, [("var", "v=[1")], "v .--var v.: a bracket is not closed"),
        ({"type": "list(string)"}, [("var", "v=upper(1)")], "cannot call upper"),
        ({"type": "object({a=string})"}, [("var", "v={}")], 'the attribute "a" is required'),
        ({"default": 1, "type": "bool"}, [], "v .its default. does not fit its type"),
        ({"nullable": False, "type": "list(string)"}, [("var", "v=null")], "must not be null"),
        ({"default": 1}, [("var", "w=1")], "--var w: the program has no variable w"),
        ({"default": 1}, [("var", "v")], "a name and a value are required"),
        ({"default": 1}, [("var-file", "none.tfvars")], "none.tfvars"),
    ],
)
def test_values_that_do_not_fit_are_refused(write_program, variable, arguments, message):
    directory = write_program({"variable": {"v": variable}})
    with pytest.raises(UserError, match=message):
        _resolve(directory, arguments)


def test_a_name_that_a_default_declares_twice_is_refused(tmp_path):
    (tmp_path / "main.tf.json").write_text('{"variable": {"v": {"default": {"k": 1, "k": 2}}}}')
    with pytest.raises(UserError, match=r'v .its default.*: the key "k" is declared twice'):
        _resolve(tmp_path)


def test_all_wrong_values_are_told_at_once(write_program):
    directory = write_program({"variable": {"a": {}, "b": {"type": "number"}, "c": {}}})
    with pytest.raises(Mistakes) as refused:
        _resolve(directory, TF_VAR_b="x")
    told = [item.summary for item in refused.value.diagnostics]
    missing = "No value for required variable"
    wrong = "The variable b (TF_VAR_b) does not fit its type: a number is required"
    assert told == [missing, wrong, missing]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v = var.x", "cannot refer to var.x"),
        ("v = [1", "a bracket is not closed"),
        ("v 1", "line 1: `name = value` is required"),
        ("v = 1\nv = 2", "v is declared twice"),
        ('{"v": "1", "v": "2"}', "v is declared twice"),
        ('{"other": 1, "other": 2}', "other is declared twice"),
        ('{"v": {"k": "1", "k": "2"}}', 'v .*: the key "k" is declared twice'),
    ],
)
def test_a_bad_tfvars_file_is_reported(write_program, text, message):
    directory = write_program({"variable": {"v": {}}})
    (directory / f"terraform.tfvars{'.json' * text.startswith('{')}").write_text(text)
    with pytest.raises(UserError, match=message):
        _resolve(directory)
