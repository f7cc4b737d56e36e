"""Writes a page: the template, its style and its script, bound together without outside requests.

The page's own policy names the style and the script by their hashes, so that no script in a value
can run.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from opsconsole import __version__
from opsconsole.reports.diagnostics_text import body_of
from opsconsole.reports.html.layout import HEIGHT, WIDTH
from opsconsole.reports.html.view import Page
from opsconsole.reports.literals import printable

GENERATOR: Final = f"opsconsole {__version__}"
_TEMPLATES = "templates"
_LOT: Final = 100
"""Rows that a browser lays out or skips together; the style sheet depends on it."""


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
