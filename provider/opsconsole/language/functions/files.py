"""Functions that read files, and those on paths. Relative paths start at the program."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opsconsole.language.failures import EvaluationError
from opsconsole.language.functions.encoding import digest, digest64
from opsconsole.language.functions.registry import (
    FUNCTIONS,
    Function,
    Signature,
    Surroundings,
)
from opsconsole.language.value_types import DYNAMIC, STRING


def _content(surroundings: Surroundings, name: str) -> bytes:
    path = surroundings.root / Path(name).expanduser()
    try:
        return path.read_bytes()
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror or error}") from error


def _text(surroundings: Surroundings, name: str) -> str:
    try:
        return _content(surroundings, name).decode()
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{name} is no UTF-8 text: use filebase64") from error


@Signature("file", (STRING,), surroundings=True)
def _file(surroundings: Surroundings, name: str) -> str:
    return _text(surroundings, name)


@Signature("filebase64", (STRING,), surroundings=True)
def _filebase64(surroundings: Surroundings, name: str) -> str:
    return base64.b64encode(_content(surroundings, name)).decode()


@Signature("fileexists", (STRING,), surroundings=True)
def _fileexists(surroundings: Surroundings, name: str) -> bool:
    path = surroundings.root / Path(name).expanduser()
    if path.exists() and not path.is_file():
        raise EvaluationError(f"{path} is no regular file")
    return path.is_file()


@Signature("templatefile", (STRING, DYNAMIC), surroundings=True)
def _templatefile(surroundings: Surroundings, name: str, names: Any) -> Any:
    if not isinstance(names, dict):
        raise EvaluationError("the second argument must be a map")
    return surroundings.render(_text(surroundings, name), dict(names))


@Signature("basename", (STRING,))
def _basename(path: str) -> str:
    if not path:
        return "."
    return posixpath.basename(path.rstrip("/")) or "/"


@Signature("dirname", (STRING,))
def _dirname(path: str) -> str:
    return posixpath.normpath(path.rpartition("/")[0] or ("/" if path.startswith("/") else "."))


def _of_file(
    hashing: Callable[[str, bytes], str], algorithm: str
) -> Callable[[Surroundings, str], str]:
    return lambda surroundings, name: hashing(algorithm, _content(surroundings, name))


for _prefix, _hashing, _algorithms in (
    ("file", digest, ("md5", "sha1", "sha256", "sha512")),
    ("filebase64", digest64, ("sha256", "sha512")),
):
    for _algorithm in _algorithms:
        FUNCTIONS[_prefix + _algorithm] = Function(
            _prefix + _algorithm,
            _of_file(_hashing, _algorithm),
            (STRING,),
            1,
            surroundings=True,
        )
