"""Reads JSON files as Terraform does, and the bodies of blocks in them.

A body has arguments and nested blocks. Strings in their values are templates, unless Terraform
reads them as literals.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opsconsole.errors import UserError
from opsconsole.language.failures import MAX_PROGRAM, ExpressionFailure, unknown_name_error
from opsconsole.language.model import Json, Origin
from opsconsole.language.numbers import parse_number
from opsconsole.language.values import DuplicateKeys
from opsconsole.text import LONE_SURROGATE, to_nfc
from opsconsole.user_files import read_named

COMMENT: Final = "//"
"""The property that holds comments and the metadata of constructs, and is not an argument."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_REMEDY: Final = "Correct the file. If a program wrote it, run that program again."
_SYNTAX: Final = {
    "Expecting value": "a value is missing",
    "Expecting property name": "a name in double quotes is missing",
    "Expecting ','": "a comma is missing",
    "Expecting ':'": "a colon is missing",
    "Illegal trailing comma": "a comma stands before a closing bracket",
    "Unterminated string": "a string begins here and does not end",
    "Invalid control character": "a string holds a line break or another control character",
    "Invalid \\": "a string holds an escape sequence that JSON does not have",
    "Extra data": "the document ends before this text",
    "Unexpected UTF-8 BOM": "the file begins with a byte order mark",
}
"""What Python's reader reports, by the beginning of its message."""


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; an object with a repeated name is a DuplicateKeys.

    Raises:
        UserError: The file cannot be read or is not JSON. The message gives file, line and column.
    """
    text = read_text(path)
    try:
        document = parse_json(text, _members)
        # Python's reader keeps an escaped lone surrogate; Go's reader replaces it.
        return replace_surrogates(document) if _SURROGATE.search(text) else document
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise UserError(f"{place}: this is not JSON: {syntax_mistake(error)}.", _REMEDY) from error
    except RecursionError as error:
        raise UserError(f"{path}: it is nested too deeply.", "Use fewer levels.") from error
    except ExpressionFailure as error:
        raise UserError(f"{path}: {error}.", "Write a number with fewer digits.") from error
    except ValueError as error:
        raise UserError(f"{path}: {error}.", _REMEDY) from error


def syntax_mistake(error: json.JSONDecodeError) -> str:
    known = (words for start, words in _SYNTAX.items() if error.msg.startswith(start))
    words = next(known, error.msg)
    if not words.endswith("missing"):
        return words
    # No more of the text is shown, because it may be a secret in a file of variables.
    letter = error.doc[error.pos : error.pos + 1]
    return f"{words} before {letter!r}" if letter else f"{words} at the end"


def read_text(path: Path, most: int = MAX_PROGRAM) -> str:
    """Return the text of a file of a program, or of its variables.

    Raises:
        UserError: The file cannot be read, is too large, or is not UTF-8.
    """
    try:
        data = read_named(path, most)
    except OSError as error:
        too_large = error.errno == errno.EFBIG
        remedy = "Split it." if too_large else "Check the path."
        raise UserError(f"{path}: {error.strerror or error}.", remedy) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: this is not UTF-8 text (byte {error.start}).", "Save it as UTF-8."
        ) from error


def parse_json(
    text: str, members: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None
) -> Any:
    """Parse JSON into values of the language, or raise ValueError; `members` makes the objects."""
    return json.loads(
        text,
        # A float would lose digits, because numbers of the language have a mantissa of 512 bits.
        parse_float=parse_number,
        parse_int=parse_number,
        # Python accepts NaN and Infinity, which JSON does not have.
        parse_constant=_refuse,
        object_pairs_hook=members,
    )


_MOST_NAMES: Final = 3
"""The type of a block, and at most two labels."""


def find_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each block of a JSON text, by its type and labels.

    Lists of objects have no name in it. Of blocks with the same names, the first counts.
    """
    lines: dict[tuple[str, ...], int] = {}
    decode = json.JSONDecoder().raw_decode
    blank = re.compile(r"[ \t\r\n]*[,:]?[ \t\r\n]*")

    line, counted = 1, 0

    def skip(at: int) -> int:
        match = blank.match(text, at)
        return match.end() if match else at

    def read(at: int, names: tuple[str, ...]) -> int:
        """Note the members of the value at a position, and return the position after the value."""
        nonlocal line, counted
        if len(names) == _MOST_NAMES or text[at] not in "{[":
            return decode(text, at)[1]
        opening, at = text[at], skip(at + 1)
        while text[at] not in "}]":
            path = names
            if opening == "{":
                name, end = decode(text, at)
                path = (*names, name)
                line, counted = line + text.count("\n", counted, at), at
                lines.setdefault(path, line)
                at = skip(end)
            at = skip(read(at, path))
        return at + 1

    read(skip(0), ())
    return lines


def has_duplicate_keys(text: str) -> bool:
    results: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: results.append(len(dict(pairs)) < len(pairs)))
    return any(results)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    # Comments are not arguments, so there may be several.
    names = [name for name, _ in pairs if name != COMMENT]
    return members if len(set(names)) == len(names) else DuplicateKeys(pairs)


def replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which no text can hold, by the replacement character, as Go does.

    Texts become normal form C; names, as in Terraform, do not.
    """
    if isinstance(value, str):
        return to_nfc(LONE_SURROGATE.sub("\ufffd", value))
    if isinstance(value, list):
        return [replace_surrogates(item) for item in value]
    if not isinstance(value, dict):
        return value
    pairs = value.pairs if isinstance(value, DuplicateKeys) else value.items()
    return _members(
        [(LONE_SURROGATE.sub("\ufffd", name), replace_surrogates(item)) for name, item in pairs]
    )


@dataclass(frozen=True, slots=True)
class Body:
    """The arguments and nested blocks of one block; UserError where a value has another form.

    Attributes:
        name: The type of the block or, for a block of the program, its address.
        fields: The arguments and nested blocks by name, with the comments.
        where: The name of the block in messages, with the construct's path or the file.
    """

    name: str
    fields: Mapping[str, Json]
    where: str
    origin: Origin

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def mistake(self, text: str, remedy: str = "") -> UserError:
        return UserError(f"{self.where}: {text}", remedy)

    def get(self, name: str) -> Json:
        """Return a value; None if it is null or not set."""
        return self.fields.get(name)

    def arguments(self, besides: Collection[str] = ()) -> dict[str, Json]:
        """Return the values by name, without the comments and without the names `besides`."""
        return {
            name: value
            for name, value in self.fields.items()
            if name not in besides and name != COMMENT
        }

    def check_names(self, allowed: Collection[str], besides: Collection[str] = ()) -> None:
        """Refuse an argument or a nested block that this type of block does not have here.

        Args:
            besides: Names that are allowed too, but not listed in the message.

        Raises:
            OnlyTerraform: There is one; a newer release of Terraform may have it.
        """
        for name in self.arguments(besides):
            if name not in allowed:
                raise unknown_name_error("argument", name, allowed, self.where)

    def string(self, name: str, default: Json = None) -> str:
        """Return a string literal."""
        return _read_string(self.fields.get(name, default), f"{self.where}: {name}")

    def bool(self, name: str, default: Json) -> bool:
        """Return a literal true or false, which may be a string."""
        value = self.fields.get(name, default)
        if value in ("true", "false"):
            return bool(value == "true")
        if not isinstance(value, bool):
            raise self.mistake(f"{name}: true or false is required, not {_kind(value)}.")
        return value

    def expression(self, name: str, default: Json = None) -> str:
        """Return a string that Terraform reads as an expression by itself, without `${…}`."""
        return _read_expression(self.fields.get(name, default), f"{self.where}: {name}")

    def expressions(self, name: str) -> Iterator[str]:
        """Yield the items of an argument that lists expressions."""
        values = self.fields.get(name, [])
        if not isinstance(values, list):
            raise self.mistake(f"{name}: a list is required.", "Write [] for none.")
        for value in values:
            yield _read_expression(value, f"{self.where}: {name}")

    def blocks(self, name: str) -> Iterator[Body]:
        """Yield the nested blocks of a type."""
        where = f"{self.where}: {name}"
        for fields in _fields_of(self.fields.get(name), where):
            yield Body(name, fields, where, self.origin)

    def block(self, name: str) -> Body:
        """Return the nested block of a type that may occur once; empty if there is none."""
        blocks = [*self.blocks(name)]
        if len(blocks) > 1:
            raise self.mistake(f"{name}: this block may occur only once.")
        return blocks[0] if blocks else Body(name, {}, f"{self.where}: {name}", self.origin)


def read_blocks(
    value: Json, file: str, name: str, labels: int
) -> Iterator[tuple[tuple[str, ...], Body]]:
    """Yield the labels and the body of each block of one type.

    Args:
        name: The type of the blocks, or the part of their names before these labels.
        labels: The number of labels that such a block has. The value has an object for each.
    """
    where = f"{file}: {name}"
    if labels:
        for label, inner in labels_of(value, where):
            # The address of a resource begins with its first label.
            longer = label if name == "resource" else f"{name}.{label}"
            for names, body in read_blocks(inner, file, longer, labels - 1):
                yield (label, *names), body
        return
    for fields in _fields_of(value, where):
        origin = read_origin(fields, file)
        yield (), Body(name, fields, origin.place(name), origin)


def labels_of(value: Json, where: str) -> Iterator[tuple[str, Json]]:
    """Yield each label below a block's type with its content; repeated labels are all yielded."""
    if value is None:
        raise UserError(f"{where}: an object is required here, not null.")
    for fields in _objects(value, where):
        for label, content in fields.pairs if isinstance(fields, DuplicateKeys) else fields.items():
            if label != COMMENT:
                yield label, content


def _fields_of(value: Json, where: str) -> Iterator[dict[str, Json]]:
    for fields in _objects(value, where):
        if isinstance(fields, DuplicateKeys):
            raise UserError(
                f'{where}: "{fields.repeated_name}" is declared twice.', "Keep one of them."
            )
        yield fields


def _objects(value: Json, where: str) -> Iterator[dict[str, Json]]:
    if value is None:
        return
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict):
            raise UserError(f"{where}: an object is required here, not {_kind(item)}.")
        yield item


def read_origin(fields: Mapping[str, Json], file: str) -> Origin:
    """Return the origin of a body, from the metadata that synthesis leaves in it."""
    comment = fields.get(COMMENT)
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


def _read_string(value: Json, where: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{where}: a string is required, not {_kind(value)}.")
    return to_nfc(value)


def _read_expression(value: Json, where: str) -> str:
    text = _read_string(value, where)
    if text.startswith("${"):
        raise UserError(f"{where}: {text!r} is a template.", "Write it without ${ and }.")
    return text


def _kind(value: Json) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return json.dumps(value, default=str)
