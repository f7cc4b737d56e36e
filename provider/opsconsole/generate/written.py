"""Generated files on disk: written, or compared with what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def stale(root: Path, files: Mapping[str, str]) -> list[str]:
    """Return those of `files` that are missing under `root` or differ, in order."""
    return [name for name, content in sorted(files.items()) if not _holds(root / name, content)]


def _holds(path: Path, content: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == content


def write(root: Path, files: Mapping[str, str]) -> list[str]:
    """Write those of `files` that are missing or differ; return them."""
    changed = stale(root, files)
    for name in changed:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], "utf-8")
    return changed
