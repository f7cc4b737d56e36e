"""A git repository, and a program to keep in it. Knows no service."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engines import run_program

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
    return run_program("git", *words, folder=folder, **_IDENTITY).out.strip()


def plain_program(backend: Mapping[str, Any], *hosts: str) -> str:
    """Return a program that declares hosts: it is read quicker than an app is run."""
    settings = {
        "required_providers": {"opsconsole": {"source": "opsconsole/opsconsole"}},
        "backend": backend,
    }
    declared = {name: {"name": name, "private_ip": "10.1.0.1"} for name in hosts}
    return json.dumps({"terraform": settings, "resource": {"opsconsole_host": declared}}, indent=2)


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

    def clone(self, into: Path) -> None:
        """Check the last commit out into a fresh folder."""
        git(self.folder, "clone", "-q", self.folder, into)
