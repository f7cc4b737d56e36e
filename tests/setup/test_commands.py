"""What a reader of the README types: `make` and the scripts behind it."""

import re
import shutil
from functools import partial

import pytest

from engines import ROOT, run_program

MAKEFILE = (ROOT / "Makefile").read_text()


run = partial(run_program, folder=ROOT)


def test_make_alone_lists_every_target():
    shown = run("make", "--no-print-directory").out
    (phony,) = re.findall(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)
    assert sorted(re.findall(r"^  make (\w+)", shown, re.MULTILINE)) == sorted(phony.split())


@pytest.mark.parametrize(
    ("user", "apt", "said"),
    [
        ("0", "exit 0", "ci: installing chromium "),
        ("0", "exit 100", "ci: apt-get could not install zsh: tests that need it are skipped"),
        ("1000", "exit 0", "ci: tests are skipped without chromium "),
    ],
)
def test_continuous_integration_installs_what_it_can_and_runs_make_test(user, apt, said, tmp_path):
    stubs = {"id": f"echo {user}", "apt-get": f'echo "$@" >>{tmp_path}/asked; {apt}'}
    stubs["make"] = 'echo "make $@"'
    for name, line in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("bash", "dirname", "timeout"):
        (tmp_path / name).symlink_to(shutil.which(name) or "/missing")
    seen = run(ROOT / ".ci" / "run", PATH=str(tmp_path))
    assert seen.err == ""
    assert said in seen.out
    assert seen.out.splitlines()[-1] == "make test coverage"
    assert (tmp_path / "asked").exists() == (user == "0")


@pytest.mark.parametrize("version", ["missing", "3.10"])
def test_setup_without_a_python_that_serves_says_what_is_needed(version, tmp_path):
    python = tmp_path / "python"
    if version != "missing":
        python.write_text("#!/bin/sh\nexit 1\n")
        python.chmod(0o755)
    seen = run("make", "setup", expect={2}, PYTHON=str(python))
    assert "no Python 3.11 or newer" in seen.err


@pytest.mark.parametrize("target", ["demo", "bench"])
def test_what_a_target_runs_is_there(target):
    shown = run("make", "--dry-run", target).out
    ((module, script),) = re.findall(r"^\S+/python (?:-m (\w+)|(\S+))$", shown, re.MULTILINE)
    assert (ROOT / (script or f"{module}/__main__.py")).is_file()
