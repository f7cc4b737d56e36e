"""The parser of the command line, built from the table of commands."""

from __future__ import annotations

import argparse
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from pkgutil import resolve_name
from typing import Any, NoReturn

from opsconsole import __version__
from opsconsole.cli.options import Group, Option, Options, is_switched_on
from opsconsole.cli.table import ABSENT, COMMANDS, FAILED, HELP, Command


class _Formatter(argparse.HelpFormatter):
    """Writes a short usage line, and keeps indented lines of a text unchanged."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, max_help_position=30, **options)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        if usage is None:
            words = [
                self._format_args(action, self._get_default_metavar_for_positional(action))
                for action in actions
                if not action.option_strings
            ]
            usage = " ".join(["%(prog)s", "[options]", *words])
        super().add_usage(usage, actions, groups, prefix)

    def _format_action(self, action: argparse.Action) -> str:
        shown = super()._format_action(action)
        # The heading of the group already says what these words are.
        return shown.partition("\n")[2] if isinstance(action, argparse._SubParsersAction) else shown

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs; a line that begins with a space stays a line."""
        lines = []
        for line in text.splitlines():
            plain = line.startswith(" ") or not line
            lead = "" if plain else indent
            lines.append(
                f"{indent}{line}".rstrip()
                if plain
                else textwrap.fill(
                    line, width, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False
                )
            )
        return "\n".join(lines)


class _Variable(str):
    """The default of an option, from an environment variable.

    Attributes:
        name: The name of the variable, which errors mention in place of the option.
    """

    name: str


class CommandParser(argparse.ArgumentParser):
    """Takes no abbreviations, reads `-name` as `--name`, and exits with 1 on a usage error.

    Attributes:
        leading_verbs: The verbs of a command that also has its own operands.
    """

    def __init__(self, **options: Any) -> None:
        options = {"allow_abbrev": False, "formatter_class": _Formatter, **options}
        super().__init__(**options)
        self._positionals.title = "arguments"
        self.leading_verbs: dict[str, CommandParser] = {}

    def parse_known_args(  # type: ignore[override]  # argparse has overloads with the same meaning
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse an unknown word with a hint at the nearest name."""
        if args and args[0] in self.leading_verbs:
            return self.leading_verbs[args[0]].parse_known_args(args[1:], namespace)
        spellings = self._option_string_actions
        # argparse looks words up in this table, so that `-name` is found as Terraform spells it.
        spellings |= {name[1:]: found for name, found in spellings.items() if name[:2] == "--"}
        found, left = super().parse_known_args(args, namespace)
        # The error is raised here, because only this parser knows its options, not the one above.
        for word in left:
            if word.startswith("-"):
                name = word.partition("=")[0]
                self.error(f"There is no option {name}.{self._nearest(name)}")
            self.error(f'The argument "{word}" is not expected.')
        return found, left

    def _nearest(self, name: str) -> str:
        from opsconsole.text import did_you_mean

        known = {
            word.partition("=")[0]
            for action in self._actions
            for word in action.option_strings
            if word.startswith("--") and action.help != argparse.SUPPRESS
        }
        hint = did_you_mean(f"--{name.lstrip('-')}", sorted(known))
        return f" {hint}" if hint.startswith("Did") else ""

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as problem:
            if isinstance(arg_string, _Variable):
                problem.argument_name = arg_string.name
            raise

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        from opsconsole.text import did_you_mean

        near = did_you_mean(str(value), map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            noun = str(action.metavar or "word").lower()
            self.error(f'There is no {noun} "{value}". {near}')
        raise argparse.ArgumentError(action, f'"{value}" is not one of its values. {near}')

    def error(self, message: str) -> NoReturn:
        """Print the error and the command that shows help, and exit."""
        text = re.sub(r"^argument ([^:]+): ", r"\1: ", message)
        text = re.sub(r"ignored explicit argument (.+)", r"\1 is neither true nor false", text)
        if missing := re.match(r"the following arguments are required: (.+)", text):
            names = missing[1].split(", ")
            text = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing."
        self.exit(FAILED, f"Error: {text}\n`{self.prog} --help` shows how it is used.\n")


def build_parser(wanted: str | None, *, every: bool = False) -> CommandParser:
    """Make the parser.

    Args:
        wanted: The only command whose options are added.
        every: Add the options of all commands, for completion.
    """
    parser = CommandParser(
        prog="opsconsole",
        usage="%(prog)s [options] COMMAND …",
        description="Declare the hosts and agents of an operations console in Python, and keep "
        "the console as declared.",
        epilog="`opsconsole COMMAND --help` shows the options of a command, its exit codes and an "
        "example.",
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"opsconsole {__version__}",
        help="print the version, and exit",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="show where an unexpected error comes from (OPSCONSOLE_DEBUG=1)",
    )
    for group, commands in HELP.items() if not every else ():
        lines = [f"  {name:<14} {command.summary}" for name, command in commands.items()]
        parser.add_argument_group(group, "\n".join(lines))
    subparsers = parser.add_subparsers(
        dest="command",
        metavar="COMMAND",
        prog=parser.prog,
        help=None if every else argparse.SUPPRESS,
    )
    for name, command in COMMANDS.items():
        added = subparsers.add_parser(name, help=command.summary)
        if every or name == wanted:
            _fill_parser(added, command)
    return parser


def _fill_parser(parser: CommandParser, command: Command) -> None:
    """Describe a command in help, and add its options and verbs."""
    listed = "".join(f"  {code:<4} {meaning}\n" for code, meaning in sorted(command.codes.items()))
    example = textwrap.indent(command.example, "  ")
    parser.description = command.description
    parser.epilog = (
        f"exit codes:\n{listed}\nexample:\n{example}\n\nOptions are read with one dash or two."
    )
    # Before the options, which have defaults of their own.
    parser.set_defaults(**ABSENT, **command.fixed)
    _add_options(parser, command.options)
    if command.run:
        parser.set_defaults(run=partial(_import_and_run, command.run))
        for name, verb in command.verbs.items():
            parser.add_argument_group("verb", f"  {name:<14} {_first_sentence(verb)}")
            parser.leading_verbs[name] = CommandParser(prog=f"{parser.prog} {name}")
            _fill_parser(parser.leading_verbs[name], verb)
    elif command.verbs:
        verbs = parser.add_subparsers(
            dest="verb", metavar="VERB", title="verbs", required=True, prog=parser.prog
        )
        for name, verb in command.verbs.items():
            _fill_parser(verbs.add_parser(name, help=_first_sentence(verb)), verb)


def _first_sentence(verb: Command) -> str:
    first = verb.description.partition(". ")[0].removesuffix(".")
    return first[0].lower() + first[1:]


def _import_and_run(place: str, args: argparse.Namespace) -> int:
    code: int = resolve_name(f"opsconsole.cli.{place}")(args)
    return code


def _add_options(container: argparse._ActionsContainer, options: Options) -> None:
    for item in options:
        if isinstance(item, Group) and item.title:
            _add_options(container.add_argument_group(item.title), item.options)
        elif isinstance(item, Group):
            _add_options(container.add_mutually_exclusive_group(), item.options)
        else:
            _add_option(container, Option(item) if isinstance(item, str) else item)


def _add_option(container: argparse._ActionsContainer, option: Option) -> None:
    arguments = dict(option.arguments)
    if not option.is_flag:
        if given := os.environ.get(option.environment):
            # A default that is a text is read as if it were given.
            arguments["default"] = _Variable(given)
            arguments["default"].name = option.environment
        container.add_argument(option.name, **arguments)
        return
    if is_switched_on(option.environment):
        arguments["default"] = True
    # Help shows the spelling that differs from the default.
    shown = f"{option.name}=false" if arguments["default"] else option.name
    for word in (option.name, f"{option.name}=true", f"{option.name}=false"):
        spelling = arguments if word == shown else {**arguments, "help": argparse.SUPPRESS}
        is_on = not word.endswith("=false")
        container.add_argument(word, action="store_const", const=is_on, **spelling)
