"""`python -m opsconsole.generate [constructs] [docs] [schemas] [limits] [--check]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from opsconsole.generate.constructs import construct_files
from opsconsole.generate.limits import limits_files
from opsconsole.generate.reference import reference_files
from opsconsole.generate.schemas import schema_files
from opsconsole.generate.written import stale, write

_WHAT: dict[str, Callable[[Path], dict[str, str]]] = {
    "constructs": construct_files,
    "docs": reference_files,
    "schemas": schema_files,
    "limits": limits_files,
}


def main(arguments: list[str] | None = None) -> int:
    """Write what is generated, or with `--check` tell (by status 1) whether it is stale."""
    parser = argparse.ArgumentParser(prog="python -m opsconsole.generate")
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help="constructs, docs, schemas, limits; default: all"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if anything is old")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout")
    options = parser.parse_args(arguments)
    for name in options.what:
        if name not in _WHAT:
            parser.error(f"{name} is none of {', '.join(_WHAT)}")
    files: dict[str, str] = {}
    for name in options.what or _WHAT:
        files |= _WHAT[name](options.root)
    changed = (stale if options.check else write)(options.root, files)
    for name in changed:
        sys.stdout.write(f"{'stale' if options.check else 'written'}: {name}\n")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
