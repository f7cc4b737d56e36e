"""The file that `plan --moved` writes: moved blocks, in the JSON that both engines read."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError
from opsconsole.language import Program
from opsconsole.phrases import plural
from opsconsole.reconcile.changes import LikelyMove


def write_moves(program: Program, moves: Sequence[LikelyMove]) -> None:
    """Add the blocks of moves to the file of a program, and say on stderr what was written.

    Raises:
        UserError: The file is none of moved blocks, or cannot be read or written.
    """
    path = _path(program)
    content = _content(path)
    blocks = content["moved"]
    fresh = [{"from": move.source, "to": move.target} for move in moves]
    fresh = [block for block in fresh if block not in blocks]
    if not fresh:
        sys.stderr.write("No move was found that is not declared, so no file is written.\n")
        return
    content["moved"] = [*blocks, *fresh]
    try:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as problem:
        raise UserError(
            f"Cannot write {path}: {problem.strerror}.", "Make the directory writable."
        ) from problem
    sys.stderr.write(
        f"Wrote {plural(len(fresh), 'moved block')} to {_shown(path)}.{_use(program)}\n"
    )


def _path(program: Program) -> Path:
    """Return the file: beside the app of a stack, or among the files of a directory."""
    if program.stack:
        return Path.cwd() / f"moved.{program.stack}.json"
    return program.root / "moved.tf.json"


def _use(program: Program) -> str:
    if not program.stack:
        return " Plan again to see the moves."
    name = f"moved.{program.stack}.json"
    return (
        " The program reads it where the stack declares\n"
        f'    MovedBlocks(stack, "moves", "{name}")\n'
        "Add this, unless it is there, and plan again to see the moves."
    )


def _content(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"moved": []}
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UserError(
            f"{path} cannot be read, so no moves are added to it: {problem}", "Move it away."
        ) from None
    if not isinstance(content, dict) or not isinstance(content.setdefault("moved", []), list):
        raise UserError(
            f"{path} is not a file of moved blocks, so none are added to it.", "Move it away."
        )
    return content


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
