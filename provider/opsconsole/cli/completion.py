"""`opsconsole completion SHELL`: a script that completes commands, options and their values."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import shtab

from opsconsole.cli.parser import build_parser


def run(args: argparse.Namespace) -> int:
    parser = build_parser(None, every=True)
    for action in _actions(parser):
        if action.type is Path:
            folder = "DIR" in str(action.metavar)
            vars(action)["complete"] = shtab.DIRECTORY if folder else shtab.FILE
        if isinstance(action, argparse._SubParsersAction):
            # A shell shows one line for a verb: the first sentence of its description.
            for verb in action.choices.values():
                verb.description = (verb.description or "").partition(". ")[0].removesuffix(".")
    sys.stdout.write(shtab.complete(parser, shell=args.shell) + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from _actions(verb)
