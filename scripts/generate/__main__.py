"""`python -m scripts.generate`: writes the files that are generated and differ, and names them."""

from __future__ import annotations

from pathlib import Path

from scripts.cdktn_twin import ROOT, write_twin
from scripts.generate.constructs import construct_files
from scripts.generate.limits import limits_files
from scripts.generate.reference import reference_files
from scripts.generate.schemas import schema_files


def generated_files(root: Path) -> dict[str, str]:
    """Return the content of every generated file by its path in the checkout `root`."""
    return {
        **construct_files(),
        **reference_files(root),
        **limits_files(),
        **schema_files(),
    }


def stale_files(root: Path) -> dict[str, str]:
    """Return the generated files that are missing in the checkout `root`, or differ there."""
    files = generated_files(root).items()
    return {
        name: content
        for name, content in files
        if not (path := root / name).is_file() or path.read_text("utf-8") != content
    }


def write_files(root: Path) -> None:
    """Write the stale files and the constructs for cdktn."""
    for name, content in stale_files(root).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, "utf-8")
        print(f"written: {name}")
    write_twin(root)


if __name__ == "__main__":
    write_files(ROOT)
