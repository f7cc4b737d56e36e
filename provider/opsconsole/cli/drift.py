"""`opsconsole drift`: compares states with the console."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from opsconsole.cli.arguments import add_shard, add_variables, flag, per_cent
from opsconsole.cli.command_line import Parser
from opsconsole.cli.drift_check import accept, check_acceptance, check_once
from opsconsole.cli.drift_output import add_output, read_output
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.drift.baseline import FILE_NAME
from opsconsole.drift.unmanaged import COUNTED, unmanaged_kinds
from opsconsole.errors import UserError

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
        "opsconsole drift --since drift.json --format json=drift.json --notify https://…\n"
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
    add_output(parser)
    merge = parser.add_leading_verb(
        "merge",
        run_merge,
        "Make one report of the JSON reports of all shards. What another shard manages is not "
        "unmanaged.",
        codes=_CODES,
        example="opsconsole drift merge share-1.json share-2.json --format markdown",
    )
    merge.add_argument(
        "reports", nargs="+", type=Path, metavar="REPORT", help="a report of each shard, as JSON"
    )
    add_output(merge)


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


def run(args: argparse.Namespace) -> int:
    """Check, write the reports, and return the exit code.

    Raises:
        UserError: A state, program or baseline cannot be found or read, or a file not be written.
    """
    check_acceptance(args)
    if args.shard and args.since:
        raise UserError(
            "--since does not go with --shard: one shard does not know what the others found.",
            "Give --since to `opsconsole drift merge`.",
        )
    output = read_output(args)
    with make_runner() as runner:
        report = run_stoppable(
            runner, lambda interrupts: check_once(args, on_stop=interrupts.on_stop)
        )
    if args.accept is not None:
        report = accept(args, report)
    return output.write(report)


def run_merge(args: argparse.Namespace) -> int:
    """Merge the reports of shards, write the one of all, and return the exit code.

    Raises:
        UserError: A report cannot be read, or they are not the shards of one check.
    """
    from opsconsole.drift.merging import merge_reports
    from opsconsole.reports.drift_json import read_report

    output = read_output(args)
    return output.write(merge_reports([read_report(file) for file in args.reports]))


def _kinds(text: str) -> tuple[str, ...]:
    if text == "none":
        return ()
    kinds = tuple(text.split(","))
    if not set(kinds) <= set(unmanaged_kinds()):
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(unmanaged_kinds())} or none")
    return kinds
