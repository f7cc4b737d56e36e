"""The completion scripts, and what bash makes of its own."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from opsconsole.cli.main import main


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_knows_commands_verbs_and_options(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = script(shell, capsys)
    for word in ("force-unlock", "refresh-only", "install", "dry-run", "mermaid"):
        assert word in text
    if shutil.which(shell):
        read = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True)
        assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["va"], {"validate"}),
        (["state", "p"], {"pull", "push"}),
        (["plan", "--re"], {"--replace", "--refresh=false", "--refresh-only"}),
        (["completion", "f"], {"fish"}),
    ],
)
def test_bash_completes(
    words: list[str], wanted: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["opsconsole", *words]
    asked = (
        f"COMP_WORDS=({' '.join(line)}); COMP_CWORD={len(line) - 1}\n"
        "$(complete -p opsconsole | sed 's/.*-F \\([^ ]*\\).*/\\1/') "
        f"opsconsole {words[-1]} {line[-2]}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    told = subprocess.run(
        ["bash", "--norc"], input=script("bash", capsys) + asked, text=True, capture_output=True
    )
    assert {word.strip() for word in told.stdout.splitlines()} == wanted, told.stderr


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "fsh"])
    assert 'Did you mean "fish"?' in capsys.readouterr().err
