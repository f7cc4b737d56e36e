"""Text files of test cases: groups of lines, each under a line `## NAME`."""

from pathlib import Path


def read_groups(file: Path) -> dict[str, list[str]]:
    """Return the lines of each group, but empty ones, by the group's name."""
    _, *groups = file.read_text("utf-8").split("\n## ")
    named = (group.split("\n") for group in groups)
    return {name: [line for line in lines if line] for name, *lines in named}
