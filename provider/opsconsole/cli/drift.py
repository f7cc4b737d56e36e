"""`opsconsole drift`: compares states with the console."""

from __future__ import annotations

import argparse

from opsconsole.cli.drift_check import accept, check_acceptance, check_once
from opsconsole.cli.drift_output import read_output
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.errors import UserError


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
