"""Documents: links lead somewhere, and messages point only to what an installed package has."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
PAGES += sorted(path for path in ROOT.glob("examples/**/*.md") if path.name != "notes.md")
SOURCES = [
    *ROOT.glob("provider/opsconsole/**/*.py"),
    *ROOT.glob("constructs/opsconsole_cdktf/*.py"),
]
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
IN_CHECKOUT = re.compile(r"\b(?:docs|examples|tests|scripts)/|\b(?:README|CHANGELOG)\b")


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The fragments that a page offers, as the usual renderers of Markdown name headings."""
    plain = (re.sub(r"\]\([^)]*\)|[^\w\s-]", "", head) for head in HEADING.findall(prose(page)))
    return {text.strip().lower().replace(" ", "-") for text in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    lost = []
    for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", prose(page)):
        name, _, fragment = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        if not linked.exists() or (fragment and fragment not in anchors(linked)):
            lost.append(target)
    assert lost == []


def test_the_readme_links_each_guide():
    guides = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/guides/*.md")}
    assert guides - {*re.findall(r"\]\(([^)#]+)", prose(ROOT / "README.md"))} == set()


@functools.cache
def said(source: Path) -> tuple[str, ...]:
    """The strings of a module that are not documentation."""
    return tuple(_strings(source))


def _strings(source: Path) -> Iterator[str]:
    tree = ast.parse(source.read_text("utf-8"))
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in documentation:
            continue
        if isinstance(node.value, str):
            yield node.value


def test_no_message_points_to_a_file_that_only_a_checkout_has():
    found = {
        (str(source.relative_to(ROOT)), text)
        for source in SOURCES
        for text in said(source)
        if IN_CHECKOUT.search(text)
    }
    assert found == set()


def test_the_messages_that_troubleshooting_quotes_are_ours():
    """A message is quoted between backquotes in a first column; `…` stands for what differs."""
    page = (ROOT / "docs" / "guides" / "troubleshooting.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]*) \|", page, re.MULTILINE)
    ours = [cell for cell in rows if "(Terraform)" not in cell and "cdktf deploy" not in cell]
    quoted = (quote for cell in ours for quote in re.findall(r"`([^`]+)`", cell))
    parts = [part.strip(" .") for quote in quoted for part in quote.split("…")]
    texts = [text for source in SOURCES for text in said(source)]
    lost = [part for part in parts if not any(part in text for text in texts)]
    assert parts
    assert lost == []


def test_each_test_of_the_track_record_is_there():
    page = (ROOT / "docs" / "track-record.md").read_text("utf-8")
    tests = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", page)
    assert len(tests) > 30
    lost = [
        f"{file}::{name}"
        for file, name in tests
        if not re.search(
            rf"def {name}\(" if name else "def test_", (ROOT / "tests" / file).read_text("utf-8")
        )
    ]
    assert lost == []
