"""The options that the native commands share, under Terraform's names.

Only what a parser needs is here; what the options mean is carried out elsewhere.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError
from opsconsole.reconcile.changes import DEFAULT_SHARE, FEWEST_GUARDED, PlanOptions

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float:
    """Read a duration as Go writes it: `30s`, `1m30s`, `0`.

    Raises:
        ArgumentTypeError: It is not one.
    """
    parts = _PART.findall(text)
    if text == "0":
        return 0.0
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; write 30s, 2m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def per_cent(text: str) -> float:
    """Read a share: `30` or `30%`.

    Raises:
        ArgumentTypeError: It is not one from 0 to 100.
    """
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100")
    return value


def flag(
    parser: argparse._ActionsContainer, name: str, meaning: str, *, default: bool = False
) -> None:
    """Add an option that is on or off: `--NAME`, `--NAME=true`, `--NAME=false`.

    Help shows the spelling that changes something.
    """
    shown = f"--{name}=false" if default else f"--{name}"
    for word in (f"--{name}", f"--{name}=true", f"--{name}=false"):
        parser.add_argument(
            word,
            dest=name.replace("-", "_"),
            default=default,
            action="store_const",
            const=not word.endswith("=false"),
            help=meaning if word == shown else argparse.SUPPRESS,
        )


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which program and which state."""
    group = parser.add_argument_group("program and state")
    _add_program(group)
    group.add_argument(
        "--state", metavar="PATH", type=Path, help="the state file, whatever the backend"
    )
    group.add_argument(
        "--backend-config",
        metavar="NAME=VALUE|FILE",
        action="append",
        default=[],
        help="a setting of the backend that the program leaves out; may be repeated",
    )
    group.add_argument(
        "--journal",
        metavar="FILE",
        type=Path,
        help="the journal of the state, where several paths lead to that state",
    )
    group.add_argument(
        "--journal-dir",
        metavar="DIR",
        type=Path,
        help="the directory for the journal of a remote state (OPSCONSOLE_JOURNAL_DIR)",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where settings come from, for a command without a plan."""
    group = parser.add_argument_group("settings")
    _add_program(group)
    group.add_argument(
        "--provider",
        metavar="ALIAS",
        default="",
        help="the provider block of this alias, where there are several",
    )
    flag(group, "environment", "take the settings from the environment alone")
    add_variables(parser)


def _add_program(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--stack", metavar="NAME", help="the stack, where the app has several")
    group.add_argument(
        "--dir", metavar="DIR", type=Path, help="a directory of *.tf.json files instead"
    )


def add_locking(parser: argparse.ArgumentParser) -> None:
    """Add Terraform's options of state locking."""
    group = parser.add_argument_group("lock")
    flag(group, "lock", "do not lock the state", default=True)
    group.add_argument(
        "--lock-timeout",
        metavar="DURATION",
        type=seconds,
        default=0.0,
        help="how long to wait for another holder, such as 30s",
    )
    flag(
        group,
        "unlocked-backend",
        "go on where the backend cannot be locked for the run (OPSCONSOLE_UNLOCKED_BACKEND)",
    )


def add_variables(parser: argparse.ArgumentParser) -> None:
    """Add `--var` and `--var-file`, whose order among each other counts."""
    group = parser.add_argument_group("variables")
    for name, shown, meaning in (
        ("var", "NAME=VALUE", "the value of a variable; may be repeated"),
        ("var-file", "FILE", "a file of values; may be repeated"),
    ):

        def read(text: str, kind: str = name) -> tuple[str, str]:
            return kind, text

        group.add_argument(
            f"--{name}",
            metavar=shown,
            dest="variables",
            action="append",
            default=[],
            type=read,
            help=meaning,
        )


def add_planning(parser: argparse.ArgumentParser, *, destroying: bool = False) -> None:
    """Add the options of a plan; `destroying`: for a command that destroys anyway."""
    group = parser.add_argument_group("plan")
    for name, meaning in (
        ("target", "plan only this resource or instance and what it needs; may be repeated"),
        ("replace", "replace this instance; may be repeated"),
    ):
        group.add_argument(
            f"--{name}", metavar="ADDRESS", action="append", default=[], help=meaning
        )
    flag(group, "refresh", "plan on the state as it is, without reading the console", default=True)
    if destroying:
        parser.set_defaults(destroy=True, refresh_only=False)
    else:
        flag(group, "refresh-only", "only bring state up to date with the console")
        flag(group, "destroy", "remove everything that is in state")
    flag(group, "preflight", "let the console judge the rows of new hosts by a dry run")
    group.add_argument(
        "--parallelism",
        metavar="N",
        type=int,
        help="requests in flight at most (the provider's max_concurrency)",
    )


def add_guards(parser: argparse.ArgumentParser) -> None:
    """Add the options of the guard against plans that delete much."""
    group = parser.add_argument_group("guard")
    flag(group, "force", "allow a plan that deletes or replaces more than --max-destroy")
    parser.set_defaults(force=os.environ.get("OPSCONSOLE_FORCE", "") not in ("", "0"))
    group.add_argument(
        "--max-destroy",
        metavar="PERCENT",
        type=per_cent,
        # A default that is a text is read as if it were given.
        default=os.environ.get("OPSCONSOLE_MAX_DESTROY") or DEFAULT_SHARE,
        help="the percentage of the resources in state that a plan may delete or replace without "
        f"--force, where there are {FEWEST_GUARDED} or more (default {DEFAULT_SHARE:g})",
    )


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add the options that write a plan into files."""
    group = parser.add_argument_group("output")
    group.add_argument("--html", metavar="FILE", type=Path, help="write the plan as one page")
    group.add_argument("--markdown", metavar="FILE", type=Path, help="write the plan as Markdown")
    flag(group, "no-color", "print without colour")
    length = group.add_mutually_exclusive_group()
    flag(length, "compact", "name and count what is created or removed; show only changes in full")
    flag(
        length,
        "full",
        "show every attribute (by default where the plan fits the screen, and in a file or pipe)",
    )


def add_shard(group: argparse._ActionsContainer, meaning: str) -> None:
    """Add the option that names a share of the stacks."""
    group.add_argument("--shard", type=_shard, metavar="K/N", help=meaning)


def _shard(text: str) -> Any:
    from opsconsole.drift.report import read_shard

    try:
        return read_shard(text)
    except UserError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def stands_in(args: argparse.Namespace) -> bool:
    """Return whether a command runs in the place of `terraform`, for clients of its output."""
    return getattr(args, "standin", False)


def plan_options(args: argparse.Namespace) -> PlanOptions:
    """Return what the user asked of a plan."""
    mode = "destroy" if args.destroy else "refresh-only" if args.refresh_only else "normal"
    return PlanOptions(
        mode=mode,
        targets=tuple(args.target),
        replace=tuple(args.replace),
        refresh=args.refresh,
        preflight=args.preflight,
    )
