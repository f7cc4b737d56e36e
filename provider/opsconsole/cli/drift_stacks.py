"""Which states `opsconsole drift` checks, and which program each belongs to.

Each check of a watch looks for the states again; an app is run once at most.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opsconsole import resources
from opsconsole.cli.opening import variables_of
from opsconsole.diagnostics import Diagnostic, warning
from opsconsole.drift.stack import Stack
from opsconsole.drift.states import stack_names, state_files, workspace_of_state
from opsconsole.errors import UserError
from opsconsole.language import (
    Program,
    load_directory,
    load_stack,
    read_app,
    stacks_of,
    synthesise,
)
from opsconsole.phrases import did_you_mean, plural
from opsconsole.state import Backend, LocalBackend, Locking, Unreadable, backend_for, workspace_of


@dataclass(frozen=True)
class FoundStacks:
    """The stacks to check, and what there is to say of how they were found."""

    stacks: tuple[Stack, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def find_stacks(args: argparse.Namespace, *, run_app: bool = True) -> FoundStacks:
    """Return the stacks that the command line names.

    Args:
        run_app: Whether an app may be run; else what it wrote before is read.

    Raises:
        UserError: There is no such state or program, or a program cannot be read.
    """
    programs = _programs(args, run_app)
    if args.places:
        return _of_files(args, state_files(args.places), programs)
    if programs:
        stacks = [_of_program(args, program) for program in programs]
        return FoundStacks(tuple(_distinct(stacks)))
    return _of_files(args, state_files([Path()]), ())


def anchor(args: argparse.Namespace) -> str:
    """Return the file that stands for places that are not known: the program's, or a state's.

    Code scanning refuses a result without a file. Relative to the working directory.
    """
    directory = args.dir or args.program or Path()
    files = [directory / "cdktf.json", *sorted(directory.glob("*.tf.json"))]
    files += [file for file in args.places if file.is_file()]
    found = next((file for file in files if file.is_file()), None)
    return "" if found is None else found.as_posix()


def _programs(args: argparse.Namespace, run_app: bool) -> list[Program]:
    """Return the programs: named by --dir or --program, or found here where no state is named."""
    if args.dir is not None:
        return [load_directory(args.dir, resources)]
    if args.program is None and args.places:
        return []
    directory = args.program or Path()
    if not directory.is_dir():
        raise UserError(
            f"There is no directory {directory}, where a program was expected.",
            "Name it as --program=DIR; states come before --program, or behind `--`.",
        )
    config = directory / "cdktf.json"
    if config.exists():
        app = read_app(config)
        written = (app.output / "manifest.json").exists()
        if run_app and (args.program is not None or not written):
            synthesise(app)
        return _stacks(app.output, args.stack)
    if (directory / "cdktf.out" / "manifest.json").exists():
        return _stacks(directory / "cdktf.out", args.stack)
    if args.program is not None or _is_program(directory):
        return [load_directory(directory, resources)]
    return []


def _is_program(directory: Path) -> bool:
    """Return whether a directory holds a program that the native engine reads."""
    return any(directory.glob("*.tf.json")) and not any(directory.glob("*.tf"))


def _stacks(output: Path, wanted: Sequence[str]) -> list[Program]:
    names = stacks_of(output)
    for name in wanted:
        if name not in names:
            raise UserError(f'There is no stack "{name}".', did_you_mean(name, names))
    return [load_stack(output, resources, name) for name in names if not wanted or name in wanted]


def _of_program(args: argparse.Namespace, program: Program) -> Stack:
    block = program.backend
    settings = None if block is None else {block.type: block.settings}
    return Stack(
        program.stack or program.root.name,
        _backend_of(program, settings),
        program,
        variables_of(args, program),
        workspace_of(program.root),
        args.program is not None,
    )


def _backend_of(program: Program, settings: dict[str, Any] | None) -> Backend:
    """Return the backend of a program; one that cannot be set up is told of when it is read."""
    try:
        return backend_for(program.root, settings, "drift", given={})
    except UserError as problem:
        return Unreadable(program.stack or program.root.name, problem)


def _distinct(stacks: Sequence[Stack]) -> list[Stack]:
    """Give stacks of one name a number behind it."""
    seen: dict[str, int] = {}
    found = []
    for stack in stacks:
        seen[stack.name] = seen.get(stack.name, 0) + 1
        number = seen[stack.name]
        found.append(stack if number == 1 else replace(stack, name=f"{stack.name} {number}"))
    return found


def _of_files(
    args: argparse.Namespace, files: Sequence[Path], programs: Sequence[Program]
) -> FoundStacks:
    own = _own_states(args, programs)
    stacks = []
    alone = []
    for path, name in zip(files, stack_names(files), strict=True):
        backend = LocalBackend(path, "drift", Locking(lock=False))
        program = own.get(backend.path) or _by_name(name, programs)
        if program is None and programs:
            alone.append(str(path))
        stacks.append(
            Stack(name, backend)
            if program is None
            else Stack(
                name,
                backend,
                program,
                variables_of(args, program),
                workspace_of_state(path),
                args.program is not None,
            )
        )
    return FoundStacks(tuple(stacks), _unpaired(alone))


def _own_states(args: argparse.Namespace, programs: Sequence[Program]) -> dict[Path, Program]:
    """Return the programs by the state file that their backend names."""
    found = {}
    for program in programs:
        backend = _of_program(args, program).backend if len(programs) > 1 else None
        if isinstance(backend, LocalBackend):
            found[backend.path] = program
    return found


def _by_name(name: str, programs: Sequence[Program]) -> Program | None:
    """Return the program of a state: the only one there is, or the stack of that name."""
    if len(programs) == 1:
        return programs[0]
    return next((program for program in programs if program.stack == name), None)


def _unpaired(paths: Sequence[str]) -> tuple[Diagnostic, ...]:
    if not paths:
        return ()
    belong = "belongs" if len(paths) == 1 else "belong"
    return (
        warning(
            f"{plural(len(paths), 'state')} {belong} to no stack of the program",
            f"The settings of the environment are used for {', '.join(paths)}.",
        ),
    )
