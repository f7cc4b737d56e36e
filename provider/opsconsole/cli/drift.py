"""`opsconsole drift`: compares the states with the console, accepts drift, and writes reports."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opsconsole import resources
from opsconsole.cli.interrupts import make_runner, run_stoppable
from opsconsole.cli.opening import (
    print_warning_of_files,
    program_form,
    read_variables,
)
from opsconsole.cli.standard_streams import pen_for
from opsconsole.clock import utc_now
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.drift import BASELINE_FILE
from opsconsole.drift.check import CheckOptions, check
from opsconsole.drift.model import DriftReport, judge
from opsconsole.drift.since import compare
from opsconsole.drift.stack import Stack, read_states
from opsconsole.errors import UserError
from opsconsole.language import (
    Program,
    find_output,
    load_directory,
    load_stack,
    readable_part,
    stacks_of,
)
from opsconsole.local_terraform import WORKSPACES_FOLDER
from opsconsole.reports.formats import FORMATS
from opsconsole.state import (
    DEFAULT_WORKSPACE,
    Backend,
    LocalBackend,
    Locking,
    RunOptions,
    UnreadableBackend,
    backend_for,
    workspace_of,
)
from opsconsole.text import Pen, plural
from opsconsole.user_files import (
    check_report_file,
    check_writable,
    find_shared_file,
    replace_file,
)

if TYPE_CHECKING:
    from opsconsole.drift.baseline import Entry

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
    states = read_states(stacks, all_stacks=args.shard is None)
    with make_runner() as runner:
        report = run_stoppable(
            runner, lambda interrupts: check(states, options, os.environ, interrupts.watch)
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
    from opsconsole.drift.baseline import read_baseline  # loads YAML and pydantic

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
    from opsconsole.drift.baseline import apply_baseline

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


_Target = tuple[str, Path | None]
"""One format, and the file it goes to; None is stdout."""


def _make_writer(args: argparse.Namespace) -> Callable[[DriftReport], int]:
    """Return the function that compares a report, writes it, notifies, and returns the exit code.

    It refuses invalid options here, before a check begins.
    """
    targets: list[_Target] = [*args.format, *([("json", None)] if args.json else [])]
    targets = targets or [("terminal", None)]
    if args.out is not None and str(args.out) != "-":
        if all(file for _, file in targets):
            raise UserError(
                f"Nothing would be written to --out {args.out}: each --format names its own file.",
                "Leave --out out, or add a --format without a file.",
            )
        targets = [(format, file or args.out) for format, file in targets]
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


def _check_targets(targets: Sequence[_Target], args: argparse.Namespace) -> None:
    for format, file in targets:
        FORMATS[format].load()
        if file is not None:
            check_report_file(file)
            if any(find_shared_file((file, other)) for other in _kept_files(args, format)):
                raise UserError(
                    f"The format {format} would overwrite {file}, which this command reads.",
                    "Name another file.",
                )
    files = [file for _, file in targets if file is not None]
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


def _write_all(report: DriftReport, targets: Sequence[_Target], pen: Pen) -> None:
    failures = []
    # Files first, so that all are there when stdout ends.
    for format, file in sorted(targets, key=lambda target: target[1] is None):
        on_stdout = format == "terminal" and file is None
        options = {"pen": pen} if on_stdout else {}
        text = FORMATS[format](report, **options)
        if file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            continue
        try:
            replace_file(file, text)
        except OSError as problem:
            failures.append(f"{file} cannot be written: {problem.strerror or problem}.")
    if all(file is not None for _, file in targets):
        verdict = judge(report)
        sys.stderr.write(f"{verdict.headline}. {verdict.explanation}\n")
    if failures:
        raise UserError(" ".join(failures))


_SUFFIX: Final = ".tfstate"
# Only root may read `lost+found`, so a check of a whole file system would fail there.
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__", "lost+found"})
_ERRORED: Final = "errored.tfstate"
"""The copy that Terraform leaves when a state cannot be stored. It is not a stack's state."""


def find_stacks(args: argparse.Namespace) -> tuple[list[Stack], Sequence[Diagnostic]]:
    """Return the stacks that the command line names, and remarks on how they were found."""
    programs = _find_programs(args)
    if programs and not args.places:
        return [_stack_of_program(args, program) for program in programs], ()
    files = state_files(args.places or [Path()])
    return _stacks_of_files(files, [_stack_of_program(args, program) for program in programs])


def _find_programs(args: argparse.Namespace) -> list[Program]:
    """Load the programs of --dir and --program, or the one here if no state is named either."""
    if args.dir is not None or (args.program is None and args.places):
        _refuse_stack_names(args)
        return (
            [] if args.dir is None else _load_readable(lambda: load_directory(args.dir, resources))
        )
    directory = args.program or Path()
    if not directory.is_dir():
        raise UserError(
            f"There is no directory {directory}, where a program was expected.",
            "Name it as --program=DIR; states come before --program, or after `--`.",
        )
    form = program_form(directory)
    if form != "app":
        _refuse_stack_names(args)
        must_be = form == "files" or args.program is not None
        return _load_readable(lambda: load_directory(directory, resources)) if must_be else []
    if not args.stack:
        print_warning_of_files(directory)
    output = find_output(directory, again=args.program is not None)
    names = sorted({*args.stack}) or stacks_of(output)
    loads = (partial(load_stack, output, resources, name) for name in names)
    return [program for load in loads for program in _load_readable(load)]


def _refuse_stack_names(args: argparse.Namespace) -> None:
    if args.stack:
        raise UserError(
            "--stack names a stack of an app, and no app is checked.",
            "Leave --stack out, or name the directory of the app as --program=DIR.",
        )


def _load_readable(load: Callable[[], Program]) -> list[Program]:
    """Return the readable part of a program, also of one that only Terraform applies."""
    program = readable_part(load)
    return [] if program is None else [program]


def _stack_of_program(args: argparse.Namespace, program: Program) -> Stack:
    """Return the stack of a program; an error in its backend is reported when the state is read."""
    name, options = program.stack or program.root.name, RunOptions(program.root, "drift")
    try:
        backend: Backend = backend_for(program.backend, options, given={})
    except UserError as problem:
        backend = UnreadableBackend(name, problem)
    workspace, pending = workspace_of(program.root), args.program is not None
    return Stack(name, backend, program, read_variables(args, program), workspace, pending)


def _stacks_of_files(
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


def state_files(places: Iterable[Path]) -> list[Path]:
    """Return the state files that `places` name: files, and all files under folders.

    Hidden folders (such as `.terraform`), backups and `errored.tfstate` are skipped. Links to
    folders are not followed. A file that is named twice or linked is returned once.

    Raises:
        UserError: A place does not exist, a folder has no state, or a folder cannot be read.
    """
    files: dict[Path, Path] = {}
    for place in places:
        if place.is_dir():
            # os.walk follows the order of the file system, which differs between machines.
            under = sorted(_state_files_below(place))
            if not under:
                raise UserError(
                    f"There is no state file (*{_SUFFIX}) in {place.absolute()} or below it.",
                    "Apply the program first, go to its directory, or name a state file or a "
                    "folder that holds some.",
                )
            paths = under
        elif place.exists():
            paths = [place]
        else:
            raise UserError(f"There is no state {place}.", "Check the path.")
        for path in paths:
            files.setdefault(path.resolve(), path)
    return list(files.values())


def _state_files_below(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder, onerror=_refuse_folder):
        # os.walk descends only into the folders that remain in this list.
        folders[:] = [name for name in folders if name[0] != "." and name not in _PASSED_OVER]
        yield from (
            Path(root) / name for name in files if name.endswith(_SUFFIX) and name != _ERRORED
        )


def _refuse_folder(problem: OSError) -> None:
    # Skipping the folder would hide the states in it.
    raise UserError(
        f"The folder {problem.filename} cannot be read: {problem.strerror}.",
        "Give this user read access, or name the state files.",
    ) from problem


def stack_names(paths: Sequence[Path]) -> list[str]:
    """Return names for the stacks of these states: short, meaningful and unique.

    `terraform.STACK.tfstate` is called STACK, as cdktf names its states. A `terraform.tfstate` is
    named after its folder, and the state of a workspace after folder and workspace.
    """
    full = [path.absolute() for path in paths]
    deepest = max((path.parts for path in full), key=len, default=())
    for depth in range(1, len(deepest)):
        names = [_stack_name(path, depth) for path in full]
        if len(set(names)) == len(names):
            return names
    return [str(path).encode("utf-8", "backslashreplace").decode() for path in full]


def _stack_name(path: Path, depth: int) -> str:
    folder, stack = path.parent, path.name.removesuffix(_SUFFIX)
    if stack == "terraform":
        workspace = workspace_of_state(path)
        folder = folder if workspace == DEFAULT_WORKSPACE else folder.parent.parent
        stack = folder.name if workspace == DEFAULT_WORKSPACE else f"{folder.name}/{workspace}"
        folder = folder.parent
    else:
        stack = stack.removeprefix("terraform.")
    parts = [*folder.relative_to(folder.anchor).parts, stack]
    name = "/".join(parts[-depth:])
    # On Linux a name may contain bytes that are not text, which a report cannot contain.
    return name.encode("utf-8", "backslashreplace").decode()


def workspace_of_state(path: Path) -> str:
    folder = path.absolute().parent
    return folder.name if folder.parent.name == WORKSPACES_FOLDER else DEFAULT_WORKSPACE
