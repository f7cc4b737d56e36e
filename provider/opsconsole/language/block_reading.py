"""Reads a resource or data block, and the common parts of all kinds of blocks.

The common parts are bodies, labels, names, arguments, meta-arguments and origins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from opsconsole.definition import Kind
from opsconsole.diagnostics import Path as AttributePath
from opsconsole.errors import UserError
from opsconsole.language.access import Quoted
from opsconsole.language.json_values import (
    COMMENT,
    DuplicateKeys,
    OnlyTerraform,
    only_terraform_error,
    unknown_name_error,
)
from opsconsole.language.model import (
    NOTHING,
    REMOTE_STATE,
    REMOTE_STATE_ARGUMENTS,
    Block,
    BlockDefinition,
    Json,
    LifecycleBlock,
    Origin,
    Schemas,
)
from opsconsole.language.nodes import Reference, is_name
from opsconsole.language.parser import plain_reference
from opsconsole.language.values import to_nfc
from opsconsole.text import did_you_mean

RESERVED_VARIABLES: Final = frozenset(
    ("count", "depends_on", "for_each", "lifecycle", "locals", "providers", "source", "version")
)
"""Names that a variable cannot have."""
_PROVIDER_NAME: Final = re.compile(r"[^\W_](?:(?:[^\W_]|-)*[^\W_])?")
_SOURCE: Final = re.compile(r"(?:[\w.-]+(?::\d+)?/)?(?:[\w-]+/)?[\w-]+")
_VERSION: Final = re.compile(
    r"\s*(?:=|!=|>=|<=|~>|>|<)?\s*\d+(?:\.\d+)*(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\s*"
)
_NAME_RULE: Final = (
    "A name starts with a letter or an underscore and holds letters, digits, underscores and "
    "dashes only."
)
_META: Final = frozenset(
    (COMMENT, "count", "for_each", "depends_on", "provider", "lifecycle", "connection")
)
_REFUSED: Final = ("provisioner", "connection")
_LIFECYCLE: Final = (
    "create_before_destroy",
    "ignore_changes",
    "prevent_destroy",
    "replace_triggered_by",
)
_CONDITIONS: Final = ("precondition", "postcondition", "action_trigger")


def read_block(
    mode: str, type_name: str, name: str, body: Mapping[str, Any], file: str, schemas: Schemas
) -> Block:
    """Return the block that `body` declares.

    Raises:
        UserError: The block's type is unknown or belongs to another provider, or the block has
            unsupported content.
    """
    origin = read_origin(body, file)
    address = f"{'data.' if mode == 'data' else ''}{type_name}.{name}"
    where = origin.title(address)
    check_name(name, f"{file}: {address}")
    arguments = {key: value for key, value in body.items() if key not in _META}
    definition: BlockDefinition = NOTHING
    if (mode, type_name) == ("data", REMOTE_STATE):
        _check_remote_state(body, arguments, origin, address)
    else:
        definition = _definition(mode, type_name, origin, address, schemas)
    for kind in _REFUSED:
        if kind in body:
            raise only_terraform_error(f"{kind} blocks", origin, address)
    if "count" in body and "for_each" in body:
        raise UserError(f"{where}: count and for_each exclude each other.")
    return Block(
        mode=mode,
        type_name=type_name,
        name=name,
        arguments=arguments,
        origin=origin,
        provider=provider_key(body, where) or type_name.partition("_")[0],
        definition=definition,
        depends_on=read_depends_on(body.get("depends_on", []), where),
        lifecycle=_read_lifecycle(body.get("lifecycle"), origin, address, mode, definition),
        count=body.get("count"),
        for_each=body.get("for_each"),
        counted="count" in body,
        repeated="for_each" in body,
    )


def _check_remote_state(
    body: Mapping[str, Any], arguments: Mapping[str, Any], origin: Origin, address: str
) -> None:
    """Refuse a `terraform_remote_state` with wrong arguments."""
    if "lifecycle" in body:
        raise only_terraform_error("lifecycle of terraform_remote_state", origin, address)
    check_arguments(arguments, REMOTE_STATE_ARGUMENTS, f"{origin.file}: {address}")
    if not arguments.get("backend"):
        raise UserError(f"{origin.file}: {address}: it has no backend.")


def _definition(
    mode: str, type_name: str, origin: Origin, address: str, schemas: Schemas
) -> BlockDefinition:
    known: Mapping[str, BlockDefinition]
    known = schemas.DATA_SOURCES if mode == "data" else schemas.RESOURCES
    if type_name in known:
        return known[type_name]
    provider = type_name.partition("_")[0]
    if provider not in {name.partition("_")[0] for name in known}:
        raise only_terraform_error(
            f'{type_name} belongs to the provider "{provider}"', origin, address
        )
    kind = "data source" if mode == "data" else "resource"
    raise UserError(
        f'{origin.title(address)}: there is no {kind} type "{type_name}".',
        did_you_mean(type_name, known),
    )


def _read_lifecycle(
    value: Json, origin: Origin, address: str, mode: str, definition: BlockDefinition
) -> LifecycleBlock:
    if value is None:
        return LifecycleBlock()
    where = f"{origin.title(address)}: lifecycle"
    body = single_body(value, where)
    for kind in _CONDITIONS:
        if kind in body:
            raise only_terraform_error(kind, origin, address)
    check_arguments(body, _LIFECYCLE, f"{origin.file}: {where}")
    declared = [name for name in body if name != COMMENT]
    if declared and mode == "data":
        raise UserError(f"{where}: {declared[0]} has no meaning for a data source.", "Remove it.")
    ignored = body.get("ignore_changes", [])
    triggers = body.get("replace_triggered_by", [])
    return LifecycleBlock(
        prevent_destroy=read_bool(body.get("prevent_destroy", False), f"{where}.prevent_destroy"),
        create_before_destroy=read_bool(
            body["create_before_destroy"], f"{where}.create_before_destroy"
        )
        if "create_before_destroy" in body
        else None,
        ignore_changes=() if ignored == "all" else _ignored_paths(ignored, definition, where),
        ignore_all=ignored == "all",
        replace_triggered_by=tuple(bare_texts(triggers, f"{where}: replace_triggered_by")),
    )


def _ignored_paths(
    value: Json, definition: BlockDefinition, where: str
) -> tuple[AttributePath, ...]:
    """Return the paths of attributes in `ignore_changes`."""
    where = f"{where}: ignore_changes"
    paths: list[AttributePath] = []
    for text in bare_texts(value, where):
        reference = plain_reference(text)
        if reference is None:
            raise UserError(f"{where}: {text!r} names no attribute.")
        name, *rest = reference.steps
        attribute = definition.by_name.get(str(name))
        if attribute is None:
            raise UserError(f'{where}: there is no attribute "{name}".')
        if attribute.kind is Kind.STRING_SET and rest:
            raise UserError(
                f"{where}: {name} is a set, whose elements have no index.", f"Ignore all of {name}."
            )
        paths.append(reference.steps)
    return tuple(paths)


def check_name(name: str, where: str) -> None:
    """Refuse a name that is not valid.

    Raises:
        UserError: The name is not valid.
    """
    if not is_name(name):
        raise UserError(f"{where}: {name!r} is not a valid name.", _NAME_RULE)


def check_arguments(body: Mapping[str, Any], allowed: Collection[str], where: str) -> None:
    """Refuse a block with an argument that its type does not have here.

    Raises:
        OnlyTerraform: There is such an argument; a newer release of Terraform may have it.
    """
    for name in body:
        if name not in allowed and name != COMMENT:
            raise unknown_name_error("argument", name, allowed, where)


def check_versions(text: str, where: str) -> None:
    """Refuse a text that is not a list of version constraints.

    Raises:
        UserError: A constraint is not valid.
    """
    if not all(_VERSION.fullmatch(part) for part in text.split(",")):
        raise UserError(
            f"{where}: {text!r} is not a version constraint.", 'Write one, such as ">= 1.5, < 2".'
        )


def check_required_provider(name: str, wanted: Mapping[str, Any], where: str) -> None:
    """Refuse an entry of `required_providers` that Terraform cannot read.

    Raises:
        UserError: Its name, its source, its version or an argument is wrong.
    """
    if not _PROVIDER_NAME.fullmatch(name) or name != name.lower():
        raise UserError(f"{where}: {name!r} is not a valid provider name.", "Use a-z, 0-9 and -.")
    check_arguments(wanted, ("source", "version", "configuration_aliases"), f"{where}.{name}")
    # Missing arguments get a value that passes the check.
    source = wanted.get("source", "x/y")
    if not isinstance(source, str) or not _SOURCE.fullmatch(source):
        raise UserError(
            f"{where}.{name}: {source!r} is not the source of a provider.",
            "Write it as [HOSTNAME/]NAMESPACE/TYPE.",
        )
    version = wanted.get("version", "> 0")
    if not isinstance(version, str):
        raise UserError(f"{where}.{name}: its version must be a string.", 'Such as "1.0".')
    check_versions(version, f"{where}.{name}")


def iterate_bodies(value: Any, where: str) -> Iterator[dict[str, Any]]:
    """Yield each body of a block that may be an object or a list of objects; null yields nothing.

    Raises:
        UserError: The value is neither.
    """
    for body in _objects(value, where):
        if isinstance(body, DuplicateKeys):
            raise UserError(f'{where}: "{body.twice()}" is declared twice.', "Keep one of them.")
        yield body


def _objects(value: Any, where: str) -> Iterator[dict[str, Any]]:
    for body in value if isinstance(value, list) else [value]:
        if body is None and value is None:
            return
        if not isinstance(body, dict):
            raise UserError(f"{where}: an object is required here, not {_kind(body)}.")
        yield body


def single_body(value: Any, where: str) -> dict[str, Any]:
    """Return the only body of a block that may occur once; empty if the value is null.

    Raises:
        UserError: There are several bodies, or the value is not an object.
    """
    found = list(iterate_bodies(value, where))
    if len(found) > 1:
        raise UserError(f"{where}: this block may occur only once.")
    return found[0] if found else {}


def iterate_labels(value: Any, where: str, *, required: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield each label below a block's type with its content; repeated labels are all yielded.

    Args:
        required: Whether null is refused. By default, null is not a block.

    Raises:
        UserError: The value is neither an object nor a list of objects.
    """
    if value is None and required:
        raise UserError(f"{where}: a label is required here, not null.")
    for body in _objects(value, where):
        for label, content in body.pairs if isinstance(body, DuplicateKeys) else body.items():
            if label != COMMENT:
                yield label, content


def read_origin(body: Mapping[str, Any], file: str) -> Origin:
    """Return where a body comes from, according to the metadata that synthesis leaves in it."""
    comment = body.get(COMMENT)
    if not isinstance(comment, dict):
        return Origin(file)
    metadata = comment.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    # cdktf's own stack trace is in the metadata; the trace of opsconsole constructs is beside it.
    trace = metadata.get("stackTrace") or comment.get("stackTrace")
    path = metadata.get("path")
    return Origin(
        file,
        path if isinstance(path, str) else "",
        tuple(map(str, trace)) if isinstance(trace, list) else (),
    )


def read_string(value: Any, where: str) -> str:
    """Return a string literal.

    Raises:
        UserError: The value is not a string.
    """
    if not isinstance(value, str):
        raise UserError(f"{where}: a string is required, not {_kind(value)}.")
    return to_nfc(value)


def read_bool(value: Any, where: str) -> bool:
    """Return a literal true or false, which may also be written as a string.

    Raises:
        UserError: The value is neither true nor false.
    """
    if value in ("true", "false"):
        return bool(value == "true")
    if not isinstance(value, bool):
        raise UserError(f"{where}: true or false is required, not {_kind(value)}.")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return json.dumps(value, default=str)


def bare_text(value: Json, where: str) -> str:
    """Return a string that Terraform reads as an expression by itself, without `${…}`.

    Raises:
        UserError: The value is not a string, or is a template.
    """
    text = read_string(value, where)
    if text.startswith("${"):
        raise UserError(f"{where}: {text!r} is a template.", "Write it without ${ and }.")
    return text


_PROVIDER: Final = re.compile(r"([\w-]+)(?:\.([\w-]+))?")


def provider_key(body: Mapping[str, Json], where: str) -> str:
    """Return the meta-argument `provider`, `NAME` or `NAME.ALIAS`; empty if not set.

    Raises:
        OnlyTerraform: The value has another form.
    """
    if "provider" not in body:
        return ""
    text = bare_text(body["provider"], f"{where}.provider")
    if not _PROVIDER.fullmatch(text):
        # OpenTofu also accepts `opsconsole.by["key"]`.
        raise OnlyTerraform(
            f"{where}.provider: the native engine reads NAME or NAME.ALIAS, not {text!r}.",
            f"{where}.provider: {text}",
        )
    return text


def bare_texts(value: Json, where: str) -> Iterator[str]:
    """Yield the items of a meta-argument that lists expressions; raises as `bare_text`."""
    if not isinstance(value, list):
        raise UserError(f"{where}: a list is required.", "Write [] for none.")
    for item in value:
        yield bare_text(item, where)


def read_depends_on(value: Json, where: str) -> tuple[str, ...]:
    """Return the addresses that `depends_on` lists, without keys.

    Raises:
        UserError: The value is not a list of references to blocks, variables or local values.
    """
    found = []
    for text in bare_texts(value, f"{where}: depends_on"):
        reference = plain_reference(text)
        if reference is not None and is_foreign(reference):
            raise foreign_name_error(reference, f"{where}: depends_on")
        address = None if reference is None else block_address(reference.steps)
        if reference is None or address is None:
            raise UserError(f"{where}: depends_on: {text!r} is not a reference.")
        rest = reference.steps[address.count(".") + 1 :]
        keyed = len(rest) == 1 and isinstance(rest[0], int | Quoted)
        if reference.steps[0] in _INSTANCE_NAMES or (rest and not keyed):
            raise UserError(
                f"{where}: depends_on: {text!r} names more than a block.", "Name the block."
            )
        found.append(address)
    return tuple(dict.fromkeys(found))


_INSTANCE_NAMES: Final = frozenset(("each", "count", "self"))


def block_address(steps: tuple[str | int, ...]) -> str | None:
    """Return the address of the resource or data block at the start of a reference, if any."""
    if steps[0] == "data":
        return f"data.{steps[1]}.{steps[2]}" if len(steps) > 2 else None
    return f"{steps[0]}.{steps[1]}" if len(steps) > 1 else None


_PROPERTIES: Final = {"path": ("module", "root", "cwd"), "terraform": ("workspace",)}
"""The properties of the running engine that expressions may use, by the root of their names."""

NEVER_BLOCKS: Final = frozenset(("var", "local", "each", "count", "self", *_PROPERTIES))
"""The first parts of names that refer to no block."""


def is_foreign(reference: Reference) -> bool:
    """Return whether a reference has no meaning here, but may have one in Terraform or OpenTofu.

    Examples are `module.m`, `ephemeral.x_y.z`, `tofu.workspace` and `terraform.applying`.
    """
    root, *rest = map(str, reference.steps)
    if not rest:
        return False
    if root in _PROPERTIES:
        return rest[0] not in _PROPERTIES[root]
    # A resource type always contains an underscore.
    return root not in (*NEVER_BLOCKS, "data") and "_" not in root


def foreign_name_error(reference: Reference, where: str) -> OnlyTerraform:
    """Return the error about a foreign reference at `where`."""
    named = f"{where}: the name {reference.source_text()}"
    return OnlyTerraform(f"{named} is not known to the native engine.", named)
