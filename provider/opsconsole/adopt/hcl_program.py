"""Items as Terraform's own language: resources, and an import block for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from opsconsole.address import SOURCE
from opsconsole.adopt.found import Findings
from opsconsole.adopt.plan import AdoptedObject, Lookup, ObjectReference, lookups_of
from opsconsole.adopt.texts import line, quoted


def hcl_program(findings: Findings, items: Sequence[AdoptedObject], origin: str) -> str:
    """Return the program; its arguments are those of `python_program`."""
    blocks = [f"# Adopted from {line(origin)}: each resource imports one object.", _REQUIREMENTS]
    blocks += [
        _block("data", "opsconsole_specialty", lookup.variable, [("key", lookup.key)])
        for lookup in lookups_of(items)
    ]
    group = ""
    for item in items:
        lead = f"# {line(item.group.capitalize())}\n\n" if item.group != group else ""
        group = item.group
        blocks.append(lead + _resource(item))
    remarks = [
        *(
            f"# {line(one.import_id)} could not be read: {line(one.reason)}"
            for one in findings.objects
            if one.reason
        ),
        *(f"# {line(remark)}" for remark in findings.remarks),
    ]
    return "\n\n".join([*blocks, *(["\n".join(remarks)] if remarks else [])]) + "\n"


_REQUIREMENTS = f"""terraform {{
  required_providers {{
    opsconsole = {{
      source = "{SOURCE}"
    }}
  }}
}}"""


def _resource(item: AdoptedObject) -> str:
    found = item.found
    comments = "".join(f"# {line(text)}\n" for text in item.comments)
    resource = _block("resource", found.type_name, item.name, list(item.values.items()))
    return (
        f"{comments}{resource}\n\n"
        f"import {{\n  to = {found.type_name}.{item.name}\n  id = {_value(found.import_id)}\n}}"
    )


def _block(kind: str, type_name: str, name: str, values: Sequence[tuple[str, Any]]) -> str:
    lines = "".join(_assignments(values))
    return (
        f'{kind} "{type_name}" "{name}" {{\n{lines}}}'
        if lines
        else (f'{kind} "{type_name}" "{name}" {{}}')
    )


def _assignments(values: Sequence[tuple[str, Any]]) -> Iterator[str]:
    width = max((len(name) for name, _ in values), default=0)
    return (f"  {name:{width}} = {_value(value)}\n" for name, value in values)


def _value(value: Any) -> str:
    if isinstance(value, ObjectReference):
        return f"{value.item.found.type_name}.{value.item.name}.id"
    if isinstance(value, Lookup):
        return f"data.opsconsole_specialty.{value.variable}.id"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        given = [f"{name} = {_value(item)}" for name, item in value.items() if item is not None]
        return f"{{ {', '.join(given)} }}"
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
