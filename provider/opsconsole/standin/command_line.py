"""A command line as Terraform reads it: global options, verb, TF_CLI_ARGS, flags, operands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from opsconsole.errors import UserError
from opsconsole.standin.verbs import VERBS, Flag, Verb
from opsconsole.text import parse_bool

GROUPS = frozenset(("state", "providers", "workspace", "metadata"))
"""The first words of two-word verbs."""

_HELP = frozenset(("-help", "--help", "-h"))
_VERSION = frozenset(("-version", "--version", "-v"))
_FLAG = re.compile("--?([a-z][a-z0-9-]*)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One call of the program: a verb with its flags and operands.

    Attributes:
        name: The verb, one word (`plan`) or two words (`state list`); empty if there is none.
        words: The words as they were given.
        directory: The directory of `-chdir`, or empty.
        flags: The flags in their order. A switch is `true` or `false`.
        foreign: The first global option, verb or flag that only the real Terraform knows, or empty.
        mistake: The mistake in the flags, which the real Terraform may accept. There are no flags
            and operands then.
    """

    name: str
    words: tuple[str, ...]
    directory: str = ""
    help: bool = False
    flags: tuple[tuple[str, str], ...] = ()
    operands: tuple[str, ...] = ()
    foreign: str = ""
    mistake: UserError | None = None

    @property
    def verb(self) -> Verb | None:
        """The verb's row in the table, or None."""
        return VERBS.get(self.name)

    def text(self, name: str, default: str = "") -> str:
        return dict(self.flags).get(name, default)

    def is_on(self, name: str, default: bool = False) -> bool:
        return self.text(name, "true" if default else "false") == "true"

    def every(self, name: str) -> tuple[str, ...]:
        return tuple(value for key, value in self.flags if key == name)


def read_call(given: Sequence[str], environ: Mapping[str, str]) -> ProgramCall:
    """Read the words after the program's name, and the words of the environment's variables."""
    words = list(given)
    directory, foreign, wants_help, version = "", "", False, False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in _HELP:
            wants_help = True
        elif word in _VERSION:
            version = True
        elif match := re.fullmatch("--?chdir=(.*)", word):
            directory = match[1]
        else:
            foreign = foreign or f"the global option {word}"
    if version:
        name, foreign, wants_help = "version", "", False
    else:
        name = words.pop(0) if words else ""
        if name in GROUPS and words and not words[0].startswith("-"):
            name = f"{name} {words.pop(0)}"
        if name:
            # Terraform inserts the words of each variable right after the verb.
            inserted = [_split_variable(variable, environ) for variable in _word_variables(name)]
            words = [*inserted[0], *inserted[1], *words]
        wants_help = wants_help or any(word in _HELP for word in words)
    call = ProgramCall(name, tuple(given), directory, wants_help, foreign=foreign)
    if call.verb is None:
        return replace(call, foreign=foreign or f"the verb `{name}`")
    try:
        flags, operands, foreign_flag = _read_flags(words, call.verb.flags)
    except UserError as mistake:
        return replace(call, mistake=mistake)
    return replace(call, flags=flags, operands=operands, foreign=foreign or foreign_flag)


def for_terraform(
    call: ProgramCall, environ: Mapping[str, str]
) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the words of a call and the environment without the flags that Terraform lacks."""
    flags = call.verb.flags if call.verb is not None else {}
    lacking = {name for name, flag in flags.items() if flag.native}
    if not any(name in lacking for name, _ in call.flags):
        return call.words, environ
    start = next(i for i, word in enumerate(call.words) if not word.startswith("-"))
    words = [*call.words[:start], *_without_native(call.words[start:], flags)]
    variables = {
        name: shlex.join(_without_native(_split_variable(name, environ), flags))
        for name in _word_variables(call.name)
        if name in environ
    }
    return words, {**environ, **variables}


def _without_native(words: Sequence[str], flags: Mapping[str, Flag]) -> list[str]:
    kept: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*kept, word, *waiting]
        match = _FLAG.fullmatch(word)
        flag = flags.get(match[1]) if match else None
        taken = [word]
        if match and flag and flag.valued and match[2] is None and waiting:
            taken.append(waiting.pop(0))
        if flag is None or not flag.native:
            kept += taken
    return kept


def _word_variables(name: str) -> tuple[str, str]:
    """Return the variables with more words for a verb, in the order of those words."""
    # Terraform inserts the words of the verb's own variable last, so they come first.
    return "TF_CLI_ARGS_" + re.sub("[ -]", "_", name), "TF_CLI_ARGS"


def _split_variable(name: str, environ: Mapping[str, str]) -> list[str]:
    try:
        return shlex.split(environ.get(name, ""))
    except ValueError as error:
        raise UserError(f"{name} cannot be read: {error}.", "Quote it as for a shell.") from error


def _read_flags(
    words: Sequence[str], flags: Mapping[str, Flag]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], str]:
    """Return the flags and operands among the words after a verb, and the first foreign flag."""
    flag_values: list[tuple[str, str]] = []
    operands: list[str] = []
    foreign = ""
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            operands += waiting
            break
        match = _FLAG.fullmatch(word)
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
        flag_values.append((name, value if flag.valued else _read_switch(name, value)))
        if flag.use == "foreign":
            foreign = foreign or f"the flag -{name} ({flag.reason})"
    return tuple(flag_values), tuple(operands), foreign


def _read_switch(name: str, value: str | None) -> str:
    on = True if value is None else parse_bool(value)
    if on is None:
        raise UserError(f"-{name} is on or off, not {value!r}.", f"Write -{name} or -{name}=false.")
    return "true" if on else "false"
