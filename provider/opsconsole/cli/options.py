"""The form of an option, readers of values, and the options that several commands share."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, TypeAlias

from opsconsole import drift
from opsconsole.errors import UserError
from opsconsole.reports.formats import FORMATS, NOTIFICATIONS
from opsconsole.resources import RESOURCES
from opsconsole.text import join_words, parse_duration, parse_switch
from opsconsole.v1.operations import has_complete_read


def is_switched_on(variable: str) -> bool:
    """Return whether a variable of the environment switches something on."""
    # Pipelines hand over a boolean that is off as "false".
    return parse_switch(os.environ.get(variable, "")) is not False


def read_duration(text: str) -> float:
    """Read a duration as Go writes it: `30s`, `1m30s`, `0`."""
    try:
        value = parse_duration(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{problem}; write 30s, 2m or 1h30m") from problem
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative; write 30s, 2m or 1h30m")
    return value / 10**9


def read_per_cent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100")
    return value


def read_shard(text: str) -> Any:
    from opsconsole.drift import model

    try:
        return model.read_shard(text)
    except UserError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def read_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; write a number from 0 to 65535")
    return int(text)


def read_amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value


def read_api_key(text: str) -> str:
    from opsconsole.v1.settings import API_KEY

    # The value is not shown, because it may be a key with something around it.
    if API_KEY.fullmatch(text) is None:
        raise argparse.ArgumentTypeError("the key is not of the form svc_ak_…")
    return text


def read_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2026-12-31") from None


def read_kinds(text: str) -> tuple[str, ...]:
    if text == "none":
        return ()
    kinds = tuple(text.split(","))
    known = drift.unmanaged_kinds()
    for kind in kinds:
        if kind not in known:
            raise argparse.ArgumentTypeError(f"{kind!r} is not one of {', '.join(known)}, or none")
    return kinds


def read_notification(text: str) -> str:
    if text not in NOTIFICATIONS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(NOTIFICATIONS)}")
    return text


def read_format_and_file(text: str) -> tuple[str, Path | None]:
    """Read `FORMAT=FILE`; `FORMAT` alone and `FORMAT=-` go to stdout, which is None."""
    name, equals, file = text.partition("=")
    if name not in FORMATS:
        raise argparse.ArgumentTypeError(
            f"there is no format {name!r}; there are {', '.join(FORMATS)}"
        )
    if equals and not file:
        raise argparse.ArgumentTypeError(f"{text!r} names no file; write {name}=FILE")
    return name, None if file in ("", "-") else Path(file)


READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("DIR", "FILE", "PATH", "PLANFILE", "REPORT"), Path),
    "N": int,
    "DURATION": read_duration,
    "PERCENT": read_per_cent,
    "K/N": read_shard,
    "DATE": read_day,
    "KINDS": read_kinds,
}
"""The readers of values, by the word for the value in help. Any other word stands for text."""
_FORM: Final = re.compile(r"(\[)?(.+?)(\.\.\.)?(?(1)\])(…?)")


class Option:
    """An option or an operand of a command.

    Args:
        text: The option as help shows it, two spaces, and its meaning. `--lock=false` is a flag
            that is on by default, `--json` one that is off, `--html FILE` takes a value, `--target
            ADDRESS…` may be repeated, `--program [DIR]` may leave the value out, `--framework
            {a,b}` has a choice. `FILE`, `[FILE]`, `FILE...` and `[FILE...]` are operands.
        environment: The environment variable that overrides its default.
        more: Further arguments of `argparse`.

    Attributes:
        arguments: The arguments for `argparse`; for a flag, without its spelling.
    """

    def __init__(self, text: str, *, environment: str = "", **more: Any) -> None:
        form, _, help = text.partition("  ")
        self.name, _, value = form.partition(" ")
        self.environment = environment
        self.is_flag = form.startswith("--") and not value
        self.arguments: dict[str, Any] = {"help": help}
        if self.is_flag:
            self.name = self.name.removesuffix("=false")
            attribute = self.name.removeprefix("--").replace("-", "_")
            self.arguments |= {"default": self.name != form, "dest": attribute}
        else:
            self._take_value(value or form, is_operand=not value)
        self.arguments |= more
        if not form.startswith("--"):
            self.name = self.arguments.pop("dest", self.name)
        if self.arguments.get("action") == "append":
            self.arguments["default"] = []

    def _take_value(self, form: str, *, is_operand: bool) -> None:
        match = _FORM.fullmatch(form)
        assert match is not None
        optional, shown, several, repeated = match.groups()
        if shown.startswith("{"):
            self.arguments["choices"] = tuple(shown.strip("{}").split(","))
        else:
            self.arguments["metavar"] = shown
        if optional or several:
            self.arguments["nargs"] = "?" if not several else "*" if optional else "+"
        if repeated:
            self.arguments["action"] = "append"
        self.arguments["type"] = READERS.get(shown, str)
        if is_operand:
            self.name = shown.lower()


Options: TypeAlias = "tuple[str | Option | Group, ...]"
"""An option that needs no more than its text is that text."""


class Group:
    """Options under one heading of help; without a title, the options exclude each other."""

    def __init__(self, title: str, *options: str | Option | Group) -> None:
        self.title, self.options = title, options


DEFAULT_MAX_DESTROY: Final = 30.0
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
    Option(
        "--unlocked-backend  go on where the backend cannot be locked for the run "
        "(OPSCONSOLE_UNLOCKED_BACKEND)",
        environment="OPSCONSOLE_UNLOCKED_BACKEND",
    ),
)
_TARGET = (
    "--target ADDRESS…  plan only this resource or instance and what it needs; may be repeated"
)
_REPLACE = "--replace ADDRESS…  replace this instance; may be repeated"
_HIDDEN_REPLACE = Option("--replace ADDRESS…", help=argparse.SUPPRESS)
"""For `destroy`, which refuses it with a reason."""
_REFRESH = "--refresh=false  plan on the state as it is, without reading the console"
_HOW: Options = (
    "--preflight  let the console judge the rows of new hosts by a dry run",
    PARALLELISM,
)
_MODES: Options = (
    "--refresh-only  only bring state up to date with the console",
    "--destroy  remove everything that is in state",
)
PLANNING = Group("plan", _TARGET, _REPLACE, _REFRESH, *_MODES, *_HOW)
PLANNING_OF_DESTROY = Group("plan", _TARGET, _HIDDEN_REPLACE, _REFRESH, *_HOW)
GUARD = Group(
    "guard",
    Option(
        "--force  allow a plan that deletes or replaces more than --max-destroy",
        environment="OPSCONSOLE_FORCE",
    ),
    Option(
        "--max-destroy PERCENT  the percentage of the resources in state that a plan may delete "
        f"or replace without --force, where there are {FEWEST_GUARDED} or more (default "
        f"{DEFAULT_MAX_DESTROY:g})",
        default=DEFAULT_MAX_DESTROY,
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
_REQUIRED = join_words([item.plural for item in RESOURCES.values() if has_complete_read(item)])
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
    "--shard K/N  check only the stacks of shard K of N, chosen by a hash of their names; "
    "`opsconsole drift merge REPORT…` makes one report of the JSON reports of all shards",
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
