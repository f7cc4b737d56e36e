"""Finds contradictions between the constructs of a stack, before any request.

All problems are errors of one synthesis, each with the construct's path and source line. A value
that a console may accept is a warning. A value that only Terraform knows passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import cdktf

from opsconsole_cdktf._declared import Declared, Resource
from opsconsole_cdktf._ordering import AGENT, BLACKLISTED_COMMAND, HOST, SPECIALTY, origin
from opsconsole_cdktf._rules import is_token
from opsconsole_cdktf._trees import CHECKS, Tree

_ATTACHMENT = f"{AGENT}_plugin"


def find_contradictions(tree: Tree, stack: cdktf.TerraformStack) -> list[str]:
    """Return the contradictions between the constructs of `stack`, a line each.

    A construct that is probably declared wrong gets a warning, which the framework shows once the
    stack is checked.
    """
    here = [item for item in tree.declared if tree.stack_around(item._scope) is stack]
    # Warnings only, as a console may accept these. A stack that is synthesised again is checked
    # again, and gets each of them once.
    for item, text in [*_hosts_of_one_name(here), *_jump_hosts(tree, here, None)]:
        if (item, text) not in tree.warned and _is_there(item):
            tree.warned.add((item, text))
            line = f" ({item._place})" if item._place else ""
            cdktf.Annotations.of(item).add_warning(f"{text}{line}")
    problems = [
        *_find_address_clashes(stack, here),
        *_find_duplicates(here),
        *_attachments(tree, here),
        *_jump_hosts(tree, here, False),
    ]
    return [f"{_place(item)}: {text}" for item, text in problems if _is_there(item)]


_OUTSIDE_ADDRESSES = re.compile(r"[^A-Za-z0-9_-]")
"""The characters that the framework leaves out of an address."""


def _find_address_clashes(
    stack: cdktf.TerraformStack, here: Iterable[Resource]
) -> Iterator[tuple[Resource, str]]:
    """Yield each resource whose address is empty or taken: the framework keeps only the last."""
    seen: dict[tuple[str, str], Resource] = {}
    # The address of a resource further below holds a hash of its path.
    for item in (item for item in here if item._scope is stack):
        key = (item.TF_RESOURCE_TYPE, _OUTSIDE_ADDRESSES.sub("", item._id))
        first = seen.setdefault(key, item)
        if first is not item and not _is_there(first):
            first = seen[key] = item
        if not key[1] or first is not item:
            # A program may have given it another one.
            name = item.friendly_unique_id
            if not name:
                yield (
                    item,
                    f"its id {item._id!r} holds no letter, digit, '-' or '_' for its address",
                )
            elif first is not item and first.friendly_unique_id == name:
                address = f"{item.TF_RESOURCE_TYPE}.{name}"
                yield item, f"{address} is the address of {_place(first)} already"


_KNOWN_BY = (
    (SPECIALTY, "specialty", ("key", "id")),
    (BLACKLISTED_COMMAND, "blacklisted command", ("id",)),
)
"""Resources that are looked up on the console: type, name, and the attributes they are known by."""


def _find_duplicates(here: Iterable[Resource]) -> Iterator[tuple[Resource, str]]:
    for type_name, title, names in _KNOWN_BY:
        for name in names:
            for item, value, first in _find_repeated(_of_type(here, type_name), name):
                yield item, f"the {title} with {name} {value!r} is {_place(first)} already"


def _hosts_of_one_name(here: Iterable[Resource]) -> Iterator[tuple[Resource, str]]:
    for item, name, first in _find_repeated(_of_type(here, HOST), "name", "org_id"):
        yield item, f"{_place(first)} is a host with the name {name!r} too: declare a machine once"


def _find_repeated(
    items: Iterable[Resource], name: str, *also: str
) -> Iterator[tuple[Resource, Any, Resource]]:
    """Yield each item with the value of `name` (and `also`) that an earlier one has too."""
    seen: dict[tuple[Any, ...], Resource] = {}
    for item in items:
        value = item._values.get(name)
        if value is None or is_token(value):
            continue
        # Another provider may lead to another console, which has ids of its own.
        key = (item._meta.get("provider"), value, *map(item._values.get, also))
        first = seen.setdefault(key, item)
        if first is not item and _is_there(first):
            yield item, value, first


def _attachments(tree: Tree, here: Iterable[Resource]) -> Iterator[tuple[Resource, str]]:
    seen: dict[tuple[Any, str], Resource] = {}
    for item in _of_type(here, _ATTACHMENT):
        plugin = item._values.get("plugin_id")
        if not isinstance(plugin, str) or is_token(plugin):
            continue
        agent = origin(tree, item._values.get("agent_id"))
        holder: Any = agent if isinstance(agent, Declared) else item._values.get("agent_id")
        first = seen.setdefault((holder, plugin), item)
        if first is not item and _is_there(first):
            yield item, f"{plugin} is attached to this agent at {_place(first)} already"
        if isinstance(agent, Resource) and plugin in _literals(agent._values.get("plugin_ids")):
            yield item, f"{plugin} is among the plugin_ids of {_place(agent)} too"


def _jump_hosts(
    tree: Tree, here: Iterable[Resource], declared: bool | None
) -> Iterator[tuple[Resource, str]]:
    """Yield each host with a jump host whose declared `is_jump_host` is `declared`."""
    words = "does not declare is_jump_host" if declared is None else "declares is_jump_host false"
    for item, jump in _jumps(tree, here):
        if jump._values.get("is_jump_host") is declared:
            yield item, f"jump_host_ids: {_place(jump)} {words}"


def _jumps(tree: Tree, here: Iterable[Resource]) -> Iterator[tuple[Resource, Resource]]:
    """Yield each host with each declared jump host of it."""
    for item in _of_type(here, HOST):
        for value in _literals(item._values.get("jump_host_ids")):
            jump = origin(tree, value)
            if isinstance(jump, Resource):
                yield item, jump


def _of_type(here: Iterable[Resource], type_name: str) -> Iterator[Resource]:
    # With `count` or `for_each` a construct stands for several objects, or for none.
    return (
        item
        for item in here
        if type_name == item.TF_RESOURCE_TYPE and not item._meta.keys() & {"count", "for_each"}
    )


def _literals(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _place(item: Resource) -> str:
    line = f" ({item._place})" if item._place else ""
    return f"{item.node.path}{line}"


def _is_there(item: Resource) -> bool:
    # A program may remove a construct from its scope, and declare another one of the same id there.
    child = item._scope.node.try_find_child(item.node.id)
    return child is not None and child is item


CHECKS.append(find_contradictions)
