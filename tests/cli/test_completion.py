"""The completion scripts, and what bash, zsh and fish make of them."""

import shutil

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
BASH = r"""
source ./opsconsole.bash
for line in "$@"; do
  echo "= $line"
  read -ra COMP_WORDS <<< "opsconsole $line"
  [[ $line == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  $(complete -p opsconsole | sed 's/.*-F \([^ ]*\).*/\1/') \
    opsconsole "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  printf '%s\n' "${COMPREPLY[@]}"
done
"""
# zsh completes only in its line editor, which needs a terminal: zpty is one. The shell in it adds
# to a file what each call of compadd finds to fit.
ZSH = r"""
mv opsconsole.zsh _opsconsole
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D
compadd() {
  if [[ " $* " != *" -"[OAD]" "* ]]; then
    local -a fit; builtin compadd -O fit "$@"; print -rl -- $fit >> found
  fi
  builtin compadd "$@"
}
tell() { print -r -- "told"; zle kill-whole-line }
zle -N tell; bindkey "^I" complete-word "^T" tell; print -r -- "rea"dy'
zpty -r shell seen '*ready*'
for line in "$@"; do
  print -r -- "= $line" >> found
  zpty -n -w shell "opsconsole $line"$'\t\x14'
  zpty -r shell seen '*told*'
done
cat found
"""
FISH = r"""
source opsconsole.fish
for line in $argv; echo "= $line"; complete -C "opsconsole $line" | cut -f 1; end
"""
SHELLS = {
    "bash": (BASH, ("bash", "--norc", "script")),
    "zsh": (ZSH, ("zsh", "-f", "script")),
    "fish": (FISH, ("fish", "--no-config", "script")),
}


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
    program, command = SHELLS[shell]
    (tmp_path / "script").write_text(program)
    (tmp_path / f"opsconsole.{shell}").write_text(script(shell, capsys))
    (tmp_path / "folder").mkdir()
    (tmp_path / "page.html").touch()
    told = run_program(*command, *WANTED, folder=tmp_path, expect=None)
    found: dict[str, set[str]] = {}
    for line in told.out.splitlines():
        if line.startswith("= "):
            words = found.setdefault(line[2:], set())
        elif line.strip():
            words.add(line.strip().rstrip("/"))
    assert found == WANTED, told.err
