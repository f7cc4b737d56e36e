"""`terraform_remote_state`: the outputs of another stack, read from where its state is kept.

cdktf writes such a data source for each stack that a stack refers to. Nothing of it is kept in
state: every run reads it again, once, and only if something refers to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language.block_reading import check_arguments, origin_of
from opsconsole.language.conversion import convert, to_wire
from opsconsole.language.failures import EvaluationError
from opsconsole.language.json_values import COMMENT, only_terraform
from opsconsole.language.model import Block
from opsconsole.language.value_types import Type, from_float, parse_number, unmark_deep
from opsconsole.state import StateOutput, WrittenNumber, read_foreign
from opsconsole.values import UNKNOWN, holds_unknown

TYPE: Final = "terraform_remote_state"
PREFIX: Final = f"data.{TYPE}."
_ARGUMENTS: Final = ("backend", "config", "workspace", "defaults")
_META: Final = (COMMENT, "count", "depends_on", "for_each", "provider")
_OF_CDKTF: Final = "cross-stack-reference-input-"


def read_block(name: str, body: Mapping[str, Any], file: str) -> Block:
    """Return the block that `body` declares.

    Raises:
        UserError: It holds an argument that does not exist, or lacks `backend`.
    """
    origin = origin_of(dict(body), file)
    address = f"{PREFIX}{name}"
    if "lifecycle" in body:
        raise only_terraform(f"lifecycle of {TYPE}", origin, address)
    if "count" in body and "for_each" in body:
        raise UserError(f"{file}: {address} has both count and for_each.", "Leave one of them out.")
    arguments = {key: value for key, value in body.items() if key not in _META}
    check_arguments(arguments, _ARGUMENTS, f"{file}: {address}")
    if not arguments.get("backend"):
        raise UserError(f"{file}: {address}: it has no backend.")
    return Block(
        "data",
        TYPE,
        name,
        arguments,
        origin,
        provider="",
        count=body.get("count"),
        for_each=body.get("for_each"),
        counted="count" in body,
        repeated="for_each" in body,
    )


def stack_of(block: Block) -> str:
    """Return the name of the stack that a block refers to, as far as its name tells."""
    return block.name.removeprefix(_OF_CDKTF)


def read(block: Block, arguments: Mapping[str, Any], root: Path, cache: Any) -> Any:
    """Return what the data source stands for: `outputs` beside its arguments.

    Args:
        arguments: The evaluated arguments; while one is unknown, so is all of it.
        root: The directory that paths of a local backend start at.
        cache: Keeps what was read, by the arguments.

    Raises:
        EvaluationError: The state cannot be read, or there is none.
    """
    bare = {name: unmark_deep(value)[0] for name, value in arguments.items()}
    if any(holds_unknown(to_wire(value)) for value in bare.values()):
        return UNKNOWN
    kind, workspace = str(bare["backend"]), str(bare.get("workspace") or "default")
    # Through JSON: fractions become floats, as the block of a backend holds them.
    config = json.dumps(bare.get("config") or {}, sort_keys=True, default=float)
    key = (kind, workspace, config)
    if key not in cache:
        try:
            cache[key] = _outputs(block, kind, json.loads(config), workspace, root)
        except EvaluationError as error:
            cache[key] = error
    if isinstance(cache[key], EvaluationError):
        raise EvaluationError(str(cache[key]))
    outputs = {**(bare.get("defaults") or {}), **cache[key]}
    return {
        "backend": kind,
        "config": bare.get("config"),
        "defaults": bare.get("defaults"),
        "workspace": bare.get("workspace"),
        "outputs": outputs,
    }


def no_output(block: Block, name: str) -> EvaluationError:
    """Say that the state of another stack lacks an output."""
    stack = stack_of(block)
    return EvaluationError(
        f'the state of the stack "{stack}" has no output "{name}": apply {stack} first, as it is'
        " not applied yet, or not since it has that output"
    )


def _outputs(
    block: Block, kind: str, config: Mapping[str, Any], workspace: str, root: Path
) -> dict[str, Any]:
    stack = stack_of(block)
    try:
        name, state = read_foreign(root, kind, config, workspace)
    except UserError as error:
        raise EvaluationError(
            f'the state of the stack "{stack}" cannot be read: {error}'
        ) from error
    if state.empty and state.serial == 0:
        raise EvaluationError(
            f'the stack "{stack}" is not applied yet: there is no state in {name}; apply it first'
        )
    return {name: _value(output) for name, output in state.outputs.items()}


def _value(output: StateOutput) -> Any:
    try:
        return convert(_language(output.value), _type(output.type))
    except (LookupError, TypeError, AttributeError) as error:
        raise EvaluationError(f"an output has {output.type!r} as its type") from error


def _language(value: Any) -> Any:
    """Return a value of a state's JSON as a value of the language."""
    if isinstance(value, WrittenNumber):
        return parse_number(value.text)
    if isinstance(value, float):
        return from_float(value)
    if isinstance(value, list):
        return [_language(item) for item in value]
    if isinstance(value, dict):
        return {key: _language(item) for key, item in value.items()}
    return value


def _type(written: Any) -> Type:
    """Return a type from the form that states have: `["list", "string"]`."""
    if isinstance(written, str):
        return written
    name, inner = written[0], written[1]
    if name == "tuple":
        return (name, tuple(_type(item) for item in inner))
    if name == "object":
        return (name, tuple((key, _type(inner[key])) for key in sorted(inner)))
    return (name, _type(inner))
