"""A program in Terraform's JSON plan format: its configuration, relevant attributes and checks.

Terraform prints each value of a program in JSON syntax as written, with its references.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from opsconsole.definition import SCHEMA_VERSION
from opsconsole.language import (
    Block,
    Json,
    Output,
    PathStep,
    Program,
    Quoted,
    Reference,
    Variable,
    example_values,
    lasting_values,
    readable_references,
    to_wire,
)
from opsconsole.reconcile.providers import full_source
from opsconsole.reports.json_values import without_empty
from opsconsole.resources import PROVIDER

BUILT_IN: Final = "terraform.io/builtin/terraform"
"""The provider of remote states."""


def configuration(program: Program) -> dict[str, Any]:
    blocks = sorted(program.declared.values(), key=lambda item: (item.mode == "data", item.address))
    variables = program.variables
    defaults = lasting_values(example_values(program)) if variables else {}
    root = {
        "outputs": {name: _output_json(program.outputs[name]) for name in sorted(program.outputs)},
        "resources": [_resource_json(block) for block in blocks],
        "variables": {
            name: _variable_json(variables[name], defaults) for name in sorted(variables)
        },
    }
    providers = {
        key: _provider_json(key, program)
        for key in sorted({*program.providers, *(block.provider_key for block in blocks)})
    }
    return without_empty({"provider_config": providers}) | {"root_module": without_empty(root)}


def _provider_json(key: str, program: Program) -> dict[str, Any]:
    name, _, alias = key.partition(".")
    block = program.providers.get(key)
    arguments = block.arguments if block is not None else {}
    # No report has a credential. Terraform prints such settings as written.
    secret = PROVIDER.sensitive_names
    shown = {name: item for name, item in arguments.items() if name not in secret}
    return without_empty(
        {
            "name": name,
            "full_name": BUILT_IN if name == "terraform" else full_source(program),
            "alias": alias,
            "version_constraint": program.required_providers.get(name, {}).get("version"),
            "expressions": _expressions(shown),
        }
    )


def _resource_json(block: Block) -> dict[str, Any]:
    return without_empty(
        {
            "address": block.address,
            "mode": block.mode,
            "type": block.type_name,
            "name": block.name,
            "provider_config_key": block.provider_key,
            "expressions": _expressions(block.arguments),
            "schema_version": SCHEMA_VERSION,
            "count_expression": _expression(block.count) if block.counted else None,
            "for_each_expression": _expression(block.for_each) if block.repeated else None,
            "depends_on": list(block.depends_on),
        }
    )


def _output_json(output: Output) -> dict[str, Any]:
    return without_empty(
        {
            "sensitive": output.sensitive or None,
            "expression": _expression(output.value),
            "depends_on": [str(item) for item in output.depends_on],
            "description": output.description,
        }
    )


def _variable_json(variable: Variable, defaults: Mapping[str, Any]) -> dict[str, Any]:
    name = variable.name
    default: dict[str, Any] = {"default": defaults[name]} if name in defaults else {}
    facts = {"description": variable.description, "sensitive": variable.sensitive or None}
    return default | without_empty(facts)


def _expressions(arguments: Mapping[str, Json]) -> dict[str, Any]:
    return {name: _expression(arguments[name]) for name in sorted(arguments)}


def _expression(value: Json) -> dict[str, Any]:
    references = [part for item in readable_references(value) for part in _prefixes(item)]
    return {"constant_value": to_wire(value)} | without_empty({"references": references})


def _prefixes(reference: Reference) -> Iterator[str]:
    """Yield a reference and its prefixes, down to the resource or the variable."""
    steps = reference.steps
    for count in range(len(steps), min(_count_named_steps(steps), len(steps)) - 1, -1):
        yield Reference(steps[:count]).source_text()


def _count_named_steps(steps: Sequence[PathStep]) -> int:
    """Return how many steps of a reference name a block or a variable."""
    return 3 if steps[0] == "data" else 2


def relevant_attributes(
    program: Program, blocks: Iterable[str], outputs: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the attributes that contributed to changes, in Terraform's form, ordered by address.

    The declaration of a changing resource or output refers to them, directly or through other
    declarations. Conditions, `depends_on` and `replace_triggered_by` do not count, nor does `count`
    or `for_each` unless something refers to its index or key.

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
    attributes: dict[str, dict[str, Any]] = {}
    visited: set[tuple[str, tuple[PathStep, ...]]] = set()
    while waiting:
        owner, value = waiting.pop()
        for reference in readable_references(value):
            # The meaning of `each.key` depends on the resource that uses it.
            key = (owner.address if owner is not None else "", reference.steps)
            if key in visited:
                continue
            visited.add(key)
            leads_to, item = _follow_reference(program, owner, reference.steps)
            waiting.extend(leads_to)
            if item is not None:
                attributes[json.dumps(item)] = item
    return [attributes[key] for key in sorted(attributes)]


def _follow_reference(
    program: Program, owner: Block | None, steps: tuple[PathStep, ...]
) -> tuple[list[tuple[Block | None, Json]], dict[str, Any] | None]:
    """Return the declarations that a reference leads to, and the attribute that it names."""
    first, name = steps[0], str(steps[1]) if len(steps) > 1 else ""
    if first == "local":
        return [(None, program.locals.get(name))], None
    if first == "count" and owner is not None:
        return [(owner, owner.count)], None
    if first == "each" and owner is not None:
        return [(owner, owner.for_each)], None
    size = _count_named_steps(steps)
    block = program.declared.get(".".join(str(step) for step in steps[:size]))
    if block is None:
        return [], None
    address, rest = block.address, steps[size:]
    if rest and isinstance(rest[0], (int, Quoted)):
        address, rest = Reference((address, rest[0])).source_text(), rest[1:]
    named = block.arguments.get(str(rest[0])) if rest else dict(block.arguments)
    attribute = [step if isinstance(step, int) else str(step) for step in rest]
    return [(block, named)], {"resource": address, "attribute": attribute}


def checks(program: Program) -> list[dict[str, Any]]:
    """Return the results of conditions; only variables have conditions, others are refused."""
    results = []
    for name in sorted(program.variables):
        if program.variables[name].validations:
            address = f"var.{name}"
            # A variable that breaks a rule is an error before there is a plan. So all rules have
            # passed.
            results.append(
                {
                    "address": {"kind": "var", "name": name, "to_display": address},
                    "status": "pass",
                    "instances": [{"address": {"to_display": address}, "status": "pass"}],
                }
            )
    return results
