"""Reads `.tfvars` files: `name = value` in Terraform's native syntax, values written out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from opsconsole.errors import UserError
from opsconsole.language.bounds import MAX_FILE
from opsconsole.language.constraints import LITERALS
from opsconsole.language.failures import EvaluationError, UnsupportedExpression
from opsconsole.language.parsing import tree_of
from opsconsole.language.scanning import assignments
from opsconsole.named_files import read_named


def read_tfvars(path: Path) -> dict[str, Any]:
    """Return the values that a .tfvars file gives, by name.

    Raises:
        UserError: It cannot be read, or a value is not written out.
    """
    try:
        text = read_named(path, MAX_FILE).decode("utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}.", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: {error}.", "Save it as UTF-8.") from error
    values: dict[str, Any] = {}
    try:
        for name, source in assignments(_without_heredocs(text)):
            if name in values:
                raise UserError(f"{path}: {name} is declared twice.")
            values[name] = tree_of(source).evaluate(LITERALS)
    except (EvaluationError, UnsupportedExpression) as error:
        raise UserError(
            f"{path}: {error}.", "Write one `name = value` a line; values must be written out."
        ) from error
    return values


_HEREDOC = re.compile(
    r"<<(?P<indented>-?)(?P<end>[^\W\d][\w-]*)\n(?P<body>(?:.*\n)*?)[ \t]*(?P=end)(?=\n|\Z)"
)


def _without_heredocs(text: str) -> str:
    """Write each heredoc as a quoted string."""

    def quoted(match: re.Match[str]) -> str:
        body = match["body"]
        if match["indented"]:
            lines = body.splitlines(keepends=True)
            indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
            cut = min(indents, default=0)
            body = "".join(line[cut:] for line in lines)
        escaped = body.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'

    return _HEREDOC.sub(quoted, text)
