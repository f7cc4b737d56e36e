"""Which program a command means, by what is in its folder."""

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from declarations import write_stacks

PLANS = (
    ("opsconsole", "plan", "-json"),
    ("opsconsole", "plan", "-json", "-dir=."),
    ("opsconsole-terraform", "plan", "-json"),
)
PARTS = ("files", "app", "output", "HCL")
"""Program files, an app, what an app wrote before, a file that only Terraform reads."""
FOLDERS = [
    parts for count in range(len(PARTS) + 1) for parts in itertools.combinations(PARTS, count)
]


def program(name: str) -> dict[str, Any]:
    return {"resource": {"opsconsole_host": {name: {"name": name}}}}


def write(folder: Path, part: str) -> None:
    """Write a part of a folder; its host has the part's name."""
    match part:
        case "files":
            (folder / "main.tf.json").write_text(json.dumps(program("files")))
        case "HCL":
            (folder / "more.tf").touch()
        case "output":
            write_stacks(folder, {"one": program("output")})
        case "app":
            write_stacks(folder / "made", {"one": program("app")})
            copy = '/bin/cp -r made/cdktf.out/. "$CDKTF_OUTDIR"'
            (folder / "cdktf.json").write_text(json.dumps({"app": copy}))


def meant(words: Sequence[str], parts: Sequence[str]) -> str:
    """Return the part that a plan is of; empty where the engine can plan none."""
    if words == PLANS[0] and "app" in parts:
        return "app"
    if "files" in parts:
        return "files" if "HCL" not in parts else ""
    return "output" if words == PLANS[0] and "output" in parts else ""


@pytest.mark.parametrize("parts", FOLDERS, ids=" ".join)
def test_a_command_means_one_program(
    forked_commands, plain_path, cli_environment, console_of, tmp_path, parts
):
    environment = cli_environment(console_of("default")) | {"PATH": plain_path}
    has_both = {"files", "app"} <= {*parts}
    for words in (*PLANS, ("opsconsole", "validate"), ("opsconsole", "drift")):
        # An app that is run replaces what it wrote before.
        for part in parts:
            write(tmp_path, part)
        ended = forked_commands.run(*words, folder=tmp_path, environment=environment)
        if words in PLANS:
            planned = set(re.findall(r"opsconsole_host\.(\w+)", ended.out))
            assert planned == {meant(words, parts)} - {""}, ended.out + ended.err
        assert ("the app is used" in ended.err) is (has_both and words not in PLANS[1:])
