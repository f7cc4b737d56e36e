"""`terraform_remote_state`: the outputs of another stack, read from that stack's state.

cdktf writes such a data source for each stack that a stack refers to. The state keeps nothing of
the data source. Every run reads it again, once, and only if something refers to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language.conversion import from_wire, to_wire
from opsconsole.language.failures import EvaluationError
from opsconsole.language.model import REMOTE_STATE_ARGUMENTS, Block, Program
from opsconsole.language.values import (
    NULL,
    STRING,
    Value,
    members_of,
    object_value,
    type_from_json,
    unknown,
)
from opsconsole.state import StateOutput, read_foreign
from opsconsole.values import holds_unknown

_OF_CDKTF: Final = "cross-stack-reference-input-"


def stack_name(block: Block) -> str:
    """Return the stack that a block refers to, as far as the block's name tells."""
    return block.name.removeprefix(_OF_CDKTF)


def read(block: Block, arguments: Mapping[str, Any], program: Program) -> Any:
    """Return the value of the data source: its `outputs` and its arguments.

    Args:
        arguments: The evaluated arguments. If one is unknown, so is the whole value.
    """
    bare = {name: to_wire(value.unmark_deep()[0]) for name, value in arguments.items()}
    if any(map(holds_unknown, bare.values())):
        return unknown()
    kind, workspace = str(bare["backend"]), str(bare.get("workspace") or "default")
    # Converted through JSON, so that fractions become floats, as in the block of a backend.
    config = json.dumps(bare.get("config") or {}, sort_keys=True, default=float)
    key, cache = (kind, workspace, config), program.remote_outputs
    if key not in cache:
        try:
            cache[key] = _outputs(block, kind, json.loads(config), workspace, program.root)
        except EvaluationError as error:
            # Keep the error too, so that not every reference reads the state again.
            cache[key] = error
    if isinstance(cache[key], EvaluationError):
        # Raise a new error each time, because each error stores the template in which it occurred.
        raise EvaluationError(str(cache[key]))
    given = {name: arguments.get(name, NULL).unmark() for name in REMOTE_STATE_ARGUMENTS}
    outputs = members_of(given["defaults"]) if given["defaults"].data else {}
    return object_value(
        {
            **given,
            "backend": Value(STRING, kind),
            "outputs": object_value({**outputs, **cache[key]}),
        }
    )


def no_output_error(block: Block, name: str) -> EvaluationError:
    stack = stack_name(block)
    return EvaluationError(
        f'the state of the stack "{stack}" has no output "{name}": apply {stack} first, as it is'
        " not applied yet, or not since it has that output"
    )


def _outputs(
    block: Block, kind: str, config: Mapping[str, Any], workspace: str, root: Path
) -> dict[str, Any]:
    stack = stack_name(block)
    try:
        name, state = read_foreign(root, kind, config, workspace)
    except UserError as error:
        raise EvaluationError(
            f'the state of the stack "{stack}" cannot be read: {error}'
        ) from error
    # A state whose resources are all destroyed is empty too, but has a serial above 0.
    if state.empty and state.serial == 0:
        raise EvaluationError(
            f'the stack "{stack}" is not applied yet: there is no state in {name}; apply it first'
        )
    return {name: _value(output) for name, output in state.outputs.items()}


def _value(output: StateOutput) -> Value:
    try:
        type = type_from_json(output.type)
        return Value(type, from_wire(output.value, type))
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise EvaluationError(f"an output has {output.type!r} as its type") from error
