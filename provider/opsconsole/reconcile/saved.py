"""Saved plans: a plan, with the program and the variables that it was made from, as one file.

The file holds no provider setting: credentials come from the environment, or from ephemeral
variables, when it is applied.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints
from zipfile import BadZipFile, ZipFile, is_zipfile

from opsconsole.definition import DataSourceDefinition, ResourceDefinition
from opsconsole.errors import UserError
from opsconsole.named_files import read_named
from opsconsole.reconcile.changes import (
    Action,
    Change,
    DataRead,
    Drift,
    OutputChange,
    Plan,
    Refreshed,
)
from opsconsole.reconcile.declaration import has_shape
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.values import UNKNOWN, Attributes, Value

MAX_BYTES: Final = 512 * 2**20
"""How large a plan may be, packed and unpacked."""
_MAGIC = b"opsconsole plan 1\n"
_UNKNOWN_KEY = "\0unknown"


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """What a plan file holds.

    Attributes:
        plan: The plan, without its diagnostics.
        files: Name to text of the program's files.
        root: The directory that the program's relative paths start at.
        stack: Name of the stack.
        variables: Values of the variables that are neither ephemeral nor a credential.
        digest: Digest of the state that the plan was made from.
        state: The state file that the user named, or empty.
    """

    plan: Plan
    files: Mapping[str, str]
    root: str
    stack: str
    variables: Mapping[str, Any]
    digest: str
    state: str = ""


def checksum(plan: Plan) -> str:
    """Return a checksum of what a plan would do, to be demanded when it is applied.

    The same changes on the same state make the same checksum, whenever they are planned; what the
    console changes by itself is left out.
    """
    changes = [
        [
            item.address,
            item.action.value,
            _told(item.type_name, item.before),
            _told(item.type_name, item.after),
            item.import_id,
            item.create_first,
        ]
        for item in sorted(plan.acting(), key=lambda change: change.address)
    ]
    if plan.mode == "refresh-only":
        changes += [[item.address, _told(item.type_name, item.after)] for item in plan.drift]
    outputs = [[item.name, item.action.value, _plain(item.after)] for item in plan.outputs]
    # A state that does not exist yet gets a new lineage each time.
    content = [plan.lineage if plan.serial else "", plan.mode, changes, outputs]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _told(type_name: str, value: Attributes | None) -> Any:
    if value is None or type_name not in RESOURCES:
        return _plain(value)
    definition = RESOURCES[type_name]
    return {item.name: _plain(value.get(item.name)) for item in definition if not item.volatile}


def check_plan_file(path: Path) -> None:
    """Refuse to write a plan over a file that is not a plan, such as the program.

    Raises:
        UserError: There is such a file.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        with path.open("rb") as file:
            is_plan = file.read(len(_MAGIC)) == _MAGIC
        if not is_plan and is_zipfile(path):
            with ZipFile(path) as archive:
                is_plan = "tfplan" in archive.namelist()  # Terraform's own
    except (OSError, BadZipFile):
        is_plan = False
    if not is_plan:
        raise UserError(
            f"{path} is there already and is not a plan, so no plan is written over it.",
            "Name another file, or remove that one first.",
        )


def write_plan(path: Path, saved: SavedPlan) -> None:
    """Write a plan file, readable by its owner alone.

    Raises:
        UserError: it cannot be written.
    """
    content = {
        "plan": _plain(_fields(saved.plan)),
        "files": dict(saved.files),
        "root": saved.root,
        "stack": saved.stack,
        "variables": dict(saved.variables),
        "digest": saved.digest,
        "state": saved.state,
    }
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 1)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, 0o600)
            file.write(_MAGIC + packed)
    except OSError as problem:
        raise UserError(f"Cannot write the plan to {path}: {problem.strerror}.") from problem


def read_plan(path: Path) -> SavedPlan:
    """Read a plan file.

    Raises:
        UserError: it cannot be read, or is not a plan of this release.
    """
    try:
        data = read_named(path)
    except OSError as problem:
        raise UserError(f"Cannot read the plan {path}: {problem.strerror}.") from problem
    if not data.startswith(_MAGIC):
        raise UserError(
            f"{path} is not a plan of this release of opsconsole.",
            "A plan file is written by `opsconsole plan --out FILE`; Terraform's are not read.",
        )
    try:
        content = json.loads(_unpacked(data[len(_MAGIC) :]))
        saved = SavedPlan(
            _plan(content["plan"]),
            content["files"],
            content["root"],
            content["stack"],
            content["variables"],
            content["digest"],
            content["state"],
        )
        _check(saved)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise UserError(f"The plan {path} is damaged.", "Plan again.") from problem
    return saved


def _unpacked(data: bytes) -> bytes:
    """Return what was compressed, up to a bound: a few bytes may stand for gigabytes."""
    packed = zlib.decompressobj()
    try:
        text = packed.decompress(data, MAX_BYTES)
    except zlib.error as problem:
        raise ValueError(str(problem)) from problem
    if not packed.eof or packed.unused_data:
        raise ValueError(f"it is cut off, or has more than {MAX_BYTES:,} bytes")
    return text


def _check(saved: SavedPlan) -> None:
    """Refuse a plan with a part of another type than it is declared with.

    Raises:
        ValueError: There is one.
    """
    plan = saved.plan
    for item in (saved, plan, *plan.changes, *plan.drift, *plan.outputs, *plan.refreshed):
        _check_fields(item)
    for read in plan.data:
        _check_fields(read)
        _check_shape(read.value, DATA_SOURCES[read.type_name])
    for change in plan.changes:
        values = (change.before, change.after, change.config)
        kinds = DATA_SOURCES if change.address.startswith("data.") else RESOURCES
        for value in values:
            _check_shape(value, kinds[change.type_name])
    for drift in plan.drift:
        _check_shape(drift.before, RESOURCES[drift.type_name])
        _check_shape(drift.after, RESOURCES[drift.type_name])
    for name in saved.files:
        if Path(name).name != name or not name.endswith(".tf.json"):
            raise ValueError(f"{name!r} is not a file of a program")


def _check_fields(item: Any) -> None:
    hints = _HINTS[type(item)]
    for name, hint in hints.items():
        if not _conforms(getattr(item, name), hint):
            raise ValueError(f"{name} of {type(item).__name__} is of another type")


def _check_shape(
    value: Attributes | None, definition: ResourceDefinition | DataSourceDefinition
) -> None:
    if value is not None and not all(
        item.name in value and has_shape(value[item.name], item) for item in definition
    ):
        raise ValueError(f"a value of {definition.type_name} is of another shape")


def _conforms(value: Any, hint: Any) -> bool:
    """Return whether a value that was read fits a type of the plan's classes."""
    if hint is Any or isinstance(hint, str):
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_conforms(value, item) for item in inner)
    if origin is tuple and inner[-1] is not ...:
        return isinstance(value, tuple) and len(value) == len(inner)
    if origin in (tuple, frozenset):
        return isinstance(value, origin) and all(_conforms(item, inner[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(
            isinstance(key, str) and _conforms(item, inner[1]) for key, item in value.items()
        )
    return isinstance(value, hint) and (hint is not int or not isinstance(value, bool))


_HINTS: Final = {
    kind: get_type_hints(kind)
    for kind in (SavedPlan, Plan, Change, Drift, OutputChange, Refreshed, DataRead)
}


def _fields(plan: Plan) -> dict[str, Any]:
    found = {item.name: getattr(plan, item.name) for item in dataclasses.fields(plan)}
    # Both are for the reader of the plan only.
    del found["diagnostics"], found["likely_moves"]
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    if value is UNKNOWN:
        return {_UNKNOWN_KEY: True}
    if isinstance(value, Action):
        return value.value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, frozenset):
        return [_plain(item) for item in sorted(value, key=str)]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    return value


def _plan(content: dict[str, Any]) -> Plan:
    return Plan(
        changes=tuple(_change(item) for item in content["changes"]),
        drift=tuple(map(_drift, content["drift"])),
        outputs=tuple(map(_output, content["outputs"])),
        lineage=content["lineage"],
        serial=content["serial"],
        mode=content["mode"],
        calls=content["calls"],
        refreshed=tuple(
            Refreshed(
                item["address"],
                _value(item["value"]),
                base64.b64decode(item["private"]),
                None if item["dependencies"] is None else tuple(item["dependencies"]),
                item["create_before_destroy"],
            )
            for item in content["refreshed"]
        ),
        data=tuple(
            DataRead(item["address"], item["type_name"], item["provider"], _value(item["value"]))
            for item in content["data"]
        ),
        dropped=tuple(content["dropped"]),
        moved=tuple((source, target) for source, target in content["moved"]),
        unread=content["unread"],
        partly_shown=content["partly_shown"],
        planned_at=datetime.fromisoformat(content["planned_at"]).isoformat(),
    )


def _drift(content: dict[str, Any]) -> Drift:
    before, after = _value(content["before"]), _value(content["after"])
    hidden = frozenset(content["sensitive"])
    return Drift(content["address"], content["type_name"], before, after, hidden)


def _output(content: dict[str, Any]) -> OutputChange:
    action = Action(content["action"])
    before, after = _value(content["before"]), _value(content["after"])
    return OutputChange(content["name"], action, before, after, content["sensitive"])


def _change(content: dict[str, Any]) -> Change:
    read = {name: _value(item) for name, item in content.items()}
    for name in ("replace_paths", "notes", "depends_on", "released"):
        read[name] = tuple(read[name])
    read["sensitive_paths"] = frozenset(map(tuple, read["sensitive_paths"]))
    read["private"] = base64.b64decode(content["private"])
    read["action"] = Action(content["action"])
    read["sensitive"] = frozenset(content["sensitive"])
    return Change(**read)


def _value(value: Any) -> Value:
    if isinstance(value, dict):
        if _UNKNOWN_KEY in value:
            return UNKNOWN
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value
