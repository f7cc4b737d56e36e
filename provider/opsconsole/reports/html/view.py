"""What a page shows, as values: sections of rows, tiles, facts. Templates only write it down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from opsconsole.diagnostics import Diagnostic
from opsconsole.drift.report import Difference
from opsconsole.reports.html.layout import Picture
from opsconsole.reports.literals import SENSITIVE, printable
from opsconsole.reports.styles import Style
from opsconsole.reports.value_diff import Line, steps, whole

_CLASSES = {"+": "p", "-": "m", "~": "c"}


@dataclass(frozen=True, slots=True)
class Span:
    """Text of a diff in one class: `p` for plus, `m` for minus, `c` for changed, or none."""

    text: str
    css: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """One attribute, state and console side by side."""

    attribute: str
    state: tuple[Span, ...]
    console: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One resource in a list.

    Attributes:
        anchor: Its id on the page.
        kind: Short name of its type.
        title: Its address.
        label: Its name for readers.
        verb: What happens to it.
        remarks: What else there is to know, one line each.
        diff: The attribute diff of a plan.
        pairs: The differences of a drift report.
        children: Sign, address and label of what goes with it.
    """

    anchor: str
    style: Style
    kind: str
    title: str
    label: str = ""
    verb: str = ""
    remarks: tuple[str, ...] = ()
    diff: tuple[Span, ...] = ()
    pairs: tuple[Pair, ...] = ()
    children: tuple[tuple[str, str], ...] = ()

    @property
    def bare(self) -> bool:
        """Whether there is nothing to unfold."""
        return not (self.remarks or self.diff or self.pairs or self.children)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together; `quiet` ones start folded."""

    anchor: str
    title: str
    meaning: str
    style: Style
    rows: tuple[ResourceRow, ...]
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a value of the page's head."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that one page shows.

    Attributes:
        kind: `Plan` or `Drift report`.
        headline: The most important fact.
        lede: A sentence or two beneath it.
        mood: Style name of the headline.
        extra: Titled diffs beside the lists, such as outputs.
    """

    kind: str
    title: str
    headline: str
    lede: str
    mood: str
    facts: tuple[Fact, ...]
    diagnostics: tuple[Diagnostic, ...]
    sections: tuple[Section, ...]
    extra: tuple[tuple[str, tuple[Span, ...]], ...]
    notes: tuple[tuple[str, str], ...]
    picture: Picture | None
    generator: str

    @property
    def kinds(self) -> list[str]:
        """The short type names that occur, sorted."""
        return sorted({row.kind for section in self.sections for row in section.rows})

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(len(section.rows) for section in self.sections)

    @property
    def few(self) -> bool:
        """Whether so little is to be seen that it starts unfolded."""
        return sum(len(section.rows) for section in self.sections if not section.quiet) <= 5


def spans(lines: Iterable[Line]) -> tuple[Span, ...]:
    """Return a diff as few spans: neighbouring lines of one sign become one."""
    found = list(lines)
    margin = "    " * min((line.depth for line in found), default=0)
    marked = (
        (_CLASSES.get(line.sign or line.mark, ""), line.plain.removeprefix(margin))
        for line in found
    )
    return tuple(
        Span("".join(f"{text}\n" for _, text in group), css)
        for css, group in groupby(marked, key=lambda item: item[0])
    )


def pair_of(difference: Difference) -> Pair:
    """Return one difference with what only one side has marked on that side."""
    name = printable(difference.attribute)
    if difference.sensitive:
        return Pair(name, (Span(SENSITIVE, "m"),), (Span(SENSITIVE, "p"),))
    return Pair(name, *_marked(_texts(difference.state), _texts(difference.console)))


def _texts(value: object) -> list[str]:
    return [line.plain[4:] for line in whole(value, 0, "")]


def _marked(left: list[str], right: list[str]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    ours: list[Span] = []
    theirs: list[Span] = []
    for step, start, end, other, other_end in steps(left, right):
        same = step == "equal"
        ours += _span(left[start:end], "" if same else "m")
        theirs += _span(right[other:other_end], "" if same else "p")
    return tuple(ours), tuple(theirs)


def _span(texts: list[str], css: str) -> Iterator[Span]:
    if texts:
        yield Span("\n".join(texts) + "\n", css)
