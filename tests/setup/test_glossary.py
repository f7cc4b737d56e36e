"""The names in the glossary of docs/development.md are names of the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "provider" / "opsconsole"
DEFINED = re.compile(r"^(?:class|def|async def) (\w+)|^(\w+)(?:: [^=\n]+)? = ", re.MULTILINE)


def test_each_name_of_the_glossary_is_in_the_code() -> None:
    text = (ROOT / "docs" / "development.md").read_text("utf-8")
    table = text.partition("\n## Glossary\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][1:]
    names = {name for row in rows for name in re.findall(r"`([A-Za-z_]+)`", row[3])}
    assert len(names) >= 50
    known = set()
    for file in PACKAGE.rglob("*.py"):
        known |= {file.stem, file.parent.name}
        known |= {name for found in DEFINED.findall(file.read_text("utf-8")) for name in found}
    assert names - known == set()
