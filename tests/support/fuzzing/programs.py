"""Synthesised programs: read, checked and evaluated, as a plan does before it asks a console."""

import tempfile
from pathlib import Path

from opsconsole import resources
from opsconsole.errors import OpsconsoleError
from opsconsole.language.graph import check_support
from opsconsole.language.reading import load_directory
from program_forms import ACCEPTED, REFUSED, evaluate_all

SEEDS = [
    text.encode("utf-8", "replace")
    for program in (*ACCEPTED.values(), *REFUSED.values())
    for text in program.values()
    if len(text) < 3000
]
_FOLDER = Path(tempfile.mkdtemp(prefix="opsconsole-fuzz-"))


def check(data: bytes) -> None:
    """Read `data` as the only file of a program, and evaluate all of it."""
    (_FOLDER / "main.tf.json").write_bytes(data)
    try:
        program = load_directory(_FOLDER, resources)
        check_support(program)
        evaluate_all(program, _FOLDER)
    except OpsconsoleError as error:
        str(error)
