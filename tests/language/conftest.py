"""What the tests of programs share: an evaluator for bare templates, and Terraform as judge."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engines import run_program
from opsconsole import resources
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.graph import build_graph
from opsconsole.language.model import Program
from opsconsole.language.name_resolver import Instance
from opsconsole.language.reading import load_directory
from opsconsole.language.variables import resolve_variables
from opsconsole.state.address import Address
from opsconsole.state.objects import WrittenNumber


@pytest.fixture
def write_program(tmp_path: Path) -> Callable[[Any], Path]:
    """Write a program to a directory of its own and return the directory."""

    def write(document: Any, name: str = "program") -> Path:
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        text = document if isinstance(document, str) else json.dumps(document)
        (directory / "main.tf.json").write_text(text, "utf-8")
        return directory

    return write


@dataclass
class Run:
    """A program under evaluation, and what its instances hold."""

    program: Program
    evaluator: Evaluator
    held: dict[str, Any]
    lookups: list[str]

    def instance(self, address: str) -> Instance:
        """Return an instance by its full address."""
        block = self.program.blocks[Address.parse(address).config]
        return self.evaluator.instances(block)[Address.parse(address).key]

    def config(self, address: str) -> dict[str, Any]:
        """Return what an instance declares, nulls left out."""
        values = self.evaluator.config(self.instance(address)).values
        return {name: value for name, value in values.items() if value is not None}

    def output(self, name: str) -> Any:
        """Return the value of an output."""
        return self.evaluator.output(name).value


@pytest.fixture
def start(write_program: Callable[..., Path]) -> Callable[..., Run]:
    """Read a program and make an evaluator for it."""

    def begin(
        document: Any,
        held: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        arguments: Sequence[tuple[str, str]] = (),
        **options: Any,
    ) -> Run:
        directory = write_program(document)
        program = load_directory(directory, resources)
        build_graph(program)
        variables = resolve_variables(
            program, directory=directory, environment={}, arguments=arguments
        )
        values: dict[str, Any] = dict(held or {})
        lookups: list[str] = []

        def lookup(address: str) -> Any:
            lookups.append(address)
            found = values.get(address)
            if not isinstance(found, dict):
                return found
            block = program.blocks[Address.parse(address).config]
            return {**block.definition.empty(), **found}

        evaluator = Evaluator(program, variables, lookup, **options)
        return Run(program, evaluator, values, lookups)

    return begin


def _guarded(template: str) -> dict[str, Any]:
    """Make an output whose value is a list: empty where the template fails.

    `try` keeps a failing expression from stopping the run, in both engines alike.
    """
    inner = json.dumps(template, ensure_ascii=False)
    if template.startswith("${") and template.endswith("}"):
        inner = template[2:-1]
    return {"value": f"${{try([{inner}], [])}}"}


@pytest.fixture
def assert_judged_alike(
    write_program: Callable[[Any], Path],
    terraform: Callable[..., str],
) -> Callable[..., None]:
    """Evaluate templates by both engines, and compare types, and values to the last digit."""

    def judge(
        templates: Sequence[str],
        local_values: Mapping[str, Any] | None = None,
        *,
        apart_from: tuple[Any, Any] | None = None,
    ) -> None:
        names = [f"o{place}" for place in range(len(templates))]
        outputs = dict(zip(names, map(_guarded, templates), strict=True))
        directory = write_program({"locals": dict(local_values or {}), "output": outputs})
        program = load_directory(directory, resources)
        mine = Evaluator(program, {}, lambda address: None, applying=True).outputs()
        terraform(directory, "apply", "-auto-approve", "-no-color")
        theirs: Mapping[str, Any] = json.loads(
            terraform(directory, "output", "-json"), parse_float=str
        )
        differing = []
        for name, template in zip(names, templates, strict=True):
            one = mine[name].type, _as_text(mine[name].value)
            other = theirs[name]["type"], theirs[name]["value"]
            if _written(one) != _written(other) and other != apart_from:
                differing.append(f"{template}\n  native    {one}\n  terraform {other}")
        assert not differing, "\n".join((f"{len(differing)} differ", *differing))

    return judge


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _as_text(value: Any) -> Any:
    """Replace numbers that are not whole by their text."""
    if isinstance(value, WrittenNumber):
        return value.text
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def terraform(
    terraform_binary: Path, attached_environment: Callable[..., dict[str, str]]
) -> Callable[..., str]:
    """Run Terraform in a directory and return what it wrote; a failing command fails the test."""
    return lambda folder, *words: (
        run_program(terraform_binary, *words, folder=folder, environment=attached_environment()).out
    )
