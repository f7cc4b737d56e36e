"""`python -m opsconsole.generate [constructs] [docs] [schemas] [limits] [--check]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from opsconsole.drift.baseline import baseline_schema
from opsconsole.generate.constructs import construct_files
from opsconsole.generate.limits import limits_files
from opsconsole.generate.reference import reference_files
from opsconsole.reports.drift_document import drift_report_schema


def _schema_files(root: Path) -> dict[str, str]:
    """Return the schema of each document by its path; `root` is not read."""
    schemas = {
        "drift-baseline-1": baseline_schema(),
        "drift-report-1": drift_report_schema(),
    }
    return {
        f"docs/schemas/{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


_WHAT: dict[str, Callable[[Path], dict[str, str]]] = {
    "constructs": lambda root: construct_files(),
    "docs": reference_files,
    "schemas": _schema_files,
    "limits": limits_files,
}


def main(arguments: list[str] | None = None) -> int:
    """Write what is generated; with `--check`, only report what differs, by status 1."""
    parser = argparse.ArgumentParser(prog="python -m opsconsole.generate")
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help="constructs, docs, schemas, limits; default: all"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if anything is old")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout")
    options = parser.parse_args(arguments)
    for name in options.what:
        if name not in _WHAT:
            parser.error(f"{name} is not one of {', '.join(_WHAT)}")
    files: dict[str, str] = {}
    for name in options.what or _WHAT:
        files |= _WHAT[name](options.root)
    changed = (_stale if options.check else _write)(options.root, files)
    for name in changed:
        sys.stdout.write(f"{'stale' if options.check else 'written'}: {name}\n")
    return 1 if options.check and changed else 0


def _stale(root: Path, files: Mapping[str, str]) -> list[str]:
    """Return those of `files` that are missing under `root` or differ, in order."""
    return [name for name, content in sorted(files.items()) if not _holds(root / name, content)]


def _holds(path: Path, content: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == content


def _write(root: Path, files: Mapping[str, str]) -> list[str]:
    """Write those of `files` that are missing or differ; return them."""
    changed = _stale(root, files)
    for name in changed:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], "utf-8")
    return changed


if __name__ == "__main__":
    sys.exit(main())
