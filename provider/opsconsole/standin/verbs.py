"""The table of Terraform's verbs and flags. A verb outside it goes to the real Terraform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of a verb.

    Attributes:
        valued: Whether it takes a value; otherwise it is on or off.
        use: `pass` if the engine's command has the same flag; `own` if the verb itself reads it;
            `ignore` if it has no effect here; `foreign` if only Terraform supports it.
        reason: Why only Terraform supports it.
        native: Whether Terraform lacks it.
    """

    valued: bool
    use: Literal["pass", "own", "ignore", "foreign"] = "pass"
    reason: str = ""
    native: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its flags, and the function or command that carries it out.

    Attributes:
        summary: What it does, in a line.
        operands: The least and the largest number of operands; -1: any number.
        run: `module:function` of this package, which takes the call and returns the exit code;
            empty if a command of `opsconsole` carries the verb out.
        command: The words of that command, if they differ from the verb's. With `run`, the command
            only reads the options, and the function also takes its arguments.
        reads_program: Whether the choice of the engine depends on the program.
        plan_file: Whether an operand may name a plan file, which then decides on the engine.
        needs_backend: Whether that command needs the backend initialised.
    """

    summary: str
    flags: Mapping[str, Flag] = field(default_factory=dict)
    operands: tuple[int, int] = (0, 0)
    run: str = ""
    command: str = ""
    reads_program: bool = True
    plan_file: bool = False
    needs_backend: bool = True


def _flags(use: Literal["pass", "own", "ignore"], names: str) -> dict[str, Flag]:
    """Return flags of one use; a name that ends with `=` takes a value."""
    return {name.rstrip("="): Flag(name.endswith("="), use) for name in names.split()}


def _native(names: str) -> dict[str, Flag]:
    """Return flags of the engine's command that Terraform lacks."""
    return {name: replace(flag, native=True) for name, flag in _flags("pass", names).items()}


def _foreign(name: str, reason: str) -> dict[str, Flag]:
    """Return a flag with a value that only Terraform supports."""
    return {name: Flag(True, "foreign", reason)}


_COLOUR = _flags("pass", "no-color")
_NO_COLOUR = _flags("ignore", "no-color")
_STATE = _flags("pass", "state=") | _native("journal=")
_LOCKING = _flags("pass", "lock lock-timeout=")
_VARIABLES = _flags("pass", "var= var-file=")
_REMOTE = _flags("ignore", "ignore-remote-version")
_ELSEWHERE = _foreign("state-out", "the engine writes state where it is read")
_BACKUP = _flags("ignore", "backup=")
_TESTS = _flags("ignore", "test-directory=")
_LENGTH = _native("compact full")
_WALK = (
    _COLOUR
    | _LENGTH
    | _STATE
    | _LOCKING
    | _VARIABLES
    | _flags("pass", "input parallelism= target= json")
    | _flags("ignore", "compact-warnings concise")
)
_PLANNING = _WALK | _flags("pass", "refresh refresh-only destroy replace=")
_APPLYING = _flags("pass", "auto-approve") | _ELSEWHERE | _BACKUP
_EDITING = _STATE | _LOCKING | _REMOTE | _ELSEWHERE | _BACKUP
_TAINTING = _EDITING | _NO_COLOUR | _flags("own", "allow-missing")

VERBS: Mapping[str, Verb] = {
    "version": Verb(
        "show versions", _flags("own", "json"), run="small_verbs:version", reads_program=False
    ),
    "init": Verb(
        "prepare the working directory: note the backend",
        _flags("own", "backend force-copy input reconfigure migrate-state json lock")
        | _flags("own", "backend-config= lock-timeout=")
        | _flags("ignore", "get upgrade no-color ignore-remote-version")
        | _flags("ignore", "plugin-dir= lockfile= test-directory= var= var-file=")
        | _foreign("from-module", "a module is copied into the directory"),
        run="initialising:run",
    ),
    "validate": Verb(
        "check whether the program is valid",
        _flags("pass", "json no-color") | _TESTS | _flags("ignore", "no-tests"),
        needs_backend=False,
    ),
    "plan": Verb(
        "show what applying the program would do",
        # Terraform is needed if configuration must be generated.
        _PLANNING
        | _flags("pass", "detailed-exitcode out=")
        | _flags("ignore", "generate-config-out="),
    ),
    "apply": Verb(
        "change the console to match the program", _PLANNING | _APPLYING, (0, 1), plan_file=True
    ),
    "destroy": Verb(
        "remove everything that is in state",
        _WALK | _APPLYING | _flags("pass", "refresh replace=") | _flags("ignore", "destroy"),
    ),
    "refresh": Verb(
        "update state from the console",
        _WALK | _ELSEWHERE | _BACKUP,
        command="apply -refresh-only -auto-approve",
    ),
    "output": Verb(
        "print the outputs in state", _COLOUR | _STATE | _flags("pass", "json raw"), (0, 1)
    ),
    "show": Verb(
        "show the state, or a saved plan",
        _COLOUR | _LENGTH | _flags("pass", "json"),
        (0, 1),
        plan_file=True,
    ),
    "state list": Verb("print the addresses in state", _STATE, (0, -1)),
    "state show": Verb("print what state holds of one instance", _STATE | _COLOUR, (1, 1)),
    "state rm": Verb(
        "forget instances; the console keeps them", _EDITING | _flags("pass", "dry-run"), (1, -1)
    ),
    "state mv": Verb(
        "move instances to another address",
        _EDITING | _NO_COLOUR | _flags("pass", "dry-run"),
        (2, 2),
    ),
    "state pull": Verb("print the state", _REMOTE),
    "state push": Verb(
        "replace the state by a file", _EDITING | _NO_COLOUR | _flags("pass", "force"), (1, 1)
    ),
    "workspace list": Verb("list the workspaces"),
    "workspace show": Verb("show the selected workspace"),
    "workspace new": Verb("new workspace, made and selected", _LOCKING, (1, 1)),
    "workspace select": Verb("select a workspace", operands=(1, 1)),
    "workspace delete": Verb("delete a workspace", _LOCKING | _flags("pass", "force"), (1, 1)),
    "force-unlock": Verb(
        "release the lock of a run that no longer exists", _flags("pass", "force"), (1, 1)
    ),
    "taint": Verb(
        "mark an instance, to be replaced by the next apply",
        _TAINTING,
        (1, 1),
        run="state_verbs:run",
        command="state rm",
    ),
    "untaint": Verb(
        "remove the mark of an instance",
        _TAINTING,
        (1, 1),
        run="state_verbs:run",
        command="state rm",
    ),
    "import": Verb(
        "import what exists on the console into state",
        _EDITING
        | _COLOUR
        | _VARIABLES
        | _flags("pass", "input parallelism=")
        | _foreign("config", "the program is read from the working directory"),
        (2, 2),
    ),
    "graph": Verb(
        "print what depends on what",
        _flags("ignore", "draw-cycles no-color type= plan= module-depth="),
        command="graph --format=dot",
        needs_backend=False,
    ),
    "get": Verb(
        "install modules: there are none",
        _flags("ignore", "update no-color") | _TESTS,
        run="small_verbs:get",
    ),
    "providers lock": Verb(
        "note providers: there is nothing to note",
        _flags("ignore", "enable-plugin-cache no-color fs-mirror= net-mirror= platform="),
        (0, -1),
        run="small_verbs:lock",
    ),
    "providers": Verb(
        "print the providers that the program requires",
        _NO_COLOUR | _TESTS,
        run="small_verbs:providers",
    ),
    "providers schema": Verb(
        "print the provider's schema",
        _flags("own", "json") | _NO_COLOUR,
        run="small_verbs:schema",
    ),
}
