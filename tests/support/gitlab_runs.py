"""A stand-in for GitLab: it runs the jobs of a `.gitlab-ci.yml` as the service would.

Each job gets a fresh checkout, the variables of file and project, and what earlier jobs handed on.
"""

from __future__ import annotations

import shutil
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pipeline_jobs import Ran, run_shell
from pipeline_repository import Repository


@dataclass
class GitLab:
    """Runs jobs of a repository's `.gitlab-ci.yml`.

    Attributes:
        settings: The project's variables.
        left_out: Words; items of `before_script` that hold one are of no use to this project.
    """

    folder: Path
    repository: Repository
    environment: Mapping[str, str]
    settings: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    def run(self, name: str, commit: str, *needed: Ran) -> Ran:
        """Run a job on a commit, with the artifacts of the jobs that it needs."""
        checkout = self.folder / "build"
        shutil.rmtree(checkout, ignore_errors=True)
        self.repository.clone(checkout, commit)
        pipeline = yaml.safe_load((checkout / ".gitlab-ci.yml").read_text())
        job = pipeline[name]
        handed: dict[str, str] = {}
        for ran in needed:
            handed |= self._handed(ran, checkout)
        if len(needed) != len(job.get("needs", ())):
            raise AssertionError(f"{name} needs {job.get('needs')}")
        before = [
            item
            for item in pipeline["default"]["before_script"]
            if not any(word in item for word in self.left_out)
        ]
        script = "\n".join([*before, *job["script"]])
        environment = self._environment(pipeline["variables"], checkout) | handed
        code, text = run_shell(script, checkout, environment)
        kept = self.folder / f"artifacts-{name}-{commit}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        self._keep(job.get("artifacts", {}), checkout, kept, failed=bool(code))
        return Ran(code, (name,), text, kept)

    def _environment(self, variables: Mapping[str, str], checkout: Path) -> dict[str, str]:
        known = {
            **self.settings,
            "CI": "true",
            "CI_PROJECT_DIR": str(checkout),
            "CI_PROJECT_ID": "7",
            "CI_JOB_TOKEN": "token",
        }
        for name, text in variables.items():
            # A project's variable comes before the file's.
            known.setdefault(name, string.Template(text).substitute(known))
        return {**self.environment, **known}

    @staticmethod
    def _handed(ran: Ran, checkout: Path) -> dict[str, str]:
        shutil.copytree(ran.artifacts / "files", checkout, dirs_exist_ok=True)
        notes = ran.artifacts / "dotenv"
        lines = notes.read_text().splitlines() if notes.exists() else []
        return dict(line.split("=", 1) for line in lines)

    @staticmethod
    def _keep(wanted: Mapping[str, Any], checkout: Path, kept: Path, *, failed: bool) -> None:
        if failed and wanted.get("when") != "always":
            return
        for path in wanted.get("paths", ()):
            if (checkout / path).exists():
                shutil.copytree(checkout / path, kept / "files" / path)
        for kind, path in wanted.get("reports", {}).items():
            if (checkout / path).exists():
                shutil.copyfile(checkout / path, kept / kind)
