"""`opsconsole validate`: mistakes in a program, found without a state and a console."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opsconsole.cli import opening, planning
from opsconsole.cli.table import FAILED
from opsconsole.diagnostics import Diagnostic, diagnostics_of, has_error, warning
from opsconsole.errors import OpsconsoleError, Stopped
from opsconsole.language import (
    Evaluator,
    OnlyTerraform,
    example_values,
    find_mistakes,
    find_variable_mistakes,
)
from opsconsole.reports.json_values import diagnostic_json
from opsconsole.v1.settings import ENVIRONMENT, Settings
from opsconsole.values import holds_unknown

_FORMAT = "1.0"
_STAND_INS = {"base_url": "https://console.invalid", "api_key": "svc_ak_validate"}
"""Placeholders for settings that the environment of a check may lack; they are never sent."""


def run(args: argparse.Namespace) -> int:
    diagnostics = list(_find_problems(args))
    if args.json:
        sys.stdout.write(json.dumps(_result_json(diagnostics), indent=2) + "\n")
    else:
        planning.print_diagnostics(args, diagnostics)
        if not has_error(diagnostics):
            remark = ", with the warnings above" if diagnostics else ""
            sys.stdout.write(f"Success! The configuration is valid{remark}.\n")
    return FAILED if has_error(diagnostics) else 0


def _find_problems(args: argparse.Namespace) -> Iterator[Diagnostic]:
    try:
        program = opening.load_checked(args)
    except Stopped:
        raise
    except OpsconsoleError as problem:
        yield from diagnostics_of(problem)
        return
    for path, text in program.warnings:
        yield warning(text, f"construct {path}")
    variables = example_values(program)
    try:
        yield from find_mistakes(program, variables)
        yield from find_variable_mistakes(program)
    except OnlyTerraform as refusal:
        if args.standin:
            raise
        yield from diagnostics_of(refusal)
        return
    evaluator = Evaluator(program, variables, lambda address: None, checking=True)
    for key in program.providers:
        yield from _check_provider(key, evaluator)


def _check_provider(key: str, evaluator: Evaluator) -> Iterator[Diagnostic]:
    try:
        values = evaluator.provider_config(key).values
    except OpsconsoleError:
        return  # it is among the mistakes
    try:
        known = {name: None if holds_unknown(value) else value for name, value in values.items()}
        environ = dict(os.environ)
        cookie = known.get("session_cookie") or environ.get(ENVIRONMENT["session_cookie"])
        for name, value in _STAND_INS.items():
            # A key and a cookie exclude each other.
            if name != "api_key" or not cookie:
                environ.setdefault(ENVIRONMENT[name], value)
        Settings.from_values(known, environ)
    except OpsconsoleError as problem:
        for item in diagnostics_of(problem):
            yield replace(item, summary=f"provider {key}: {item.summary}")


def _result_json(diagnostics: list[Diagnostic]) -> dict[str, Any]:
    errors = sum(item.is_error for item in diagnostics)
    return {
        "format_version": _FORMAT,
        "valid": not errors,
        "error_count": errors,
        "warning_count": len(diagnostics) - errors,
        "diagnostics": [diagnostic_json(item) for item in diagnostics],
    }
