"""What a program may hold, and what is refused with which words."""

import pytest

from opsconsole import resources
from opsconsole.errors import UserError
from opsconsole.language.reading import load_directory

PATH = {"//": {"metadata": {"path": "st/a", "uniqueId": "a", "stackTrace": ["main.py:7"]}}}


def test_blocks_may_be_lists_of_objects(write_program):
    declared = {
        "resource": [
            {"opsconsole_host": [{"a": [{"name": "a", "lifecycle": [{}]}]}]},
            {"opsconsole_host": {"b": {"name": "b"}, "c": None}},
        ],
        "locals": [{"x": 1}, {"y": 2}],
        "provider": {"opsconsole": {"org_id": "o"}},
    }
    program = load_directory(write_program(declared), resources)
    assert set(program.blocks) == {"opsconsole_host.a", "opsconsole_host.b"}
    assert program.locals == {"x": 1, "y": 2}


def test_several_files_make_one_program(tmp_path):
    (tmp_path / "a.tf.json").write_text('{"locals": {"x": 1}}')
    (tmp_path / "b.tf.json").write_text('{"output": {"o": {"value": "${local.x}"}}}')
    program = load_directory(tmp_path, resources)
    assert set(program.locals) == {"x"}
    assert set(program.outputs) == {"o"}


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        (
            '{"a": \n  nope}',
            ("main.tf.json:2:3", "this is not JSON: a value is missing before 'n'"),
        ),
        ('{"a": 1e1234567890}', ("a number beyond 10^±4000",)),
        ("[" * 100000, ("nested too deeply",)),
        (
            {"resource": {"random_id": {"a": {**PATH, "byte_length": 1}}}},
            ("st/a (random_id.a)", 'the provider "random"', "Terraform can run it"),
        ),
        ({"data": {"terraform_remote_state": {"a": {"lifecycle": {}}}}}, ("Terraform can run it",)),
        (
            {"moved": {"from": "opsconsole_host.a", "to": "opsconsole_agent.a"}},
            ("to another type", "Terraform can run it"),
        ),
        ({"moved": {"from": "module.a", "to": "module.b"}}, ("moved: from",)),
        (
            {"moved": {"from": "module.m.opsconsole_host.a", "to": "opsconsole_host.a"}},
            ("module", "Terraform can run it"),
        ),
    ],
)
def test_bad_programs_are_one_clear_error(write_program, document, parts):
    with pytest.raises(UserError) as caught:
        load_directory(write_program(document), resources)
    for part in parts:
        assert part in str(caught.value)


def test_files_that_only_terraform_reads_are_refused(tmp_path):
    (tmp_path / "a.tf.json").write_text("{}")
    (tmp_path / "b.tf").write_text("")
    (tmp_path / "override.tf.json").write_text("{}")
    with pytest.raises(UserError, match=r"b\.tf, override\.tf\.json.*Terraform can run it"):
        load_directory(tmp_path, resources)


def test_a_directory_without_files_is_reported(tmp_path):
    with pytest.raises(UserError, match=r"holds no \*.tf.json file"):
        load_directory(tmp_path, resources)
    with pytest.raises(UserError, match="There is no directory"):
        load_directory(tmp_path / "none", resources)
