"""The table of commands: group, name, module and one line of help.

A function `register(subparsers)` adds the command; it gives its parser a default `run`, which takes
the parsed arguments and returns the exit code. Nothing is imported here.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Command(NamedTuple):
    """One command.

    Attributes:
        register: `module:function`, which adds it to a parser.
        line: What it does.
        group: The group in which help lists it.
    """

    register: str
    line: str
    group: str


MAIN: Final = "plan and apply"
STATE: Final = "state"
CHECK: Final = "check and look"
SETUP: Final = "set up"

COMMANDS: Final[dict[str, Command]] = {
    name: Command(f"opsconsole.cli.{place}", line, group)
    for group, name, place, line in (
        (MAIN, "plan", "plan:register", "show what applying the program would do"),
        (MAIN, "apply", "apply:register", "bring the console to what the program declares"),
        (MAIN, "destroy", "apply:register_destroy", "remove everything that the program manages"),
        (MAIN, "validate", "validate:register", "check the program, without the console"),
        (STATE, "show", "show:register", "show a saved plan, or the state"),
        (STATE, "output", "output:register", "print the outputs that state holds"),
        (STATE, "adopt", "adopt:register", "write a program that imports what the console has"),
        (
            STATE,
            "import",
            "import_command:register",
            "take an object that the console has into state",
        ),
        (
            STATE,
            "state",
            "state_commands:register",
            "list, show, move, remove, pull or push what it holds",
        ),
        (STATE, "workspace", "workspace:register", "list, show, make, select or delete workspaces"),
        (STATE, "force-unlock", "force_unlock:register", "release the lock of a run that is gone"),
        (CHECK, "drift", "drift:register", "compare states with the console"),
        (CHECK, "doctor", "doctor:register", "check this machine, the settings and the console"),
        (
            CHECK,
            "capabilities",
            "capabilities:register",
            "show what the console can do for each resource",
        ),
        (CHECK, "probe", "probe:register", "ask the console what its document leaves open"),
        (CHECK, "graph", "graph:register", "print what depends on what in the program"),
        (SETUP, "provider", "provider_install:register", "install the Terraform provider"),
        (SETUP, "hosts", "hosts_import:register", "import hosts in bulk, beside any program"),
        (SETUP, "emulator", "emulator:register", "serve a console for development and tests"),
        (
            SETUP,
            "completion",
            "completion:register",
            "print a completion script for bash, zsh or fish",
        ),
    )
}
