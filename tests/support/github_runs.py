"""A stand-in for GitHub: it runs the jobs of a workflow as the service would.

Each job gets a fresh checkout, its own variables and nothing else, and the shell of the service.
What is not a shell (checking out, artifacts) is done here; an action that is not known is an error.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from pipeline_jobs import Ran, run_shell
from pipeline_repository import Repository

_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
_SET_UP = ("actions/checkout", "actions/setup-python", "hashicorp/setup-terraform")
_ALWAYS = "!cancelled()"


@dataclass
class GitHub:
    """Runs workflows of a repository.

    Attributes:
        folder: Where checkouts, artifacts and notes lie.
        environment: What a runner's machine has; `gh` on its PATH reads `FAKE_GITHUB`.
        settings: Variables and secrets, by name.
        left_out: Names of steps that this project has no use for.
    """

    folder: Path
    repository: Repository
    environment: Mapping[str, str]
    settings: Mapping[str, str]
    left_out: tuple[str, ...] = ()
    _runs: list[dict[str, Any]] = field(default_factory=list)
    _pulls: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def note_merge(self, commit: str, head: str) -> None:
        """Note that `commit` is the merge of the pull request with the last commit `head`."""
        self._pulls[commit] = [
            # A pull request into another branch may hold the same commit.
            {"merge_commit_sha": "0" * 40, "head": {"sha": "1" * 40}},
            {"merge_commit_sha": commit, "head": {"sha": head}},
        ]

    def run(self, name: str, event: str, commit: str, *, head: str = "", **inputs: str) -> Ran:
        """Run the only job of workflow `name` on a commit.

        Args:
            head: The commit that the run is noted under, where it is another.
        """
        file = self.repository.folder / ".github" / "workflows" / f"{name}.yml"
        workflow = yaml.safe_load(file.read_text())
        [job] = workflow["jobs"].values()
        number = 1000 + len(self._runs)
        run = _Run(self, number, event, commit, inputs)
        run.begin(workflow["name"])
        ran = run.job(workflow, job)
        conclusion = "failure" if ran.code else "success"
        self._runs.append(
            {
                "databaseId": number,
                "workflow": file.name,
                "event": event,
                "headSha": head or commit,
                "status": conclusion,
            }
        )
        return ran

    def run_all(self, name: str, event: str, commit: str) -> list[Ran]:
        """Run every job of workflow `name`, those of a matrix one after the other."""
        file = self.repository.folder / ".github" / "workflows" / f"{name}.yml"
        workflow = yaml.safe_load(file.read_text())
        run = _Run(self, 1000 + len(self._runs), event, commit, {})
        self._runs.append({"databaseId": run.number, "workflow": file.name})
        done = []
        for job in workflow["jobs"].values():
            matrix = job.get("strategy", {}).get("matrix", {"": [""]})
            [(key, values)] = matrix.items()
            for value in values:
                run.values = {f"matrix.{key}": str(value), "strategy.job-total": str(len(values))}
                run.begin(workflow["name"])
                done.append(run.job(workflow, job))
        return done

    def write_notes(self) -> Path:
        """Write what `gh` may ask for; return the folder."""
        notes = {"runs": self._runs[::-1], "pulls": self._pulls}
        (self.folder / "notes.json").write_text(json.dumps(notes))
        return self.folder


@dataclass
class _Run:
    github: GitHub
    number: int
    event: str
    commit: str
    inputs: Mapping[str, str]
    values: Mapping[str, str] = field(default_factory=dict)

    def begin(self, name: str) -> None:
        """Make a fresh checkout, at the place where every run has it."""
        self.checkout = self.github.folder / "work"
        shutil.rmtree(self.checkout, ignore_errors=True)
        self.github.repository.clone(self.checkout, self.commit)
        self.artifacts = self.github.folder / "artifacts" / str(self.number)
        self.artifacts.mkdir(parents=True, exist_ok=True)
        self.summary = self.github.folder / f"summary-{self.number}.md"
        self.summary.touch()
        self.name = name

    def job(self, workflow: Mapping[str, Any], job: Mapping[str, Any]) -> Ran:
        """Run the steps in order; after a failure only those that ask for it."""
        code, said, ran = 0, [], []
        shared = {**workflow.get("env", {}), **job.get("env", {})}
        for step in job["steps"]:
            if code and _ALWAYS not in str(step.get("if", "")):
                continue
            if "uses" in step:
                self._use(step)
            elif step["name"] not in self.github.left_out:
                script = step["run"]
                if _EXPRESSION.search(script):
                    raise AssertionError(f"{step['name']}: an expression in a script is injection")
                failed, text = run_shell(script, self.checkout, self._environment(shared, step))
                code = code or failed
                ran.append(step["name"])
                said.append(text)
        return Ran(code, tuple(ran), "".join(said), self.artifacts, self.summary.read_text())

    def _environment(self, shared: Mapping[str, str], step: Mapping[str, Any]) -> dict[str, str]:
        declared = {**shared, **step.get("env", {})}
        return {
            **self.github.environment,
            "CI": "true",
            "FAKE_GITHUB": str(self.github.write_notes()),
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_SHA": self.commit,
            "GITHUB_STEP_SUMMARY": str(self.summary),
            **{name: self._evaluated(str(text)) for name, text in declared.items()},
        }

    def _evaluated(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self._value(found[1]), text)

    def _value(self, expression: str) -> str:
        """Return the value of an expression; one that the service would not know is an error."""
        space, _, name = expression.partition(".")
        if space in ("vars", "secrets"):
            return self.github.settings[name]
        if space == "inputs":
            return self.inputs.get(name, "")
        known = {"github.token": "token", "github.repository": "operations/fleet", **self.values}
        return known[expression]

    def _use(self, step: Mapping[str, Any]) -> None:
        action, _, version = step["uses"].partition("@")
        if not re.fullmatch(r"v\d+", version):
            raise AssertionError(f"{step['uses']} names no major version")
        if action == "actions/upload-artifact":
            source = self.checkout / step["with"]["path"]
            if source.exists():
                shutil.copytree(source, self.artifacts / self._evaluated(step["with"]["name"]))
            elif step["with"]["if-no-files-found"] == "error":
                raise AssertionError(f"{self.name}: there is nothing at {source}")
        elif action == "actions/download-artifact":
            assert step["with"]["merge-multiple"] is True
            for artifact in self.artifacts.glob(step["with"]["pattern"]):
                shutil.copytree(artifact, self.checkout / step["with"]["path"], dirs_exist_ok=True)
        elif action not in _SET_UP:
            raise AssertionError(f"{action} is not known here")


def holds(condition: str, **spaces: Any) -> bool:
    """Tell whether a condition of a workflow holds; `spaces` are its contexts, such as `github`."""
    words = condition.replace("||", " or ").replace("&&", " and ")
    found = {name: _spaced(value) for name, value in spaces.items()}
    return bool(eval(words, {"__builtins__": {}}, found))


def _spaced(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _spaced(item) for name, item in value.items()})
    return value
