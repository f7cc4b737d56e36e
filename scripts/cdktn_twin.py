"""Writes `opsconsole_cdktn`: the constructs for cdktf, renamed for its fork CDK Terrain (cdktn).

cdktf is archived, cdktn lives on. Their APIs are the same, so one source serves both. The copy is
not committed. The build of a wheel makes it (this file is hatchling's build
hook), and so do `make setup` and `make generate` in a checkout.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "constructs/opsconsole_cdktf"
TWIN = "constructs/opsconsole_cdktn"


def rename(source: str) -> str:
    """Return the source of a module or program for cdktf as that of the same one for cdktn."""
    source = re.sub(r"\bopsconsole_cdktf\b", "opsconsole_cdktn", source)
    # Both frameworks read cdktf.json and write cdktf.out.
    return re.sub(r"\bcdktf\b(?!\.(?:json|out)\b)", "cdktn", source)


def write_twin(root: Path) -> None:
    """Write each file of the twin that is missing or differs; delete a file that has no source."""
    twin = root / TWIN
    twin.mkdir(exist_ok=True)
    renamed = {
        path.name: rename(path.read_text("utf-8"))
        for path in (root / SOURCE).iterdir()
        if path.is_file()
    }
    for name, text in renamed.items():
        file = twin / name
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
    for file in twin.iterdir():
        if file.is_file() and file.name not in renamed:
            file.unlink()


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # `make setup` runs this with a Python that has no packages
    pass
else:

    class TwinHook(BuildHookInterface[Any]):
        """Makes the twin before a wheel is built, an editable one too."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Write it into the tree that is built."""
            write_twin(Path(self.root))


if __name__ == "__main__":
    write_twin(ROOT)
