"""Pieces of Python source text, laid out as ruff's formatter lays them out. No definitions here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 100
_INDENT = "    "


def indented(lines: Iterable[str]) -> list[str]:
    """Return `lines`, each further to the right by one level; empty lines stay empty."""
    return [_INDENT + line if line else line for line in lines]


def quoted(text: str) -> str:
    """Return `text` as a string literal in double quotes, or in single ones if that is plainer."""
    plain = text.replace("\\", "\\\\")
    if '"' in plain and "'" not in plain:
        return f"'{plain}'"
    return '"' + plain.replace('"', '\\"') + '"'


def text_argument(text: str, depth: int) -> list[str]:
    """Return a string argument at `depth` levels, split over lines where it is too long."""
    room = WIDTH - len(_INDENT) * depth - len('"",')
    if len(quoted(text)) <= room + len('"",'):
        return [quoted(text)]
    parts = textwrap.wrap(text, room - 1, break_long_words=False, break_on_hyphens=False)
    return [quoted(f"{part} ") for part in parts[:-1]] + [quoted(parts[-1])]


def call(head: str, arguments: Sequence[list[str]], depth: int) -> list[str]:
    """Return a call at `depth` levels: in one line if it fits, else one argument a line."""
    if all(len(argument) == 1 for argument in arguments):
        line = f"{head}({', '.join(argument[0] for argument in arguments)})"
        if len(line) + len(_INDENT) * depth <= WIDTH:
            return [line]
        joined = ", ".join(argument[0] for argument in arguments)
        if len(joined) + len(_INDENT) * (depth + 1) <= WIDTH:
            return [f"{head}(", *indented([joined]), ")"]
    if len(arguments) == 1:
        return [f"{head}(", *indented(arguments[0]), ")"]
    lines = [line for argument in arguments for line in [*argument[:-1], f"{argument[-1]},"]]
    return [f"{head}(", *indented(lines), ")"]


def paragraph(text: str, depth: int, hanging: str = "") -> list[str]:
    """Return `text` wrapped for a docstring at `depth` levels; later lines start by `hanging`."""
    return textwrap.wrap(
        text,
        WIDTH - len(_INDENT) * depth,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
