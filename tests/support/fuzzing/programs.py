"""Synthesised programs: read, checked and evaluated, as a plan does before it asks a console."""

import tempfile
from pathlib import Path

from opsconsole import resources
from opsconsole.errors import OpsconsoleError
from opsconsole.language.evaluator import Evaluator
from opsconsole.language.graph import build_graph
from opsconsole.language.reading import load_directory
from opsconsole.language.support import check_support
from opsconsole.language.variables import resolve_variables
from program_forms import ACCEPTED, REFUSED

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
        build_graph(program)
        given = {
            f"TF_VAR_{name}": "1" for name, item in program.variables.items() if not item.optional
        }
        variables = resolve_variables(program, directory=_FOLDER, environment=given)
        evaluator = Evaluator(program, variables, lambda address: None)
        for block in program.blocks.values():
            for instance in evaluator.instances(block).values():
                evaluator.config(instance)
                evaluator.triggers(instance)
        for key in program.providers:
            evaluator.provider_config(key)
        evaluator.imports()
        evaluator.outputs()
    except OpsconsoleError as error:
        str(error)
