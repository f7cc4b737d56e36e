"""The programs that the demo runs: cdktf, or Terraform by itself, in a folder of the demo's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from demo_steps.folder import APP, STACK
from demo_steps.plans import Outcome, drifted, read
from demo_steps.screen import Screen

_SECONDS = 300
_DRIFT = 2
"""Exit code of `opsconsole drift` where something drifted."""


class Failure(Exception):
    """A command of the demo failed; `output` is everything it said."""

    def __init__(self, command: Sequence[str], output: str) -> None:
        super().__init__(f"{' '.join(command)} failed")
        self.command = command
        self.output = output


class Shell:
    """Runs commands in one folder with one environment, and shows them as a user types them."""

    def __init__(self, screen: Screen, folder: Path, environment: Mapping[str, str]) -> None:
        self.screen = screen
        self.folder = folder
        self.environment = environment

    def run(
        self, program: Path, *words: str, shown: str = "", below: str = ".", expect: int = 0
    ) -> str:
        """Run a program to its end; return what it wrote.

        Args:
            shown: The name that the reader sees; the program's own where it is empty.
            below: The folder to run in, seen from the demo's.
            expect: The exit code that is not a failure.

        Raises:
            Failure: It exits with another code.
        """
        command = [shown or program.name, *words]
        with self.screen.running(command):
            done = subprocess.run(
                [str(program), *words],
                cwd=self.folder / below,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
        if done.returncode != expect:
            raise Failure(command, done.stdout + done.stderr)
        return done.stdout


def synth(shell: Shell) -> None:
    """Run the program by itself: cdktf is not needed to write cdktf.out."""
    shell.run(Path(sys.executable), str(APP), shown="python")


class Cdktf:
    """The cdktf command, which synthesises the program and runs Terraform.

    It may end before it has passed on Terraform's last lines, "Destroy complete!" among them.
    """

    def __init__(self, shell: Shell, program: Path) -> None:
        self._shell = shell
        self._program = program

    def synth(self) -> None:
        """Run the program; what it declares is written to cdktf.out."""
        self._shell.run(self._program, "synth")

    def plan(self) -> Outcome:
        """Show what would be done."""
        return self._run("plan")

    def deploy(self) -> Outcome:
        """Do it."""
        return self._run("deploy", "--auto-approve")

    def destroy(self) -> Outcome:
        """Remove everything."""
        return self._run("destroy", "--auto-approve")

    def _run(self, *words: str) -> Outcome:
        # The program does not change in between: synthesising once is enough.
        options = ("--skip-synth", "--skip-provider-lock")
        return read(self._shell.run(self._program, *words, *options))


class Terraform:
    """Terraform or OpenTofu on the synthesised program, where there is no cdktf command."""

    def __init__(self, shell: Shell, program: Path) -> None:
        self._shell = shell
        self._program = program
        self._below = f"cdktf.out/stacks/{STACK}"
        self._ready = False

    def synth(self) -> None:
        """Run the program; what it declares is written to cdktf.out."""
        synth(self._shell)

    def plan(self) -> Outcome:
        """Show what would be done."""
        return self._run("plan")

    def deploy(self) -> Outcome:
        """Do it."""
        return self._run("apply", "-auto-approve")

    def destroy(self) -> Outcome:
        """Remove everything."""
        return self._run("destroy", "-auto-approve")

    def _run(self, *words: str) -> Outcome:
        if not self._ready:
            self._shell.run(self._program, "init", below=self._below)
            self._ready = True
        return read(self._shell.run(self._program, *words, below=self._below))


class Native:
    """The command `opsconsole`: the same program and the same state file, without Terraform."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._program = installed_command()

    def synth(self) -> None:
        """Run the program; what it declares is written to cdktf.out."""
        synth(self._shell)

    def plan(self) -> Outcome:
        """Show what would be done."""
        return self._run("plan")

    def deploy(self) -> Outcome:
        """Do it."""
        return self._run("apply", "-auto-approve")

    def drift(self) -> list[str]:
        """Compare state with the console; report what somebody else changed."""
        return drifted(self._shell.run(self._program, "drift", expect=_DRIFT))

    def destroy(self) -> Outcome:
        """Remove everything; the guard against large deletions is told that this is meant."""
        return self._run("destroy", "-auto-approve")

    def _run(self, *words: str) -> Outcome:
        return read(self._shell.run(self._program, *words))


Engine = Cdktf | Terraform | Native


def find_terraform() -> Path | None:
    """Return Terraform or OpenTofu; TERRAFORM_BINARY_NAME names another program, as for cdktf."""
    named = os.environ.get("TERRAFORM_BINARY_NAME")
    for name in (named,) if named else ("terraform", "tofu"):
        if found := shutil.which(name):
            return Path(found)
    return None


def find_cdktf(root: Path) -> Path | None:
    """Return the cdktf command that `make setup` installed, or the one on PATH."""
    folder = root / "node_modules" / ".bin"
    found = shutil.which("cdktf", path=f"{folder}{os.pathsep}{os.environ.get('PATH', '')}")
    return Path(found) if found else None


def installed_command() -> Path:
    """Return the command `opsconsole` beside this Python."""
    return Path(sys.executable).with_name("opsconsole")
