"""The content of a plan or a drift report, for terminal, Markdown and HTML.

Nothing is shown by colour alone: each style has a sign and a word.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from opsconsole.diagnostics import Diagnostic
from opsconsole.drift.model import Bucket, Difference, Finding
from opsconsole.reports.value_diff import Line
from opsconsole.text import capitalise_first
from opsconsole.values import Values


@dataclass(frozen=True, slots=True)
class Style:
    """The look and the words of one kind of rows.

    Attributes:
        css_class: Its class in style sheets, without `t-`; scripts and section anchors use it too.
        word: The word for a resource in this style.
        rank: The order of attention: the lowest first.
        colour: Its colour on a terminal, if shown there.
        meaning: The meaning for a resource, as one sentence.
    """

    css_class: str
    sign: str
    word: str
    rank: int
    colour: str = ""
    meaning: str = ""

    @property
    def is_quiet(self) -> bool:
        """Whether a resource of this style needs no attention."""
        return self.css_class in ("same", "elsewhere")

    @property
    def title(self) -> str:
        return capitalise_first(self.word)


SAME: Final = Style(
    "same",
    "=",
    "unchanged",
    90,
    meaning="The console matches the program, as far as it was read.",
)
ACCEPTED: Final = Style(
    "accepted", "✓", "accepted", 70, "green", "Drift that the baseline accepts: it does not count."
)
RESOLVED: Final = Style(
    "add", "✓", "resolved", 80, "green", "Drift of the earlier report that is no more."
)
ELSEWHERE: Final = Style("elsewhere", "·", "not managed here", 95)
BUCKET_STYLES: Final[Mapping[Bucket, Style]] = MappingProxyType(
    {
        Bucket.MISSING: Style(
            "remove", "\N{MINUS SIGN}", "missing", 10, "red", "In state, gone from the console."
        ),
        Bucket.ARCHIVED: Style(
            "leave", "↷", "archived", 20, "red", "In state, archived on the console."
        ),
        Bucket.CHANGED: Style(
            "change", "~", "changed", 30, "yellow", "The console holds other values than state."
        ),
        Bucket.UNMANAGED: Style(
            "replace",
            "+",
            "unmanaged",
            40,
            "magenta",
            "On the console, and in no state of this check.",
        ),
        Bucket.UNCHECKED: Style(
            "unseen",
            "?",
            "unchecked",
            50,
            "cyan",
            "Not seen by this check, so neither in sync nor drifted.",
        ),
        Bucket.PENDING: Style(
            "info", "*", "pending", 60, "blue", "Declared in the program, not applied yet."
        ),
        Bucket.IN_SYNC: Style("same", "=", "in sync", 90, "green", "State and console agree."),
    }
)
"""Every bucket, in the order in which readers want them."""


def style_of_finding(finding: Finding) -> Style:
    """Return the style of a finding: the style of its bucket, or of accepted drift."""
    if finding.accepted and finding.bucket.is_drift:
        return ACCEPTED
    return BUCKET_STYLES[finding.bucket]


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One resource.

    Attributes:
        anchor: Its id on a page.
        kind: Short name of its type.
        title: Its address.
        label: Its name for readers.
        verb: The action on the resource.
        remarks: Further facts, one line each.
        diff: The attributes that differ, as lines.
        differences: The same attributes in a drift report, state and console side by side.
        children: Address and label of the resources that go with it.
        children_effect: The effect on the children, in a word such as `archived`.
        alike: Rows with an equal value share a reason, which is shown once; None for a single row.
    """

    anchor: str
    style: Style
    kind: str
    title: str
    label: str = ""
    verb: str = ""
    reason: str = ""
    remarks: tuple[str, ...] = ()
    id: str = ""
    diff: tuple[Line, ...] = ()
    differences: tuple[Difference, ...] = ()
    children: tuple[tuple[str, str], ...] = ()
    children_effect: str = ""
    alike: Hashable = None

    @property
    def is_bare(self) -> bool:
        return not (self.reason or self.remarks or self.id or self.diff or self.children)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together."""

    anchor: str
    title: str
    meaning: str
    style: Style
    rows: tuple[ResourceRow, ...]

    @property
    def groups(self) -> Sequence[Sequence[ResourceRow]]:
        """The rows in groups: single rows first, then rows that are alike together."""
        groups: dict[Hashable, list[ResourceRow]] = {}
        for row in self.rows:
            groups.setdefault(row.anchor if row.alike is None else row.alike, []).append(row)
        return sorted(groups.values(), key=lambda rows: len(rows) > 1)


def group_rows(rows: Iterable[ResourceRow]) -> list[Section]:
    """Return a section for each style of the rows, in the order of attention."""
    by_style: dict[Style, list[ResourceRow]] = {}
    for row in rows:
        by_style.setdefault(row.style, []).append(row)
    return [
        Section(f"s-{style.css_class}", style.title, style.meaning, style, tuple(by_style[style]))
        for style in sorted(by_style, key=lambda style: style.rank)
    ]


@dataclass(frozen=True, slots=True)
class GraphItem:
    """The facts about one resource that the graph needs."""

    stack: str
    address: str
    type_name: str
    id: str
    label: str
    style: Style
    anchor: str
    values: Values = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.stack}\0{self.address}"


@dataclass(frozen=True, slots=True)
class View:
    """The whole content for a reader.

    Attributes:
        kind: `Plan` or `Drift report`.
        headline: The most important fact.
        subline: A sentence or two beneath it.
        mark: The sign before the headline in formats without styles.
        facts: Names and values.
        extra: Titled diffs beside the sections, such as outputs.
        method: How hosts were read, or why they were not, in one sentence for each method.
        notes: Entries of the baseline, each with its problem.
        items: The resources for the graph; read once, by the page.
    """

    kind: str
    title: str
    headline: str
    subline: str
    style: Style
    mark: str
    facts: tuple[tuple[str, str], ...]
    diagnostics: tuple[Diagnostic, ...]
    sections: tuple[Section, ...]
    extra: tuple[tuple[str, tuple[Line, ...]], ...] = ()
    method: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    items: Iterable[GraphItem] = ()

    @property
    def kinds(self) -> list[str]:
        """The short type names that occur, sorted."""
        return sorted({row.kind for section in self.sections for row in section.rows})

    @property
    def count(self) -> int:
        return sum(len(section.rows) for section in self.sections)

    @property
    def is_short(self) -> bool:
        """Whether the report is so short that it starts unfolded."""
        return (
            sum(len(section.rows) for section in self.sections if not section.style.is_quiet) <= 5
        )


def moment(text: str) -> str:
    """Return an ISO 8601 time for a reader, in UTC; return any other text unchanged."""
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return text
