"""`opsconsole drift`: compares the states with the console, accepts drift, and writes reports."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from opsconsole import resources
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.cli.opening import is_synthesised, program_form, variables_of, warn_of_files
from opsconsole.cli.standard_streams import pen_for
from opsconsole.clock import utc_now
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.drift import BASELINE_FILE
from opsconsole.drift.baseline import Entry, apply_baseline, read_baseline
from opsconsole.drift.check import CheckOptions, check
from opsconsole.drift.report import DriftReport
from opsconsole.drift.since import compare
from opsconsole.drift.stack import Stack, read_states
from opsconsole.drift.state_files import stack_names, state_files, workspace_of_state
from opsconsole.errors import UserError
from opsconsole.language import (
    Program,
    find_output,
    load_directory,
    load_stack,
    readable_part,
    stacks_of,
)
from opsconsole.named_files import write_whole
from opsconsole.reports.drift_report import judge, several_stacks
from opsconsole.reports.formats import FORMATS
from opsconsole.state import (
    Backend,
    LocalBackend,
    Locking,
    RunOptions,
    UnreadableBackend,
    backend_for,
    workspace_of,
)
from opsconsole.text import Pen, plural

_NOTIFY_URL = "OPSCONSOLE_NOTIFY_URL"


def run(args: argparse.Namespace) -> int:
    """Check, write the reports, and return the exit code.

    Raises:
        UserError: A state, program or baseline cannot be found or read, or a file cannot be
            written.
    """
    check_acceptance(args)
    if args.shard and args.since:
        raise UserError(
            "--since does not go with --shard: one shard does not know what the others found.",
            "Give --since to `opsconsole drift merge`.",
        )
    write = make_writer(args)
    options = CheckOptions(
        read_only=args.read_only,
        min_coverage=args.min_coverage,
        baseline=_baseline(args),
        counted=args.count_unmanaged,
        shard=args.shard,
    )
    stacks, diagnostics = _stacks_to_check(args)
    stacks = [item for item in stacks if args.shard is None or args.shard.takes(item.name)]
    # Before the event loop, which would take an interrupt only after a read that hangs.
    states = read_states(stacks, whole=args.shard is None)
    with make_runner() as runner:
        report = run_stoppable(
            runner, lambda interrupts: check(states, options, os.environ, interrupts.on_stop)
        )
    report = replace(report, diagnostics=(*diagnostics, *report.diagnostics))
    if args.accept is not None:
        report = accept(args, report)
    return write(report)


def run_merge(args: argparse.Namespace) -> int:
    """Merge the reports of all shards, write the merged report, and return the exit code.

    Raises:
        UserError: A report cannot be read, or the reports are not the shards of one check.
    """
    from opsconsole.drift.merging import merge_reports
    from opsconsole.reports.drift_json import read_report

    write = make_writer(args)
    return write(merge_reports([read_report(file) for file in args.reports]))


def _baseline(args: argparse.Namespace) -> tuple[Entry, ...]:
    path = args.baseline or Path(BASELINE_FILE)
    # `--accept` creates the file.
    if (args.baseline is None or args.accept is not None) and not path.exists():
        return ()
    return read_baseline(path)


def check_acceptance(args: argparse.Namespace) -> None:
    """Refuse options that conflict with --accept, before any request to the console.

    Raises:
        UserError: --reason is missing, --until has passed, or --accept is missing.
    """
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


def accept(args: argparse.Namespace, report: DriftReport) -> DriftReport:
    """Write the drift that --accept names into the baseline; return the report with it accepted.

    Raises:
        UserError: An address names no drift, or the baseline cannot be written.
    """
    from opsconsole.drift.accepting import add_entries, entries_for, select_findings

    path = args.baseline or Path(BASELINE_FILE)
    findings = select_findings(report, args.accept)
    # A check of one stack or shard does not show the others, which may share its addresses.
    name_stacks = bool(args.stack or args.shard) or several_stacks(report)
    entries = entries_for(findings, args.reason, args.until, name_stacks=name_stacks)
    if not entries:
        sys.stderr.write("There is no drift to accept.\n")
        return report
    baseline = add_entries(path, entries)
    added, drifted = plural(len(entries), "entry"), plural(len(findings), "resource")
    sys.stderr.write(f"Added {added} to {path}: drift of {drifted} is accepted.\n\n")
    marked, _ = apply_baseline(baseline, report.findings, utc_now().date(), certain=False)
    return replace(report, findings=tuple(marked))


def _stacks_to_check(args: argparse.Namespace) -> tuple[list[Stack], Sequence[Diagnostic]]:
    """Return the stacks that the command line names, and remarks on how they were found.

    Raises:
        UserError: There is no such state or program, or a program cannot be read.
    """
    programs = _find_programs(args)
    if programs and not args.places:
        return [_of_program(args, program) for program in programs], ()
    files = state_files(args.places or [Path()])
    return _of_files(files, [_of_program(args, program) for program in programs])


def _find_programs(args: argparse.Namespace) -> list[Program]:
    """Return the programs that --dir or --program names; look here if no state is named either."""
    if args.dir is not None or (args.program is None and args.places):
        _refuse_stack_names(args)
        return [] if args.dir is None else _readable(lambda: load_directory(args.dir, resources))
    directory = args.program or Path()
    if not directory.is_dir():
        raise UserError(
            f"There is no directory {directory}, where a program was expected.",
            "Name it as --program=DIR; states come before --program, or behind `--`.",
        )
    form = program_form(directory)
    if form != "app":
        _refuse_stack_names(args)
        must_be = form == "files" or args.program is not None
        return _readable(lambda: load_directory(directory, resources)) if must_be else []
    if not args.stack:
        warn_of_files(directory)
    run_app = args.program is not None or not is_synthesised(directory)
    output = find_output(directory, run_app=run_app)
    names = sorted({*args.stack}) or stacks_of(output)
    loads = (partial(load_stack, output, resources, name) for name in names)
    return [program for load in loads for program in _readable(load)]


def _refuse_stack_names(args: argparse.Namespace) -> None:
    if args.stack:
        raise UserError(
            "--stack names a stack of an app, and no app is checked.",
            "Leave --stack out, or name the directory of the app as --program=DIR.",
        )


def _readable(load: Callable[[], Program]) -> list[Program]:
    """Return the readable part of a program, whichever engine applies the program."""
    program = readable_part(load)
    return [] if program is None else [program]


def _of_program(args: argparse.Namespace, program: Program) -> Stack:
    """Return the stack of a program; an error in its backend is reported when the state is read."""
    block, name = program.backend, program.stack or program.root.name
    settings = None if block is None else {block.type: block.settings}
    try:
        backend: Backend = backend_for(settings, RunOptions(program.root, "drift"), given={})
    except UserError as problem:
        backend = UnreadableBackend(name, problem)
    workspace, pending = workspace_of(program.root), args.program is not None
    return Stack(name, backend, program, variables_of(args, program), workspace, pending)


def _of_files(
    files: Sequence[Path], declared: Sequence[Stack]
) -> tuple[list[Stack], Sequence[Diagnostic]]:
    """Return the stacks of state files, each with the program that belongs to it, if any.

    A single program belongs to every state. Of several, it is the one whose backend names the state
    file, or whose stack has the state's name.
    """
    by_path = {
        item.backend.path: item for item in declared if isinstance(item.backend, LocalBackend)
    }
    by_name = {item.name: item for item in declared}
    stacks = []
    alone = []
    for path, name in zip(files, stack_names(files), strict=True):
        backend = LocalBackend(path, RunOptions(locking=Locking(lock=False)))
        stack = by_path.get(backend.path) or by_name.get(name)
        if len(declared) == 1:
            stack = declared[0]
        if stack is not None:
            workspace = workspace_of_state(path)
            stacks.append(replace(stack, name=name, backend=backend, workspace=workspace))
            continue
        stacks.append(Stack(name, backend))
        if declared:
            alone.append(str(path))
    if not alone:
        return stacks, ()
    belong = "belongs" if len(alone) == 1 else "belong"
    unpaired = warning(
        f"{plural(len(alone), 'state')} {belong} to no stack of the program",
        f"The settings of the environment are used for {', '.join(alone)}.",
    )
    return stacks, (unpaired,)


class Target(NamedTuple):
    """One format, and the file it goes to; None is stdout."""

    format: str
    file: Path | None = None


def make_writer(args: argparse.Namespace) -> Callable[[DriftReport], int]:
    """Return the function that compares a report, writes it, notifies, and returns the exit code.

    Invalid options are refused here, before a check begins.

    Raises:
        UserError: Two formats go to one place, the earlier report is not a report, or the webhook's
            URL is invalid or given without an earlier report.
        ModuleNotFoundError: A format needs an extra that is not installed.
    """
    targets = [
        *(Target(*given) for given in args.format),
        *([Target("json")] if args.json else []),
    ] or [Target("terminal")]
    if args.out is not None:
        targets = [item if item.file else Target(item.format, args.out) for item in targets]
    _check_targets(targets)
    if args.notify and args.since is None:
        raise UserError(
            "--notify tells what is new or resolved since an earlier report, and none is named.",
            "Add --since REPORT, the file that --format json=REPORT writes.",
        )
    notify = (args.notify or os.environ.get(_NOTIFY_URL, "")) if args.since is not None else ""
    if notify:
        from opsconsole.reports import notification

        notification.check_url(notify)
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


def _check_targets(targets: Sequence[Target]) -> None:
    for item in targets:
        FORMATS[item.format].load()
    places = [None if item.file is None else item.file.absolute() for item in targets]
    for place in places:
        if places.count(place) > 1:
            name = "stdout" if place is None else str(place)
            raise UserError(
                f"Two formats would go to {name}.", "Give each a file: --format FORMAT=FILE."
            )


def _write_all(report: DriftReport, targets: Sequence[Target], pen: Pen) -> None:
    """Write every report."""
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
            item.file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(item.file, text)
        except OSError as problem:
            failures.append(f"{item.file} cannot be written: {problem.strerror or problem}.")
    if all(item.file is not None for item in targets):
        verdict = judge(report)
        sys.stderr.write(f"{verdict.headline}. {verdict.explanation}\n")
    if failures:
        raise UserError(" ".join(failures))
