"""Rows of a fleet, checked all together before any construct is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from opsconsole.text import did_you_mean
from opsconsole_cdktf._ordering import Edges, reaches
from opsconsole_cdktf._placed import BadRows, Columns, PlacedRow
from opsconsole_cdktf._rules import TOKEN, is_token
from opsconsole_cdktf.rows import HostRow

SPECIALTIES = "_specialties"
"""The id of the construct inside a fleet that holds its looked-up specialties."""


def place_rows(rows: Iterable[HostRow | Mapping[str, Any]]) -> list[PlacedRow]:
    """Return rows of a program, placed by their number from 1."""
    return [PlacedRow(f"row {number}", row) for number, row in enumerate(rows, start=1)]


def rename_columns(rows: Iterable[PlacedRow], key: str, columns: Columns) -> list[PlacedRow]:
    """Return rows with columns named as the fields, and with the key.

    Raises:
        BadRows: Two columns of a row give one field; or a value has the form of a token.
    """
    known = set(HostRow.model_fields)
    renamed = []
    problems = []
    for row in rows:
        assert isinstance(row.values, Mapping)
        # The framework would take such a text for one of the program's own tokens.
        problems += [
            f"{row.place}: {name}: a file holds no token, and {str(value)!r:.60} has its form"
            for name, value in row.values.items()
            if TOKEN.search(str(value))
        ]
        sources: dict[str, str] = {}
        for name in row.values:
            field = columns.get(name, name)
            other = sources.setdefault(field, name) if field is not None else name
            if other != name:
                raise BadRows(f"{row.place}: the columns {other!r} and {name!r} both give {field}")
        values = {field: row.values[name] for field, name in sources.items()}
        values.setdefault("key", row.values.get(key))
        # `HostRow` takes no other names, and has the value as its key by now.
        if key not in columns and key not in known:
            values.pop(key, None)
        renamed.append(PlacedRow(row.place, {str(name): item for name, item in values.items()}))
    if problems:
        raise BadRows("\n".join(problems))
    return renamed


def column_problems(header: Sequence[str], key: str, columns: Columns) -> list[str]:
    """Return the problems of the columns of a table."""
    one = header[0] if len(header) == 1 else ""
    if ";" in one or "\t" in one:
        return [f"{one!r} is one column: separate the columns by commas"]
    fields = list(HostRow.model_fields)
    problems = [
        _unknown_column(name, field, fields)
        for name in header
        if name != key and (field := columns.get(name, name)) is not None and field not in fields
    ]
    problems += [
        f"columns names {name!r}, which is not a column. {did_you_mean(name, header)}"
        for name in columns
        if name not in header
    ]
    if key not in header and key != "name":
        problems.append(f"key is {key!r}, which is not a column. {did_you_mean(key, header)}")
    return problems


def _unknown_column(name: str, field: str, fields: Sequence[str]) -> str:
    if field != name:
        hint = did_you_mean(field, fields)
        return f"columns gives {name!r} the field {field!r}, which does not exist. {hint}"
    if not name:
        return "a column has no name: name it, or leave it out by columns={'': None}"
    return (
        f"no such column or field: {name!r}. {did_you_mean(name, fields)} columns={{{name!r}: …}} "
        "gives it a field, or with None leaves it out."
    )


def checked_rows(rows: Iterable[PlacedRow], groups: Collection[str]) -> dict[str, HostRow]:
    """Return the rows by key, sorted; BadRows names all that cannot be used, a line each."""
    problems: dict[str, list[str]] = {}
    by_key: dict[str, HostRow] = {}
    places: dict[str, str] = {}
    for row in rows:
        try:
            read = HostRow.model_validate(row.values)
        except ValidationError as problem:
            problems[row.place] = [_explain_problem(item) for item in problem.errors()]
            continue
        key = read.key or read.name
        wrong = _wrong_key(key, places)
        if wrong:
            problems[row.place] = [wrong]
            continue
        by_key[key], places[key] = read, row.place
    # Only now that all rows are read: a row may name one that comes after it.
    jumps = {key: named_jumps(read) for key, read in by_key.items()}
    for key, read in by_key.items():
        wrong_names = [
            *(f"groups: there is no group {name!r}" for name in read.groups if name not in groups),
            *_wrong_jumps(key, read, by_key, jumps),
            *_wrong_agents(read),
        ]
        if wrong_names:
            problems[places[key]] = wrong_names
    if problems:
        raise BadRows("\n".join(f"{place}: {'; '.join(what)}" for place, what in problems.items()))
    # So the order of the rows has no meaning.
    return dict(sorted(by_key.items()))


def agent_names(row: HostRow) -> list[str]:
    """Return the names of a row's agents inside their host, in the order of the agents.

    Equal agents without a key are counted: `linux`, `linux-2`.
    """
    names = []
    for number, agent in enumerate(row.agents):
        name = agent.key or ("agent" if is_token(agent.specialty) else agent.specialty)
        # Only equal agents are counted, so that no name depends on an agent that differs.
        before = 0 if agent.key else row.agents[:number].count(agent)
        names.append(f"{name}-{before + 1}" if before else name)
    return names


def named_jumps(row: HostRow) -> Sequence[str]:
    """Return the jump hosts that a row names; none if a token stands for all of them."""
    return () if is_token(row.jump_hosts) else row.jump_hosts


def given_values(row: BaseModel, fields: type[BaseModel]) -> dict[str, Any]:
    """Return the construct's arguments that a row gives, limited to the names of `fields`."""
    values = ((name, getattr(row, name)) for name in fields.model_fields)
    return {name: value for name, value in values if value is not None}


def _explain_problem(problem: Any) -> str:
    field = ".".join(map(str, problem["loc"])) or "row"
    if problem["type"] == "extra_forbidden":
        return f"{field}: no such column or field"
    if problem["type"] == "missing":
        return f"{field}: missing"
    if problem["type"] == "value_error":
        return f"{field}: {problem['ctx']['error']}"
    # An empty cell and an empty text are None by now.
    if problem["input"] is None:
        return f"{field}: must not be empty"
    if problem["type"] == "model_type":
        text = f"must be a mapping or a {problem['ctx']['class_name']}"
    elif problem["type"] == "literal_error":
        text = f"must be {problem['ctx']['expected']}"
    else:
        text = problem["msg"].partition(",")[0].replace("Input should be", "must be")
    return f"{field}: {text}, got {problem['input']!r:.80}"


def _wrong_key(key: str, places: Mapping[str, str]) -> str | None:
    if is_token(key):
        return "key: a key is part of an address, and this name is a reference: give the row a key"
    if any(sign.isspace() for sign in key):
        return f"key: {key!r} holds white space; a key is part of an address"
    if key == SPECIALTIES:
        return f"key: {key!r} is the id of a construct of every fleet: give the row another key"
    if key in places:
        return f"key: {key!r} is at {places[key]} too"
    return None


def _wrong_agents(row: HostRow) -> list[str]:
    counted = Counter(agent_names(row))
    return (
        [
            f"agents: {count} agents are called {name!r}: give each that differs a key"
            for name, count in counted.items()
            if count > 1
        ]
        + [
            f"agents: {name!r} holds white space; a key is part of an address"
            for name in counted
            if any(sign.isspace() for sign in name)
        ]
        + [
            f"agents: attachments: duplicate {plugin!r}"
            for agent in row.agents
            for plugin, count in Counter(item.plugin_id for item in agent.attachments).items()
            if count > 1
        ]
    )


def _wrong_jumps(key: str, row: HostRow, rows: Mapping[str, HostRow], jumps: Edges) -> list[str]:
    problems = []
    for name in named_jumps(row):
        if name == key:
            problems.append("jump_hosts: a host cannot be its own jump host")
        elif name not in rows:
            if not (name.startswith("hst_") or is_token(name)):
                problems.append(f"jump_hosts: there is no row {name!r}")
        elif rows[name].is_jump_host is False:
            problems.append(f"jump_hosts: {name!r} declares is_jump_host false")
        elif reaches(jumps, name, key):
            problems.append(f"jump_hosts: {name!r} is itself reached through this host")
    return problems
