"""The settings that a command without a plan works under: the program's provider block, or the
environment alone where there is no program.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from opsconsole.cli import arguments, opening
from opsconsole.language import Evaluator
from opsconsole.reconcile.providers import Providers
from opsconsole.v1.settings import Settings

LOCAL_NAME = "opsconsole"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where settings come from."""
    group = parser.add_argument_group("settings")
    group.add_argument("--stack", metavar="NAME", help="the stack, where the app has several")
    group.add_argument(
        "--dir", metavar="DIR", type=Path, help="a directory of *.tf.json files instead"
    )
    group.add_argument(
        "--provider",
        metavar="ALIAS",
        default="",
        help="the provider block of this alias, where there are several",
    )
    arguments.flag(group, "environment", "take the settings from the environment alone")
    arguments.add_variables(parser)


def settings_of(args: argparse.Namespace) -> tuple[Settings, str]:
    """Return the settings, and in words where they come from.

    Raises:
        UserError, ConfigurationError: The program cannot be read, or a setting is wrong.
    """
    if args.environment or not opening.has_program(args):
        return Settings.from_values({}, os.environ), "the environment"
    program = opening.open_program(args, run_app=False)
    variables = opening.variables_of(args, program)
    evaluator = Evaluator(program, variables, lambda address: None)
    key = f"{LOCAL_NAME}.{args.provider}" if args.provider else LOCAL_NAME
    stack = f" of stack {program.stack}" if program.stack else ""
    settings = Providers(program, evaluator, os.environ).settings(key)
    return settings, f"provider {key}{stack}, and the environment"
