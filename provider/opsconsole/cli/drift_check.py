"""One check of drift as the command line asks for it, and accepting what it found."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from opsconsole.cli.drift_stacks import find_stacks
from opsconsole.drift.baseline import FILE_NAME, Baseline, read_baseline
from opsconsole.drift.check import CheckOptions, check
from opsconsole.drift.report import DriftReport
from opsconsole.errors import UserError
from opsconsole.phrases import plural
from opsconsole.reconcile.providers import OnStop
from opsconsole.reports.verdict import several_stacks


async def checked(
    args: argparse.Namespace,
    *,
    run_app: bool = True,
    on_stop: OnStop = lambda stop: None,
) -> DriftReport:
    """Find the states, check them once, and return the report.

    Args:
        on_stop: Takes what stops the check.

    Raises:
        UserError: A state, program or baseline cannot be found or read.
        Stopped: The check was stopped.
    """
    options = CheckOptions(
        read_only=args.read_only,
        min_coverage=args.min_coverage,
        baseline=_baseline(args.baseline),
        counted=args.count_unmanaged,
        shard=args.shard,
    )
    found = find_stacks(args, run_app=run_app)
    stacks = [item for item in found.stacks if args.shard is None or args.shard.takes(item.name)]
    report = await check(stacks, options, os.environ, on_stop)
    return replace(report, diagnostics=(*found.diagnostics, *report.diagnostics))


def _baseline(path: Path | None) -> Baseline:
    if path is None:
        path = Path(FILE_NAME)
        if not path.exists():
            return Baseline()
    return read_baseline(path)


def check_acceptance(args: argparse.Namespace) -> None:
    """Refuse what does not go with --accept, before anything is asked of the console.

    Raises:
        UserError: --reason is missing, --until has passed, or --accept is missing.
    """
    if args.accept is None:
        if args.reason or args.until:
            raise UserError("--reason and --until belong to --accept.", "Add --accept.")
        return
    if args.watch:
        raise UserError("--accept takes one check, and no --watch.")
    if not (args.reason or "").strip():
        raise UserError(
            "--accept needs a reason, which every report then shows.", "Add --reason TEXT."
        )
    if args.until is not None and args.until < datetime.now(UTC).date():
        raise UserError(f"--until {args.until} has passed.", "Name today or a later day.")


def accept(args: argparse.Namespace, report: DriftReport) -> DriftReport:
    """Write the drift that --accept names into the baseline; return the report with it accepted.

    Raises:
        UserError: An address names no drift, or the baseline cannot be written.
    """
    from opsconsole.drift.accepting import add_entries, chosen, entries_for

    path = args.baseline or Path(FILE_NAME)
    today = datetime.now(UTC).date()
    before = read_baseline(path) if path.exists() else Baseline()
    findings = chosen(report, args.accept)
    entries = entries_for(
        findings, before, args.reason, args.until, today, name_stacks=several_stacks(report)
    )
    if not entries:
        sys.stderr.write("There is no drift to accept.\n")
        return report
    baseline = add_entries(path, entries)
    count, drifted = len(entries), plural(len(findings), "resource")
    noun = "entry" if count == 1 else "entries"
    sys.stderr.write(f"Added {count:,} {noun} to {path}: drift of {drifted} is accepted.\n\n")
    marked, _ = baseline.applied(report.findings, today, certain=False)
    return replace(report, findings=tuple(marked))
