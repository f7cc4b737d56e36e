"""`opsconsole validate`: what is wrong with a program, found without a state and a console."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from opsconsole.cli import arguments, opening, planning
from opsconsole.cli.command_line import FAILED, Parser
from opsconsole.definition import ResourceDefinition
from opsconsole.diagnostics import Diagnostic, Severity, error, has_error, warning
from opsconsole.drift.declared import place_of
from opsconsole.errors import OpsconsoleError, Stopped
from opsconsole.language import (
    Block,
    DependsOnUnknown,
    Evaluator,
    build_graph,
    example_values,
)
from opsconsole.reports.json_values import diagnostic_json
from opsconsole.v1.settings import ENVIRONMENT, Settings
from opsconsole.values import UNKNOWN, holds_unknown

_FORMAT = "1.0"
_STAND_INS = {"base_url": "https://console.invalid", "api_key": "svc_ak_validate"}
"""Settings that the environment of a check may lack; they are never sent."""


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        "Check the program, its provider settings and the bounds of its values. Nothing is sent, "
        "no state is read, and variables need no values.",
        codes={0: "valid; there may be warnings", FAILED: "not valid"},
        example="opsconsole validate --json",
    )
    arguments.flag(parser, "json", "print Terraform's JSON format")
    arguments.flag(parser, "no-color", "print without colour")
    group = parser.add_argument_group("program")
    group.add_argument("--stack", metavar="NAME", help="the stack, where the app has several")
    group.add_argument("--dir", metavar="DIR", type=Path, help="a directory of *.tf.json files")


def run(args: argparse.Namespace) -> int:
    """Check the program; return the exit code."""
    found = list(_problems(args))
    if args.json:
        sys.stdout.write(json.dumps(_document(found), indent=2) + "\n")
    else:
        planning.show_diagnostics(args, found)
        if not has_error(found):
            remark = ", with the warnings above" if found else ""
            sys.stdout.write(f"Success! The configuration is valid{remark}.\n")
    return FAILED if has_error(found) else 0


def _problems(args: argparse.Namespace) -> Iterator[Diagnostic]:
    try:
        program = opening.open_program(args)
        build_graph(program)
    except Stopped:
        raise
    except OpsconsoleError as problem:
        yield _diagnostic(problem)
        return
    for path, text in program.warnings:
        yield warning(text, f"construct {path}")
    variables = example_values(program)
    open_values = UNKNOWN in variables.values()
    evaluator = Evaluator(program, variables, lambda address: None)
    for block in program.blocks.values():
        try:
            instances = list(evaluator.instances(block).values())
        except OpsconsoleError as problem:
            # A variable without a value may be all that is wrong with it.
            if not (open_values and isinstance(problem, DependsOnUnknown)):
                yield _located(_diagnostic(problem), block)
            continue
        found = (item for one in instances for item in _of_block(block, evaluator, one))
        # A mistake that all instances share is reported once.
        for item in dict.fromkeys(found):
            yield _located(item, block)
    for key in program.providers:
        yield from _of_provider(key, evaluator)


def _of_provider(key: str, evaluator: Evaluator) -> Iterator[Diagnostic]:
    """Check the settings of a provider block as far as they are known."""
    try:
        values = evaluator.provider_config(key).values
        known = {name: None if holds_unknown(value) else value for name, value in values.items()}
        environ = dict(os.environ)
        cookie = known.get("session_cookie") or environ.get(ENVIRONMENT["session_cookie"])
        for name, value in _STAND_INS.items():
            if name != "api_key" or not cookie:
                environ.setdefault(ENVIRONMENT[name], value)
        Settings.from_values(known, environ)
    except OpsconsoleError as problem:
        item = _diagnostic(problem)
        yield replace(item, summary=f"provider {key}: {item.summary}")


def _of_block(block: Block, evaluator: Evaluator, instance: Any) -> Iterator[Diagnostic]:
    try:
        values = evaluator.config(instance).values
    except OpsconsoleError as problem:
        yield _diagnostic(problem)
        return
    definition = block.definition
    if isinstance(definition, ResourceDefinition):
        for item in definition.problems(values):
            yield replace(item, summary=f"{block.title}: {item.summary}")


def _diagnostic(problem: OpsconsoleError) -> Diagnostic:
    summary, _, rest = problem.message.partition("\n")
    return error(summary.removesuffix("."), f"{rest}\n{problem.remedy}".lstrip("\n"))


def _located(item: Diagnostic, block: Block) -> Diagnostic:
    return replace(item.about(block.address), place=place_of(block.origin, Path.cwd()))


def _document(found: list[Diagnostic]) -> dict[str, Any]:
    errors = sum(item.severity is Severity.ERROR for item in found)
    return {
        "format_version": _FORMAT,
        "valid": not errors,
        "error_count": errors,
        "warning_count": len(found) - errors,
        "diagnostics": [diagnostic_json(item) for item in found],
    }
