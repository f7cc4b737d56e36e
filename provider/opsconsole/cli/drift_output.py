"""Where the report of `opsconsole drift` goes: to files, stdout and a webhook."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from opsconsole.cli.standard_streams import columns, use_colour
from opsconsole.drift.report import DriftReport
from opsconsole.drift.since import compare
from opsconsole.errors import UserError
from opsconsole.named_files import write_whole
from opsconsole.reports.drift_report import judge
from opsconsole.reports.formats import FORMATS

_NOTIFY_URL = "OPSCONSOLE_NOTIFY_URL"


class Target(NamedTuple):
    """One format, and the file it goes to; None is stdout."""

    format: str
    file: Path | None = None


@dataclass(frozen=True)
class Output:
    """The outputs of a report.

    Attributes:
        since: Whether the report is compared with an earlier report.
        earlier: The earlier report; None if there is none yet.
        notify: The URL of a webhook, which is a secret; empty if there is no webhook.
        notify_format: The format of the notification.
    """

    targets: Sequence[Target]
    colour: bool
    since: bool
    earlier: DriftReport | None
    notify: str
    notify_format: str

    def write(self, report: DriftReport) -> int:
        """Compare, write and notify; return the exit code. A notification never changes it.

        Raises:
            UserError: A file cannot be written. The other files are still written.
        """
        if self.since:
            report = compare(report, self.earlier)
        _write_all(report, self.targets, colour=self.colour)
        if self.notify:
            self._notify(report)
        return judge(report).exit_code

    def _notify(self, report: DriftReport) -> None:
        from opsconsole.reports import notification  # loads the HTTP library

        if not notification.is_due(report):
            return
        message = notification.message_of(report, self.notify_format)
        if why := notification.send(self.notify, message):
            sys.stderr.write(f"Warning: The notification was not sent: {why}.\n")


def read_output(args: argparse.Namespace) -> Output:
    """Read the output options, and refuse invalid ones before a check begins.

    Raises:
        UserError: Two formats go to one place, the earlier report is not a report, or the webhook's
            URL is invalid or given without an earlier report.
        ModuleNotFoundError: A format needs an extra that is not installed.
    """
    targets = [
        *(Target(*given) for given in args.format),
        *([Target("json")] if args.json else []),
    ] or [Target("terminal")]
    if args.out is not None:
        targets = [item if item.file else Target(item.format, args.out) for item in targets]
    _check_targets(targets)
    if args.notify and args.since is None:
        raise UserError(
            "--notify tells what is new or resolved since an earlier report, and none is named.",
            "Add --since REPORT, the file that --format json=REPORT writes.",
        )
    notify = (args.notify or os.environ.get(_NOTIFY_URL, "")) if args.since is not None else ""
    if notify:
        from opsconsole.reports.notification import check_url

        check_url(notify)
    earlier = None
    if args.since is not None:
        from opsconsole.reports.drift_json import read_earlier_report

        earlier = read_earlier_report(args.since)
    since = args.since is not None
    return Output(targets, use_colour(args), since, earlier, notify, args.notify_format)


def _check_targets(targets: Sequence[Target]) -> None:
    for item in targets:
        FORMATS[item.format].load()
    places = [None if item.file is None else item.file.absolute() for item in targets]
    for place in places:
        if places.count(place) > 1:
            name = "stdout" if place is None else str(place)
            raise UserError(
                f"Two formats would go to {name}.", "Give each a file: --format FORMAT=FILE."
            )


def _write_all(report: DriftReport, targets: Sequence[Target], *, colour: bool) -> None:
    """Write every report."""
    failures = []
    # Files first, so that all are there when stdout ends.
    for item in sorted(targets, key=lambda item: item.file is None):
        on_stdout = item.format == "terminal" and item.file is None
        options = {"colour": colour, "width": columns()} if on_stdout else {}
        text = FORMATS[item.format](report, **options)
        if item.file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            continue
        try:
            item.file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(item.file, text)
        except OSError as problem:
            failures.append(f"{item.file} cannot be written: {problem.strerror or problem}.")
    if all(item.file is not None for item in targets):
        verdict = judge(report)
        sys.stderr.write(f"{verdict.headline}. {verdict.explanation}\n")
    if failures:
        raise UserError(" ".join(failures))
