"""Every command of `opsconsole` as data: its purpose, its options, its exit codes, an example.

A command's module is imported when the command runs. Help and completion import no such module.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from opsconsole.cli.options import (
    ACCEPTANCE,
    APPLY,
    DRIFT_CHECK,
    DRIFT_OUTPUT,
    DRIFT_PROGRAM,
    GUARD,
    HIDDEN_PARALLELISM,
    JSON,
    LOCK,
    NO_COLOR,
    PLACE,
    PLAN_FILE,
    PLAN_OUTPUT,
    PLANNING,
    PLANNING_OF_DESTROY,
    SETTINGS,
    STACK,
    STATE,
    TERRAFORM_JSON,
    VARIABLES,
    WORKSPACES,
    Group,
    Option,
    read_amount,
    read_api_key,
    read_port,
)
from opsconsole.errors import TRY_LATER
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

ABSENT: Final[Mapping[str, object]] = {
    **dict.fromkeys(("state", "journal", "journal_dir", "out", "planfile")),
    "backend_config": (),
    "lock": True,
    "lock_timeout": 0.0,
    "standin": False,
}
"""Values for options that a command lacks: functions that several commands share read them.

`standin` is true in `opsconsole-terraform`, for clients that read Terraform's output.
"""


class Command:
    """One command, or one verb of a command.

    Args:
        run: `MODULE:FUNCTION` below `opsconsole.cli`; empty if the command needs a verb.
        description: Its text in help. For a verb, the first sentence is its line in the list.
        example: One command line or more.
        summary: Its line in the list of commands.
        codes: Exit codes whose meaning differs from `USUAL`.
        fixed: Further values for options that the command lacks, which are not in `ABSENT`.
        prints_only: Whether it only prints. Its exit code then does not depend on how much a
            reader takes (`| head`).
        verbs: Its verbs. If there is also a `run`, a word is a verb only in first place. After
            `--`, or as `./NAME`, the word is an operand.
    """

    def __init__(
        self,
        run: str,
        description: str,
        example: str,
        *options: str | Option | Group,
        summary: str = "",
        codes: Mapping[int, str] | None = None,
        fixed: Mapping[str, object] | None = None,
        prints_only: bool = False,
        verbs: Mapping[str, Command] | None = None,
    ) -> None:
        self.run, self.description, self.example = run, description, example
        self.summary = summary
        self.options = options
        self.codes = {**USUAL, **(codes or {})}
        self.fixed = {"prints_only": prints_only, **(fixed or {})}
        self.verbs = verbs or {}


_DRIFT_CODES: Final = {
    0: "no drift",
    FAILED: "could not tell: errors, or less coverage than --min-coverage asks for",
    CHANGES: "drift",
    TRY_LATER: "could not tell, only because the console was too busy: try again later",
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
        prints_only=True,
    ),
    "show": Command(
        "state_commands:show",
        "Print what state holds of one instance.",
        "opsconsole state show opsconsole_host.web",
        "ADDRESS  one instance",
        NO_COLOR,
        PLACE,
        prints_only=True,
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
        prints_only=True,
    ),
    "push": Command(
        "state_commands:push",
        "Replace the state by a file of the same lineage and a higher serial.",
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
        WORKSPACES,
        LOCK,
        prints_only=True,
    ),
    "show": Command(
        "workspace:show",
        "Print the selected workspace.",
        "opsconsole workspace show",
        WORKSPACES,
        LOCK,
        prints_only=True,
    ),
    "new": Command(
        "workspace:create",
        "Make a workspace and select it.",
        "opsconsole workspace new staging",
        *(_WORKSPACE, WORKSPACES, LOCK),
    ),
    "select": Command(
        "workspace:select",
        "Select a workspace.",
        "opsconsole workspace select staging",
        *(_WORKSPACE, WORKSPACES, LOCK),
    ),
    "delete": Command(
        "workspace:delete",
        "Delete a workspace whose state is empty.",
        "opsconsole workspace delete staging",
        _WORKSPACE,
        "--force  delete it even if its state holds something",
        WORKSPACES,
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
            "--shard K/N  plan the stacks of shard K of N, chosen by a hash of their names, one "
            "after the other; a file to write must have {stack} in its name",
            *(VARIABLES, PLANNING, GUARD, LOCK, PLAN_OUTPUT),
            summary="show what applying the program would do",
            codes={CHANGES: "there are changes, with --detailed-exitcode"},
        ),
        "apply": Command(
            "apply:run",
            "Make a plan, show it, ask, and carry it out; or carry out a saved plan.",
            "opsconsole apply --auto-approve",
            PLAN_FILE,
            *APPLY,
            PLANNING,
            summary="bring the console to what the program declares",
        ),
        "destroy": Command(
            "apply:run",
            "Plan the removal of everything in state, show it, ask, and carry it out.",
            "opsconsole destroy --target opsconsole_host.web",
            *APPLY,
            PLANNING_OF_DESTROY,
            summary="remove everything that the program manages",
            fixed={"destroy": True, "refresh_only": False},
        ),
        "validate": Command(
            "validate:run",
            "Check the program, its provider settings and the bounds of its values. Nothing is "
            "sent, no state is read, and variables need no values.",
            "opsconsole validate --json",
            TERRAFORM_JSON,
            NO_COLOR,
            Group("program", STACK, "--dir DIR  a directory of *.tf.json files"),
            summary="check the program, without the console",
            codes={0: "valid; there may be warnings", FAILED: "not valid"},
            prints_only=True,
        ),
    },
    "state": {
        "show": Command(
            "show:run",
            "Show a saved plan, or without one what the state holds.",
            "opsconsole show reviewed.plan",
            *(PLAN_FILE, TERRAFORM_JSON, PLACE, PLAN_OUTPUT),
            summary="show a saved plan, or the state",
            prints_only=True,
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
            summary="print the outputs that state holds",
            prints_only=True,
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
            summary="write a program that imports what the console has",
        ),
        "import": Command(
            "state_commands:import_object",
            "Read the object that ID names, and keep it in state under ADDRESS.",
            "opsconsole import opsconsole_host.web hst_0123456789",
            "ADDRESS  where the program declares it",
            f"ID  {', '.join(' or '.join(item.import_forms) for item in RESOURCES.values())}",
            "--input=false  nothing is ever asked by an import",
            *(NO_COLOR, HIDDEN_PARALLELISM, PLACE, VARIABLES, LOCK),
            summary="add an object that the console has to the state",
        ),
        "state": Command(
            "",
            "Look at the state, and edit it. No request is sent to the console.",
            "opsconsole state mv opsconsole_host.web opsconsole_host.gate",
            summary="list, show, move, remove, pull or push its resources",
            verbs=_STATE_VERBS,
        ),
        "workspace": Command(
            "",
            "Workspaces are Terraform's: each has a state of its own in one backend.",
            "opsconsole workspace new staging",
            summary="list, show, make, select or delete workspaces",
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
            summary="release the lock of a run that is gone",
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
            "opsconsole drift merge shard-1.json shard-2.json --format markdown",
            Option(
                "[STATE|FOLDER...]  a state file, or a folder under which all are checked; "
                "settings come from the environment unless --program or --dir names their "
                "program",
                type=Path,
                dest="places",
            ),
            *(DRIFT_PROGRAM, VARIABLES, DRIFT_CHECK, ACCEPTANCE),
            *DRIFT_OUTPUT,
            summary="compare states with the console",
            codes=_DRIFT_CODES,
            verbs={
                "merge": Command(
                    "drift:run_merge",
                    "Make one report of the JSON reports of all shards. What another shard "
                    "manages is not unmanaged.",
                    "opsconsole drift merge shard-1.json shard-2.json --format markdown",
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
            "--agent ID  list this agent's plugins, and tell if the list is complete",
            JSON,
            NO_COLOR,
            *SETTINGS,
            summary="check this machine, the settings and the console",
            codes={0: "nothing is wrong; there may be notes", FAILED: "something is wrong"},
        ),
        "capabilities": Command(
            "capabilities:run",
            "Show what can be done with each resource under the current settings, and which "
            "setting would lift each limit. Nothing is sent to the console.",
            "opsconsole capabilities --environment",
            JSON,
            NO_COLOR,
            *SETTINGS,
            summary="show what the console can do for each resource",
            prints_only=True,
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
            summary="print the dependencies between the resources of the program",
            prints_only=True,
        ),
    },
    "set up": {
        "provider": Command(
            "",
            "Install the Terraform provider.",
            "opsconsole provider install && terraform init",
            summary="install the Terraform provider",
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
            summary="import hosts in bulk, without a program",
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
                        "--dry-run=false overrides an envelope that says so",
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
            Option("--seconds N  stop after N seconds", type=read_amount),
            Option(
                "--seed SEED  first rows: starter, empty, fleet, fleet:HOSTS, or a JSON file",
                default="starter",
            ),
            Option("--api-key KEY  the key that it accepts: svc_ak_…", type=read_api_key),
            Option("--latency MS  milliseconds that answers wait", type=read_amount, default=0.0),
            "--background  serve in a process of its own, for an hour unless --seconds says "
            'otherwise; print what a shell evaluates: eval "$(opsconsole emulator --background)"',
            Option("--exit-with-parent", help=argparse.SUPPRESS),
            summary="serve a console for development and tests",
        ),
        "completion": Command(
            "completion:run",
            "Print a script that completes commands and options in a shell. Print it again after "
            "an upgrade.",
            "opsconsole completion bash > ~/.local/share/bash-completion/completions/opsconsole\n"
            "opsconsole completion zsh > ~/.zfunc/_opsconsole\n"
            "opsconsole completion fish > ~/.config/fish/completions/opsconsole.fish",
            Option("SHELL  bash, zsh, fish", choices=("bash", "zsh", "fish")),
            summary="print a completion script for bash, zsh or fish",
            prints_only=True,
        ),
    },
}
"""The commands, in the groups and in the order of help."""
COMMANDS: Final = {name: item for group in HELP.values() for name, item in group.items()}
