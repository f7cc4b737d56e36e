"""The options that several commands of `opsconsole` share, and those of `drift`, as data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from opsconsole import drift
from opsconsole.cli.options import Group, Option, Options, read_format_and_file, read_notification
from opsconsole.reports.formats import FORMATS, NOTIFICATIONS
from opsconsole.resources import RESOURCES
from opsconsole.text import join_words
from opsconsole.v1.operations import reads_whole

DEFAULT_SHARE: Final = 30.0
"""Per cent of existing resources that a plan may delete or replace without being forced."""
FEWEST_GUARDED: Final = 10
"""With fewer resources, plans need not be forced, because a percentage says little."""

NO_COLOR = "--no-color  print without colour"
JSON = "--json  print JSON"
TERRAFORM_JSON = "--json  print Terraform's JSON format"
STACK = "--stack NAME  the stack, where the app has several"
DIR = "--dir DIR  a directory of *.tf.json files instead"
STATE = "--state PATH  the state file, whatever the backend"
PLAN_FILE = "[PLANFILE]  a saved plan"
PARALLELISM = "--parallelism N  requests in flight at most (the provider's max_concurrency)"
HIDDEN_PARALLELISM = Option("--parallelism N", help=argparse.SUPPRESS)
"""Terraform's option, for commands where clients give it although nothing is read in parallel."""

_BACKEND: Options = (
    "--backend-config NAME=VALUE|FILE…  a setting of the backend that the program leaves out; "
    "may be repeated",
    "--journal FILE  the journal of the state, where several paths lead to that state",
    "--journal-dir DIR  the directory for the journal of a remote state (OPSCONSOLE_JOURNAL_DIR)",
)
PLACE = Group("program and state", STACK, DIR, STATE, *_BACKEND)
WORKSPACES = Group("program and backend", STACK, DIR, *_BACKEND)
"""The options for the workspaces of a backend, none of which is a state file of its own."""
# Their relative order counts, so one list has both.
VARIABLES = Group(
    "variables",
    Option(
        "--var NAME=VALUE…  the value of a variable; may be repeated",
        type=lambda text: ("var", text),
        dest="variables",
    ),
    Option(
        "--var-file FILE…  a file of values; may be repeated",
        type=lambda text: ("var-file", text),
        dest="variables",
    ),
)
SETTINGS = (
    Group(
        "settings",
        STACK,
        DIR,
        Option(
            "--provider ALIAS  the provider block of this alias, where there are several",
            default="",
        ),
        "--environment  take the settings from the environment alone",
    ),
    VARIABLES,
)
"""The options for the source of settings, for a command without a plan."""
LOCK = Group(
    "lock",
    "--lock=false  do not lock the state",
    Option(
        "--lock-timeout DURATION  how long to wait for another holder, such as 30s", default=0.0
    ),
    "--unlocked-backend  go on where the backend cannot be locked for the run "
    "(OPSCONSOLE_UNLOCKED_BACKEND)",
)
_WHAT: Options = (
    "--target ADDRESS…  plan only this resource or instance and what it needs; may be repeated",
    "--replace ADDRESS…  replace this instance; may be repeated",
    "--refresh=false  plan on the state as it is, without reading the console",
)
_HOW: Options = (
    "--preflight  let the console judge the rows of new hosts by a dry run",
    PARALLELISM,
)
_MODES: Options = (
    "--refresh-only  only bring state up to date with the console",
    "--destroy  remove everything that is in state",
)
PLANNING = Group("plan", *_WHAT, *_MODES, *_HOW)
PLANNING_OF_DESTROY = Group("plan", *_WHAT, *_HOW)
GUARD = Group(
    "guard",
    Option(
        "--force  allow a plan that deletes or replaces more than --max-destroy",
        environment="OPSCONSOLE_FORCE",
    ),
    Option(
        "--max-destroy PERCENT  the percentage of the resources in state that a plan may delete "
        f"or replace without --force, where there are {FEWEST_GUARDED} or more (default "
        f"{DEFAULT_SHARE:g})",
        default=DEFAULT_SHARE,
        environment="OPSCONSOLE_MAX_DESTROY",
    ),
)
PLAN_OUTPUT = Group(
    "output",
    "--html FILE  write the plan as one page",
    "--markdown FILE  write the plan as Markdown",
    NO_COLOR,
    Group(
        "",
        "--compact  name and count what is created or removed; show only changes in full",
        "--full  show every attribute (by default where the plan fits the screen, and in a file "
        "or pipe)",
    ),
)
APPLY: Options = (
    "--auto-approve  do not ask",
    "--input=false  never ask: fail where an answer is needed",
    "--checksum SUM  apply only a plan with this checksum",
    "--json  print Terraform's machine-readable messages",
    *(PLACE, VARIABLES, GUARD, LOCK, PLAN_OUTPUT),
)


_KINDS = ", ".join(drift.unmanaged_kinds())
_COUNTED = ",".join(drift.COUNTED_BY_DEFAULT)
_REQUIRED = join_words([item.plural for item in RESOURCES.values() if reads_whole(item)])
DRIFT_PROGRAM = Group(
    "program",
    Option(
        "--program [DIR]  synthesise the program in DIR (here, if left out), and also report "
        "what it declares and state does not hold",
        const=Path(),
    ),
    DIR,
    "--stack NAME…  only this stack of the program; may be repeated",
)
DRIFT_CHECK = Group(
    "check",
    "--read-only  send only GET requests; hosts are then read only by host_get",
    f"--baseline FILE  accepted drift (default: {drift.BASELINE_FILE}, where it exists)",
    Option(
        f"--min-coverage PERCENT  how much of {_REQUIRED} must have been checked (default 100)",
        default=100.0,
    ),
    Option(
        f"--count-unmanaged KINDS  which unmanaged objects count as drift: {_KINDS}, several "
        f"with a comma between, or none (default {_COUNTED})",
        default=_COUNTED,
    ),
    "--shard K/N  check only the stacks of share K of N, chosen by a hash of their names; "
    "`opsconsole drift merge REPORT…` makes one report of the JSON reports of all shares",
)
ACCEPTANCE = Group(
    "accept",
    "--accept [ADDRESS...]  write the drift of these addresses (all drift, if left out) into the "
    "baseline",
    "--reason TEXT  why it is accepted; reports show it",
    "--until DATE  the last day on which it is accepted, such as 2026-12-31 (UTC)",
)
DRIFT_OUTPUT: Options = (
    Group(
        "output",
        Option(
            f"--format FORMAT[=FILE]…  {', '.join(FORMATS)}; to stdout without FILE or with -; "
            "may be repeated",
            type=read_format_and_file,
        ),
        "--json  the same as --format json",
        "--out FILE  the file for the format that names none itself",
        NO_COLOR,
    ),
    Group(
        "since an earlier report",
        "--since REPORT  an earlier report as JSON: tell drift apart that is new, resolved or "
        "still open; where there is no such file yet, all is new",
        "--notify URL  a webhook to tell of newly drifted and newly resolved resources, if there "
        "are any (OPSCONSOLE_NOTIFY_URL, which no list of processes shows)",
        Option(
            f"--notify-format FORMAT  what the webhook takes: {', '.join(NOTIFICATIONS)} "
            f"(default {NOTIFICATIONS[0]}, or OPSCONSOLE_NOTIFY_FORMAT)",
            type=read_notification,
            default=NOTIFICATIONS[0],
            environment="OPSCONSOLE_NOTIFY_FORMAT",
        ),
    ),
)
