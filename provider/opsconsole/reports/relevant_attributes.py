"""The `relevant_attributes` of Terraform's JSON plan format: what the changes may follow from.

These are the attributes of resources that the declaration of a changing resource or output refers
to, directly or through other declarations. Conditions, `depends_on` and `replace_triggered_by` do
not count, nor does `count` or `for_each` where nothing refers to its index or key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from opsconsole.language import Block, Json, Program, Quoted, Reference, Step, readable_references

_Steps = tuple[Step, ...]


def relevant_attributes(
    program: Program, blocks: Iterable[str], outputs: Iterable[str]
) -> list[dict[str, Any]]:
    """Return what contributed to changes, as Terraform writes it; the order is by address.

    Args:
        blocks: Addresses, keys left out, of the resources that change.
        outputs: Names of the outputs that change.
    """
    waiting = [
        *((None, program.outputs[name].value) for name in outputs if name in program.outputs),
        *(
            (block, dict(block.arguments))
            for block in map(program.blocks.get, dict.fromkeys(blocks))
            if block is not None
        ),
    ]
    found: dict[str, dict[str, Any]] = {}
    visited: set[tuple[str, _Steps]] = set()
    while waiting:
        owner, value = waiting.pop()
        for reference in readable_references(value):
            # What `each.key` means depends on the resource that says it.
            key = (owner.address if owner is not None else "", reference.steps)
            if key in visited:
                continue
            visited.add(key)
            leads_to, item = _followed(program, owner, reference.steps)
            waiting.extend(leads_to)
            if item is not None:
                found[json.dumps(item)] = item
    return [found[key] for key in sorted(found)]


def _followed(
    program: Program, owner: Block | None, steps: _Steps
) -> tuple[list[tuple[Block | None, Json]], dict[str, Any] | None]:
    """Return the declarations that a reference leads to, and the attribute that it names."""
    first, name = steps[0], str(steps[1]) if len(steps) > 1 else ""
    if first == "local":
        return [(None, program.locals.get(name))], None
    if first == "count" and owner is not None:
        return [(owner, owner.count)], None
    if first == "each" and owner is not None:
        return [(owner, owner.for_each)], None
    size = 3 if first == "data" else 2
    block = program.blocks.get(".".join(str(step) for step in steps[:size]))
    if block is None:
        return [], None
    address, rest = _instance(block, steps[size:])
    named = block.arguments.get(str(rest[0])) if rest else dict(block.arguments)
    attribute = [step if isinstance(step, int) else str(step) for step in rest]
    return [(block, named)], {"resource": address, "attribute": attribute}


def _instance(block: Block, rest: _Steps) -> tuple[str, _Steps]:
    """Return the address that a reference names, and the steps that follow it."""
    if rest and isinstance(rest[0], (int, Quoted)):
        return Reference((block.address, rest[0])).written(), rest[1:]
    return block.address, rest
