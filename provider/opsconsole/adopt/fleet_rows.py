"""Hosts, agents and attachments as the rows of a fleet, if a row can express them completely."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from opsconsole.adopt.declarations import AdoptedObject, Lookup, ObjectReference
from opsconsole.resources import AGENT, AGENT_PLUGIN, HOST
from opsconsole.text import escape_template

Row = dict[str, Any]

_TOKEN_SIGNS: Final = re.compile(
    r"[$#]+(?=\{TfToken\[)|(?:[$%]+|(?<![-|\d.+$%]))-(?=[\d.]+e\+?\d{3}(?!\d))"
    r"|\A[SA](?=(?:tring|ny) Map Token Value\Z)"
)
"""What makes cdktf read a text as a token: the signs before a key, the sign of a number near
-1e298 (an id may contain 4e298), and the first letter of two texts that stand for maps."""

_REFERENCES: Final = ("jump_host_ids", "host_id", "specialty_id")
_AGENT_COLUMNS: Final = frozenset(
    item.name
    for item in AGENT.settable
    if not (item.local or item.kind.is_nested or item.name == "plugin_ids")
)
"""Attributes of an agent that a row can have."""


def fleet_rows(items: Iterable[AdoptedObject]) -> list[Row]:
    """Return the rows of a fleet; set the expression of each item that a row declares.

    Items that a row cannot express exactly stay statements.
    """
    hosts: list[Row] = []
    rows: dict[str, Row] = {}
    """The rows of hosts and of agents, by import id."""
    for item in items:
        import_id, type_name = item.import_id, item.type_name
        if type_name == HOST.type_name and _can_be_host_row(item):
            rows[import_id] = _host_row(item)
            hosts.append(rows[import_id])
            item.expression = f'hosts["{item.name}"]'
        elif type_name == AGENT.type_name and _can_be_agent_row(item):
            # Owners come before the objects that they own, so the host's row exists already.
            host = item.values["host_id"].item
            rows[import_id] = _agent_row(item)
            rows[host.import_id].setdefault("agents", []).append(rows[import_id])
            item.expression = f'{host.expression}.agents["{item.name}"]'
        elif type_name == AGENT_PLUGIN.type_name and _can_be_attachment_row(item):
            agent = item.values["agent_id"].item
            plugin = {"plugin_id": literal(item.values["plugin_id"]), "import_id": import_id}
            rows[agent.import_id].setdefault("attachments", []).append(plugin)
            item.expression = f"an attachment of {agent.expression}"
    return hosts


def _can_be_host_row(item: AdoptedObject) -> bool:
    jumps = item.values.get("jump_host_ids") or []
    return (
        _is_plain(item, "jump_host_ids")
        # A fleet reads a jump host with this prefix as an id, and any other text as a row.
        and all(isinstance(one, ObjectReference) or one.startswith("hst_") for one in jumps)
        # A fleet marks the jump hosts among its rows.
        and not item.unmarked
    )


def _can_be_agent_row(item: AdoptedObject) -> bool:
    host, specialty = item.values.get("host_id"), item.values.get("specialty_id")
    # A fleet reads texts with the prefix and templates as ids of specialties, and all others as
    # keys, without the white space around them.
    by_key = (
        isinstance(specialty, Lookup)
        and not specialty.key.startswith("spc_")
        and literal(specialty.key) == specialty.key.strip() != ""
    )
    by_id = isinstance(specialty, str) and specialty.startswith("spc_")
    return (
        isinstance(host, ObjectReference)
        and bool(host.item.expression)
        and (by_key or by_id)
        and bool(item.values.get("name"))
        and item.values.keys() <= _AGENT_COLUMNS
        and _is_plain(item, "host_id", "specialty_id")
    )


def _can_be_attachment_row(item: AdoptedObject) -> bool:
    agent = item.values.get("agent_id")
    return isinstance(agent, ObjectReference) and bool(agent.item.expression) and _is_plain(item)


def _is_plain(item: AdoptedObject, *apart: str) -> bool:
    """Return whether a row keeps all values as they are, except the attributes in `apart`."""
    texts = [
        text
        for name, value in item.values.items()
        for text in (value if isinstance(value, list) else [value])
        if name not in apart and isinstance(text, str)
    ]
    # A row has no place for comments, and would change an empty text or white space around one.
    return not item.comments and all(text and text == text.strip() for text in texts)


def _make_row(item: AdoptedObject, **own: Any) -> Row:
    """Return the row of a host or an agent; `own` are its columns in place of references."""
    values = {
        name: literal(value) for name, value in item.values.items() if name not in _REFERENCES
    }
    return {"key": item.name, "import_id": item.import_id, **own, **values}


def _host_row(item: AdoptedObject) -> Row:
    keys = [_jump_key(jump) for jump in item.values.get("jump_host_ids") or []]
    return _make_row(item) | ({"jump_hosts": keys} if keys else {})


def _jump_key(jump: Any) -> str:
    if not isinstance(jump, ObjectReference):
        return str(jump)
    return jump.item.name if jump.item.expression else jump.item.import_id


def _agent_row(item: AdoptedObject) -> Row:
    specialty = item.values["specialty_id"]
    by_key = isinstance(specialty, Lookup)
    return _make_row(item, specialty=specialty.key if by_key else specialty)


def literal(value: Any) -> Any:
    """Return a value as data of a program.

    Text that looks like a template of Terraform or a token of the framework stays text.
    """
    if isinstance(value, str):
        text, begin = "", 0
        for sign in _TOKEN_SIGNS.finditer(value):
            # `${TfToken[TOKEN.0]}` becomes `${"$"}{TfToken[TOKEN.0]}`: escaped as `$${…`, the
            # framework would still see its token.
            text += f'{escape_template(value[begin : sign.start()])}${{"{sign[0]}"}}'
            begin = sign.end()
        return text + escape_template(value[begin:])
    if isinstance(value, list):
        return [literal(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
