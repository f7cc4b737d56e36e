"""The two frameworks that constructs are made for, and all that differs between their packages.

cdktf is archived; CDK Terrain (cdktn) is its fork that lives on. The packages for them hold the
same names: one generator and one set of parts written by hand, those of `opsconsole_cdktf`, serve
both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FILES: Final = r"(?!\.(?:json|out)\b)"
"""Both frameworks read cdktf.json and write cdktf.out."""


@dataclass(frozen=True)
class Fork:
    """A framework: the name of its Python package, and that of the constructs for it."""

    framework: str
    package: str

    @property
    def folder(self) -> str:
        """The folder of the package of constructs in the checkout."""
        return f"constructs/{self.package}"

    def renamed(self, source: str) -> str:
        """Return the source of a module for cdktf as that of the same module for this framework."""
        source = re.sub(r"\bopsconsole_cdktf\b", self.package, source)
        return re.sub(rf"\bcdktf\b{_FILES}", self.framework, source)


CDKTF: Final = Fork("cdktf", "opsconsole_cdktf")
CDKTN: Final = Fork("cdktn", "opsconsole_cdktn")
FORKS: Final = (CDKTF, CDKTN)


WRITTEN: Final = (
    "blacklist_policy.py",
    "fleet.py",
    "managed_host.py",
    "moved_blocks.py",
    "rows.py",
    "tags.py",
    "testing.py",
)
"""The modules written by hand that programs may import, beside those whose name starts by `_`."""


def written_parts(root: Path) -> Iterator[tuple[str, str]]:
    """Yield name and source of the modules that are written by hand, for cdktf."""
    folder = root / CDKTF.folder
    for path in sorted((*folder.glob("*.py"), *folder.glob("*.js"))):
        name = path.name
        if name in WRITTEN or (name.startswith("_") and name != "__init__.py"):
            yield path.name, path.read_text("utf-8")


def left_over(root: Path, files: Collection[str]) -> list[str]:
    """Return what is in the package for cdktn, which is generated as a whole, and not in `files`.

    These are modules whose original for cdktf was deleted.
    """
    found = (
        f"{CDKTN.folder}/{path.name}" for path in (root / CDKTN.folder).glob("*") if path.is_file()
    )
    return sorted(name for name in found if name not in files)
