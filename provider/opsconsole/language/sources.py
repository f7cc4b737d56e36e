"""Finds the program: what synthesis wrote, what an app synthesises now, or a directory of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError
from opsconsole.language.documents import read_json
from opsconsole.language.json_values import OnlyTerraform
from opsconsole.language.model import Program, Schemas
from opsconsole.language.reading import read_program
from opsconsole.language.synthesis import read_app, synthesise
from opsconsole.phrases import did_you_mean


def load_program(
    directory: Path,
    schemas: Schemas,
    stack: str | None = None,
    *,
    files: Path | None = None,
    run_app: bool = True,
) -> Program:
    """Return the program to work on.

    Args:
        directory: Where the command was called.
        schemas: What a program may declare.
        stack: Name of the stack; not needed where there is only one.
        files: A directory of `*.tf.json` files to read instead.
        run_app: Whether to synthesise again where there is a cdktf.json; else what an earlier
            synthesis wrote is read.

    Raises:
        UserError: There is no program, or there are several stacks and none is named; or as
            `read_program` and `synthesise`.
    """
    if files is not None:
        return load_directory(files, schemas)
    return load_stack(find_output(directory, run_app=run_app), schemas, stack)


def find_output(directory: Path, *, run_app: bool = True) -> Path:
    """Return the directory that synthesis writes the stacks of an app to; arguments as above.

    Raises:
        UserError: There is no program; or as `synthesise`.
    """
    config = directory / "cdktf.json"
    output = directory / "cdktf.out"
    if config.exists():
        app = read_app(config)
        output = app.output
        if run_app:
            synthesise(app)
    if not (output / "manifest.json").exists():
        if not config.exists():
            _refuse_native(directory, ())
        raise UserError(
            f"There is no program in {directory}: no cdktf.json, no {output.name} that an app "
            "wrote, and no *.tf.json file.",
            "Go to the directory of the app, or name one with `--dir`.",
        )
    return output


def load_stack(output: Path, schemas: Schemas, stack: str | None = None) -> Program:
    """Return one stack of what synthesis wrote to `output`.

    Raises:
        UserError: There is no such stack, several and none is named, or one reports an error.
    """
    stacks = _stacks(output)
    if stack is None:
        if len(stacks) != 1:
            raise UserError(
                f"There are {len(stacks)} stacks: {', '.join(sorted(stacks))}."
                if stacks
                else f"{output} holds no stack.",
                "Name the one to work on." if stacks else "Add a TerraformStack to the app.",
            )
        stack = next(iter(stacks))
    if stack not in stacks:
        raise UserError(f'There is no stack "{stack}".', did_you_mean(stack, stacks))
    errors = _annotations(stacks[stack], "@cdktf/error")
    if errors:
        raise UserError(
            f"Constructs of the stack {stack} report errors:\n"
            + "".join(f"  {path}: {message}\n" for path, message in errors),
            "Fix the app.",
        )
    path = output / str(stacks[stack].get("synthesizedStackPath", ""))
    program = load_directory(path.parent, schemas, stack)
    warnings = _annotations(stacks[stack], "@cdktf/warn", "@cdktf/info")
    return replace(program, warnings=warnings)


def stacks_of(output: Path) -> list[str]:
    """Return the names of the stacks that synthesis wrote to `output`.

    Raises:
        UserError: There is no manifest, or it is not one.
    """
    return sorted(_stacks(output))


def _stacks(output: Path) -> dict[str, dict[str, Any]]:
    path = output / "manifest.json"
    document = read_json(path)
    stacks = document.get("stacks") if isinstance(document, dict) else None
    if not isinstance(stacks, dict) or not all(isinstance(item, dict) for item in stacks.values()):
        raise UserError(f"{path}: this is not a cdktf manifest.", "Synthesise again.")
    return stacks


def _annotations(manifest: dict[str, Any], *levels: str) -> tuple[tuple[str, str], ...]:
    """Return construct path and text of what a stack's constructs remarked on these levels."""
    found = manifest.get("annotations")
    return tuple(
        (str(item.get("constructPath")), str(item.get("message")))
        for item in (found if isinstance(found, list) else [])
        if isinstance(item, dict) and item.get("level") in levels
    )


def load_directory(directory: Path, schemas: Schemas, stack: str = "") -> Program:
    """Return the program that the `*.tf.json` files of a directory make together.

    Raises:
        UserError: There is none, or files that only Terraform reads.
    """
    if not directory.is_dir():
        raise UserError(f"There is no directory {directory}.", "Check the path.")
    files = sorted(directory.glob("*.tf.json"))
    overriding = [path.name for path in files if path.name.endswith("override.tf.json")]
    _refuse_native(directory, overriding)
    if not files:
        raise UserError(
            f"{directory} holds no *.tf.json file.",
            "Synthesise the program, or name another directory.",
        )
    return read_program(files, directory.absolute(), schemas, stack)


def _refuse_native(directory: Path, overriding: Sequence[str]) -> None:
    """Refuse a directory with files in Terraform's own language, or ones that override others."""
    native = sorted(path.name for path in directory.glob("*.tf"))
    if native or overriding:
        names = ", ".join([*native, *overriding])
        raise OnlyTerraform(
            f"{directory} holds {names}, which the native engine does not read.", names
        )
