"""Terraform's JSON syntax: files, bodies, labels, and what may be one object or a list of them."""

from __future__ import annotations

import errno
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError
from opsconsole.language.failures import MAX_PROGRAM, ExpressionFailure
from opsconsole.language.model import Origin
from opsconsole.language.value_types import Number, normalised, parse_number
from opsconsole.named_files import read_named

COMMENT = "//"
"""The property that is not an argument: comments, and the metadata of constructs."""


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class Repeated(dict[str, Any]):
    """An object of JSON with a name that occurs twice; `pairs` has both, the dict the last.

    Terraform reads one as several blocks where the names are types or labels of blocks, and
    refuses it everywhere else.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def twice(self) -> str:
        """Return the first name that is declared twice."""
        counts = Counter(name for name, _ in self.pairs)
        return next(name for name, count in counts.items() if count > 1)


def read_text(path: Path) -> str:
    """Return the text of a file of a program.

    Raises:
        UserError: It cannot be read, is too large, or is not UTF-8.
    """
    try:
        data = read_named(path, MAX_PROGRAM)
    except OSError as error:
        too_large = error.errno == errno.EFBIG
        remedy = "Split the program." if too_large else "Check the path."
        raise UserError(f"{path}: {error.strerror or error}.", remedy) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: this is not UTF-8 text (byte {error.start}).") from error


def read_json(path: Path) -> Any:
    """Return what a JSON file says; an object in which a name is declared twice is a Repeated.

    Raises:
        UserError: It cannot be read, or is not JSON; the message gives file, line and column.
    """
    text = read_text(path)
    try:
        found = parse_json(text, _object)
        return _without_surrogates(found) if _SURROGATE.search(text) else found
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{error.lineno}:{error.colno}: {error.msg}.",
            "Write JSON there; a file that a program wrote is to be synthesised again.",
        ) from error
    except RecursionError as error:
        raise UserError(f"{path}: it is nested too deeply.", "Use fewer levels.") from error
    except ExpressionFailure as error:
        raise UserError(f"{path}: {error}.", "Write a number with fewer digits.") from error
    except ValueError as error:
        raise UserError(f"{path}: {error}.", "Synthesise it again.") from error


def parse_json(
    text: str, members: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None
) -> Any:
    """Return what a JSON text says, in values of the language; `members` makes its objects.

    Raises:
        ValueError: It is not JSON.
    """
    return json.loads(
        text,
        parse_float=_number,
        parse_int=_number,
        parse_constant=_refuse,
        object_pairs_hook=members,
    )


def says_twice(text: str) -> bool:
    """Return whether an object of a JSON text has a name twice."""
    found = False

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len(dict(pairs)) < len(pairs)
        return {}

    json.loads(text, object_pairs_hook=note)
    return found


def _number(text: str) -> Number:
    number = parse_number(text)
    if number is None:
        raise ValueError(f"not a number: {text}")
    return number


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs if name != COMMENT]
    return found if len(set(names)) == len(names) else Repeated(pairs)


def _without_surrogates(value: Any) -> Any:
    """Replace halves of characters, which no text can hold, by the replacement character, as Go."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if not isinstance(value, dict):
        return value
    pairs = value.pairs if isinstance(value, Repeated) else value.items()
    return _object([(_LONE.sub("\ufffd", name), _without_surrogates(item)) for name, item in pairs])


def bodies(value: Any, where: str) -> Iterator[dict[str, Any]]:
    """Yield each body of a block that may be one object or a list of objects; null is none.

    Raises:
        UserError: It is neither.
    """
    for body in _objects(value, where):
        if isinstance(body, Repeated):
            raise UserError(f'{where}: "{body.twice()}" is declared twice.', "Keep one of them.")
        yield body


def _objects(value: Any, where: str) -> Iterator[dict[str, Any]]:
    for body in value if isinstance(value, list) else [value]:
        if body is None and value is None:
            return
        if not isinstance(body, dict):
            raise UserError(f"{where}: an object is required here, not {_kind(body)}.")
        yield body


def single(value: Any, where: str) -> dict[str, Any]:
    """Return the only body of a block that may occur once; an empty one if it is null.

    Raises:
        UserError: There are several, or it is not an object.
    """
    found = list(bodies(value, where))
    if len(found) > 1:
        raise UserError(f"{where}: this block may occur only once.")
    return found[0] if found else {}


def labelled(value: Any, where: str, *, required: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield each label below a block's type with its content; a repeated label is repeated.

    Args:
        required: Whether null is refused, which otherwise is not a block.

    Raises:
        UserError: It is neither an object nor a list of them.
    """
    if value is None and required:
        raise UserError(f"{where}: a label is required here, not null.")
    for body in _objects(value, where):
        for label, content in body.pairs if isinstance(body, Repeated) else body.items():
            if label != COMMENT:
                yield label, content


def origin_of(body: dict[str, Any], file: str) -> Origin:
    """Return where a body comes from, by the metadata that synthesis leaves in it.

    cdktf's own stack trace is in the metadata, that of the opsconsole constructs beside it.
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
        UserError: It is not a string.
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
