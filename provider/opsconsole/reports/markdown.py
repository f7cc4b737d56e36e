"""A report as Markdown for a step summary or a comment, cut to a size in bytes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from opsconsole.reports.terminal import body_of
from opsconsole.reports.value_diff import Line, count_unknown
from opsconsole.reports.view import ResourceRow, View
from opsconsole.text import capitalise_first, plural, printable

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
        items: Markdown of each item, its line end included.
        noun: The noun for an item, for the line that counts the items cut.
    """

    opening: str
    items: Sequence[str]
    noun: str = "resource"


def fit(head: str, sections: Sequence[MarkdownSection], limit: int) -> str:
    """Join `head` and `sections` into at most `limit` bytes.

    Each section first gets an equal share, then in order the unused rest. A section that is cut
    ends with the number of cut items.
    """
    fixed = _size(head) + sum(_size(item.opening) for item in sections)
    # Each section that is cut needs room for the line that counts the items cut.
    budget = max(limit - fixed - _RESERVED * len(sections), 0)
    sizes = [[_size(item) for item in section.items] for section in sections]
    kept = [0] * len(sections)
    for share in (budget // max(len(sections), 1), budget):
        for index, costs in enumerate(sizes):
            taken, kept[index] = _take_items(costs, kept[index], min(share, budget))
            budget -= taken
    return head + "".join(map(_join_section, sections, kept))


def _take_items(sizes: Sequence[int], start: int, budget: int) -> tuple[int, int]:
    taken, index = 0, start
    while index < len(sizes) and taken + sizes[index] <= budget:
        taken += sizes[index]
        index += 1
    return taken, index


def _join_section(section: MarkdownSection, kept: int) -> str:
    cut = len(section.items) - kept
    more = plural(cut, f"more {section.noun}")
    note = f"\n_… and {more}, cut to keep this page small._\n" if cut else ""
    return f"{section.opening}{''.join(section.items[:kept])}{note}"


def _size(text: str) -> int:
    return len(text.encode())


def plain(text: str) -> str:
    """Return Markdown that shows the text literally, on one line."""
    safe = _SPECIAL.sub(r"\\\g<0>", html.escape(printable(text), quote=False))
    # At the start of a line these would begin a heading or a list.
    opening = _OPENING.match(safe)
    if opening and opening[0].isdigit():
        safe = f"{opening[0]}\\{safe[opening.end() :]}"
    elif opening:
        safe = f"\\{safe}"
    # GitHub would notify the user with that name.
    return safe.replace("@", _MENTION)


def code(text: str) -> str:
    """Return `text` as inline code, also within a table or a heading."""
    safe = html.escape(printable(text), quote=False)
    return f"<code>{_SPECIAL.sub(lambda match: f'&#{ord(match[0])};', safe)}</code>"


def fence(texts: Iterable[str]) -> str:
    """Return lines of a diff as a block; its fence is longer than any run of backticks within."""
    body = "\n".join(texts)
    runs = re.findall("`+", body)
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{fence}diff\n{body}\n{fence}\n"


def diff_texts(lines: Iterable[Line]) -> list[str]:
    """Return the lines of a diff for a `diff` block: the sign in the first column."""
    # A `diff` block has no tilde. Lines that begin with `!` are shown as changed.
    marks = {"+": "+", "-": "-", "~": "!"}
    texts = []
    for line in lines:
        remark = f" {line.remark}" if line.remark else ""
        indent = "  " * line.depth
        texts.append(f"{marks.get(line.sign, ' ')}{indent}{line.text}{remark}".rstrip())
    return texts


def disclosure(summary: str, body: str) -> str:
    """Return `body` behind a disclosure whose line is `summary` (Markdown of one line)."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n</details>\n"


def render(view: View, *, limit: int = LIMIT) -> str:
    """Return a plan or drift as Markdown of at most `limit` bytes; quiet sections are counted."""
    counts = "".join(
        f"| {section.title} | {len(section.rows):,} | {section.meaning} |\n"
        for section in view.sections
    )
    table = f"|  | Resources |  |\n|---|--:|---|\n{counts}".rstrip() if counts else ""
    facts = " · ".join(plain(f"{name} {value}") for name, value in view.facts)
    head = f"## {view.mark} {view.headline}"
    parts = (head, plain(view.subline), table, facts, plain(view.method))
    return fit("\n\n".join(filter(None, parts)) + "\n", list(_sections(view)), limit)


def _sections(view: View) -> Iterator[MarkdownSection]:
    if view.diagnostics:
        items = [
            f"- **{item.severity.value.capitalize()}:** "
            f"{plain('. '.join(filter(None, (item.summary, _on_one_line(body_of(item))))))}\n"
            for item in view.diagnostics
        ]
        yield MarkdownSection("\n### Messages\n\n", items, "message")
    for section in view.sections:
        if not section.style.is_quiet:
            opening = f"\n### {section.title} ({len(section.rows):,})\n\n"
            yield MarkdownSection(
                opening, [item for rows in section.groups for item in _render_group(rows)]
            )
    for title, lines in view.extra:
        yield MarkdownSection(f"\n### {title}\n\n", [fence(diff_texts(lines))], "output")
    if view.notes:
        notes = [f"- {code(entry)}: {plain(problem)}\n" for entry, problem in view.notes]
        yield MarkdownSection("\n### Baseline entries to look at\n\n", notes, "problem")


def _on_one_line(body: str) -> str:
    """Return the body of a diagnostic on one line, with its addresses in brackets."""
    head, *places = f"\n{body}".split("\n  ")
    text = " ".join(head.split())
    return f"{text} ({', '.join(places)})".strip() if places else text


def _render_group(rows: Sequence[ResourceRow]) -> Iterator[str]:
    """Yield resources with the same reason, which stands above the first of several."""
    if len(rows) == 1 or not rows[0].reason:
        yield from (_render_row(row, row.reason) for row in rows)
        return
    first, *rest = rows
    reason = first.reason.removesuffix(".")
    # Reasons that begin with an address keep its spelling.
    opening = reason if "://" in reason.partition(" ")[0] else capitalise_first(reason)
    yield f"\n{plain(opening)}:\n\n{_render_row(first, '')}"
    yield from (_render_row(row, "") for row in rest)


def _render_row(row: ResourceRow, reason: str) -> str:
    verb = f"**{plain(row.verb)}**" if row.verb else ""
    headline = " ".join(filter(None, (code(row.title), plain(row.label), verb)))
    remarks = [plain(text) for text in (reason, *row.remarks) if text]
    if not (row.diff or row.children):
        return f"- {' · '.join([headline, *remarks])}\n"
    parts = [" · ".join(remarks)]
    if row.diff:
        parts.append(fence(diff_texts(count_unknown(row.diff))))
    if row.children:
        count = plural(len(row.children), "resource")
        parts.append(f"{row.children_effect.capitalize()} with it, without a call: {count}")
        parts.append("".join(f"- {code(address)}\n" for address, _ in row.children))
    return disclosure(headline, "\n\n".join(filter(None, parts)))
