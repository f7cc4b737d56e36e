"""Reads one resource or data block: what is declared, and the meta-arguments around it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, Final

from opsconsole.definition import DataSourceDefinition, Kind, ResourceDefinition
from opsconsole.diagnostics import Path as AttributePath
from opsconsole.errors import UserError
from opsconsole.language.documents import COMMENT, flag, literal_text, origin_of, single
from opsconsole.language.model import Block, Json, Lifecycle, Origin
from opsconsole.language.parsing import plain_reference
from opsconsole.language.unsupported import refused
from opsconsole.resources import DATA_SOURCES, RESOURCES

_META: Final = frozenset(
    (COMMENT, "count", "for_each", "depends_on", "provider", "lifecycle", "connection")
)
_REFUSED: Final = ("provisioner", "connection")
_DEFAULT: Final = Lifecycle()
_LIFECYCLE: Final = frozenset(
    (
        COMMENT,
        "create_before_destroy",
        "ignore_changes",
        "prevent_destroy",
        "replace_triggered_by",
    )
)
_CONDITIONS: Final = ("precondition", "postcondition", "action_trigger")


BlockDefinition = ResourceDefinition | DataSourceDefinition


def definition_of(block: Block) -> BlockDefinition:
    """Return the definition of what a block declares."""
    if block.mode == "data":
        return DATA_SOURCES[block.type_name]
    return RESOURCES[block.type_name]


def read_block(mode: str, type_name: str, name: str, body: Mapping[str, Any], file: str) -> Block:
    """Return the block that `body` declares.

    Raises:
        UserError: Its type is unknown or another provider's, or it holds what is not supported.
    """
    origin = origin_of(dict(body), file)
    address = f"{'data.' if mode == 'data' else ''}{type_name}.{name}"
    _check_type(mode, type_name, origin, address)
    for kind in _REFUSED:
        if kind in body:
            raise refused(f"{kind} blocks", origin, address)
    if "count" in body and "for_each" in body:
        raise UserError(f"{_title(origin, address)}: count and for_each exclude each other.")
    where = _title(origin, address)
    found = Block(
        mode=mode,
        type_name=type_name,
        name=name,
        arguments={key: value for key, value in body.items() if key not in _META},
        origin=origin,
        provider=_provider(body.get("provider"), type_name, where),
        depends_on=_blocks_named(body.get("depends_on"), where),
        lifecycle=_lifecycle(body.get("lifecycle"), origin, address),
        count=body.get("count"),
        for_each=body.get("for_each"),
        counted="count" in body,
        repeated="for_each" in body,
    )
    for path in found.lifecycle.ignore_changes:
        _check_ignored(path, definition_of(found), where)
    return found


def _check_ignored(path: AttributePath, definition: BlockDefinition, where: str) -> None:
    attribute = next((item for item in definition if item.name == path[0]), None)
    if attribute is None:
        raise UserError(f'{where}: ignore_changes: there is no attribute "{path[0]}".')
    if attribute.kind is Kind.STRING_SET and len(path) > 1:
        raise UserError(
            f"{where}: ignore_changes: {path[0]} is a set, whose elements have no index.",
            f"Ignore all of {path[0]}.",
        )


def _title(origin: Origin, address: str) -> str:
    return f"{origin.path} ({address})" if origin.path else address


def _check_type(mode: str, type_name: str, origin: Origin, address: str) -> None:
    known: Mapping[str, object] = DATA_SOURCES if mode == "data" else RESOURCES
    if type_name in known:
        return
    provider = type_name.partition("_")[0]
    if provider != "opsconsole":
        raise refused(f'{type_name} belongs to the provider "{provider}"', origin, address)
    kind = "data source" if mode == "data" else "resource"
    near = difflib.get_close_matches(type_name, known, n=1)
    hint = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(known)}."
    raise UserError(f'{_title(origin, address)}: there is no {kind} type "{type_name}".', hint)


def unwrapped(text: str) -> str:
    """Return what stands inside of `${…}`, if that is all of `text`."""
    return text[2:-1].strip() if text.startswith("${") and text.endswith("}") else text


def _provider(value: Json, type_name: str, where: str) -> str:
    if value is None:
        return type_name.partition("_")[0]
    return unwrapped(literal_text(value, f"{where}.provider"))


def _blocks_named(value: Json, where: str) -> tuple[str, ...]:
    """Return the addresses that `depends_on` lists, without keys and attributes."""
    found = []
    for item in value or ():
        reference = plain_reference(unwrapped(literal_text(item, f"{where}.depends_on")))
        if reference is None:
            raise UserError(f"{where}: depends_on: {item!r} is no reference.")
        found.append(block_address(reference.steps) or reference.written())
    return tuple(dict.fromkeys(found))


def block_address(steps: tuple[str | int, ...]) -> str | None:
    """Return the address of the resource or data block that a reference starts with, if any."""
    if steps[0] == "data":
        return f"data.{steps[1]}.{steps[2]}" if len(steps) > 2 else None
    return f"{steps[0]}.{steps[1]}" if len(steps) > 1 else None


def _lifecycle(value: Json, origin: Origin, address: str) -> Lifecycle:
    if value is None:
        return _DEFAULT
    where = f"{_title(origin, address)}: lifecycle"
    body = single(value, where)
    for kind in _CONDITIONS:
        if kind in body:
            raise refused(kind, origin, address)
    unknown = [key for key in body if key not in _LIFECYCLE]
    if unknown:
        raise UserError(f'{where}: there is no argument "{unknown[0]}".')
    before = body.get("create_before_destroy")
    ignored, ignore_all = _ignored(body.get("ignore_changes"), where)
    return Lifecycle(
        prevent_destroy=flag(body.get("prevent_destroy") or False, f"{where}.prevent_destroy"),
        create_before_destroy=None
        if before is None
        else flag(before, f"{where}.create_before_destroy"),
        ignore_changes=ignored,
        ignore_all=ignore_all,
        replace_triggered_by=tuple(
            unwrapped(literal_text(item, f"{where}.replace_triggered_by"))
            for item in body.get("replace_triggered_by") or ()
        ),
    )


_PATH: Final = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[\d+\]|\[\"[^\"]*\"\])*")


def _ignored(value: Json, where: str) -> tuple[tuple[AttributePath, ...], bool]:
    if value in ("all", ["all"], ["*"]):
        return (), True
    paths: list[AttributePath] = []
    for item in [value] if isinstance(value, str) else value or ():
        text = unwrapped(literal_text(item, f"{where}.ignore_changes"))
        reference = plain_reference(text) if _PATH.fullmatch(text) else None
        if reference is None:
            raise UserError(f"{where}: ignore_changes: {item!r} names no attribute.")
        paths.append(reference.steps)
    return tuple(paths), False
