"""From templates to files: jinja2 renders them, ruff lays out the Python source."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from scripts.cdktn_twin import ROOT

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=False,
    keep_trailing_newline=True,
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)
TEMPLATES.filters["cell"] = lambda text: text.replace("|", "\\|").replace("\n", " ")


def wrap(text: str, indent: int, hanging: int) -> str:
    """Return `text` wrapped after column `indent`; later lines start at column `hanging`."""
    filled = textwrap.fill(
        text,
        width=100,
        initial_indent=" " * indent,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.lstrip()


def format_modules(modules: Mapping[str, str]) -> dict[str, str]:
    """Return Python modules, by file name, with sorted imports, laid out as `make format` does."""
    (ROOT / "build").mkdir(exist_ok=True)
    # Inside the checkout, so that ruff finds its settings.
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        files = [Path(folder, name) for name in modules]
        for file in files:
            file.write_text(modules[file.name], "utf-8")
        ruff = (sys.executable, "-m", "ruff")
        for words in (("check", "--fix", "--select=F401,I"), ("format",)):
            subprocess.run([*ruff, *words, "--quiet", *files], check=True)
        return {file.name: file.read_text("utf-8") for file in files}
