"""The guides that are walked: their files and commands are run as they stand, one after another."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from engines import ROOT, run_program
from opsconsole.emulator import serve

GUIDES = ROOT / "docs" / "guides"
BLOCK = re.compile(r"(?:^`([\w.]+)`\n\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WALKED = {
    "import-a-fleet": "fleet:3",
    "rename-move-split": "starter",
    "take-over": "empty",
    "testing": "starter",
}
"""Guide to the rows of its console."""


def script(guide: str) -> str:
    """Make a shell script of a guide: files are written, commands are run, in their order."""
    text = (GUIDES / f"{guide}.md").read_text("utf-8")
    lines = ["set -eux"]
    for name, language, body in BLOCK.findall(text):
        if name:
            lines.append(f"printf '%s' {shlex.quote(body)} > {name}")
        elif language == "sh":
            lines.append(body)
    return "\n".join(lines)


@pytest.mark.real_client
@pytest.mark.parametrize(
    "guide",
    # A pytest of its own and two more processes of Node: left to `make release`.
    [
        pytest.param(name, marks=[pytest.mark.release] if name == "testing" else [])
        for name in WALKED
    ],
)
def test_a_guide_does_what_it_says(guide, commands, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with serve(seed=WALKED[guide]) as console:
        path = f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = console.environment | {"HOME": str(home), "PATH": path}
        seen = run_program("bash", "-c", script(guide), folder=tmp_path, **variables)
        calls = console.request_counts()
    if guide == "rename-move-split":
        assert "opsconsole_host.gate has moved from opsconsole_host.web" in " ".join(
            seen.out.replace("#", "").split()
        )
        assert "host_delete" not in calls
    if guide == "take-over":
        assert "Plan: 83 to import, 0 to add, 0 to change, 0 to destroy." in seen.out
        assert "No changes." in seen.out
        assert not any(calls.values())  # the guide has a console of its own
    if guide == "import-a-fleet":
        assert not {"host_import", "host_delete"} & set(calls)
