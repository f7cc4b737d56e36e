"""A git repository with pull requests, and a program to keep in it. Knows no service."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Someone",
    "GIT_AUTHOR_EMAIL": "someone@example.com",
    "GIT_COMMITTER_NAME": "Someone",
    "GIT_COMMITTER_EMAIL": "someone@example.com",
}


def git(folder: Path, *words: str | Path) -> str:
    """Run git in a folder; return what it wrote."""
    command = ["git", "-C", str(folder), *map(str, words)]
    environment = {**os.environ, **_IDENTITY}
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def plain_program(state: Path, *hosts: str) -> str:
    """Return a program of Terraform's JSON that declares hosts: quicker to read than an app."""
    settings = {
        "required_providers": {"opsconsole": {"source": "opsconsole/opsconsole"}},
        "backend": {"local": {"path": str(state)}},
    }
    declared = {name: {"name": name, "private_ip": "10.1.0.1"} for name in hosts}
    return json.dumps({"terraform": settings, "resource": {"opsconsole_host": declared}}, indent=2)


@dataclass(frozen=True)
class Pull:
    """A pull request: its branch, its last commit, and the trial merge that services check out."""

    branch: str
    head: str
    preview: str


class Repository:
    """A repository whose branch `main` begins with the given files."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
        self.commit(files, "Begin")

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return git(self.folder, "rev-parse", "HEAD")

    def commit(self, files: Mapping[str, str], message: str) -> str:
        """Write files and commit them on the branch that is checked out."""
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git(self.folder, "add", "--all", "--force")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", message)
        return self.head

    def open_pull(self, branch: str, files: Mapping[str, str]) -> Pull:
        """Open a pull request that changes files."""
        git(self.folder, "switch", "-q", "-c", branch)
        head = self.commit(files, f"Work on {branch}")
        git(self.folder, "switch", "-q", "--detach", "main")
        git(self.folder, "merge", "-q", "--no-ff", "-m", "Try", branch)
        preview = self.head
        git(self.folder, "switch", "-q", "main")
        return Pull(branch, head, preview)

    def merge(self, pull: Pull) -> str:
        """Merge a pull request as one commit of its own; return that commit."""
        git(self.folder, "merge", "-q", "--squash", pull.branch)
        git(self.folder, "commit", "-q", "-m", f"Merge {pull.branch}")
        return self.head

    def clone(self, into: Path, commit: str) -> None:
        """Check a commit out into a fresh folder."""
        git(self.folder, "clone", "-q", "--no-checkout", self.folder, into)
        git(into, "checkout", "-q", "--detach", commit)
