"""A command line as Terraform reads it: global options, verb, TF_CLI_ARGS, flags, operands.

The verbs and their flags are in `verbs`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsconsole.errors import UserError

GROUPS = frozenset(("state", "providers", "workspace", "metadata"))
"""The first words of two-word verbs."""

_HELP = frozenset(("-help", "--help", "-h"))
_VERSION = frozenset(("-version", "--version", "-v"))
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
"""The values that turn a flag off, as in Go."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of the program.

    Attributes:
        verb: One word (`plan`) or two words (`state list`); empty if there is no verb.
        words: The words after the verb, including those of TF_CLI_ARGS.
        directory: The directory of `-chdir`, or empty.
        given: The words as they were given.
        unknown: An unknown global option, or empty.
    """

    verb: str
    words: tuple[str, ...]
    directory: str
    help: bool
    given: tuple[str, ...]
    unknown: str = ""


def read_call(given: Sequence[str], environ: Mapping[str, str]) -> Invocation:
    """Read the words after the program's name.

    Raises:
        UserError: The words in a variable cannot be split by a shell's rules.
    """
    words = list(given)
    directory, unknown, wants_help, version = "", "", False, False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in _HELP:
            wants_help = True
        elif word in _VERSION:
            version = True
        elif match := re.fullmatch("--?chdir=(.*)", word):
            directory = match[1]
        else:
            unknown = unknown or word
    if version:
        return Invocation("version", tuple(words), directory, False, tuple(given))
    verb = words.pop(0) if words else ""
    if verb in GROUPS and words and not words[0].startswith("-"):
        verb = f"{verb} {words.pop(0)}"
    name = re.sub("[ -]", "_", verb)
    # Terraform inserts the words of each variable right after the verb. It inserts those of the
    # variable for this verb last, so they come first.
    added = [
        *_split("TF_CLI_ARGS_" + name, environ),
        *_split("TF_CLI_ARGS", environ),
    ]
    words = [*(added if verb else ()), *words]
    wants_help = wants_help or any(word in _HELP for word in words)
    return Invocation(verb, tuple(words), directory, wants_help, tuple(given), unknown)


def _split(name: str, environ: Mapping[str, str]) -> list[str]:
    try:
        return shlex.split(environ.get(name, ""))
    except ValueError as error:
        raise UserError(f"{name} cannot be read: {error}.", "Quote it as for a shell.") from error


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
class Arguments:
    """The flags and operands of a call, in their order. A switch is `true` or `false`.

    Attributes:
        foreign: Why only Terraform or OpenTofu can carry the call out, named by the first unknown
            flag; otherwise empty.
    """

    flags: tuple[tuple[str, str], ...] = ()
    operands: tuple[str, ...] = ()
    foreign: str = ""

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a flag."""
        return dict(self.flags).get(name, default)

    def on(self, name: str, default: bool = False) -> bool:
        """Return whether a flag is on."""
        return self.text(name, "true" if default else "false") == "true"

    def every(self, name: str) -> tuple[str, ...]:
        """Return all values of a flag."""
        return tuple(value for key, value in self.flags if key == name)


def read_flags(words: Sequence[str], flags: Mapping[str, Flag]) -> Arguments:
    """Return the flags and operands among the words after a verb.

    Raises:
        UserError: A flag lacks its value, or is neither on nor off.
    """
    found: list[tuple[str, str]] = []
    operands: list[str] = []
    foreign = ""
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        match = re.fullmatch("--?([a-z][a-z0-9-]*)(?:=(.*))?", word, re.DOTALL)
        if match is None:
            operands.append(word)
            continue
        name, value = match[1], match[2]
        flag = flags.get(name)
        if flag is None:
            # An unknown flag may or may not take a value, so its value may become an operand.
            foreign = foreign or f"the flag -{name}"
            continue
        if flag.valued and value is None:
            if not waiting:
                raise UserError(f"-{name} needs a value.", f"Write -{name}=VALUE.")
            value = waiting.pop(0)
        found.append((name, value if flag.valued else _switch(name, value)))
        if flag.use not in ("pass", "own", "ignore"):
            foreign = foreign or f"the flag -{name} ({flag.use})"
    return Arguments(tuple(found), tuple(operands), foreign)


def _switch(name: str, value: str | None) -> str:
    if value is None or value in _TRUE:
        return "true"
    if value in FALSE:
        return "false"
    raise UserError(f"-{name} is on or off, not {value!r}.", f"Write -{name} or -{name}=false.")
