"""The parser of the command line: help in groups, both spellings of an option, near names.

What the options mean is not known here.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from opsconsole.diagnostics import Diagnostic, are_temporary
from opsconsole.errors import TRY_LATER

FAILED = 1
"""Exit code of every error, usage errors too: 2 means "there are changes" or "there is drift"."""

INTERRUPTED = 130

USUAL = {
    0: "done",
    FAILED: "failed; the message says why",
    TRY_LATER: "the state is locked or the console too busy; nothing was done: try again later",
    INTERRUPTED: "interrupted",
}
"""The exit codes of a command, and what each of them means."""


def failure_code(diagnostics: Iterable[Diagnostic]) -> int:
    """Return the exit code of a command that did nothing because of these."""
    return TRY_LATER if are_temporary(diagnostics) else FAILED


OPTIONS = "Options are read with one dash or two."


class _Formatter(argparse.HelpFormatter):
    """Writes a short usage line, and keeps the lines of a text that are indented as they are."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, max_help_position=30, **options)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """Add the usage line: options are not repeated in it."""
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
        # The heading of the group says already what these words are.
        return shown.partition("\n")[2] if isinstance(action, argparse._SubParsersAction) else shown

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap the paragraphs of a text; a line that begins with a space stays a line."""
        found = []
        for line in text.splitlines():
            plain = line.startswith(" ") or not line
            lead = "" if plain else indent
            found.append(
                f"{indent}{line}".rstrip()
                if plain
                else textwrap.fill(
                    line, width, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False
                )
            )
        return "\n".join(found)


class Parser(argparse.ArgumentParser):
    """Takes no abbreviations, reads `-name` as `--name`, and exits with 1 on a usage error.

    Attributes:
        verbs: The verbs of the command, of which one is needed; None: it has none.
        leading_verbs: The verbs of a command that has arguments of its own.
    """

    def __init__(self, **options: Any) -> None:
        options = {"allow_abbrev": False, "formatter_class": _Formatter, **options}
        super().__init__(**options)
        self._positionals.title = "arguments"
        self.verbs: argparse._SubParsersAction[Parser] | None = None
        self.leading_verbs: dict[str, Parser] = {}

    def describe(
        self, description: str, *, example: str, codes: Mapping[int, str] | None = None
    ) -> None:
        """Say in help what a command does, its exit codes and an example.

        Args:
            description: What it does; the first sentence of a verb's is its line in the list.
            example: One command line or more.
            codes: Exit codes whose meaning is not that of `USUAL`.
        """
        listed = "".join(
            f"  {code:<4} {meaning}\n"
            for code, meaning in sorted({**USUAL, **(codes or {})}.items())
        )
        shown = textwrap.indent(textwrap.dedent(example).strip(), "  ")
        self.description = description
        self.epilog = f"exit codes:\n{listed}\nexample:\n{shown}\n\n{OPTIONS}"

    def add_verb(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        description: str,
        *,
        example: str,
        codes: Mapping[int, str] | None = None,
    ) -> Parser:
        """Add a verb of a command, and return its parser; see `describe`.

        Args:
            run: Carries it out, and returns the exit code.
        """
        if self.verbs is None:
            self.verbs = self.add_subparsers(
                dest="verb", metavar="VERB", title="verbs", required=True, prog=self.prog
            )
        first = description.partition(". ")[0].removesuffix(".")
        parser = self.verbs.add_parser(name, help=first[0].lower() + first[1:])
        parser.describe(description, example=example, codes=codes)
        parser.set_defaults(run=run)
        return parser

    def add_leading_verb(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        description: str,
        *,
        example: str,
        codes: Mapping[int, str] | None = None,
    ) -> Parser:
        """Add a verb to a command that has arguments of its own, and return its parser.

        The word is the verb if it comes first: behind `--`, and as `./NAME`, it is an argument.
        """
        first = description.partition(". ")[0]
        self.add_argument_group("verb", f"  {name:<14} {first[0].lower()}{first[1:]}")
        parser = self.leading_verbs[name] = Parser(prog=f"{self.prog} {name}")
        parser.describe(description, example=example, codes=codes)
        parser.set_defaults(run=run)
        return parser

    def parse_known_args(  # type: ignore[override]  # argparse has overloads with the same meaning
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse what is left over with the nearest name there is.

        The parser that left a word over says so: only it knows its options.
        """
        if args and args[0] in self.leading_verbs:
            return self.leading_verbs[args[0]].parse_known_args(args[1:], namespace)
        spellings = self._option_string_actions
        spellings |= {name[1:]: found for name, found in spellings.items() if name[:2] == "--"}
        found, left = super().parse_known_args(args, namespace)
        for word in left:
            if word.startswith("-"):
                name = word.partition("=")[0]
                self.error(f"There is no option {name}.{self._nearest(name)}")
            self.error(f'The argument "{word}" is not expected.')
        return found, left

    def _nearest(self, name: str) -> str:
        from opsconsole.phrases import did_you_mean

        known = {
            word.partition("=")[0]
            for action in self._actions
            for word in action.option_strings
            if word.startswith("--") and action.help != argparse.SUPPRESS
        }
        hint = did_you_mean(f"--{name.lstrip('-')}", sorted(known))
        return f" {hint}" if hint.startswith("Did") else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        from opsconsole.phrases import did_you_mean

        near = did_you_mean(str(value), map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            noun = str(action.metavar or "word").lower()
            self.error(f'There is no {noun} "{value}". {near}')
        raise argparse.ArgumentError(action, f'"{value}" is not one of its values. {near}')

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and exit."""
        text = re.sub(r"^argument ([^:]+): ", r"\1: ", message)
        if missing := re.match(r"the following arguments are required: (.+)", text):
            names = missing[1].split(", ")
            text = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing."
        self.exit(FAILED, f"Error: {text}\n`{self.prog} --help` shows how it is used.\n")
