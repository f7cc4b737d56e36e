"""The completion scripts, and what bash, zsh and fish make of them."""

import shutil
from pathlib import Path

import pytest

from engines import run_program
from opsconsole.cli.main import main

WANTED = {
    "va": {"validate"},
    "state p": {"pull", "push"},
    "plan --re": {"--replace", "--refresh=false", "--refresh-only"},
    "completion f": {"fish"},
    "adopt --framework ": {"cdktf", "cdktn"},
    "plan --dir fold": {"folder"},
    "plan --html pag": {"page.html"},
}
SHELLS = {"bash": ("bash", "--norc"), "zsh": ("zsh", "-f"), "fish": ("fish", "--no-config")}
"""How each runs a script, which prints what it completes its arguments to."""


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_commands_verbs_and_options(shell, capsys):
    text = script(shell, capsys)
    for word in ("force-unlock", "refresh-only", "install", "dry-run", "mermaid"):
        assert word in text


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(shell, tmp_path, capsys):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on PATH (Debian: the package {shell})")
    asking = Path(__file__).with_name(f"complete.{shell}")
    (tmp_path / f"opsconsole.{shell}").write_text(script(shell, capsys))
    (tmp_path / "folder").mkdir()
    (tmp_path / "page.html").touch()
    told = run_program(*SHELLS[shell], asking, *WANTED, folder=tmp_path, expect=None)
    found: dict[str, set[str]] = {}
    for line in told.out.splitlines():
        if line.startswith("= "):
            words = found.setdefault(line[2:], set())
        elif line.strip():
            words.add(line.strip().rstrip("/"))
    assert found == WANTED, told.err
