"""A stand-in for GitHub: it runs the jobs of a workflow as the service would.

Each job gets a fresh checkout, its own variables and nothing else, and the shell of the service.
What is not a shell (checking out, artifacts, caches) is done here; an action that is not known is
an error.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pipeline_jobs import PIPELINES, JobRun, Machine, Repository, evaluate, run_shell

COMMANDS = Path(__file__).resolve().parents[1] / "pipelines" / "commands"
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
JOBS = {
    "diff": ("cdktf", "pull_request"),
    "deploy": ("cdktf", "push"),
    "review": ("native", "pull_request"),
    "plan": ("native", "push", "plan"),
    "drift": ("drift", "schedule"),
}
"""Workflow and event of each job, and which job of the workflow is run where it has more."""
_SET_UP = ("setup-python", "setup-node", "setup-terraform")


@dataclass
class GitHub:
    """Runs the example workflows on a repository.

    Attributes:
        settings: Variables and secrets, by name.
        comments: Folder of the comments on pull requests, one file for each number.
    """

    machine: Machine
    repository: Repository
    settings: dict[str, str]
    _number: int = 0

    def do(self, job: str) -> JobRun:
        """Run a job of JOBS."""
        [ran] = self.run(*JOBS[job]).values()
        return ran

    def apply(self, planned: JobRun) -> JobRun | None:
        """Apply what was planned, unless there is nothing to do."""
        return self.run("native", "push", "deploy", plan=planned).get("deploy")

    def run(self, name: str, event: str, *only: str, **earlier: JobRun) -> dict[str, JobRun]:
        """Run the jobs of workflow `name` whose conditions hold.

        Args:
            only: The jobs to run; else all of them.
            earlier: Jobs that have run before these.
        """
        workflow = yaml.safe_load(self.machine.read(PIPELINES / "github" / f"{name}.yml"))
        self._number += 1
        done = dict(earlier)
        for title, job in workflow["jobs"].items():
            contexts = self._contexts(event, done)
            if (only and title not in only) or not _holds(job.get("if", "true"), contexts):
                continue
            contexts["env"] = _each(workflow.get("env", {}), contexts)
            shell = workflow.get("defaults", {}).get("run", {}).get("shell")
            done[title] = _Job(self, contexts, job, pipefail=shell == "bash").run(done)
        return done

    def _contexts(self, event: str, done: Mapping[str, JobRun]) -> dict[str, Any]:
        pull = {"number": 7, "head": {"repo": {"full_name": "operations/fleet"}}}
        of_pull = {"pull_request": pull if event == "pull_request" else {}}
        github = {"event_name": event, "event": of_pull, "repository": "operations/fleet"}
        # Each run here is one more attempt of the same run.
        attempt = {"run_id": 1, "run_attempt": self._number, "token": "github-token"}
        needs = {title: {"outputs": ran.outputs} for title, ran in done.items()}
        settings = {"vars": self.settings, "secrets": self.settings}
        return {"github": github | attempt, "needs": needs, **settings}


@dataclass
class _Job:
    github: GitHub
    contexts: dict[str, Any]
    job: Mapping[str, Any]
    pipefail: bool
    said: list[str] = field(default_factory=list)

    def run(self, done: Mapping[str, JobRun]) -> JobRun:
        """Run the steps in order; after a failure only those that ask for it."""
        folder = self.github.machine.folder
        self.kept = folder / "artifacts"
        self.cache = folder / "cache"
        self.summary = folder / "summary.md"
        self.summary.write_text("")
        self.checkout = folder / "work"
        self.github.repository.clone(self.checkout)
        self.python = self.github.machine.python_of(self.checkout)
        steps: dict[str, Any] = {}
        self.contexts["steps"] = steps
        failed = 0
        for step in self.job["steps"]:
            condition = str(step.get("if", "true"))
            if (failed and "cancelled()" not in condition) or not _holds(condition, self.contexts):
                continue
            if "uses" in step:
                self._use(step)
                continue
            code, outputs = self._shell(step)
            failed = failed or code
            steps[step.get("id", "")] = {"outputs": outputs}
        outputs = _each(self.job.get("outputs", {}), self.contexts)
        return JobRun(failed, "".join(self.said), self.kept, self.summary.read_text(), outputs)

    def _shell(self, step: Mapping[str, Any]) -> tuple[int, dict[str, str]]:
        script = step["run"]
        if _EXPRESSION.search(script):
            raise AssertionError(f"{step['name']}: an expression in a script is injection")
        notes = self.github.machine.folder / "outputs"
        notes.write_text("")
        environment = self.github.machine.environment(self.python)
        environment["PATH"] += f":{COMMANDS}"
        environment |= {
            "GITHUB_EVENT_NAME": self.contexts["github"]["event_name"],
            "GITHUB_REPOSITORY": self.contexts["github"]["repository"],
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(notes),
            "GITHUB_COMMENTS": str(self.github.machine.folder),
            **self.contexts["env"],
            **_each(step.get("env", {}), self.contexts),
        }
        if step["name"] == "Install":
            run = self.github.machine.install(self.checkout, script, environment, expect=None)
        else:
            run = run_shell(script, self.checkout, environment, pipefail=self.pipefail, expect=None)
        self.said.append(run.text)
        return run.code, dict(line.split("=", 1) for line in notes.read_text().splitlines())

    def _use(self, step: Mapping[str, Any]) -> None:
        place, _, commit = step["uses"].partition("@")
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            raise AssertionError(f"{step['uses']} names no commit")
        facts = _each(step.get("with", {}), self.contexts)
        action = place.partition("/")[2]
        if action == "checkout":
            assert facts["persist-credentials"] == "False"
        elif action == "upload-artifact":
            _copy(self.checkout / facts["path"], self.kept / facts["name"])
        elif action == "download-artifact":
            _copy(self.kept / facts["name"], self.checkout / facts["path"])
        elif action == "cache/save":
            # The service takes each key once.
            if not (self.cache / facts["key"]).exists():
                _copy(self.checkout / facts["path"], self.cache / facts["key"])
        elif action == "cache/restore":
            found = sorted(self.cache.glob(f"{facts['restore-keys']}*"), key=lambda file: file.name)
            if found:
                _copy(found[-1], self.checkout / facts["path"])
        elif action not in _SET_UP:
            raise AssertionError(f"{place} is not known here")


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, dirs_exist_ok=True)


class _Context(dict[str, Any]):
    """A context of expressions: what it does not hold is the empty text, as on the service."""

    def __getattr__(self, name: str) -> Any:
        value = self.get(name, "")
        return _Context(value) if isinstance(value, Mapping) else value


def _value(expression: str, contexts: Mapping[str, Any]) -> Any:
    spaces = {name: _Context(value) for name, value in contexts.items()}
    return evaluate(
        expression, {"cancelled": lambda: False, "true": True, "false": False, **spaces}
    )


def _holds(condition: str, contexts: Mapping[str, Any]) -> bool:
    whole = _EXPRESSION.fullmatch(condition)
    return bool(_value(whole[1] if whole else condition, contexts))


def _each(texts: Mapping[str, Any], contexts: Mapping[str, Any]) -> dict[str, str]:
    """Return texts with their expressions evaluated."""

    def fill(found: re.Match[str]) -> str:
        return str(_value(found[1], contexts))

    return {name: _EXPRESSION.sub(fill, str(text)) for name, text in texts.items()}
