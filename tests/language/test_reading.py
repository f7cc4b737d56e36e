"""What a program may hold, and what is refused with which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opsconsole import resources
from opsconsole.errors import UserError
from opsconsole.language.model import LifecycleBlock, Origin
from opsconsole.language.reading import load_directory
from opsconsole.language.values import STRING, list_of

Write = Callable[..., Path]

PATH = {"//": {"metadata": {"path": "st/a", "uniqueId": "a", "stackTrace": ["main.py:7"]}}}


def host(**arguments: Any) -> dict[str, Any]:
    """Return a program with one host."""
    return {"resource": {"opsconsole_host": {"a": {**PATH, "name": "n", **arguments}}}}


def test_a_whole_program_is_read(write_program: Write) -> None:
    directory = write_program(
        {
            "//": {"metadata": {"stackName": "st"}},
            "terraform": {
                "backend": {"local": {"path": "x.tfstate"}},
                "required_version": ">= 1.5",
                "required_providers": {"opsconsole": {"source": "opsconsole/opsconsole"}},
            },
            "provider": {"opsconsole": [{"org_id": "o"}, {"alias": "two", "org_id": "p"}]},
            "variable": {"v": {"type": "list(string)", "default": [], "description": "d"}},
            "locals": {"l": 1},
            "output": {"o": {"value": 1, "sensitive": True, "description": "d"}},
            **host(
                provider="opsconsole.two",
                count=2,
                depends_on=["data.opsconsole_specialty.s"],
                lifecycle={
                    "prevent_destroy": True,
                    "create_before_destroy": False,
                    "ignore_changes": ["name", "jump_host_ids[0]"],
                    "replace_triggered_by": ["opsconsole_host.b"],
                },
            ),
            "data": {"opsconsole_specialty": {"s": {"key": "k"}}},
        }
    )
    program = load_directory(directory, resources)
    block = program.blocks["opsconsole_host.a"]
    assert block.arguments == {"name": "n"}
    assert block.origin == Origin(str(directory / "main.tf.json"), "st/a", ("main.py:7",))
    assert block.title == "st/a (opsconsole_host.a)"
    assert (block.provider, block.count, block.counted) == ("opsconsole.two", 2, True)
    assert block.depends_on == ("data.opsconsole_specialty.s",)
    assert block.lifecycle == LifecycleBlock(
        prevent_destroy=True,
        create_before_destroy=False,
        ignore_changes=(("name",), ("jump_host_ids", 0)),
        replace_triggered_by=("opsconsole_host.b",),
    )
    assert set(program.providers) == {"opsconsole", "opsconsole.two"}
    assert program.providers["opsconsole.two"].arguments == {"org_id": "p"}
    assert program.backend is not None
    assert (program.backend.type, program.backend.settings) == ("local", {"path": "x.tfstate"})
    assert program.variables["v"].constraint.type == list_of(STRING)
    assert program.outputs["o"].sensitive
    assert [item.address for item in program.resources] == ["opsconsole_host.a"]


def test_all_changes_may_be_ignored(write_program: Write) -> None:
    program = load_directory(write_program(host(lifecycle={"ignore_changes": "all"})), resources)
    assert program.blocks["opsconsole_host.a"].lifecycle.ignore_all


def test_blocks_may_be_lists_of_objects(write_program: Write) -> None:
    program = load_directory(
        write_program(
            {
                "resource": [
                    {"opsconsole_host": [{"a": [{"name": "a", "lifecycle": [{}]}]}]},
                    {"opsconsole_host": {"b": {"name": "b"}, "c": None}},
                ],
                "locals": [{"x": 1}, {"y": 2}],
                "provider": {"opsconsole": {"org_id": "o"}},
            }
        ),
        resources,
    )
    assert set(program.blocks) == {"opsconsole_host.a", "opsconsole_host.b"}
    assert program.locals == {"x": 1, "y": 2}


def test_several_files_make_one_program(tmp_path: Path) -> None:
    (tmp_path / "a.tf.json").write_text('{"locals": {"x": 1}}')
    (tmp_path / "b.tf.json").write_text('{"output": {"o": {"value": "${local.x}"}}}')
    program = load_directory(tmp_path, resources)
    assert set(program.locals) == {"x"}
    assert set(program.outputs) == {"o"}


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ('{"a": \n  nope}', ("main.tf.json:2:3", "Expecting value")),
        ('{"a": 1e1234567890}', ("a number beyond 10^±4000",)),
        ("[" * 100000, ("nested too deeply",)),
        (
            {"resource": {"opsconsole_hst": {"a": {}}}},
            ('no resource type "opsconsole_hst"', 'Did you mean "opsconsole_host"?'),
        ),
        ({"data": {"opsconsole_hst": {"a": {}}}}, ('no data source type "opsconsole_hst"',)),
        (
            {"resource": {"random_id": {"a": {**PATH, "byte_length": 1}}}},
            ("st/a (random_id.a)", 'the provider "random"', "Terraform can run it"),
        ),
        ({"data": {"terraform_remote_state": {"a": {"lifecycle": {}}}}}, ("Terraform can run it",)),
        ({"data": {"terraform_remote_state": {"a": {"x": 1}}}}, ('the argument "x"',)),
        (host(provisioner={"local-exec": {}}), ("st/a", "provisioner", "Terraform can run it")),
        (host(lifecycle={"precondition": [{}]}), ("precondition", "Terraform can run it")),
        (host(lifecycle={"postcondition": [{}]}), ("postcondition", "Terraform can run it")),
        (
            {"moved": {"from": "opsconsole_host.a", "to": "opsconsole_agent.a"}},
            ("to another type", "Terraform can run it"),
        ),
        ({"moved": {"from": "module.a", "to": "module.b"}}, ("moved.from",)),
        (
            {"moved": {"from": "module.m.opsconsole_host.a", "to": "opsconsole_host.a"}},
            ("module", "Terraform can run it"),
        ),
        ({"import": {"to": "a.b", "id": "x", "identity": {}}}, ("Terraform can run it",)),
    ],
)
def test_bad_programs_are_one_clear_error(
    write_program: Write, document: Any, parts: tuple[str, ...]
) -> None:
    with pytest.raises(UserError) as caught:
        load_directory(write_program(document), resources)
    for part in parts:
        assert part in str(caught.value)


def test_files_that_only_terraform_reads_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tf.json").write_text("{}")
    (tmp_path / "b.tf").write_text("")
    (tmp_path / "override.tf.json").write_text("{}")
    with pytest.raises(UserError, match=r"b\.tf, override\.tf\.json.*Terraform can run it"):
        load_directory(tmp_path, resources)


def test_a_directory_without_files_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no \*.tf.json file"):
        load_directory(tmp_path, resources)
    with pytest.raises(UserError, match="There is no directory"):
        load_directory(tmp_path / "none", resources)
