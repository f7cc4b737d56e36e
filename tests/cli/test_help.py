"""Help, the two spellings of an option, and the near names in usage errors."""

import argparse
import re
from collections.abc import Iterator

import pytest

from engines import ROOT
from opsconsole.cli.main import main
from opsconsole.cli.parser import CommandParser, build_parser
from opsconsole.cli.table import HELP, PROFILES
from opsconsole.emulator import profiles
from text_groups import read_rows

ROWS = read_rows(__file__)

GUIDES = ROOT / "docs" / "guides"


def parsers(
    parser: CommandParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], CommandParser]]:
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                yield from parsers(verb, (*words, name))


ALL = dict(parsers(build_parser(None, every=True)))
LEAVES = [words for words, parser in ALL.items() if parser.get_default("run") is not None]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_shows_options_exit_codes_and_a_valid_example(words):
    """Options have two dashes, except `-h`, and the parser takes the example."""
    shown = ALL[words].format_help()
    assert shown.startswith(f"usage: opsconsole {' '.join(words)} [options]")
    options = re.findall(r"^  (-[^ ,\n]*)", shown, re.MULTILINE)
    assert [word for word in options if not word.startswith("--")] == ["-h"]
    assert re.search(r"^exit codes:\n  0 ", shown, re.MULTILINE)
    example = shown.partition("example:\n")[2].partition("\n\n")[0].splitlines()
    assert tuple(example[0].split()[: len(words) + 1]) == ("opsconsole", *words)
    for line in example:
        command = re.split(r" (?:\||>|&&) ", line.strip())[0].split()
        assert build_parser(command[1]).parse_args(command[1:]).command == command[1]


def test_every_option_is_in_the_guides():
    options = {
        word.partition("=")[0]
        for words in LEAVES
        for action in ALL[words]._actions
        for word in action.option_strings
        if word.startswith("--") and action.help != argparse.SUPPRESS and word != "--help"
    }
    told = "".join(page.read_text("utf-8") for page in GUIDES.glob("*.md"))
    assert options - set(re.findall(r"--[a-z][a-z-]*", told)) == set()


@pytest.mark.parametrize(
    ("guide", "command", "left_out"),
    [
        *(("native.md", verb, {"--help"}) for verb in ("plan", "apply", "destroy")),
        ("drift.md", "drift", {"--help", "--no-color", "--var", "--var-file"}),
    ],
)
def test_a_guide_has_every_option_of_its_command(guide, command, left_out):
    told = set(re.findall(r"--[a-z][a-z-]*", (GUIDES / guide).read_text("utf-8")))
    shown = re.findall(r"^  (?:-h, )?(--[a-z-]+)", ALL[command,].format_help(), re.MULTILINE)
    assert {*shown} - left_out <= told


def test_top_help_lists_every_command_in_its_group():
    shown = build_parser(None).format_help()
    for group, commands in HELP.items():
        listed = shown.partition(f"{group}:\n")[2].partition("\n\n")[0].split("\n")
        names = [line.split()[0] for line in listed]
        assert names == [*commands]


def test_the_table_names_every_profile_of_the_emulator():
    assert tuple(profiles()) == PROFILES


@pytest.mark.parametrize("dashes", ["-", "--"])
def test_both_spellings_of_every_option_are_read(dashes):
    words = [f"{dashes}out=x", f"{dashes}max-destroy=5", f"{dashes}lock=false", f"{dashes}json"]
    found = build_parser("plan").parse_args(["plan", *words])
    assert (str(found.out), found.max_destroy, found.lock, found.json) == ("x", 5.0, False, True)
    found = build_parser("provider").parse_args(["provider", "install", f"{dashes}plugin-dir=p"])
    assert str(found.plugin_dir) == "p"


@pytest.mark.parametrize("value", ["", "0", "1", "False", "false", "no", "off ", "true", "yes"])
def test_the_environment_switches_on_only_what_it_does_not_switch_off(value, monkeypatch):
    for name in ("OPSCONSOLE_FORCE", "OPSCONSOLE_UNLOCKED_BACKEND"):
        monkeypatch.setenv(name, value)
    is_on = value in ("1", "true", "yes")
    read = build_parser("plan").parse_args(["plan"])
    assert (read.force, read.unlocked_backend) == (is_on, is_on)
    assert build_parser("plan").parse_args(["plan", "--force=false"]).force is False


@pytest.mark.parametrize(*ROWS["usage errors"])
def test_a_usage_error_names_what_is_near_and_exits_with_1(command, rest, text, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*command.split()[1:], *rest])
    assert ended.value.code == 1
    assert capsys.readouterr().err == f"{text}\n`{command} --help` shows how it is used.\n"


@pytest.mark.parametrize(
    ("command", "variable", "text"),
    [
        ("plan", "OPSCONSOLE_MAX_DESTROY", "'x' is not a percentage from 0 to 100"),
        ("drift", "OPSCONSOLE_NOTIFY_FORMAT", "'x' is not one of json, slack, teams"),
    ],
)
def test_an_error_in_a_variable_names_the_variable(command, variable, text, monkeypatch, capsys):
    monkeypatch.setenv(variable, "x")
    with pytest.raises(SystemExit):
        main([command])
    assert f"Error: {variable}: {text}" in capsys.readouterr().err
