"""Functions that read files, and functions on paths. The program's directory is the base."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any

from opsconsole.language.failures import MAX_FILE, BeyondBounds, EvaluationError
from opsconsole.language.functions.encoding import DIGESTS, base64_text
from opsconsole.language.functions.registry import Signature
from opsconsole.language.name_resolver import NameResolver
from opsconsole.language.nodes import Names, Reference, Scope
from opsconsole.language.parser import parse_template
from opsconsole.language.values import DYNAMIC, STRING, Value, members_of
from opsconsole.state import is_name


def _content(resolver: NameResolver, name: str) -> bytes:
    path = _path(resolver, name)
    try:
        # Opened without blocking, because a pipe without a writer would block the run forever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not S_ISREG(status.st_mode):
                raise EvaluationError(f"{path} is not a regular file")
            # Reading one byte more shows whether the file is larger.
            content = file.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EvaluationError(f"cannot read {path}: {reason}") from error
    if len(content) > MAX_FILE:
        raise BeyondBounds(f"the file {path}, which has more than {MAX_FILE:,} bytes")
    return content


def _path(resolver: NameResolver, name: str) -> Path:
    try:
        return resolver.root / Path(name).expanduser()
    except RuntimeError as error:
        raise EvaluationError(f"{name}: {error}") from error


@Signature("file", (STRING,), impure=True)
def _text(resolver: NameResolver, name: str) -> str:
    try:
        return _content(resolver, name).decode()
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{name} is not UTF-8 text: use filebase64") from error


@Signature("fileexists", (STRING,), impure=True)
def _fileexists(resolver: NameResolver, name: str) -> bool:
    path = _path(resolver, name)
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise EvaluationError(f"cannot look at {name!r}: {error}") from error
    if not S_ISREG(status.st_mode):
        raise EvaluationError(f"{path} is not a regular file")
    return True


@Signature("templatefile", (STRING, DYNAMIC), impure=True)
def _templatefile(resolver: NameResolver, name: str, names: Any) -> Any:
    if names.kind not in ("map", "object"):
        raise EvaluationError("the second argument must be a map")
    pairs = members_of(names)
    if wrong := [key for key in pairs if not is_name(key)]:
        raise EvaluationError(f"{wrong[0]!r} is not a valid name")
    return parse_template(_text(resolver, name)).evaluate(Scope(_TemplateNames(resolver), pairs))


class _TemplateNames(Names):
    """The functions that a template file may call; the call passes the names."""

    def __init__(self, outer: NameResolver) -> None:
        self.work = outer.work
        self._outer = outer

    def resolve(self, reference: Reference, key: Value | None = None) -> Value:
        root = reference.steps[0]
        raise EvaluationError(f"the template names {root}, which the call does not give")

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        if name in ("templatefile", "templatestring"):
            raise EvaluationError(f"a template cannot call {name}")
        return self._outer.call(name, arguments)


@Signature("basename", (STRING,))
def _basename(path: str) -> str:
    if not path:
        return "."
    return posixpath.basename(path.rstrip("/")) or "/"


@Signature("dirname", (STRING,))
def _dirname(path: str) -> str:
    return posixpath.normpath(path.rpartition("/")[0] or ("/" if path.startswith("/") else "."))


for _name, _step in {"base64": base64_text, **DIGESTS}.items():
    Signature(f"file{_name}", (STRING,), impure=True)(
        lambda resolver, name, step=_step: step(_content(resolver, name))
    )
