"""A report as one HTML page: template, style and script, without requests to other places.

Its content security policy lists the hashes of style and script: no script in a value can run.
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
from opsconsole.drift.model import Difference
from opsconsole.reports.html.diagram import HEIGHT, WIDTH, draw
from opsconsole.reports.terminal import body_of
from opsconsole.reports.value_diff import Line, edit_script, lines_of_value
from opsconsole.reports.view import View
from opsconsole.text import SENSITIVE, printable

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


def spans(lines: Iterable[Line]) -> tuple[Span, ...]:
    """Return a diff as few spans: neighbouring lines of one sign become one."""
    diff = list(lines)
    margin = "    " * min((line.depth for line in diff), default=0)
    marked = (
        (_CLASSES.get(line.sign or line.mark, ""), line.plain.removeprefix(margin)) for line in diff
    )
    return tuple(
        Span("".join(f"{text}\n" for _, text in group), css)
        for css, group in groupby(marked, key=lambda item: item[0])
    )


def pair_of(difference: Difference) -> Pair:
    """Return one difference; parts that only one side has are marked on that side."""
    name = printable(difference.attribute)
    if difference.sensitive:
        return name, (Span(SENSITIVE, "m"),), (Span(SENSITIVE, "p"),)
    left, right = (
        [line.plain[4:] for line in lines_of_value(value, 0, "")]
        for value in (difference.state, difference.console)
    )
    ours: list[Span] = []
    theirs: list[Span] = []
    for step, start, end, other, other_end in edit_script(left, right):
        same = step == "equal"
        ours += _span(left[start:end], "" if same else "m")
        theirs += _span(right[other:other_end], "" if same else "p")
    return name, tuple(ours), tuple(theirs)


def _span(texts: list[str], css: str) -> Iterator[Span]:
    if texts:
        yield Span("\n".join(texts) + "\n", css)


def render(view: View) -> str:
    """Return a report as one self-contained HTML document."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _environment().get_template("page.html")
    return template.render(
        page=view,
        graph=draw(view.items),
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


def _strip_control_characters(value: object) -> object:
    # isinstance would also match the template's Markup, a str, which would then lose its mark.
    return printable(value, "\n\t") if type(value) is str else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("opsconsole.reports.html", _TEMPLATES),
        autoescape=True,
        finalize=_strip_control_characters,
        # Otherwise a misspelled name in a template would render as nothing.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"spans": spans, "pair": pair_of}
    return environment


@cache
def _asset(name: str) -> str:
    return (files("opsconsole.reports.html") / _TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
