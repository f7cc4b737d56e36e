"""Items as a Python program of constructs, laid out as ruff's formatter lays it out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opsconsole.adopt.fleet_rows import literal
from opsconsole.adopt.found import Findings
from opsconsole.adopt.hcl_program import line, remarks_of
from opsconsole.adopt.plan import AdoptedObject, Lookup, ObjectReference, lookups_of
from opsconsole.resources import AGENT, HOST, RESOURCES
from opsconsole.text import in_quotes

# The default line length of ruff's formatter.
WIDTH: Final = 88
_INDENT: Final = "    "


def python_program(
    findings: Findings,
    items: Sequence[AdoptedObject],
    origin: str,
    framework: str = "cdktf",
    rows: str = "",
) -> str:
    """Return the program.

    Args:
        findings: The objects read; an object that could not be read becomes a comment.
        items: The declared objects.
        origin: The console's address, for the first line.
        framework: `cdktf` or `cdktn`.
        rows: The name of the fleet file that declares the items with a place; empty if there is no
            such file.
    """
    items = [item for item in items if not item.place]
    variables = _variables(items)
    body: list[str] = []
    if rows:
        place = f"Path(__file__).with_name({_quote(rows)})"
        body += [_statement("hosts = Fleet.from_json", ["stack", '"hosts"', place], ".hosts"), ""]
    for lookup in lookups_of(items):
        call = ["stack", _quote(lookup.name), f"key={_quote(lookup.key)}"]
        body.append(_statement(f"{lookup.variable} = DataSpecialty", call))
    group = ""
    for item in items:
        if item.group != group:
            group = item.group
            body += [*([""] if body and body[-1] else []), f"# {line(group.capitalize())}"]
        body += _declaration(item, variables)
    remarks = remarks_of(findings)
    body += ["", *remarks] if remarks else []
    text = "\n".join(body).strip("\n")
    package = f"opsconsole_{framework}"
    address = line(origin).replace("\\", "\\\\").replace('"', '\\"')
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
            _imports_of(package, sorted([*used, "OpsconsoleProvider"])),
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


def _imports_of(package: str, names: Sequence[str]) -> str:
    short = f"from {package} import {', '.join(names)}"
    if len(short) <= WIDTH:
        return short
    return "\n".join([f"from {package} import (", *(f"{_INDENT}{name}," for name in names), ")"])


def _variables(items: Sequence[AdoptedObject]) -> dict[str, str]:
    """Return the variables of the items that need one, by import id."""
    referred = [
        one.item
        for item in items
        for value in item.values.values()
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, ObjectReference) and not one.item.place
    ]
    # Their declaration continues with `behind`, so `import_from` is a statement of its own.
    behind = [item for item in items if _jumps(item)]
    return {item.found.import_id: item.variable for item in (*referred, *behind)}


def _jumps(item: AdoptedObject) -> Sequence[AdoptedObject]:
    """Return the jump hosts of a host, if `behind` declares them exactly."""
    jumps = item.values.get("jump_host_ids")
    if not isinstance(jumps, list) or not jumps:
        return ()
    found = [one.item for one in jumps if isinstance(one, ObjectReference)]
    # `behind` would mark a jump host that is declared without a mark.
    marked = all(one.values.get("is_jump_host") is True for one in found)
    return found if marked and len(found) == len(jumps) else ()


def _declaration(item: AdoptedObject, variables: Mapping[str, str]) -> list[str]:
    found = item.found
    lines = [f"# {line(text)}" for text in item.comments]
    construct = _construct(item)
    import_id = _quote(found.import_id)
    variable = variables.get(found.import_id)
    if variable is None:
        return [*lines, _statement(construct[0], construct[1], f".import_from({import_id})")]
    jumps = ", ".join(jump.variable for jump in _jumps(item))
    behind = f".behind({jumps})" if jumps else ""
    return [
        *lines,
        _statement(f"{variable} = {construct[0]}", construct[1], behind),
        f"{variable}.import_from({import_id})",
    ]


def _construct(item: AdoptedObject) -> tuple[str, list[str]]:
    """Return the constructor or method to call, and its arguments."""
    values = dict(item.values)
    arguments = ["stack", _quote(item.name)]
    if item.found.type_name == HOST.type_name:
        if _jumps(item):
            del values["jump_host_ids"]
        return "ManagedHost", [*arguments, *_keywords(values)]
    host, specialty = values.get("host_id"), values.get("specialty_id")
    complete = isinstance(host, ObjectReference) and specialty is not None and values.get("name")
    if item.found.type_name == AGENT.type_name and complete:
        assert isinstance(host, ObjectReference)
        del values["host_id"], values["specialty_id"]
        carried = specialty.variable if isinstance(specialty, Lookup) else None
        own = [_quote(item.name), f"specialty={carried or _value(specialty)}"]
        credentials = values.pop("credential_config", None)
        if credentials is not None:
            own.append(f"credentials={_value(credentials)}")
        return f"{host.item.variable}.add_agent", [*own, *_keywords(values)]
    definition = RESOURCES[item.found.type_name]
    # Required attributes that were never seen are written as None.
    # `values` comes twice: first for its order, then to override None.
    unseen = {attribute.name: None for attribute in definition if attribute.needed_to_create}
    return definition.class_name, [*arguments, *_keywords({**values, **unseen, **values})]


def _keywords(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_value(value)}" for name, value in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, ObjectReference):
        return f"{value.item.variable}.id"
    if isinstance(value, Lookup):
        return f"{value.variable}.id"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        given = {name: item for name, item in value.items() if item is not None}
        return f"{{{', '.join(f'{_quote(name)}: {_value(item)}' for name, item in given.items())}}}"
    return repr(literal(value))


def _quote(text: str) -> str:
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
