"""Runs mypy in this process, and leaves the process as it was."""

import re
import sys
from pathlib import Path

from mypy import api

from engines import ROOT

CACHE = ROOT / ".mypy_cache"
REFUSED = re.compile(r"# refused: ([\w-]+)$", re.MULTILINE)
ERROR = re.compile(r"\.py:(\d+): error: .*\[([\w-]+)\]$", re.MULTILINE)


def assert_refused_lines(program: Path, *words: str) -> None:
    """Assert that strict mypy finds the errors that comments of `program` name, and no other."""
    lines = enumerate(program.read_text("utf-8").splitlines(), start=1)
    marked = [(str(number), match[1]) for number, line in lines if (match := REFUSED.search(line))]
    assert marked
    output, problems, _ = check_types("--strict", "--no-pretty", *words, str(program))
    assert problems == ""
    assert sorted(set(ERROR.findall(output))) == sorted(set(marked)), output


def check_types(*words: str) -> tuple[str, str, int]:
    """Return what mypy prints, what it complains of, and its exit code.

    Programs outside of the checkout share one cache: without it, mypy would read the packages
    that they use anew each time. In the checkout, mypy has other options, and so another cache.

    mypy raises the interpreter's recursion limit for good; tests of deep nesting need it as it is.
    """
    cache = CACHE if Path.cwd() == ROOT else CACHE / "elsewhere"
    limit = sys.getrecursionlimit()
    try:
        return api.run([f"--cache-dir={cache}", *words])
    finally:
        sys.setrecursionlimit(limit)
