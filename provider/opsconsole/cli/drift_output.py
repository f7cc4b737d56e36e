"""Where reports of `opsconsole drift` go: any number of formats, each to a file or to stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opsconsole.cli.standard_streams import columns
from opsconsole.drift.report import DriftReport
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS
from opsconsole.reports.verdict import judge


@dataclass(frozen=True, slots=True)
class Target:
    """One format, and the file it goes to; None is stdout."""

    format: str
    file: Path | None = None


def target(text: str) -> Target:
    """Read `FORMAT=FILE`; `FORMAT` alone and `FORMAT=-` go to stdout.

    Raises:
        ArgumentTypeError: There is no such format, or no file is named.
    """
    name, equals, file = text.partition("=")
    if name not in FORMATS:
        raise argparse.ArgumentTypeError(
            f"there is no format {name!r}; there are {', '.join(FORMATS)}"
        )
    if equals and not file:
        raise argparse.ArgumentTypeError(f"{text!r} names no file; write {name}=FILE")
    return Target(name, None if file in ("", "-") else Path(file))


def check_targets(targets: Sequence[Target]) -> None:
    """Refuse two formats in one place, and a format that lacks its extra, before a check begins.

    Raises:
        UserError: Two go to stdout, or to one file.
        ModuleNotFoundError: A format needs an extra that is not installed.
    """
    for item in targets:
        FORMATS[item.format].load()
    places = [None if item.file is None else item.file.absolute() for item in targets]
    for place in places:
        if places.count(place) > 1:
            name = "stdout" if place is None else str(place)
            raise UserError(
                f"Two formats would go to {name}.", "Give each a file: --format FORMAT=FILE."
            )


def write_all(report: DriftReport, targets: Sequence[Target], *, colour: bool) -> None:
    """Write every report; files first, so that all are there when stdout ends.

    Raises:
        UserError: A file cannot be written; the others are written all the same.
    """
    failures = []
    for item in sorted(targets, key=lambda item: item.file is None):
        on_stdout = item.format == "terminal" and item.file is None
        options = {"colour": colour, "width": columns()} if on_stdout else {}
        text = FORMATS[item.format](report, **options)
        if item.file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            continue
        try:
            _write(item.file, text)
        except OSError as problem:
            failures.append(f"{item.file} cannot be written: {problem.strerror or problem}.")
    if all(item.file is not None for item in targets):
        verdict = judge(report)
        sys.stderr.write(f"{verdict.headline}. {verdict.explanation}\n")
    if failures:
        raise UserError(" ".join(failures))


def _write(file: Path, text: str) -> None:
    """Put a file in place whole: a collector may read it at any moment."""
    if file.exists() and not file.is_file():
        file.write_text(text, "utf-8")  # A device or a pipe is written to, never replaced.
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
