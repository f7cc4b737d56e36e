"""Items in Terraform's own language: resources, each with an import block.

Characters that are not printable are escaped, because they would change how the program reads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from opsconsole.address import SOURCE
from opsconsole.adopt.fleet_rows import literal
from opsconsole.adopt.found import Findings
from opsconsole.adopt.plan import AdoptedObject, Lookup, ObjectReference, lookups_of
from opsconsole.text import printable, quote


def hcl_program(findings: Findings, items: Sequence[AdoptedObject], origin: str) -> str:
    """Return the program; arguments as in `python_program`."""
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
    remarks = remarks_of(findings)
    return "\n\n".join([*blocks, *(["\n".join(remarks)] if remarks else [])]) + "\n"


def remarks_of(findings: Findings) -> list[str]:
    """Return the comments of a program on objects that could not be read, and other remarks."""
    unread = [
        f"# {line(item.import_id)} could not be read: {line(item.reason)}"
        for item in findings.objects
        if item.reason
    ]
    return [*unread, *(f"# {line(remark)}" for remark in findings.remarks)]


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
    # As `terraform fmt` aligns arguments.
    width = max((len(name) for name, _ in values), default=0)
    lines = [f"\n  {name:{width}} = {_value(value)}" for name, value in values]
    end = "\n}" if lines else "}"
    return f'{kind} "{type_name}" "{name}" {{{"".join(lines)}{end}'


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
        return quote(value)
    return json.dumps(literal(value))


def line(text: str) -> str:
    """Return text on one line, for a comment."""
    return printable(" ".join(text.split()))
