"""What docs/guides/drift.md shows is what the command takes."""

import re

import pytest
import yaml

from engines import ROOT
from opsconsole.cli.parser import build_parser
from opsconsole.drift import unmanaged_kinds
from opsconsole.drift.baseline import read_baseline
from opsconsole.drift.model import Bucket
from opsconsole.reports.formats import FORMATS
from published_schemas import follows_schema

PAGE = (ROOT / "docs/guides/drift.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_baseline_on_the_page_is_read(tmp_path):
    [text] = blocks("yaml")
    file = tmp_path / "baseline.yml"
    file.write_text(text)
    assert len(read_baseline(file)) == 2
    assert follows_schema(yaml.safe_load(text), "drift-baseline")


@pytest.mark.parametrize(
    "line",
    [line for block in blocks("") for line in block.splitlines() if line.startswith("opsconsole")],
)
def test_commands_on_the_page_are_parsed(line):
    assert build_parser("drift").parse_args(line.partition("#")[0].split()[1:]).command == "drift"


@pytest.mark.parametrize(
    "word", [*FORMATS, *unmanaged_kinds(), *(bucket.value for bucket in Bucket)]
)
def test_every_word_is_on_the_page(word):
    assert f"`{word}`" in PAGE
