"""Every command of `opsconsole` as data: its purpose, its options, its exit codes, an example.

A command's module is imported when the command runs. Help and completion import no such module.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from opsconsole import drift
from opsconsole.cli.options import (
    Group,
    Option,
    Options,
    read_format_and_file,
    read_notification,
    read_port,
)
from opsconsole.errors import TRY_LATER
from opsconsole.reports.formats import FORMATS, NOTIFICATIONS
from opsconsole.resources import RESOURCES
from opsconsole.v1.operations import OPERATIONS

FAILED: Final = 1
"""The exit code of every error, usage errors included; 2 means "changes" or "drift"."""
CHANGES: Final = 2
INTERRUPTED: Final = 130

USUAL: Final = {
    0: "done",
    FAILED: "failed; the message says why",
    TRY_LATER: "the state is locked or the console too busy; nothing was done: try again later",
    INTERRUPTED: "interrupted",
}
"""The exit codes of a command, with their meanings."""


DEFAULT_SHARE: Final = 30.0
"""Per cent of existing resources that a plan may delete or replace without being forced."""
FEWEST_GUARDED: Final = 10
"""With fewer resources, plans need not be forced, because a percentage says little."""


class Command:
    """One command, or one verb of a command.

    Args:
        run: `MODULE:FUNCTION` below `opsconsole.cli`; empty if the command needs a verb.
        description: What the command does. The first sentence for a verb is its line in the list of
            verbs.
        example: One command line or more.
        line: What it does, in the list of commands.
        codes: Exit codes whose meaning differs from `USUAL`.
        fixed: Values of options that the command does not have.
        verbs: Its verbs. If there is also a `run`, a word is a verb only in first place. After
            `--`, or as `./NAME`, the word is an operand.
    """

    def __init__(
        self,
        run: str,
        description: str,
        example: str,
        *options: str | Option | Group,
        line: str = "",
        codes: Mapping[int, str] | None = None,
        fixed: Mapping[str, object] | None = None,
        verbs: Mapping[str, Command] | None = None,
    ) -> None:
        self.run, self.description, self.example, self.line = run, description, example, line
        self.options = options
        self.codes = {**USUAL, **(codes or {})}
        self.fixed = fixed or {}
        self.verbs = verbs or {}


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

PLACE = Group(
    "program and state",
    *(STACK, DIR, STATE),
    "--backend-config NAME=VALUE|FILE…  a setting of the backend that the program leaves out; "
    "may be repeated",
    "--journal FILE  the journal of the state, where several paths lead to that state",
    "--journal-dir DIR  the directory for the journal of a remote state (OPSCONSOLE_JOURNAL_DIR)",
)
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
_COUNTED = ",".join(drift.COUNTED)
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
        "--min-coverage PERCENT  how much of hosts, attachments, specialties and blacklisted "
        "commands must have been checked (default 100)",
        default=100.0,
    ),
    Option(
        f"--count-unmanaged KINDS  which unmanaged objects count as drift: {_KINDS}, several "
        f"with a comma between, or none (default {_COUNTED})",
        default=_COUNTED,
    ),
    "--shard K/N  check only the stacks of share K of N, chosen by a hash of their names; "
    "`opsconsole "
    "drift merge REPORT…` makes one report of the JSON reports of all shares",
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

_DRIFT_CODES: Final = {
    0: "no drift",
    FAILED: "could not tell: errors, or less coverage than --min-coverage asks for",
    CHANGES: "drift",
}
PROFILES: Final = (
    *("default", "strict", "sparse", "blind"),
    *("paged", "truncated", "heedless", "extended"),
)
"""The names of the emulator's profiles, whose module takes long to import."""
_ADDRESSES: Final = Option("[ADDRESS...]  only these", dest="addresses")
_WORKSPACE: Final = "NAME  the workspace"

_STATE_VERBS: Final = {
    "list": Command(
        "state_commands:list_addresses",
        "Print the addresses in state.",
        "opsconsole state list",
        _ADDRESSES,
        PLACE,
    ),
    "show": Command(
        "state_commands:show",
        "Print what state holds of one instance.",
        "opsconsole state show opsconsole_host.web",
        "ADDRESS  one instance",
        NO_COLOR,
        PLACE,
    ),
    "mv": Command(
        "state_commands:move",
        "Move an instance, or all instances of a resource, to another address.",
        "opsconsole state mv opsconsole_host.web opsconsole_host.gate",
        "SOURCE  an instance, or a resource",
        "TARGET  its new address",
        "--dry-run  only say what would move",
        PLACE,
        LOCK,
    ),
    "rm": Command(
        "state_commands:remove",
        "Forget instances; the console keeps them.",
        "opsconsole state rm opsconsole_agent.old",
        Option("ADDRESS...  instances, or resources", dest="addresses"),
        "--dry-run  only say what would be forgotten",
        PLACE,
        LOCK,
    ),
    "pull": Command(
        "state_commands:pull",
        "Print the whole state.",
        "opsconsole state pull > backup.tfstate",
        PLACE,
    ),
    "push": Command(
        "state_commands:push",
        "Replace the state by a file of the same lineage and a serial that is not older.",
        "opsconsole state push backup.tfstate",
        Option("FILE  a state file; - is stdin", type=str),
        "--force  write it whatever its lineage and serial",
        PLACE,
        LOCK,
    ),
    "fold": Command(
        "state_commands:fold",
        "Add the changes of an interrupted run to the state, so that Terraform can continue.",
        "opsconsole state fold",
        *(HIDDEN_PARALLELISM, VARIABLES, NO_COLOR, PLACE, LOCK),
    ),
}
_WORKSPACE_VERBS: Final = {
    "list": Command(
        "workspace:list_workspaces",
        "Print all workspaces; * marks the selected one.",
        "opsconsole workspace list",
        PLACE,
        LOCK,
    ),
    "show": Command(
        "workspace:show", "Print the selected workspace.", "opsconsole workspace show", PLACE, LOCK
    ),
    "new": Command(
        "workspace:create",
        "Make a workspace and select it.",
        "opsconsole workspace new staging",
        *(_WORKSPACE, PLACE, LOCK),
    ),
    "select": Command(
        "workspace:select",
        "Select a workspace.",
        "opsconsole workspace select staging",
        *(_WORKSPACE, PLACE, LOCK),
    ),
    "delete": Command(
        "workspace:delete",
        "Delete a workspace whose state is empty.",
        "opsconsole workspace delete staging",
        _WORKSPACE,
        "--force  delete it even if its state holds something",
        PLACE,
        LOCK,
    ),
}

HELP: Final = {
    "plan and apply": {
        "plan": Command(
            "plan:run",
            "Compare program, state and console, and show what applying would do.",
            "opsconsole plan --out reviewed.plan\nopsconsole apply reviewed.plan",
            "--out FILE  save the plan, so that `apply` carries out exactly this plan",
            "--detailed-exitcode  exit with 0 for no changes, 2 for changes, 1 for errors",
            "--json  print the plan in Terraform's JSON format",
            "--input=false  nothing is ever asked by a plan",
            PLACE,
            "--shard K/N  plan the stacks of share K of N, chosen by a hash of their names, one "
            "after the "
            "other; a file to write must have {stack} in its name",
            *(VARIABLES, PLANNING, GUARD, LOCK, PLAN_OUTPUT),
            line="show what applying the program would do",
            codes={CHANGES: "there are changes, with --detailed-exitcode"},
        ),
        "apply": Command(
            "apply:run",
            "Make a plan, show it, ask, and carry it out; or carry out a saved plan.",
            "opsconsole apply --auto-approve",
            PLAN_FILE,
            *APPLY,
            PLANNING,
            line="bring the console to what the program declares",
        ),
        "destroy": Command(
            "apply:run",
            "Plan the removal of everything in state, show it, ask, and carry it out.",
            "opsconsole destroy --target opsconsole_host.web",
            *APPLY,
            PLANNING_OF_DESTROY,
            line="remove everything that the program manages",
            fixed={"planfile": None, "destroy": True, "refresh_only": False},
        ),
        "validate": Command(
            "validate:run",
            "Check the program, its provider settings and the bounds of its values. Nothing is "
            "sent, no state is read, and variables need no values.",
            "opsconsole validate --json",
            TERRAFORM_JSON,
            NO_COLOR,
            Group("program", STACK, "--dir DIR  a directory of *.tf.json files"),
            line="check the program, without the console",
            codes={0: "valid; there may be warnings", FAILED: "not valid"},
        ),
    },
    "state": {
        "show": Command(
            "show:run",
            "Show a saved plan, or without one what the state holds.",
            "opsconsole show reviewed.plan",
            *(PLAN_FILE, TERRAFORM_JSON, PLACE, PLAN_OUTPUT),
            line="show a saved plan, or the state",
        ),
        "output": Command(
            "show:run_output",
            "Print all outputs (sensitive ones masked), or the value of one.",
            "opsconsole output --raw host_id",
            "[NAME]  the output",
            JSON,
            "--raw  print a text, number or boolean as it is, without a line end",
            NO_COLOR,
            PLACE,
            line="print the outputs that state holds",
        ),
        "adopt": Command(
            "adopt:run",
            "Write a program that imports what the console has. Objects are read, and nothing is "
            "changed. Without ids, the program imports what the list endpoints show that the "
            "provider settings name. Objects that the state here already holds are left out; an "
            "object that cannot be read becomes a comment.",
            "opsconsole adopt hst_0123456789 agt_0123456789\n"
            "opsconsole adopt --inventory hosts.csv",
            Option(
                "[ID...]  import ids; KIND=ID, such as host=17, where the console's ids have no "
                "prefix",
                dest="ids",
            ),
            Option("--ids FILE  a CSV with a column `id`", dest="file"),
            "--inventory FILE  a .csv or .json file of hosts, as for `hosts import`: those that "
            "a dry run of it knows are adopted",
            "--hcl  write Terraform's own language instead of Python",
            "--fleet  write hosts, agents and their plugins as rows of a JSON file, and a "
            "program whose Fleet reads it",
            Option(
                "--framework {cdktf,cdktn}  whose constructs the Python program uses (default "
                "cdktf)",
                default="cdktf",
            ),
            "--output FILE  where to write (default adopted.py, with --hcl adopted.tf); - prints",
            STATE,
            *SETTINGS,
            line="write a program that imports what the console has",
        ),
        "import": Command(
            "state_commands:import_object",
            "Read the object that ID names, and keep it in state under ADDRESS.",
            "opsconsole import opsconsole_host.web hst_0123456789",
            "ADDRESS  where the program declares it",
            f"ID  {', '.join(item.import_id for item in RESOURCES.values())}",
            "--input=false  nothing is ever asked by an import",
            *(NO_COLOR, HIDDEN_PARALLELISM, PLACE, VARIABLES, LOCK),
            line="add an object that the console has to the state",
        ),
        "state": Command(
            "",
            "Look at the state, and edit it. No request is sent to the console.",
            "opsconsole state mv opsconsole_host.web opsconsole_host.gate",
            line="list, show, move, remove, pull or push its resources",
            verbs=_STATE_VERBS,
        ),
        "workspace": Command(
            "",
            "Workspaces are Terraform's: each has a state of its own in one backend.",
            "opsconsole workspace new staging",
            line="list, show, make, select or delete workspaces",
            verbs=_WORKSPACE_VERBS,
        ),
        "force-unlock": Command(
            "state_commands:force_unlock",
            "Release the lock of this ID. Make sure that no run holds it any more: a run that is "
            "still in progress stops at its next write, and its journal keeps what it did.",
            "opsconsole force-unlock 6638e010-8fb0-4ab0-bdd4-3f1cb8ae1b0e",
            "ID  the lock's ID, as the refusal names it",
            "--force  do not ask",
            PLACE,
            line="release the lock of a run that is gone",
        ),
    },
    "check and look": {
        "drift": Command(
            "drift:run",
            "Compare what states hold with what the console shows, resource by resource. Take no "
            "lock and write no state. Without an argument the program in this directory says which "
            "states those are; where there is none, all state files under it are checked.",
            "opsconsole drift --format terminal --format html=drift.html\n"
            "opsconsole drift --since drift.json --format json=drift.json --notify https://…\n"
            "opsconsole drift merge share-1.json share-2.json --format markdown",
            Option(
                "[STATE|FOLDER...]  a state file, or a folder under which all are checked; "
                "settings come from the environment unless --program or --dir names their "
                "program",
                type=Path,
                dest="places",
            ),
            *(DRIFT_PROGRAM, VARIABLES, DRIFT_CHECK, ACCEPTANCE),
            *DRIFT_OUTPUT,
            line="compare states with the console",
            codes=_DRIFT_CODES,
            verbs={
                "merge": Command(
                    "drift:run_merge",
                    "Make one report of the JSON reports of all shards. What another shard "
                    "manages is not unmanaged.",
                    "opsconsole drift merge share-1.json share-2.json --format markdown",
                    Option("REPORT...  a report of each shard, as JSON", dest="reports"),
                    *DRIFT_OUTPUT,
                    codes=_DRIFT_CODES,
                )
            },
        ),
        "doctor": Command(
            "doctor:run",
            "Check versions, Node.js, Terraform and its provider mirror, the settings and the "
            f"backend of each stack, and by one read ({OPERATIONS['specialty_search']}) the "
            "console, the key and the clock. No field is changed.",
            "opsconsole doctor --host hst_1 --agent agt_1",
            "--host ID  read this host as a plan does (by host_get, else by an update without a "
            "field), and name the fields that its answer leaves out",
            "--agent ID  list this agent's plugins, and tell if the list is whole",
            JSON,
            NO_COLOR,
            *SETTINGS,
            line="check this machine, the settings and the console",
            codes={0: "nothing is wrong; there may be notes", FAILED: "something is wrong"},
            fixed={"state": None},
        ),
        "capabilities": Command(
            "capabilities:run",
            "Show what can be done with each resource under the current settings, and which "
            "setting would lift each limit. Nothing is sent to the console.",
            "opsconsole capabilities --environment",
            JSON,
            NO_COLOR,
            *SETTINGS,
            line="show what the console can do for each resource",
        ),
        "graph": Command(
            "graph:run",
            "Print the resources of the program and their dependencies as a graph.",
            "opsconsole graph --format dot | dot -Tsvg > graph.svg",
            Option(
                "--format {mermaid,dot}  mermaid (for Markdown; default) or dot (for Graphviz)",
                default="mermaid",
            ),
            PLACE,
            line="print the dependencies between the resources of the program",
        ),
    },
    "set up": {
        "provider": Command(
            "",
            "Install the Terraform provider.",
            "opsconsole provider install && terraform init",
            line="install the Terraform provider",
            verbs={
                "install": Command(
                    "provider_install:run",
                    "Put a launcher of the provider where `terraform init`, `tofu init` and "
                    "`cdktf get` find it without a registry. May be repeated; versions are kept "
                    "side by side.",
                    "opsconsole provider install && terraform init",
                    "--plugin-dir DIR  the filesystem mirror to put it into; by default the one "
                    "that Terraform always reads: ~/.terraform.d/plugins",
                )
            },
        ),
        "hosts": Command(
            "",
            "Import hosts in bulk, without a program.",
            "opsconsole hosts import fleet.csv --dry-run",
            line="import hosts in bulk, without a program",
            verbs={
                "import": Command(
                    "hosts_import:run",
                    "Import the rows of a file. The first line of a CSV file names fields of a "
                    'host; a JSON file is a list of rows, or the envelope of the API: "rows", '
                    '"on_error", "dry_run". Nothing is kept in state.',
                    "opsconsole hosts import fleet.csv --dry-run",
                    "FILE  FILE.csv or FILE.json",
                    "--on-error {stop,continue}  what to do after a row that fails (JSON: as the "
                    "envelope says, else continue; CSV: the console's choice)",
                    "--on-error-parameter NAME  for CSV: the query parameter that takes "
                    "--on-error; no document names it",
                    Option(
                        "--dry-run  let the console judge the rows, and import none; "
                        "--dry-run=false outranks an envelope that says so",
                        default=None,
                    ),
                    "--json  print a JSON object a line: one for each row, one at the end",
                    NO_COLOR,
                    *SETTINGS,
                    codes={FAILED: "failed, or a row failed"},
                )
            },
        ),
        "emulator": Command(
            "emulator:run",
            "Serve a console for development and tests on loopback. It prints the settings that "
            "reach it, and stops at an interrupt.",
            "opsconsole emulator --port 8080 --seed fleet:100",
            Option("--port P  0 takes a free port", type=read_port, default=0),
            "--data FILE  SQLite file that keeps the rows",
            Option(
                "--profile NAME  the kind of console (default: default)",
                default="default",
                choices=PROFILES,
            ),
            "--profiles  list the profiles and stop",
            "--switch NAME=VALUE…  turn one switch of the profile; the value is JSON, or a word",
            Option("--seconds N  stop after N seconds", type=float),
            Option(
                "--seed SEED  first rows: starter, empty, fleet, fleet:HOSTS, or a JSON file",
                default="starter",
            ),
            "--api-key KEY  the key that it accepts",
            Option("--latency MS  milliseconds that answers wait", type=float, default=0.0),
            "--background  serve in a process of its own, for an hour unless --seconds says "
            'otherwise; print what a shell evaluates: eval "$(opsconsole emulator --background)"',
            Option("--exit-with-parent", help=argparse.SUPPRESS),
            line="serve a console for development and tests",
        ),
        "completion": Command(
            "completion:run",
            "Print a script that completes commands and options in a shell. Print it again after "
            "an upgrade.",
            "opsconsole completion bash > ~/.local/share/bash-completion/completions/opsconsole\n"
            "opsconsole completion zsh > ~/.zfunc/_opsconsole\n"
            "opsconsole completion fish > ~/.config/fish/completions/opsconsole.fish",
            Option("SHELL  bash, zsh, fish", choices=("bash", "zsh", "fish")),
            line="print a completion script for bash, zsh or fish",
        ),
    },
}
"""The commands, in the groups and in the order of help."""
COMMANDS: Final = {name: item for group in HELP.values() for name, item in group.items()}
