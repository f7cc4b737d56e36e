"""`opsconsole drift`: compares states with the console."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from opsconsole.cli.arguments import add_shard, add_variables, flag, per_cent
from opsconsole.cli.command_line import Parser
from opsconsole.cli.drift_check import accept, check_acceptance, checked
from opsconsole.cli.drift_output import Target, check_targets, target, write_all
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.cli.standard_streams import coloured
from opsconsole.drift.baseline import FILE_NAME
from opsconsole.drift.unmanaged import COUNTED, unmanaged_kinds
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS
from opsconsole.reports.verdict import judge

_DESCRIPTION = (
    "Compare what states hold with what the console shows, resource by resource. Take no lock "
    "and write no state. Without an argument the program in this directory says which states "
    "those are; where there is none, all state files under it are checked."
)
_CODES = {
    0: "no drift",
    1: "could not tell: errors, or less coverage than --min-coverage asks for",
    2: "drift",
}


def register(parser: Parser) -> None:
    """Describe the command and add its arguments."""
    parser.describe(
        _DESCRIPTION,
        codes=_CODES,
        example="opsconsole drift --format terminal --format html=drift.html\n"
        "opsconsole drift merge share-1.json share-2.json --format markdown",
    )
    parser.add_argument(
        "places",
        nargs="*",
        type=Path,
        metavar="STATE|FOLDER",
        help="a state file, or a folder under which all are checked; settings come from the "
        "environment unless --program or --dir names their program",
    )
    _add_program(parser)
    _add_check(parser)
    _add_acceptance(parser)
    _add_output(parser)


def _add_program(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("program")
    group.add_argument(
        "--program",
        nargs="?",
        const=Path(),
        type=Path,
        metavar="DIR",
        help="synthesise the program in DIR (here, if left out), and also report what it "
        "declares and state does not hold",
    )
    group.add_argument(
        "--dir", type=Path, metavar="DIR", help="a directory of *.tf.json files instead"
    )
    group.add_argument(
        "--stack",
        action="append",
        default=[],
        metavar="NAME",
        help="only this stack of the program; may be repeated",
    )
    add_variables(parser)


def _add_check(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("check")
    flag(group, "read-only", "send only GET requests; hosts are then read only by host_get")
    group.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help=f"accepted drift (default: {FILE_NAME}, where it exists)",
    )
    group.add_argument(
        "--min-coverage",
        type=per_cent,
        default=100.0,
        metavar="PERCENT",
        help="how much of hosts, attachments, specialties and blacklisted commands must have "
        "been checked (default 100)",
    )
    group.add_argument(
        "--count-unmanaged",
        type=_kinds,
        default=COUNTED,
        metavar="KINDS",
        help=f"which unmanaged objects count as drift: {', '.join(unmanaged_kinds())}, several "
        f"with a comma between, or none (default {','.join(COUNTED)})",
    )
    add_shard(
        group,
        "check only the stacks of share K of N, chosen by a hash of their names; "
        "`opsconsole drift merge REPORT…` makes one report of the JSON reports of all shares",
    )


def _add_acceptance(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("accept")
    group.add_argument(
        "--accept",
        nargs="*",
        metavar="ADDRESS",
        help="write the drift of these addresses (all drift, if left out) into the baseline",
    )
    group.add_argument("--reason", metavar="TEXT", help="why it is accepted; reports show it")
    group.add_argument(
        "--until",
        type=_day,
        metavar="DATE",
        help="the last day on which it is accepted, such as 2026-12-31 (UTC)",
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2026-12-31") from None


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        action="append",
        default=[],
        type=target,
        metavar="FORMAT[=FILE]",
        help=f"{', '.join(FORMATS)}; to stdout without FILE or with -; may be repeated",
    )
    flag(group, "no-color", "print without colour")


def run(args: argparse.Namespace) -> int:
    """Check, write the reports, and return the exit code.

    Raises:
        UserError: A state, program or baseline cannot be found or read, or a file not be written.
    """
    check_acceptance(args)
    targets: list[Target] = args.format or [Target("terminal")]
    check_targets(targets)
    if args.places[:1] == [Path("merge")]:
        return _merge(args.places[1:], args, targets)
    with make_runner() as runner:
        report = run_stoppable(runner, lambda interrupts: checked(args, on_stop=interrupts.on_stop))
    if args.accept is not None:
        report = accept(args, report)
    write_all(report, targets, colour=coloured(args))
    return judge(report).outcome.value


def _merge(files: Sequence[Path], args: argparse.Namespace, targets: Sequence[Target]) -> int:
    from opsconsole.drift.merging import merged
    from opsconsole.reports.drift_json import read_report

    if args.shard or args.accept is not None:
        raise UserError("`drift merge` takes reports, and no --shard or --accept.")
    if not files:
        raise UserError("`drift merge` names no report.", "Write opsconsole drift merge REPORT…")
    report = merged([read_report(file) for file in files])
    write_all(report, targets, colour=coloured(args))
    return judge(report).outcome.value


def _kinds(text: str) -> tuple[str, ...]:
    if text == "none":
        return ()
    kinds = tuple(text.split(","))
    if not set(kinds) <= set(unmanaged_kinds()):
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(unmanaged_kinds())} or none")
    return kinds
