"""A stand-in for GitLab: it runs the jobs of a `.gitlab-ci.yml` as the service would.

Each job gets a fresh checkout, the variables of file and project, and what earlier jobs handed on.
"""

import re
import shutil
import string
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pipeline_jobs import PIPELINES, JobRun, Machine, Repository, evaluate, run_shell

_VARIABLE = re.compile(r"\$(\w+)")

JOBS = {
    "diff": ("cdktf", "diff", "merge_request_event"),
    "deploy": ("cdktf", "deploy", "push"),
    "review": ("native", "plan", "merge_request_event"),
    "plan": ("native", "plan", "push"),
    "drift": ("drift", "drift", "schedule"),
}
"""File, title and source of each job."""


@dataclass
class GitLab:
    """Runs the jobs of the example files on a repository.

    Attributes:
        settings: The project's variables.
    """

    machine: Machine
    repository: Repository
    settings: dict[str, str]

    def do(self, job: str) -> JobRun:
        """Run a job of JOBS; the service keeps the note of a review."""
        return self.run(*JOBS[job])

    def apply(self, planned: JobRun) -> JobRun:
        """Apply what was planned."""
        return self.run("native", "deploy", "push", planned)

    def run(self, name: str, title: str, source: str, *needed: JobRun) -> JobRun:
        """Run a job of a file, in a pipeline of a source, with the artifacts that it needs."""
        folder = self.machine.folder
        checkout, cache = folder / "build", folder / "cache"
        self.repository.clone(checkout)
        pipeline = yaml.safe_load(self.machine.read(PIPELINES / "gitlab" / f"{name}.gitlab-ci.yml"))
        job = pipeline.get("default", {}) | pipeline[title]
        handed: dict[str, str] = {}
        if needed:
            shutil.copytree(needed[0].files, checkout, dirs_exist_ok=True)
            handed = dict(needed[0].outputs)
        variables = self._variables(pipeline["variables"], source) | handed
        if not any(_holds(rule["if"], variables) for rule in job["rules"]):
            raise AssertionError(f"{title} does not run in a pipeline of {source}")
        if "cache" in job and cache.exists():
            shutil.copytree(cache, checkout, dirs_exist_ok=True)
        environment = self.machine.environment(self.machine.python_of(checkout)) | variables
        before = "\n".join(job["before_script"])
        installed = self.machine.install(checkout, before, environment)
        run = run_shell("\n".join(job["script"]), checkout, environment, expect=None)
        kept = Path(tempfile.mkdtemp(prefix="kept-", dir=folder))
        outputs = {}
        wanted = job.get("artifacts", {})
        if not run.code or wanted.get("when") == "always":
            _copy(checkout, kept, wanted.get("paths", ()))
            _copy(checkout, kept, wanted.get("reports", {}).values())
            outputs = _dotenv(kept, wanted)
        _copy(checkout, cache, job.get("cache", {}).get("paths", ()))
        return JobRun(run.code, installed.text + run.text, kept, outputs=outputs)

    def _variables(self, declared: Mapping[str, str], source: str) -> dict[str, str]:
        known = {
            "CI_PIPELINE_SOURCE": source,
            "CI_COMMIT_BRANCH": "" if source == "merge_request_event" else "main",
            "CI_DEFAULT_BRANCH": "main",
            "CI_MERGE_REQUEST_IID": "7" if source == "merge_request_event" else "",
            "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
            "CI_PROJECT_ID": "3",
            "CI_JOB_TOKEN": "job-token",
            **self.settings,
        }
        for name, text in declared.items():
            # A project's variable comes before the file's.
            known.setdefault(name, string.Template(text).substitute(known))
        return known


def _holds(rule: str, variables: Mapping[str, str]) -> bool:
    words = _VARIABLE.sub(lambda found: repr(variables.get(found[1], "")), rule)
    return bool(evaluate(words, {}))


def _copy(checkout: Any, kept: Any, places: Any) -> None:
    for place in places:
        source, target = checkout / place, kept / place
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _dotenv(kept: Any, wanted: Mapping[str, Any]) -> dict[str, str]:
    place = wanted.get("reports", {}).get("dotenv")
    lines = (kept / place).read_text().splitlines() if place else []
    return dict(line.split("=", 1) for line in lines)
