"""Terraform's JSON syntax: files, bodies, labels, and what may be one object or a list of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError
from opsconsole.language.model import Origin
from opsconsole.language.numeric import parse_number
from opsconsole.language.unicode_form import normalised

COMMENT = "//"
"""The property that is no argument: comments, and the metadata of constructs."""


def read_json(path: Path) -> Any:
    """Return what a JSON file says.

    Raises:
        UserError: It cannot be read, or is no JSON; the message gives file, line and column.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}.", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: this is no UTF-8 text (byte {error.start}).") from error
    try:
        return json.loads(text, parse_float=parse_number, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{error.lineno}:{error.colno}: {error.msg}.",
            "The file must hold Terraform's JSON syntax; synthesise it again.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: {error}.", "Synthesise it again.") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def bodies(value: Any, where: str) -> Iterator[dict[str, Any]]:
    """Yield each body of a block that may be one object or a list of objects; null is none.

    Raises:
        UserError: It is neither.
    """
    for body in value if isinstance(value, list) else [value]:
        if body is None and value is None:
            return
        if not isinstance(body, dict):
            raise UserError(f"{where}: an object is required here, not {_kind(body)}.")
        yield body


def single(value: Any, where: str) -> dict[str, Any]:
    """Return the only body of a block that may stand once; an empty one if it is null.

    Raises:
        UserError: There are several, or it is no object.
    """
    found = list(bodies(value, where))
    if len(found) > 1:
        raise UserError(f"{where}: this block may stand only once.")
    return found[0] if found else {}


def labelled(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Yield label and content of what stands below a block's type."""
    for body in bodies(value, where):
        for label, content in body.items():
            if label != COMMENT:
                yield label, content


def origin_of(body: dict[str, Any], file: str) -> Origin:
    """Return where a body comes from, by the metadata that synthesis leaves in it.

    cdktf's own stack trace stands in the metadata, that of the opsconsole constructs beside it.
    """
    comment = body.get(COMMENT)
    if not isinstance(comment, dict):
        return Origin(file)
    metadata = comment.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    trace = metadata.get("stackTrace") or comment.get("stackTrace")
    path = metadata.get("path")
    return Origin(
        file,
        path if isinstance(path, str) else "",
        tuple(map(str, trace)) if isinstance(trace, list) else (),
    )


def literal_text(value: Any, where: str) -> str:
    """Return a string that is taken as it is.

    Raises:
        UserError: It is no string.
    """
    if not isinstance(value, str):
        raise UserError(f"{where}: a string is required, not {_kind(value)}.")
    return normalised(value)


def flag(value: Any, where: str) -> bool:
    """Return a literal true or false; a string of either counts.

    Raises:
        UserError: It is neither.
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
