"""Functions that read files, and functions on paths. The program's directory is the base."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from stat import S_ISREG
from typing import Any

from opsconsole.language.failures import MAX_FILE, BeyondBounds, EvaluationError
from opsconsole.language.functions.encoding import DIGESTS, base64_text
from opsconsole.language.functions.registry import Signature
from opsconsole.language.name_resolver import FunctionContext, TemplateScope
from opsconsole.language.nodes import is_name
from opsconsole.language.parser import parse_template
from opsconsole.language.values import DYNAMIC, STRING, elements


def _content(context: FunctionContext, name: str) -> bytes:
    path = _path(context, name)
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


def _path(context: FunctionContext, name: str) -> Path:
    try:
        return context.root / Path(name).expanduser()
    except RuntimeError as error:
        raise EvaluationError(f"{name}: {error}") from error


@Signature("file", (STRING,), context=True)
def _text(context: FunctionContext, name: str) -> str:
    try:
        return _content(context, name).decode()
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{name} is not UTF-8 text: use filebase64") from error


@Signature("fileexists", (STRING,), context=True)
def _fileexists(context: FunctionContext, name: str) -> bool:
    path = _path(context, name)
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise EvaluationError(f"cannot look at {name!r}: {error}") from error
    if not S_ISREG(status.st_mode):
        raise EvaluationError(f"{path} is not a regular file")
    return True


@Signature("templatefile", (STRING, DYNAMIC), context=True)
def _templatefile(context: FunctionContext, name: str, names: Any) -> Any:
    if names.kind not in ("map", "object"):
        raise EvaluationError("the second argument must be a map")
    pairs = {key.data: item for key, item in elements(names)}
    if wrong := [key for key in pairs if not is_name(key)]:
        raise EvaluationError(f"{wrong[0]!r} is not a valid name")
    return parse_template(_text(context, name)).evaluate(TemplateScope(pairs, context))


@Signature("basename", (STRING,))
def _basename(path: str) -> str:
    if not path:
        return "."
    return posixpath.basename(path.rstrip("/")) or "/"


@Signature("dirname", (STRING,))
def _dirname(path: str) -> str:
    return posixpath.normpath(path.rpartition("/")[0] or ("/" if path.startswith("/") else "."))


for _name, _step in {"base64": base64_text, **DIGESTS}.items():
    Signature(f"file{_name}", (STRING,), context=True)(
        lambda context, name, step=_step: step(_content(context, name))
    )
