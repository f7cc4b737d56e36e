"""A machine that runs jobs of pipelines: Python, Node, Terraform and git, nothing of this checkout.

A job begins with an empty home. Its Python is empty too, until the job's own step installs what the
project's lock names. Jobs whose locks are alike share that Python, which spares most of the time;
with OPSCONSOLE_TEST_EVERYTHING each job gets its own.
"""

import contextlib
import ensurepip
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

from engines import SECONDS, run_program
from sampling import EVERYTHING

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "examples" / "pipelines"
LOCK = "requirements.lock"


@dataclass(frozen=True)
class Ran:
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

    def install(self, project: Path, script: str, variables: Mapping[str, str]) -> tuple[int, str]:
        """Run a script that installs packages; one at a time for each Python.

        A Python in which the same script has installed the lock is as it would leave it; npm's
        packages are in the checkout, which is fresh.
        """
        python = Path(variables["PATH"].split(os.pathsep)[0]).parent
        done = python / "installed"
        with hold(python):
            if done.exists() and done.read_text() == script and "npm" not in script:
                return 0, ""
            code, said = run_shell(script, project, variables)
            if code == 0:
                done.write_text(script)
            return code, said

    def installed(self, project: Path) -> Path:
        """Return the virtual environment of this project's lock, with everything in it."""
        python = self.python_of(project)
        script = f"[ -x {python}/bin/opsconsole ] || python -m pip install -qr {LOCK}"
        code, said = self.install(project, script, self.environment(python))
        assert code == 0, said
        return python


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other workers from a folder for the block."""
    with folder.with_name(f"{folder.name}.held").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _make_environment(folder: Path) -> None:
    """Make a virtual environment with nothing but pip; `ensurepip` would take three seconds."""
    base = Path(sys.base_prefix) / "bin" / "python3"
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True, timeout=SECONDS)
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
    subprocess.run([uv, "pip", "compile", *options, *own], cwd=project, check=True, timeout=SECONDS)
    if (project / "package.json").exists():
        code, said = run_shell("npm install --package-lock-only", project, machine.environment())
        assert code == 0, said


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
    script: str, folder: Path, environment: Mapping[str, str], *, pipefail: bool = True
) -> tuple[int, str]:
    """Run a script in bash as services do; return its exit code and what it wrote.

    Args:
        pipefail: Whether a pipe fails where one of its commands does. GitHub demands to be asked.
    """
    flags = ["-eo", "pipefail"] if pipefail else ["-e"]
    words = ("bash", "--noprofile", "--norc", *flags, "-c", script)
    done = run_program(*words, folder=folder, environment=environment, expect=None)
    return done.code, done.text


def assert_ends(ran: Ran, codes: int | tuple[int, ...], problem: str, remedy: str) -> None:
    """Assert that a job ended with a code, and told a problem and its remedy."""
    said = " ".join(re.sub(r"[│╷╵]|\x1b\[\w+", " ", ran.text).split())
    assert ran.code in (codes if isinstance(codes, tuple) else (codes,)), said
    assert problem in said, said
    assert remedy in said, said
