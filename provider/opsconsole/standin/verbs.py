"""The table of Terraform's verbs, their flags, and the functions that carry them out.

A verb that is not in the table goes to the real Terraform. Nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of a verb.

    Attributes:
        valued: Whether the flag takes a value; otherwise it is on or off.
        use: `pass` if the engine's command has the same flag; `own` if the verb itself reads the
            flag; `ignore` if the flag has no effect here; otherwise the reason why only Terraform
            supports the flag.
    """

    valued: bool
    use: str = "pass"


@dataclass(frozen=True, slots=True)
class Verb:
    """The flags of a verb, and the function that carries it out.

    Attributes:
        line: What it does, in a line.
        run: `module:function`, which takes the call and returns the exit code; empty if a command
            of `opsconsole` carries the verb out.
        command: The words of that command.
        operands: How many operands there may be, at least and at most; -1: any number.
        reads_program: Whether the choice of the engine depends on the program.
        plan_file: Whether an operand may name a plan file, which then decides on the engine.
        needs_backend: Whether that command needs the backend initialised as the program says.
    """

    line: str
    run: str = ""
    command: tuple[str, ...] = ()
    flags: Mapping[str, Flag] = field(default_factory=dict)
    operands: tuple[int, int] = (0, 0)
    reads_program: bool = True
    plan_file: bool = False
    needs_backend: bool = True


def _flags(use: str, *, on_off: str = "", valued: str = "") -> dict[str, Flag]:
    return {
        **{name: Flag(False, use) for name in on_off.split()},
        **{name: Flag(True, use) for name in valued.split()},
    }


_COLOUR = _flags("pass", on_off="no-color")
_NO_COLOUR = _flags("ignore", on_off="no-color")
_STATE = _flags("pass", valued="state journal")
_LOCKING = _flags("pass", on_off="lock", valued="lock-timeout")
_VARIABLES = _flags("pass", valued="var var-file")
_REMOTE = _flags("ignore", on_off="ignore-remote-version")
_ELSEWHERE = _flags("the engine writes state where it is read", valued="state-out")
_BACKUP = _flags("ignore", valued="backup")
_TESTS = _flags("ignore", valued="test-directory")
_LENGTH = _flags("pass", on_off="compact full")
_WALK = {
    **_COLOUR,
    **_LENGTH,
    **_STATE,
    **_LOCKING,
    **_VARIABLES,
    **_flags("pass", on_off="input", valued="parallelism target"),
    **_flags("ignore", on_off="compact-warnings concise"),
    **_flags("pass", on_off="json"),
}
_PLANNING = {**_WALK, **_flags("pass", on_off="refresh refresh-only destroy", valued="replace")}
_APPLYING = {**_flags("pass", on_off="auto-approve"), **_ELSEWHERE, **_BACKUP}
_EDITING = {**_STATE, **_LOCKING, **_REMOTE, **_ELSEWHERE, **_BACKUP}
_EDITING_SELF = {
    **_flags("own", on_off="lock allow-missing", valued="lock-timeout state journal"),
    **_REMOTE,
    **_ELSEWHERE,
    **_BACKUP,
    **_NO_COLOUR,
}

VERBS: Mapping[str, Verb] = {
    "version": Verb(
        "show versions",
        "opsconsole.standin.version:run",
        flags=_flags("own", on_off="json"),
        reads_program=False,
    ),
    "init": Verb(
        "prepare the working directory: note the backend",
        "opsconsole.standin.initialising:run",
        flags={
            **_flags("own", on_off="backend force-copy input reconfigure migrate-state json lock"),
            **_flags("own", valued="backend-config lock-timeout"),
            **_flags("ignore", on_off="get upgrade no-color ignore-remote-version"),
            **_flags("ignore", valued="plugin-dir lockfile test-directory var var-file"),
            **_flags("a module is copied into the directory", valued="from-module"),
        },
    ),
    "validate": Verb(
        "check whether the program is valid",
        command=("validate",),
        flags={
            **_flags("pass", on_off="json no-color"),
            **_TESTS,
            **_flags("ignore", on_off="no-tests"),
        },
        needs_backend=False,
    ),
    "plan": Verb(
        "show what applying the program would do",
        command=("plan",),
        flags={
            **_PLANNING,
            **_flags("pass", on_off="detailed-exitcode", valued="out"),
            # Terraform is needed if configuration must be generated.
            **_flags("ignore", valued="generate-config-out"),
        },
    ),
    "apply": Verb(
        "change the console to match the program",
        command=("apply",),
        flags={**_PLANNING, **_APPLYING},
        operands=(0, 1),
        plan_file=True,
    ),
    "destroy": Verb(
        "remove everything that is in state",
        command=("destroy",),
        flags={**_WALK, **_APPLYING, **_flags("pass", on_off="refresh", valued="replace")}
        | _flags("ignore", on_off="destroy"),
    ),
    "refresh": Verb(
        "update state from the console",
        command=("apply", "-refresh-only", "-auto-approve"),
        flags={**_WALK, **_ELSEWHERE, **_BACKUP},
    ),
    "output": Verb(
        "print the outputs in state",
        command=("output",),
        flags={**_COLOUR, **_STATE, **_flags("pass", on_off="json raw")},
        operands=(0, 1),
    ),
    "show": Verb(
        "show the state, or a saved plan",
        command=("show",),
        flags={**_COLOUR, **_LENGTH, **_flags("pass", on_off="json")},
        operands=(0, 1),
        plan_file=True,
    ),
    "state list": Verb(
        "print the addresses in state", command=("state", "list"), flags=_STATE, operands=(0, -1)
    ),
    "state show": Verb(
        "print what state holds of one instance",
        command=("state", "show"),
        flags={**_STATE, **_COLOUR},
        operands=(1, 1),
    ),
    "state rm": Verb(
        "forget instances; the console keeps them",
        command=("state", "rm"),
        flags={**_EDITING, **_flags("pass", on_off="dry-run")},
        operands=(1, -1),
    ),
    "state mv": Verb(
        "move instances to another address",
        command=("state", "mv"),
        flags={**_EDITING, **_NO_COLOUR, **_flags("pass", on_off="dry-run")},
        operands=(2, 2),
    ),
    "state pull": Verb("print the state", command=("state", "pull"), flags=_REMOTE),
    "state push": Verb(
        "replace the state by a file",
        command=("state", "push"),
        flags={**_EDITING, **_NO_COLOUR, **_flags("pass", on_off="force")},
        operands=(1, 1),
    ),
    **{
        f"workspace {name}": Verb(
            f"{name} {what}",
            command=("workspace", name),
            flags=flags,
            operands=(count, count),
        )
        for name, what, flags, count in (
            ("list", "the workspaces", {}, 0),
            ("show", "the selected workspace", {}, 0),
            ("new", "workspace, made and selected", _LOCKING, 1),
            ("select", "a workspace", {}, 1),
            ("delete", "a workspace", {**_LOCKING, **_flags("pass", on_off="force")}, 1),
        )
    },
    "force-unlock": Verb(
        "release the lock of a run that no longer exists",
        command=("force-unlock",),
        flags=_flags("pass", on_off="force"),
        operands=(1, 1),
    ),
    "taint": Verb(
        "mark an instance, to be replaced by the next apply",
        "opsconsole.standin.state_verbs:run",
        flags=_EDITING_SELF,
        operands=(1, 1),
    ),
    "untaint": Verb(
        "remove the mark of an instance",
        "opsconsole.standin.state_verbs:run",
        flags=_EDITING_SELF,
        operands=(1, 1),
    ),
    "import": Verb(
        "import what exists on the console into state",
        command=("import",),
        flags={
            **_EDITING,
            **_COLOUR,
            **_VARIABLES,
            **_flags("pass", on_off="input", valued="parallelism"),
            **_flags("the program is read from the working directory", valued="config"),
        },
        operands=(2, 2),
    ),
    "graph": Verb(
        "print what depends on what",
        command=("graph", "--format=dot"),
        flags=_flags("ignore", on_off="draw-cycles no-color", valued="type plan module-depth"),
        needs_backend=False,
    ),
    "get": Verb(
        "install modules: there are none",
        "opsconsole.standin.provider_verbs:get",
        flags={**_flags("ignore", on_off="update no-color"), **_TESTS},
    ),
    "providers lock": Verb(
        "note providers: there is nothing to note",
        "opsconsole.standin.provider_verbs:lock",
        flags=_flags(
            "ignore", on_off="enable-plugin-cache no-color", valued="fs-mirror net-mirror platform"
        ),
        operands=(0, -1),
    ),
    "providers": Verb(
        "print the providers that the program requires",
        "opsconsole.standin.provider_verbs:providers",
        flags={**_NO_COLOUR, **_TESTS},
    ),
    "providers schema": Verb(
        "print the provider's schema",
        "opsconsole.standin.provider_verbs:schema",
        flags={**_flags("own", on_off="json"), **_NO_COLOUR},
    ),
}
