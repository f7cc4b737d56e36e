"""A page as values (sections of rows, facts), and how it is written: the template, its style and
its script, bound together without outside requests.

The page's own policy names the style and the script by their hashes, so that no script in a value
can run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from opsconsole import __version__
from opsconsole.diagnostics import Diagnostic
from opsconsole.drift.report import Difference
from opsconsole.reports.diagnostics_text import body_of
from opsconsole.reports.html.layout import HEIGHT, WIDTH, Picture
from opsconsole.reports.styles import Style
from opsconsole.reports.text import SENSITIVE, printable
from opsconsole.reports.value_diff import Line, steps, whole

_TEMPLATES = "templates"
_LOT: Final = 100
"""Rows that a browser lays out or skips together; the style sheet depends on it."""
_CLASSES = {"+": "p", "-": "m", "~": "c"}


@dataclass(frozen=True, slots=True)
class Span:
    """Text of a diff in one class: `p` for plus, `m` for minus, `c` for changed, or none."""

    text: str
    css: str = ""


Pair = tuple[str, tuple[Span, ...], tuple[Span, ...]]
"""One attribute, state and console side by side."""


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
        children: Address and label of what goes with it.
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
class Page:
    """Everything that one page shows.

    Attributes:
        kind: `Plan` or `Drift report`.
        headline: The most important fact.
        lede: A sentence or two beneath it.
        mood: Style name of the headline.
        facts: Names and values of the page's head.
        extra: Titled diffs beside the lists, such as outputs.
    """

    kind: str
    title: str
    headline: str
    lede: str
    mood: str
    facts: tuple[tuple[str, str], ...]
    diagnostics: tuple[Diagnostic, ...]
    sections: tuple[Section, ...]
    extra: tuple[tuple[str, tuple[Span, ...]], ...]
    notes: tuple[tuple[str, str], ...]
    picture: Picture | None

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
        """Whether there is so little to show that it starts unfolded."""
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
        return name, (Span(SENSITIVE, "m"),), (Span(SENSITIVE, "p"),)
    left, right = (
        [line.plain[4:] for line in whole(value, 0, "")]
        for value in (difference.state, difference.console)
    )
    ours: list[Span] = []
    theirs: list[Span] = []
    for step, start, end, other, other_end in steps(left, right):
        same = step == "equal"
        ours += _span(left[start:end], "" if same else "m")
        theirs += _span(right[other:other_end], "" if same else "p")
    return name, tuple(ours), tuple(theirs)


def _span(texts: list[str], css: str) -> Iterator[Span]:
    if texts:
        yield Span("\n".join(texts) + "\n", css)


def write(page: Page) -> str:
    """Return `page` as one HTML document."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _environment().get_template("page.html")
    return template.render(
        page=page,
        generator=f"opsconsole {__version__}",
        body_of=body_of,
        policy=policy,
        # Our own files, not a reader's values: they must not be escaped.
        style=Markup(style),
        script=Markup(script),
        lot_size=_LOT,
        box_width=WIDTH,
        box_height=HEIGHT,
    )


def _safe(value: object) -> object:
    """Return what a template writes, without characters that steer whatever shows it."""
    return printable(value, "\n\t") if type(value) is str else value


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("opsconsole.reports.html", _TEMPLATES),
        autoescape=True,
        finalize=_safe,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _asset(name: str) -> str:
    return (files("opsconsole.reports.html") / _TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
