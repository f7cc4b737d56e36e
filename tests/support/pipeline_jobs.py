"""A finished job of a pipeline, and the shell that services run its scripts in."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SECONDS = 600


@dataclass(frozen=True)
class Ran:
    """One finished job.

    Attributes:
        code: The exit code of the step that failed, or 0.
        steps: Names of the steps whose shell was run.
        text: Everything that they wrote.
        summary: The step summary.
        artifacts: Folder of the artifacts, one folder each.
    """

    code: int
    steps: tuple[str, ...]
    text: str
    artifacts: Path
    summary: str = ""


def run_shell(script: str, folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a script in bash as both services do; return its exit code and what it wrote."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout
