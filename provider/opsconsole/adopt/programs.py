"""Adopted objects as a program: in Python, or in Terraform's own language.

Unprintable characters are escaped, because they would change how the program reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opsconsole.address import SOURCE
from opsconsole.adopt.declarations import AdoptedObject, Lookup, ObjectReference, lookups_of
from opsconsole.adopt.fleet_rows import literal
from opsconsole.adopt.reading import ConsoleContents
from opsconsole.resources import AGENT, HOST, RESOURCES
from opsconsole.text import capitalise_first, in_quotes, printable, quote

# The default line length of ruff's formatter.
WIDTH: Final = 88
_INDENT: Final = "    "


def remarks_of(contents: ConsoleContents) -> list[str]:
    """Return the comments of a program: unreadable objects, and other remarks."""
    unread = [
        f"# {_one_line(item.import_id)} could not be read: {_one_line(item.reason)}"
        for item in contents.objects
        if item.reason
    ]
    return [*unread, *(f"# {_one_line(remark)}" for remark in contents.remarks)]


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def python_program(
    items: Sequence[AdoptedObject],
    remarks: Sequence[str],
    origin: str,
    framework: str,
    rows: str = "",
) -> str:
    """Return a program of constructs, laid out as ruff's formatter lays it out.

    Args:
        remarks: Comments that end the program.
        origin: The console's address, for the first line.
        rows: The name of the fleet file that declares the items with an expression, if any.
    """
    items = [item for item in items if not item.expression]
    variables = _name_variables(items)
    body: list[str] = []
    if rows:
        place = f"Path(__file__).with_name({_python_string(rows)})"
        body += [_statement("hosts = Fleet.from_json", ["stack", '"hosts"', place], ".hosts"), ""]
    for lookup in lookups_of(items):
        call = ["stack", _python_string(lookup.name), f"key={_python_string(lookup.key)}"]
        body.append(_statement(f"{lookup.variable} = DataSpecialty", call))
    group = ""
    for item in items:
        if item.group != group:
            group = item.group
            body += [*([""] if body and body[-1] else []), _heading(group)]
        body += _declaration(item, variables)
    body += ["", *remarks] if remarks else []
    text = "\n".join(body).strip("\n")
    package = f"opsconsole_{framework}"
    address = _one_line(origin).replace("\\", "\\\\").replace('"', '\\"')
    classes = ["DataSpecialty", "Fleet", "ManagedHost"]
    classes += [item.class_name for item in RESOURCES.values()]
    used = [name for name in classes if re.search(rf"\b{name}[.(]", text)]
    return "\n".join(
        [
            f'"""Adopted from {address}: each construct imports one object."""',
            "",
            "from __future__ import annotations",
            "",
            *(["from pathlib import Path", ""] if rows else []),
            f"from {framework} import App, TerraformStack",
            _import_line(package, sorted([*used, "OpsconsoleProvider"])),
            "",
            "app = App()",
            'stack = TerraformStack(app, "adopted")',
            'OpsconsoleProvider(stack, "opsconsole")',
            "",
            *([text, ""] if text else []),
            "app.synth()",
            "",
        ]
    )


def _heading(group: str) -> str:
    return f"# {_one_line(capitalise_first(group))}"


def _import_line(package: str, names: Sequence[str]) -> str:
    short = f"from {package} import {', '.join(names)}"
    if len(short) <= WIDTH:
        return short
    return "\n".join([f"from {package} import (", *(f"{_INDENT}{name}," for name in names), ")"])


def _name_variables(items: Sequence[AdoptedObject]) -> dict[str, str]:
    """Return the variables of the items that need one, by import id."""
    referred = [
        one.item
        for item in items
        for value in item.values.values()
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, ObjectReference) and not one.item.expression
    ]
    # Their declaration continues with `behind`, so `import_from` is a statement of its own.
    behind = [item for item in items if _exact_jumps(item)]
    return {item.import_id: item.variable for item in (*referred, *behind)}


def _exact_jumps(item: AdoptedObject) -> Sequence[AdoptedObject]:
    """Return the jump hosts of a host, if `behind` declares them exactly."""
    jumps = item.values.get("jump_host_ids")
    if not isinstance(jumps, list) or not jumps:
        return ()
    hosts = [one.item for one in jumps if isinstance(one, ObjectReference)]
    # `behind` would mark a jump host that is declared without a mark.
    marked = all(one.values.get("is_jump_host") is True for one in hosts)
    return hosts if marked and len(hosts) == len(jumps) else ()


def _declaration(item: AdoptedObject, variables: Mapping[str, str]) -> list[str]:
    lines = [f"# {_one_line(text)}" for text in item.comments]
    construct = _constructor_call(item)
    import_id = _python_string(item.import_id)
    variable = variables.get(item.import_id)
    if variable is None:
        return [*lines, _statement(construct[0], construct[1], f".import_from({import_id})")]
    jumps = ", ".join(jump.variable for jump in _exact_jumps(item))
    behind = f".behind({jumps})" if jumps else ""
    return [
        *lines,
        _statement(f"{variable} = {construct[0]}", construct[1], behind),
        f"{variable}.import_from({import_id})",
    ]


def _constructor_call(item: AdoptedObject) -> tuple[str, list[str]]:
    values = dict(item.values)
    arguments = ["stack", _python_string(item.name)]
    if item.type_name == HOST.type_name:
        if _exact_jumps(item):
            del values["jump_host_ids"]
        return "ManagedHost", [*arguments, *_keywords(values)]
    host, specialty = values.get("host_id"), values.get("specialty_id")
    complete = isinstance(host, ObjectReference) and specialty is not None and values.get("name")
    if item.type_name == AGENT.type_name and complete:
        assert isinstance(host, ObjectReference)
        del values["host_id"], values["specialty_id"]
        carried = specialty.variable if isinstance(specialty, Lookup) else None
        own = [_python_string(item.name), f"specialty={carried or _python_value(specialty)}"]
        credentials = values.pop("credential_config", None)
        if credentials is not None:
            own.append(f"credentials={_python_value(credentials)}")
        return f"{host.item.variable}.add_agent", [*own, *_keywords(values)]
    definition = RESOURCES[item.type_name]
    # Required attributes that no answer showed are written as None.
    # `values` comes twice: first for its order, then to override None.
    required = {attribute.name: None for attribute in definition if attribute.needed_to_create}
    return definition.class_name, [*arguments, *_keywords({**values, **required, **values})]


def _keywords(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_python_value(value)}" for name, value in values.items()]


def _python_value(value: Any) -> str:
    if isinstance(value, ObjectReference):
        return f"{value.item.variable}.id"
    if isinstance(value, Lookup):
        return f"{value.variable}.id"
    if isinstance(value, str):
        return _python_string(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_python_value, value))}]"
    if isinstance(value, dict):
        given = [
            f"{_python_string(name)}: {_python_value(item)}"
            for name, item in value.items()
            if item is not None
        ]
        return f"{{{', '.join(given)}}}"
    return repr(literal(value))


def _python_string(text: str) -> str:
    """Return text as a literal, in the quotes that a formatter chooses."""
    double = in_quotes(literal(text))
    if '\\"' in double and "'" not in double:
        return "'" + double[1:-1].replace('\\"', '"') + "'"
    return double


def _statement(head: str, arguments: Sequence[str], tail: str = "") -> str:
    short = f"{head}({', '.join(arguments)}){tail}"
    if len(short) <= WIDTH:
        return short
    inside = (f"{_INDENT}{argument}," for argument in arguments)
    return "\n".join([f"{head}(", *inside, f"){tail}"])


def hcl_program(
    items: Sequence[AdoptedObject], remarks: Sequence[str], origin: str, *, requires: bool
) -> str:
    """Return a program in Terraform's language; arguments as in `python_program`.

    Args:
        requires: Whether to write `required_providers`, which a module may have only once.
    """
    blocks = [f"# Adopted from {_one_line(origin)}: each resource imports one object."]
    if requires:
        blocks.append(_REQUIREMENTS)
    blocks += [
        _block("data", "opsconsole_specialty", lookup.variable, [("key", lookup.key)])
        for lookup in lookups_of(items)
    ]
    group = ""
    for item in items:
        lead = f"{_heading(item.group)}\n\n" if item.group != group else ""
        group = item.group
        blocks.append(lead + _resource_and_import(item))
    return "\n\n".join([*blocks, *(["\n".join(remarks)] if remarks else [])]) + "\n"


_REQUIREMENTS = f"""terraform {{
  required_providers {{
    opsconsole = {{
      source = "{SOURCE}"
    }}
  }}
}}"""


def _resource_and_import(item: AdoptedObject) -> str:
    comments = "".join(f"# {_one_line(text)}\n" for text in item.comments)
    resource = _block("resource", item.type_name, item.name, list(item.values.items()))
    return (
        f"{comments}{resource}\n\n"
        f"import {{\n  to = {item.type_name}.{item.name}\n  id = {_hcl_value(item.import_id)}\n}}"
    )


def _block(kind: str, type_name: str, name: str, values: Sequence[tuple[str, Any]]) -> str:
    # As `terraform fmt` aligns arguments.
    width = max((len(name) for name, _ in values), default=0)
    lines = [f"\n  {name:{width}} = {_hcl_value(value)}" for name, value in values]
    end = "\n}" if lines else "}"
    return f'{kind} "{type_name}" "{name}" {{{"".join(lines)}{end}'


def _hcl_value(value: Any) -> str:
    if isinstance(value, ObjectReference):
        return f"{value.item.type_name}.{value.item.name}.id"
    if isinstance(value, Lookup):
        return f"data.opsconsole_specialty.{value.variable}.id"
    if isinstance(value, list):
        return f"[{', '.join(map(_hcl_value, value))}]"
    if isinstance(value, dict):
        given = [f"{name} = {_hcl_value(item)}" for name, item in value.items() if item is not None]
        return f"{{ {', '.join(given)} }}"
    if isinstance(value, str):
        return quote(value)
    return json.dumps(literal(value))
