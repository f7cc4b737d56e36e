"""Reading the parts of systemd's unit files that tests carry out, as systemd reads them."""

import re
import shlex
from collections.abc import Mapping

_ASSIGNMENT = re.compile(r"(\w+)=(.*)")


def service_settings(text: str) -> dict[str, list[str]]:
    """Return the settings of the section [Service], each with all its values.

    Lines that end with a backslash go on in the next one (systemd.syntax).
    """
    found: dict[str, list[str]] = {}
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif line and line[0] not in "#;" and section == "[Service]":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value.strip())
    return found


def read_environment(text: str) -> dict[str, str]:
    """Return the assignments of an EnvironmentFile."""
    lines = (line.strip() for line in text.splitlines())
    matches = (_ASSIGNMENT.fullmatch(line) for line in lines if line and line[0] not in "#;")
    return {match[1]: match[2].strip('"') for match in matches if match}


def command_of(
    start: str, environment: Mapping[str, str], specifiers: Mapping[str, str]
) -> list[str]:
    """Return the words of an ExecStart: `$NAME` alone is split into words, `${NAME}` is not."""
    words: list[str] = []
    for word in shlex.split(start):
        for letter, value in specifiers.items():
            word = word.replace(f"%{letter}", value)
        alone = re.fullmatch(r"\$(\w+)", word)
        if alone:
            words += environment[alone[1]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word))
    return words
