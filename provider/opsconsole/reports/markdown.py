"""Markdown for a step summary: escaping, diff blocks, and sections cut to a size in bytes.

Other modules decide what is shown; this one writes Markdown and keeps it small.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from opsconsole.diagnostics import Diagnostic
from opsconsole.reports.diagnostics_text import body_of
from opsconsole.reports.text import printable
from opsconsole.reports.value_diff import Line

LIMIT: Final = 1_000_000
"""Bytes that a whole document may take: GitHub refuses a step summary above 1 MiB."""
_SPECIAL = re.compile(r"[\\`*_{}\[\]|~]")
_OPENING = re.compile(r"[-+#=]|\d+(?=[.)])")
_MENTION = "@<!-- -->"
_RESERVED = 200


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A part of a document: an opening, and items that may be cut.

    Attributes:
        opening: Markdown before the items.
        items: Markdown of each item, its line end included.
        noun: What an item is, for the line that counts what was cut.
    """

    opening: str
    items: Sequence[str]
    noun: str = "resource"


def fit(head: str, sections: Sequence[MarkdownSection], limit: int = LIMIT) -> str:
    """Join `head` and `sections` into at most `limit` bytes.

    Each section gets an equal share first and what others leave over second, in their order; each
    that is cut ends with how many items were.
    """
    fixed = _size(head) + sum(_size(item.opening) for item in sections)
    budget = max(limit - fixed - _RESERVED * len(sections), 0)
    sizes = [[_size(item) for item in section.items] for section in sections]
    kept = [0] * len(sections)
    share = budget // max(len(sections), 1)
    for index, found in enumerate(sizes):
        taken, kept[index] = _take(found, 0, share)
        budget -= taken
    for index, found in enumerate(sizes):
        taken, kept[index] = _take(found, kept[index], budget)
        budget -= taken
    return head + "".join(map(_section, sections, kept))


def _take(sizes: Sequence[int], start: int, budget: int) -> tuple[int, int]:
    taken, index = 0, start
    while index < len(sizes) and taken + sizes[index] <= budget:
        taken += sizes[index]
        index += 1
    return taken, index


def _section(section: MarkdownSection, kept: int) -> str:
    cut = len(section.items) - kept
    noun = section.noun if cut == 1 else f"{section.noun}s"
    note = f"\n_… and {cut:,} more {noun}, cut to keep this page small._\n" if cut else ""
    return f"{section.opening}{''.join(section.items[:kept])}{note}"


def _size(text: str) -> int:
    return len(text.encode())


def plain(text: str) -> str:
    """Return `text` as Markdown that shows it letter by letter, on one line."""
    safe = _SPECIAL.sub(r"\\\g<0>", html.escape(printable(text), quote=False))
    opening = _OPENING.match(safe)
    if opening and opening[0].isdigit():
        safe = f"{opening[0]}\\{safe[opening.end() :]}"
    elif opening:
        safe = f"\\{safe}"
    return safe.replace("@", _MENTION)


def code(text: str) -> str:
    """Return `text` as inline code, also within a table or a heading."""
    safe = html.escape(printable(text), quote=False)
    return f"<code>{_SPECIAL.sub(lambda match: f'&#{ord(match[0])};', safe)}</code>"


def fenced(texts: Iterable[str]) -> str:
    """Return lines of a diff as a block; its fence is longer than any run of backticks within."""
    body = "\n".join(texts)
    runs = re.findall("`+", body)
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{fence}diff\n{body}\n{fence}\n"


def diff_texts(lines: Iterable[Line]) -> list[str]:
    """Return the lines of a diff for a `diff` block: the sign in the first column."""
    marks = {"+": "+", "-": "-", "~": "!"}
    found = []
    for line in lines:
        remark = f" {line.remark}" if line.remark else ""
        indent = "  " * line.depth
        found.append(f"{marks.get(line.sign, ' ')}{indent}{line.text}{remark}".rstrip())
    return found


def folded(summary: str, body: str) -> str:
    """Return `body` behind a disclosure whose line is `summary` (Markdown of one line)."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n</details>\n"


def messages(heading: str, diagnostics: Iterable[Diagnostic]) -> MarkdownSection:
    """Return a section of diagnostics, one line each."""
    items = [
        f"- **{item.severity.value.capitalize()}:** "
        f"{plain('. '.join(filter(None, (item.summary, ' '.join(body_of(item).split())))))}\n"
        for item in diagnostics
    ]
    return MarkdownSection(f"\n### {heading}\n\n", items, "message")
