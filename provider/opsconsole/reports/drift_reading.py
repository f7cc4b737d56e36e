"""Reading a drift report back from its JSON (docs/schemas), as `drift merge` does.

Members that a later minor version added are passed over.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from opsconsole.diagnostics import Diagnostic, Severity
from opsconsole.drift.report import (
    BaselineProblem,
    Bucket,
    Difference,
    DriftReport,
    Finding,
    Managed,
    Share,
)
from opsconsole.drift.shards import read_shard
from opsconsole.errors import UserError
from opsconsole.reports.drift_json import FORMAT

_MAX_BYTES: Final = 1 << 30


def read_report(path: Path) -> DriftReport:
    """Read one report.

    Raises:
        UserError: It cannot be read, or is no drift report of version 1.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise _wrong(path, f"it has more than {_MAX_BYTES:,} bytes")
        document = json.loads(path.read_text("utf-8"))
    except OSError as problem:
        raise UserError(
            f"The report {path} cannot be read: {problem.strerror or problem}.", "Check the path."
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise _wrong(path, "it is not JSON") from problem
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _wrong(path, f"its `format` is not {FORMAT}")
    if not str(document.get("format_version")).startswith("1."):
        raise _wrong(path, "its `format_version` is not 1")
    try:
        return _report(document)
    except (KeyError, TypeError, ValueError, UserError) as problem:
        raise _wrong(path, "a member is missing, or is not of the documented form") from problem


def _wrong(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is not a drift report: {why}.",
        "Write it with `opsconsole drift --shard K/N --format json=FILE`.",
    )


def _is(value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_is(item, str) for item in _is(values, list))


def _report(document: dict[str, Any]) -> DriftReport:
    coverage = document["summary"]["coverage"]
    return DriftReport(
        tuple(_finding(item) for item in _is(document["findings"], list)),
        _is(document["checked_at"], str),
        _is(document["read_only"], bool),
        _is(document["method"], str),
        tuple(_diagnostic(item) for item in _is(document["diagnostics"], list)),
        tuple(
            BaselineProblem(_is(item["entry"], str), _is(item["problem"], str))
            for item in _is(document["baseline"], list)
        ),
        {name: _is(count, int) for name, count in _is(document["calls"], dict).items()},
        float(_is(document["seconds"], (int, float))),
        _texts(coverage["required_types"]),
        float(_is(coverage["minimum_percent"], (int, float))),
        _share(document["shard"]) if "shard" in document else None,
    )


def _share(item: Any) -> Share:
    number, count = _is(item["number"], int), _is(item["count"], int)
    managed = tuple(Managed(*_three(entry)) for entry in _is(item["managed"], list))
    return Share(
        read_shard(f"{number}/{count}"),
        managed,
        _texts(item["baseline_unused"]),
        _is(item["stacks"], int),
        _is(item["stacks_without_state"], int),
    )


def _three(entry: Any) -> tuple[str, str, str]:
    console, type_name, resource_id = _texts(entry)
    return console, type_name, resource_id


def _diagnostic(item: Any) -> Diagnostic:
    path = tuple(_is(step, (str, int)) for step in _is(item["path"], list))
    severity = Severity(item["severity"])
    return Diagnostic(severity, _is(item["summary"], str), _is(item["detail"], str), path)


def _finding(item: Any) -> Finding:
    resource_id = _is(item["id"], str)
    return Finding(
        stack=_is(item["stack"], str),
        address=_is(item["address"], str),
        type_name=_is(item["type"], str),
        bucket=Bucket(item["bucket"]),
        id=resource_id,
        label=_is(item["label"], str),
        differences=tuple(_difference(part) for part in _is(item["differences"], list)),
        reason=_is(item["reason"], str),
        accepted=_is(item["accepted"], str),
        construct_path=_is(item["construct_path"], str),
        location=_is(item["location"], str),
        values={"id": resource_id} if resource_id else {},
        unobserved=_texts(item["unobserved"]),
        counted=_is(item["counted"], bool),
        console=_is(item.get("console", ""), str),
        undecided=_is(item.get("undecided", False), bool),
    )


def _difference(item: Any) -> Difference:
    sensitive = _is(item["sensitive"], bool)
    return Difference(_is(item["attribute"], str), item["state"], item["console"], sensitive)
