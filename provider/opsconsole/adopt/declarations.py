"""The declarations of adopted objects: names, references and order."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opsconsole.adopt.reading import ConsoleContents, ConsoleObject
from opsconsole.resources import AGENT, HOST, RESOURCES, SPECIALTY

LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The id of another object of the program."""

    item: AdoptedObject


@dataclass(frozen=True, slots=True)
class Lookup:
    """The id of a specialty that is looked up by its key.

    Attributes:
        name: Its name in the program, which is unique among objects and lookups.
    """

    key: str
    name: str

    @property
    def variable(self) -> str:
        """The name of its variable, and of its data block in Terraform's language."""
        return _variable(self.name)


@dataclass(slots=True, eq=False)
class AdoptedObject:
    """One object as the program declares it.

    Attributes:
        name: Its name in its address; also valid in Python after `-` is replaced by `_`.
        values: The declared values: literals, references, lists of either.
        group: The heading under which it is shown, or empty.
        unmarked: Whether it is a jump host of other hosts without being declared as one.
        expression: Its expression in Python, if something else declares it; set by `fleet_rows`.
        comments: Its comments: attributes that are not declared, and why.
    """

    type_name: str
    import_id: str
    name: str
    values: Mapping[str, Any]
    group: str = ""
    unmarked: bool = False
    expression: str = ""
    comments: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The name of its variable, or its expression."""
        if self.expression:
            return self.expression
        name = _variable(self.name)
        return f"{name}_" if keyword.iskeyword(name) or name in _VARIABLES else name


_VARIABLES: Final = ("annotations", "app", "hosts", "stack")
"""Variables of the Python program itself."""

_CONSTRUCTS: Final = ("backend", "hosts", "opsconsole")
"""Ids that the Python program itself declares in its stack, and ids that cdktf adds."""


def declare_objects(contents: ConsoleContents, taken: Iterable[str]) -> list[AdoptedObject]:
    """Return the declared objects, each after all objects that it refers to.

    Args:
        taken: Names that the program has already.
    """
    readable = {item.import_id: item for item in contents.objects if not item.reason}
    variables = {*_CONSTRUCTS, *map(_variable, taken)}
    names = _choose_names(readable.values(), variables)
    lookups = _make_lookups(readable, contents.specialties, variables)
    jumps = {one for item in readable.values() for one in item.values.get("jump_host_ids") or ()}
    declared: dict[str, AdoptedObject] = {}
    for import_id in _order_by_ties(readable):
        item = readable[import_id]
        refused = _undeclarable_attributes(item)
        values = {
            name: value
            for name, value in _declared_values(item, declared, lookups)
            if name not in refused
        }
        if import_id in jumps and values.get("is_jump_host") is False:
            # A console may have this contradiction, but the constructs refuse to declare it.
            del values["is_jump_host"]
        unmarked = import_id in jumps and values.get("is_jump_host") is not True
        group = _group_of(item, readable)
        comments = tuple(refused.values())
        if item.unobserved:
            comments = (f"Not shown by the console: {', '.join(item.unobserved)}", *comments)
        declared[import_id] = AdoptedObject(
            item.type_name,
            import_id,
            names[import_id],
            values,
            group,
            unmarked,
            comments=comments,
        )
    return list(declared.values())


def lookups_of(declared: Iterable[AdoptedObject]) -> list[Lookup]:
    """Return the lookups that items use, each once, by key."""
    lookups = {
        value for item in declared for value in item.values.values() if isinstance(value, Lookup)
    }
    return sorted(lookups, key=lambda lookup: lookup.key)


def _order_by_ties(readable: Mapping[str, ConsoleObject]) -> Iterator[str]:
    """Yield jump hosts before the hosts behind them, and owners before their objects."""
    for type_name in RESOURCES:
        ids = [one for one, item in readable.items() if item.type_name == type_name]
        yield from _jumps_first(readable, ids) if type_name == HOST.type_name else ids


def _jumps_first(readable: Mapping[str, ConsoleObject], hosts: Sequence[str]) -> Iterator[str]:
    """Yield hosts after their jump hosts; a cycle is broken at its first host."""
    placed: set[str] = set()
    visiting: set[str] = set()

    def jumps_of(one: str) -> list[str]:
        wanted = readable[one].values.get("jump_host_ids") or ()
        return [jump for jump in wanted if jump in readable and jump not in placed]

    for start in hosts:
        waiting = [start]
        while waiting:
            one = waiting[-1]
            # Several hosts behind the same jump host may have pushed it on the stack.
            if one in placed:
                waiting.pop()
                continue
            visiting.add(one)
            before = [jump for jump in jumps_of(one) if jump not in visiting]
            if before:
                waiting += before
                continue
            placed.add(waiting.pop())
            yield one


def _declared_values(
    item: ConsoleObject, made: Mapping[str, AdoptedObject], lookups: Mapping[str, Lookup]
) -> Iterator[tuple[str, Any]]:
    definition = RESOURCES[item.type_name]
    by_key = item.type_name == SPECIALTY.type_name and item.values.get("key")
    for attribute in definition.settable:
        name, value = attribute.name, item.values.get(attribute.name)
        if name in item.unobserved or attribute.local or value in (None, [], {}):
            continue
        if name == "id" and by_key:
            continue
        # The plugins of an agent are attachments, which are objects of their own.
        if (item.type_name, name) == (AGENT.type_name, "plugin_ids"):
            continue
        if attribute.refers_to:
            many = isinstance(value, list)
            ids = [
                _id_expression(one, attribute.refers_to, made, lookups)
                for one in (value if many else [value])
            ]
            value = ids if many else ids[0]
        yield name, value


def _undeclarable_attributes(console_object: ConsoleObject) -> dict[str, str]:
    """Return the attributes with invalid values, by name, and why."""
    definition = RESOURCES[console_object.type_name]
    settable = {item.name for item in definition.settable} - set(console_object.unobserved)
    problems = definition.problems({name: console_object.values.get(name) for name in settable})
    # The order is reversed, so that the first problem of an attribute is kept.
    return {
        str(item.path[0]): f"Not declared: {item.summary}. {item.detail}"
        for item in reversed(problems)
        if item.is_error and item.path
    }


def _id_expression(
    value: str,
    kind: str,
    made: Mapping[str, AdoptedObject],
    lookups: Mapping[str, Lookup],
) -> Any:
    """Return the expression for the id of an object of this kind; other kinds may share the id."""
    item = made.get(value)
    if item is not None and RESOURCES[item.type_name].name == kind:
        return ObjectReference(item)
    return lookups.get(value, value) if kind == SPECIALTY.name else value


def _group_of(item: ConsoleObject, readable: Mapping[str, ConsoleObject]) -> str:
    if item.type_name != HOST.type_name:
        return RESOURCES[item.type_name].plural
    jumps = item.values.get("jump_host_ids") or ()
    if jumps:
        first = readable[jumps[0]].values["name"] if jumps[0] in readable else jumps[0]
        return f"hosts behind {first}"
    tags = item.values.get("tags") or ()
    return f"hosts with the tag {tags[0]}" if tags else "hosts"


def _choose_names(readable: Iterable[ConsoleObject], variables: set[str]) -> dict[str, str]:
    """Return a name for each object, from its label; its variable joins `variables`."""
    names: dict[str, str] = {}
    for item in readable:
        label = item.values.get(RESOURCES[item.type_name].label) or item.import_id
        names[item.import_id] = _free_name(str(label), variables)
    return names


def _make_lookups(
    readable: Mapping[str, ConsoleObject], specialties: Mapping[str, str], variables: set[str]
) -> dict[str, Lookup]:
    """Return lookups by id, for each specialty that is used but not among the objects."""
    used = {found.values.get("specialty_id") for found in readable.values()} - readable.keys()
    keys = {key: one for one, key in specialties.items() if one in used}
    return {
        keys[key]: Lookup(key, _free_name(f"specialty-{key}", variables)) for key in sorted(keys)
    }


def _free_name(label: str, variables: set[str]) -> str:
    """Return a name after `label`, made unique by a number; its variable joins `variables`."""
    base = re.sub(r"[^A-Za-z0-9_-]+", "-", label).strip("-_")[:LONGEST_NAME].rstrip("-_")
    base = base or "object"
    # The name also becomes a Python variable, which cannot begin with a digit.
    base = base if base[0].isalpha() else f"n-{base}"
    name, number = base, 1
    # `Web-1` and `web_1` are different names, but the same variable.
    while _variable(name) in variables:
        number += 1
        name = f"{base}-{number}"
    variables.add(_variable(name))
    return name


def _variable(name: str) -> str:
    return name.replace("-", "_").lower()
