"""Moves that are kept in a file."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import cdktf
import jsii
from constructs import Construct


class MovedBlocks(cdktf.TerraformElement):
    """The moved blocks of a file, for the resources of a stack whose addresses changed.

    Keep the file until the stack has been applied to every state. Then remove it: without the file
    nothing moves.

    Args:
        scope: The stack, or a construct in it.
        id_: Its name within `scope`.
        path: A JSON file: an object whose `moved` is a list of objects with `from` and `to`.

    Raises:
        ValueError: The file cannot be read, or is of another shape.
    """

    def __init__(self, scope: Construct, id_: str, path: str | PathLike[str]) -> None:
        self._blocks = _read(path)
        super().__init__(scope, id_)

    @jsii.member(jsii_name="toTerraform")
    def to_terraform(self) -> Any:
        """Return what this adds to a stack; called by cdktf."""
        return {"moved": self._blocks} if self._blocks else {}

    @jsii.member(jsii_name="toHclTerraform")
    def to_hcl_terraform(self) -> Any:
        """Return the same for a stack in Terraform's own language; called by cdktf."""
        return {
            "moved": [
                {
                    name: {"value": value, "type": "reference", "isBlock": False}
                    for name, value in block.items()
                }
                for block in self._blocks
            ]
        }


def _read(path: str | PathLike[str]) -> list[dict[str, str]]:
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        # The file is removed once every state has been applied to, and the construct may stay.
        return []
    except OSError as problem:
        raise ValueError(f"{path}: it cannot be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{path}: it is not JSON: {problem}") from None
    blocks = content.get("moved") if isinstance(content, dict) else None
    if not isinstance(blocks, list) or not all(map(_is_block, blocks)):
        raise ValueError(
            f"{path}: expected an object whose `moved` lists objects with `from` and `to`"
        )
    return blocks


def _is_block(block: Any) -> bool:
    return (
        isinstance(block, dict)
        and block.keys() == {"from", "to"}
        and all(isinstance(value, str) for value in block.values())
    )
