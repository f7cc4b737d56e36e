"""Finds the stacks of a drift check: state files, and the programs that they belong to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from opsconsole import resources
from opsconsole.cli.opening import (
    print_warning_of_files,
    program_form,
    read_variables,
)
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.drift.stack import Stack
from opsconsole.errors import UserError
from opsconsole.language import (
    Program,
    find_output,
    load_directory,
    load_stack,
    readable_part,
    stacks_of,
)
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
from opsconsole.text import plural
from opsconsole.working_directory import WORKSPACES_FOLDER

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
    """Open the programs of --dir and --program, or the one here if no state is named either."""
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
