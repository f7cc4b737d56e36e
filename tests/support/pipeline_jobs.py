"""A machine that runs jobs of pipelines: Python, Node, Terraform and git, nothing of this checkout.

A job begins with an empty home. Its Python is empty too, until the job's own step installs what the
project's lock names. Jobs whose locks are alike share that Python, which spares most of the time;
with OPSCONSOLE_TEST_EVERYTHING each job gets its own.
"""

import ensurepip
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from engines import ROOT, SUCCESS, Expected, Run, run_program
from real_programs import hold
from sampling import EVERYTHING

PIPELINES = ROOT / "examples" / "pipelines"
_SCRIPT = PIPELINES / "shell" / "pipeline.sh"
LOCK = "requirements.lock"
_IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Someone",
    "GIT_AUTHOR_EMAIL": "someone@example.com",
    "GIT_COMMITTER_NAME": "Someone",
    "GIT_COMMITTER_EMAIL": "someone@example.com",
}


@dataclass(frozen=True)
class JobRun:
    """One finished job.

    Attributes:
        code: The exit code of the step that failed, or 0.
        text: Everything that its steps wrote.
        files: Its artifacts, and what the service keeps for later jobs.
        summary: What the service shows of it.
        outputs: Values for later jobs.
    """

    code: int
    text: str
    files: Path
    summary: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Machine:
    """Runs shell scripts.

    Attributes:
        folder: The test's own folder.
        shared: A folder that all workers of a test run share.
        index: The address of the server of packages.
        node: A folder whose `node` comes first on PATH.
        read: Returns the text of an example's file.
    """

    folder: Path
    shared: Path
    index: str
    node: Path | None = None
    read: Callable[[Path], str] = Path.read_text

    def environment(self, python: Path | None = None) -> dict[str, str]:
        """Return the environment of a job that uses the Python of a virtual environment."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        inherited = (part for part in os.environ["PATH"].split(os.pathsep))
        path = [
            *([str(python / "bin")] if python else []),
            *([str(self.node)] if self.node else []),
            str(Path(sys.base_prefix) / "bin"),
            *(part for part in inherited if not Path(part).is_relative_to(ROOT)),
        ]
        return {
            "HOME": str(home),
            "PATH": os.pathsep.join(path),
            "LANG": "C.UTF-8",
            "TMPDIR": tempfile.gettempdir(),
            "CI": "true",
            "PIP_INDEX_URL": f"{self.index}/simple",
            "PIP_NO_COMPILE": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "CHECKPOINT_DISABLE": "1",
            "DISABLE_VERSION_CHECK": "1",
            "npm_config_registry": f"{self.index}/npm/",
            "npm_config_update_notifier": "false",
            # The lock serves wherever the index stands.
            "npm_config_omit_lockfile_registry_resolved": "true",
            "npm_config_audit": "false",
            # Unpacking it is half of what a synthesis costs.
            "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(self.shared / "jsii"),
        }

    def python_of(self, project: Path) -> Path:
        """Return the virtual environment of jobs with this project's lock; it may be empty yet."""
        lock = (project / LOCK).read_bytes()
        place = self.folder if EVERYTHING else self.shared
        name = f"python-{hashlib.sha256(lock).hexdigest()[:12]}"
        if EVERYTHING:
            name += f"-{len(list(place.glob('python-*')))}"
        folder = place / name
        with hold(folder):
            if not folder.exists():
                _make_environment(folder)
        return folder

    def install(
        self, project: Path, script: str, variables: Mapping[str, str], expect: Expected = SUCCESS
    ) -> Run:
        """Run a script that installs packages; one at a time for each Python.

        A Python in which the same script has installed the lock is as it would leave it; npm's
        packages are in the checkout, which is fresh.
        """
        python = Path(variables["PATH"].split(os.pathsep)[0]).parent
        done = python / "installed"
        with hold(python):
            if done.exists() and done.read_text() == script and "npm" not in script:
                return Run((), 0, "", "")
            run = run_shell(script, project, variables, expect=expect)
            if run.code == 0:
                done.write_text(script)
            return run

    def installed(self, project: Path) -> Path:
        """Return the virtual environment of this project's lock, with everything in it."""
        python = self.python_of(project)
        script = f"[ -x {python}/bin/opsconsole ] || python -m pip install -qr {LOCK}"
        self.install(project, script, self.environment(python))
        return python


def _make_environment(folder: Path) -> None:
    """Make a virtual environment with nothing but pip; `ensurepip` would take three seconds."""
    base = Path(sys.base_prefix) / "bin" / "python3"
    run_program(base, "-m", "venv", "--without-pip", folder)
    [packages] = (folder / "lib").glob("python*/site-packages")
    [wheel] = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(packages)


def write_locks(project: Path, machine: Machine) -> None:
    """Make the locks of a project, as the README of the pipelines says."""
    base = Path(sys.base_prefix) / "bin" / "python3"
    uv = Path(sys.executable).with_name("uv")
    index = ("--default-index", f"{machine.index}/simple")
    options = ("--generate-hashes", *index, "requirements.txt", "--output-file", LOCK)
    own = ("--quiet", "--no-config", "--no-cache", "--python", base)
    run_program(uv, "pip", "compile", *options, *own, folder=project)
    if (project / "package.json").exists():
        run_shell("npm install --package-lock-only", project, machine.environment())


def for_cdktn(text: str) -> str:
    """Rewrite a file as the README of the pipelines says."""
    return (
        text.replace('"cdktf-cli": "0.21.0"', '"cdktn-cli": "0.24.0"')
        .replace("cdktf.json", "cdktf·json")
        .replace("cdktf.out", "cdktf·out")
        .replace("cdktf", "cdktn")
        .replace("·", ".")
    )


def run_shell(
    script: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    pipefail: bool = True,
    expect: Expected = SUCCESS,
) -> Run:
    """Run a script in bash as services do.

    Args:
        pipefail: Whether a pipe fails where one of its commands does. GitHub demands to be asked.
    """
    flags = ["-eo", "pipefail"] if pipefail else ["-e"]
    words = ("bash", "--noprofile", "--norc", *flags, "-c", script)
    return run_program(*words, folder=folder, environment=environment, expect=expect)


def evaluate(expression: str, names: Mapping[str, Any]) -> Any:
    """Return the value of a service's expression, whose operators are those of JavaScript."""
    words = expression.replace("||", " or ").replace("&&", " and ")
    return eval(re.sub(r"!(?!=)", " not ", words).strip(), {"__builtins__": {}}, names)


def assert_ends(ran: JobRun, codes: int | tuple[int, ...], problem: str, remedy: str) -> None:
    """Assert that a job ended with a code, and told a problem and its remedy."""
    said = " ".join(re.sub(r"[│╷╵]|\x1b\[\w+", " ", ran.text).split())
    assert ran.code in (codes if isinstance(codes, tuple) else (codes,)), said
    assert problem in said, said
    assert remedy in said, said


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
        shutil.rmtree(into, ignore_errors=True)
        git(self.folder, "clone", "-q", self.folder, into)


@dataclass
class Shell:
    """Any other CI system: it runs the jobs of the example's shell script in a fresh checkout.

    Attributes:
        settings: The job's variables.
        empty: Whether the script has to make its virtual environment; else it finds one.
    """

    machine: Machine
    repository: Repository
    settings: dict[str, str]
    empty: bool

    def do(self, job: str) -> JobRun:
        """Run a job: a review is a plan."""
        return self.run("plan" if job == "review" else job)

    def apply(self, planned: JobRun) -> JobRun | None:
        """Apply what was planned, unless no checksum was printed."""
        _, told, checksum = planned.text.partition("Checksum of this plan: ")
        return self.run("apply", checksum.split()[0]) if told else None

    def run(self, *words: str) -> JobRun:
        """Run the script in the checkout, which it finds as its last run left it."""
        checkout = self.machine.folder / "work"
        if not checkout.exists():
            self.repository.clone(checkout)
            script = checkout / _SCRIPT.name
            script.write_text(self.machine.read(_SCRIPT))
            script.chmod(0o755)
            if not self.empty:
                (checkout / ".venv").symlink_to(self.machine.installed(checkout))
        environment = self.machine.environment() | self.settings
        command = f"./{_SCRIPT.name} {' '.join(words)}"
        run = run_shell(command, checkout, environment, expect=None)
        return JobRun(run.code, run.text, checkout)
