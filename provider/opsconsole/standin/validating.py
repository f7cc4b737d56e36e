"""`validate`: what can be told wrong of a program without variables, state or console."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, error
from opsconsole.errors import OpsconsoleError
from opsconsole.language.block_reading import definition_of
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.failures import EvaluationError
from opsconsole.language.graph import build_graph
from opsconsole.language.model import Block, Program
from opsconsole.language.sources import load_directory
from opsconsole.lifecycle.validation import validate
from opsconsole.reports import diagnostics_text
from opsconsole.standin.command_line import Given
from opsconsole.standin.verbs import Verb
from opsconsole.values import UNKNOWN

_FORMAT = "1.0"


def run(verb: Verb, given: Given) -> int:
    """Validate the program of the working directory; return the exit code."""
    here = Path.cwd()
    found = list(problems(here)) if any(here.glob("*.tf.json")) else []
    if given.on("json"):
        sys.stdout.write(json.dumps(_document(found), indent=2) + "\n")
    elif found:
        sys.stderr.write(diagnostics_text.render(found))
    else:
        sys.stdout.write("Success! The configuration is valid.\n")
    return 1 if found else 0


def problems(directory: Path) -> Iterator[Diagnostic]:
    """Yield what is wrong with the program of a directory."""
    try:
        program = load_directory(directory)
        build_graph(program)
    except OpsconsoleError as problem:
        yield _told(problem)
        return
    variables = {name: _example(program, name) for name in program.variables}
    open_values = UNKNOWN in variables.values()
    evaluator = Evaluator(program, variables, lambda address: None)
    for block in program.blocks.values():
        try:
            instances = list(evaluator.instances(block).values())
        except OpsconsoleError as problem:
            # An unknown variable may be all that is wrong with a count.
            if not open_values:
                yield _told(problem)
            continue
        for instance in instances[:1]:
            yield from _of_block(block, evaluator, instance)
    for key in program.providers:
        try:
            evaluator.provider_config(key)
        except OpsconsoleError as problem:
            yield _told(problem)


def _example(program: Program, name: str) -> Any:
    variable = program.variables[name]
    if not variable.optional:
        return UNKNOWN
    try:
        return variable.constraint.apply(variable.default)
    except EvaluationError:
        return UNKNOWN


def _of_block(block: Block, evaluator: Evaluator, instance: Any) -> Iterator[Diagnostic]:
    try:
        values = evaluator.config(instance).values
    except OpsconsoleError as problem:
        yield _told(problem)
        return
    definition = definition_of(block)
    if isinstance(definition, ResourceDefinition):
        for item in validate(definition, values):
            yield replace(item.about(block.address), summary=f"{block.title}: {item.summary}")


def _told(problem: OpsconsoleError) -> Diagnostic:
    return error(problem.message.removesuffix("."), problem.remedy)


def _document(found: list[Diagnostic]) -> dict[str, Any]:
    told = [
        {"severity": item.severity.value, "summary": item.summary, "detail": item.detail}
        for item in found
    ]
    return {
        "format_version": _FORMAT,
        "valid": not found,
        "error_count": len(found),
        "warning_count": 0,
        "diagnostics": told,
    }
