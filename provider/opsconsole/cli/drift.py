"""`opsconsole drift`: compares the states with the console, accepts drift, and writes reports."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from opsconsole.cli.drift_stacks import find_stacks
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.cli.standard_streams import pen_for
from opsconsole.clock import utc_now
from opsconsole.drift import BASELINE_FILE
from opsconsole.drift.baseline import Entry, apply_baseline, read_baseline
from opsconsole.drift.check import CheckOptions, check
from opsconsole.drift.model import DriftReport
from opsconsole.drift.since import compare
from opsconsole.drift.stack import read_states
from opsconsole.drift.verdict import judge
from opsconsole.errors import UserError
from opsconsole.named_files import (
    check_report_file,
    check_writable,
    find_shared_file,
    write_whole,
)
from opsconsole.reports.formats import FORMATS
from opsconsole.text import Pen, plural

_NOTIFY_URL = "OPSCONSOLE_NOTIFY_URL"


def run(args: argparse.Namespace) -> int:
    _check_acceptance(args)
    if args.shard and args.since:
        raise UserError(
            "--since does not go with --shard: one shard does not know what the others found.",
            "Give --since to `opsconsole drift merge`.",
        )
    write = _make_writer(args)
    options = CheckOptions(
        read_only=args.read_only,
        min_coverage=args.min_coverage,
        baseline=_read_baseline(args),
        count_unmanaged=args.count_unmanaged,
        shard=args.shard,
        some_stacks=bool(args.stack),
    )
    stacks, diagnostics = find_stacks(args)
    stacks = [item for item in stacks if args.shard is None or args.shard.takes(item.name)]
    # Before the event loop, which would take an interrupt only after a read that hangs.
    states = read_states(stacks, whole=args.shard is None)
    with make_runner() as runner:
        report = run_stoppable(
            runner, lambda interrupts: check(states, options, os.environ, interrupts.on_stop)
        )
    report = replace(report, diagnostics=(*diagnostics, *report.diagnostics))
    if args.accept is not None:
        report = _accept_drift(args, report)
    return write(report)


def run_merge(args: argparse.Namespace) -> int:
    from opsconsole.drift.merging import merge_reports
    from opsconsole.reports.drift_json import read_report

    write = _make_writer(args)
    return write(merge_reports([read_report(file) for file in args.reports]))


def _baseline_file(args: argparse.Namespace) -> Path:
    return args.baseline or Path(BASELINE_FILE)


def _read_baseline(args: argparse.Namespace) -> tuple[Entry, ...]:
    path = _baseline_file(args)
    # `--accept` creates the file.
    if (args.baseline is None or args.accept is not None) and not path.exists():
        return ()
    return read_baseline(path)


def _check_acceptance(args: argparse.Namespace) -> None:
    """Refuse options that conflict with --accept, before any request to the console."""
    if args.accept is None:
        if args.reason or args.until:
            raise UserError("--reason and --until belong to --accept.", "Add --accept.")
        return
    if not (args.reason or "").strip():
        raise UserError(
            "--accept needs a reason, which every report then shows.", "Add --reason TEXT."
        )
    if args.until is not None and args.until < utc_now().date():
        raise UserError(f"--until {args.until} has passed.", "Name today or a later day.")
    check_writable(_baseline_file(args))


def _accept_drift(args: argparse.Namespace, report: DriftReport) -> DriftReport:
    """Write the drift that --accept names into the baseline; return the report with it accepted."""
    from opsconsole.drift.accepting import add_entries, entries_for, select_findings

    path = _baseline_file(args)
    findings = select_findings(report, args.accept)
    # A check of one stack or shard does not show the others, which may share its addresses.
    name_stacks = bool(args.stack or args.shard) or report.has_several_stacks
    entries = entries_for(findings, args.reason, args.until, name_stacks=name_stacks)
    if not entries:
        sys.stderr.write("There is no drift to accept.\n")
        return report
    baseline = add_entries(path, entries)
    added, drifted = plural(len(entries), "entry"), plural(len(findings), "resource")
    sys.stderr.write(f"Added {added} to {path}: drift of {drifted} is accepted.\n\n")
    marked, _ = apply_baseline(baseline, report.findings, utc_now().date(), certain=False)
    return replace(report, findings=tuple(marked))


class OutputTarget(NamedTuple):
    """One format, and the file it goes to; None is stdout."""

    format: str
    file: Path | None = None


def _make_writer(args: argparse.Namespace) -> Callable[[DriftReport], int]:
    """Return the function that compares a report, writes it, notifies, and returns the exit code.

    It refuses invalid options here, before a check begins.
    """
    targets = [
        *(OutputTarget(*given) for given in args.format),
        *([OutputTarget("json")] if args.json else []),
    ] or [OutputTarget("terminal")]
    if args.out is not None and str(args.out) != "-":
        if all(item.file for item in targets):
            raise UserError(
                f"Nothing would be written to --out {args.out}: each --format names its own file.",
                "Leave --out out, or add a --format without a file.",
            )
        targets = [item if item.file else OutputTarget(item.format, args.out) for item in targets]
    _check_targets(targets, args)
    if args.notify and args.since is None:
        raise UserError(
            "--notify tells what is new or resolved since an earlier report, and none is named.",
            "Add --since REPORT, the file that --format json=REPORT writes.",
        )
    notify = (args.notify or os.environ.get(_NOTIFY_URL, "")) if args.since is not None else ""
    if notify:
        from opsconsole.reports import notification

        notification.check_url(notify, "--notify" if args.notify else _NOTIFY_URL)
    earlier = None
    if args.since is not None:
        from opsconsole.reports.drift_json import read_earlier_report

        earlier = read_earlier_report(args.since)

    def write(report: DriftReport) -> int:
        if args.since is not None:
            report = compare(report, earlier)
        _write_all(report, targets, pen_for(args))
        if notify:
            # A failed notification changes no exit code.
            why = notification.notify(report, notify, args.notify_format)
            sys.stderr.write(f"Warning: The notification was not sent: {why}.\n" if why else "")
        return judge(report).exit_code

    return write


def _check_targets(targets: Sequence[OutputTarget], args: argparse.Namespace) -> None:
    for item in targets:
        FORMATS[item.format].load()
        if item.file is not None:
            check_report_file(item.file)
            if any(
                find_shared_file((item.file, other)) for other in _kept_files(args, item.format)
            ):
                raise UserError(
                    f"The format {item.format} would overwrite {item.file}, which this command "
                    "reads.",
                    "Name another file.",
                )
    files = [item.file for item in targets if item.file is not None]
    place = "stdout" if len(targets) - len(files) > 1 else find_shared_file(files)
    if place:
        raise UserError(
            f"Two formats would go to {place}.", "Give each a file: --format FORMAT=FILE."
        )


def _kept_files(args: argparse.Namespace, format: str) -> Iterator[Path]:
    """Yield the files that the command reads, and that a report in `format` must not replace."""
    yield from args.reports if "reports" in args else (_baseline_file(args),)
    # The JSON of this check is the earlier report of the next one.
    if args.since is not None and format != "json":
        yield args.since


def _write_all(report: DriftReport, targets: Sequence[OutputTarget], pen: Pen) -> None:
    failures = []
    # Files first, so that all are there when stdout ends.
    for item in sorted(targets, key=lambda item: item.file is None):
        on_stdout = item.format == "terminal" and item.file is None
        options = {"pen": pen} if on_stdout else {}
        text = FORMATS[item.format](report, **options)
        if item.file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            continue
        try:
            write_whole(item.file, text)
        except OSError as problem:
            failures.append(f"{item.file} cannot be written: {problem.strerror or problem}.")
    if all(item.file is not None for item in targets):
        verdict = judge(report)
        sys.stderr.write(f"{verdict.headline}. {verdict.explanation}\n")
    if failures:
        raise UserError(" ".join(failures))
