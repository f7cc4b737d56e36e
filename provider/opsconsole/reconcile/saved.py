"""Saved plans: a plan, with the program and the variables that it was made from, as one file.

The file holds no provider setting: credentials come from the environment, or from ephemeral
variables, when it is applied.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints
from zipfile import BadZipFile, ZipFile, is_zipfile

from opsconsole.definition import DataSourceDefinition, ResourceDefinition
from opsconsole.errors import UserError
from opsconsole.named_files import read_named
from opsconsole.reconcile.changes import (
    UNKNOWN_KEY,
    Action,
    Change,
    DataRead,
    Drift,
    OutputChange,
    Plan,
    Refreshed,
)
from opsconsole.reconcile.prior import has_shape
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.values import UNKNOWN, Attributes, Value

MAX_BYTES: Final = 512 * 2**20
"""How large a plan may be, packed and unpacked."""
_MAGIC = b"opsconsole plan 1\n"


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
            f"{path} exists already and is not a plan, so it is not overwritten.",
            "Name another file, or remove that file first.",
        )


def write_plan(path: Path, saved: SavedPlan) -> None:
    """Write a plan file, readable by its owner alone.

    Raises:
        UserError: it cannot be written.
    """
    text = json.dumps(saved, default=_plain, separators=(",", ":"))
    packed = zlib.compress(text.encode(), 1)
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
        saved: SavedPlan = _read(content, SavedPlan)
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
    """Refuse a plan with values that are not of their types.

    Raises:
        ValueError: There is one.
    """
    plan = saved.plan
    datetime.fromisoformat(plan.planned_at)
    for read in plan.data:
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


def _check_shape(
    value: Attributes | None, definition: ResourceDefinition | DataSourceDefinition
) -> None:
    if value is not None and not all(
        item.name in value and has_shape(value[item.name], item) for item in definition
    ):
        raise ValueError(f"a value of {definition.type_name} is of another shape")


_HINTS: Final = {
    kind: {name: hint for name, hint in get_type_hints(kind).items() if name != "diagnostics"}
    for kind in (SavedPlan, Plan, Change, Drift, OutputChange, Refreshed, DataRead)
}


def _plain(value: Any) -> Any:
    """Return what JSON holds instead of a value that it does not know; its parts are asked next."""
    if value is UNKNOWN:
        return {UNKNOWN_KEY: True}
    if isinstance(value, Action):
        return value.value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, frozenset):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return dict(value)
    return {name: getattr(value, name) for name in _HINTS[type(value)]}


def _read(value: Any, hint: Any) -> Any:
    """Return what `_plain` wrote of a value of this type.

    Raises:
        ValueError, LookupError, TypeError: It is of another type.
    """
    if hint is Any:
        return _value(value)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        for item in inner:
            with suppress(ValueError, TypeError):
                return _read(value, item)
        raise ValueError(f"none of the types {hint}")
    if origin in (tuple, frozenset):
        items = _of_type(value, list)
        if origin is tuple and inner[-1] is not ...:
            return tuple(_read(item, kind) for item, kind in zip(items, inner, strict=True))
        return origin(_read(item, inner[0]) for item in items)
    if origin is dict:
        return _of_type(_value(_of_type(value, dict)), dict)
    if origin is Mapping:
        read = _of_type(value, dict)
        return read if inner[1] is Any else {name: _read(read[name], inner[1]) for name in read}
    if hint in _HINTS:
        if _of_type(value, dict).keys() != _HINTS[hint].keys():
            raise ValueError(f"not the fields of {hint.__name__}")
        return hint(**{name: _read(value[name], kind) for name, kind in _HINTS[hint].items()})
    if hint is bytes:
        return base64.b64decode(value)
    return Action(value) if hint is Action else _of_type(value, hint)


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"not of type {kind.__name__}")
    return value


def _value(value: Any) -> Value:
    if isinstance(value, dict):
        if UNKNOWN_KEY in value:
            return UNKNOWN
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value
