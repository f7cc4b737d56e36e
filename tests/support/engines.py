"""Run programs and commands from a test, and read what they say.

Terraform speaks JSON here (`-json`), so that tests compare values and not sentences.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pytest

from opsconsole.cli.main import main as opsconsole
from opsconsole.emulator import Emulator
from opsconsole.standin.main import main as standin

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

SUCCESS = frozenset({0})
PLANNED = frozenset({0, 2})
"""Exit codes of `plan -detailed-exitcode`: no changes, changes."""

Expected = Collection[int] | None
"""Exit codes that a test is content with; None: any."""
Program = Mapping[str, Any] | None

SOURCE = "opsconsole/opsconsole"
SECONDS = 600
"""A bound for what hangs, on however busy a machine."""
TERRAFORM_MARKS = (pytest.mark.terraform, pytest.mark.engine_terraform)
ON_TERRAFORM = pytest.mark.parametrize(
    "engine_name", [pytest.param("terraform", marks=TERRAFORM_MARKS)], indirect=True
)
"""For a test of how Terraform and the provider speak to each other; others run natively too."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class EngineError(AssertionError):
    """A program exited with a code that the test did not expect; the message is its output."""


@dataclass(frozen=True)
class Run:
    """One finished program."""

    command: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything it wrote."""
        return self.out + self.err

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """The lines of JSON that `-json` makes Terraform write."""
        lines = (line for line in self.out.splitlines() if line.startswith("{"))
        return [json.loads(line) for line in lines]

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The messages of one type."""
        return [message for message in self.messages if message["type"] == kind]

    def diagnostics(self, severity: str | None = None) -> list[dict[str, Any]]:
        """Diagnostics as Terraform gives them: `severity`, `summary`, `detail`, `address`."""
        found = [message["diagnostic"] for message in self.messages if "diagnostic" in message]
        return [item for item in found if severity in (None, item["severity"])]

    @property
    def errors(self) -> list[dict[str, Any]]:
        return self.diagnostics("error")

    @property
    def warnings(self) -> list[dict[str, Any]]:
        return self.diagnostics("warning")

    def warned(self, words: str) -> list[str]:
        """Return the details of the warnings whose summaries hold these words."""
        return [item["detail"] for item in self.warnings if words in item["summary"]]


@dataclass(frozen=True)
class Plan:
    """A plan that succeeded: how `terraform plan` ran, and the plan file."""

    engine: "Terraform"
    run: Run
    saved: str

    @property
    def code(self) -> int:
        """The detailed exit code: 0 for no changes, 2 for changes."""
        return self.run.code

    @cached_property
    def json(self) -> dict[str, Any]:
        """The plan as `terraform show -json` gives it."""
        return json.loads(self.engine.run("show", "-json", self.saved).out)

    @property
    def actions(self) -> dict[str, list[str]]:
        """The actions planned, by address; what needs none is left out."""
        return planned_actions(self.json.get("resource_changes", []))

    @property
    def drift(self) -> dict[str, list[str]]:
        """What was found changed behind Terraform's back, by address."""
        return planned_actions(self.json.get("resource_drift", []))

    def change(self, address: str) -> dict[str, Any]:
        """The `change` object of one resource: before, after, after_unknown, replace_paths."""
        changes = self.json.get("resource_changes", [])
        return next(item["change"] for item in changes if item["address"] == address)


def planned_actions(changes: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the actions by address; what needs none is left out."""
    found = {item["address"]: item["change"]["actions"] for item in changes}
    return {address: actions for address, actions in found.items() if actions != ["no-op"]}


def start_process(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start a program whose output is read as text; `options` are those of Popen."""
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, **pipes | {"stderr": subprocess.PIPE} | options)


class Engine:
    """A program that runs in one folder with one environment."""

    def __init__(self, program: Path, folder: Path, environment: Mapping[str, str]) -> None:
        self.program = program
        self.folder = folder
        self.environment = dict(environment)

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start the program and do not wait, for tests that interrupt or kill it."""
        environment = self.environment | variables
        return start_process(self.program, *words, cwd=self.folder, env=environment)

    def run(self, *words: str, expect: Expected = SUCCESS, **variables: str) -> Run:
        """Run the program to its end.

        Args:
            words: What stands after the program's name.
            expect: Exit codes that the test is content with; None for any.
            variables: Additions to the environment.

        Raises:
            EngineError: The exit code is another one.
        """
        code, *texts = self._ended(*words, **variables)
        plain = [_COLOUR.sub("", text) for text in texts]
        finished = Run((self.program.name, *words), code, *plain)
        if expect is not None and finished.code not in expect:
            command = " ".join(finished.command)
            raise EngineError(f"`{command}` exited with {finished.code}:\n{finished.text}")
        return finished

    def _ended(self, *words: str, **variables: str) -> tuple[int, str, str]:
        """Run the program; return its exit code and what it wrote."""
        with self.start(*words, **variables) as process:
            try:
                out, err = process.communicate(timeout=SECONDS)
            except BaseException:
                process.kill()
                raise
        return process.returncode, out, err


def run_program(
    *words: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Run:
    """Run any program, by default here and in this environment; `options` are those of `run`."""
    program, *rest = map(str, words)
    surroundings = os.environ if environment is None else environment
    return Engine(Path(program), folder or Path(), surroundings).run(*rest, **options)


def run_command(
    *words: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    answer: str = "",
    together: bool = False,
) -> Run:
    """Run a command of `opsconsole` to its end, in the process of the test.

    Args:
        words: What stands after `opsconsole`.
        folder: Where it runs; the working directory unless it is named.
        environment: Additions to the environment.
        answer: What stands on stdin.
        together: Whether stderr goes where stdout goes, in the order of a terminal.
    """
    out = io.StringIO()
    err = out if together else io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        if folder is not None:
            patch.chdir(folder)
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO(answer))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = opsconsole(words)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
    return Run(("opsconsole", *words), code, out.getvalue(), "" if together else err.getvalue())


class Terraform(Engine):
    """Terraform in a folder of its own; `settings` are the provider's, where none are written."""

    settings: Mapping[str, Any] = {}

    def begin(
        self,
        program: Mapping[str, Any],
        console: Emulator | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Self:
        """Write the first program; the provider has settings, and those that the console needs."""
        asked = console.profile.provider_settings if console else {}
        self.settings = {**asked, **(settings or {})}
        self.write(program)
        return self

    def write(self, program: Mapping[str, Any], name: str = "main.tf.json") -> None:
        """Write a program in JSON; the main one gets `required_providers` and `provider`."""
        whole = dict(program)
        if name == "main.tf.json":
            needs = {"required_providers": {"opsconsole": {"source": SOURCE}}}
            whole["terraform"] = needs | whole.get("terraform", {})
            whole.setdefault("provider", {"opsconsole": dict(self.settings)})
        (self.folder / name).write_text(json.dumps(whole, indent=2))

    def init(self, *words: str) -> Run:
        return self.run("init", "-input=false", "-no-color", *words)

    def validate(self, *, expect: Expected = SUCCESS) -> dict[str, Any]:
        """Return the JSON of `terraform validate`."""
        return json.loads(self.run("validate", "-json", expect=expect).out)

    def _run_program(self, program: Program, verb: str, *words: str, **options: Any) -> Run:
        if program is not None:
            self.write(program)
        return self.run(verb, "-json", "-input=false", *words, **options)

    def plan(self, *words: str, program: Program = None) -> Plan:
        """Plan, and save the plan.

        Args:
            program: Is written before, here and below.

        Raises:
            EngineError: Planning failed; `plan_run` is for tests that want that.
        """
        saved = str(self.folder / f"{self.program.name}.tfplan")
        run = self.plan_run(f"-out={saved}", *words, program=program, expect=PLANNED)
        return Plan(self, run, saved)

    def plan_run(self, *words: str, program: Program = None, expect: Expected = None) -> Run:
        """Plan with `-detailed-exitcode`, whatever comes of it."""
        return self._run_program(program, "plan", "-detailed-exitcode", *words, expect=expect)

    def apply(self, *words: str, program: Program = None, expect: Expected = SUCCESS) -> Run:
        return self._run_program(program, "apply", "-auto-approve", *words, expect=expect)

    def destroy(self, *words: str, expect: Expected = SUCCESS) -> Run:
        return self._run_program(None, "destroy", "-auto-approve", *words, expect=expect)

    def import_(self, address: str, identity: str) -> Run:
        return self.run("import", "-input=false", "-no-color", address, identity)

    def state(self) -> dict[str, Any]:
        """Return the state file itself."""
        return json.loads((self.folder / "terraform.tfstate").read_text())

    def outputs(self) -> dict[str, Any]:
        """Return the outputs' values, by name."""
        found = json.loads(self.run("output", "-json").out)
        return {name: item["value"] for name, item in found.items()}


class Standin(Terraform):
    """The native engine, called by Terraform's words, in the process of the test."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(Path("opsconsole-terraform"), folder, environment)

    def _ended(self, *words: str, **variables: str) -> tuple[int, str, str]:
        # With -json, the stand-in writes to a descriptor, which `run_command` does not redirect.
        kept = (sys.stdout, sys.stderr, dict(os.environ))
        descriptors = [os.dup(number) for number in (1, 2)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.environ.clear()
                os.environ.update(self.environment | variables)
                with contextlib.chdir(self.folder):
                    code = standin(words)
            finally:
                sys.stdout, sys.stderr, environment = kept
                os.environ.clear()
                os.environ.update(environment)
                for number, descriptor in enumerate(descriptors, 1):
                    os.dup2(descriptor, number)
                    os.close(descriptor)
            texts = [(file.seek(0), file.read().decode())[1] for file in (out, err)]
        return code, *texts


class Cdktf(Engine):
    """The cdktf command in a folder that has a cdktf.json."""

    def configure(self, app: str, **settings: Any) -> None:
        """Write cdktf.json; `app` is the command line that synthesises."""
        project = {"projectId": "00000000-0000-0000-0000-000000000000", "language": "python"}
        empty: dict[str, Any] = {"terraformProviders": [], "terraformModules": [], "context": {}}
        whole = {"app": app, **project, "sendCrashReports": "false", **empty}
        (self.folder / "cdktf.json").write_text(json.dumps(whole | settings))

    def synth(self, stack: str) -> dict[str, Any]:
        """Synthesise; return the Terraform program of `stack`."""
        self.run("synth")
        return json.loads((self.stack_folder(stack) / "cdk.tf.json").read_text())

    def stack_folder(self, stack: str) -> Path:
        """Where cdktf runs Terraform for `stack`."""
        return self.folder / "cdktf.out" / "stacks" / stack

    def diff(self, *words: str, expect: Expected = SUCCESS) -> Run:
        # Provider locks are looked up in the registry, whatever the mirror holds.
        return self.run("diff", "--skip-provider-lock", *words, expect=expect)

    def deploy(self, *words: str, expect: Expected = SUCCESS) -> Run:
        return self.run("deploy", "--auto-approve", "--skip-provider-lock", *words, expect=expect)

    def destroy(self, *words: str, expect: Expected = SUCCESS) -> Run:
        options = ("--auto-approve", "--skip-provider-lock")
        return self.run("destroy", *options, *words, expect=expect)


def quiet_environment(folder: Path, configuration: Path, **variables: str) -> dict[str, str]:
    """Return an environment in which the programs ask nobody and look nothing up.

    This Python's commands come first on PATH.

    Args:
        folder: A home for them; the reader's own settings stay out of the tests.
        configuration: Terraform's CLI configuration.
        variables: Additions, such as those of a console.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TF_", "OPSCONSOLE_", "CDKTF_"))
    }
    return kept | {
        "HOME": str(folder),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "TF_CLI_CONFIG_FILE": str(configuration),
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "CDKTF_HOME": str(folder / ".cdktf"),
        # cdktf would make all its Terraforms share one cache, which is not safe in parallel.
        "CDKTF_DISABLE_PLUGIN_CACHE_ENV": "1",
        "DISABLE_VERSION_CHECK": "1",
        **variables,
    }


@dataclass
class DriftCheck:
    """What one `opsconsole drift` came to: its exit code, and its JSON."""

    code: int
    document: dict[str, Any]

    @property
    def findings(self) -> list[dict[str, Any]]:
        return self.document["findings"]

    def of(self, address: str) -> dict[str, Any]:
        """Return the one finding of an address."""
        [found] = [item for item in self.findings if item["address"] == address]
        return found

    def bucket(self, address: str) -> str:
        return self.of(address)["bucket"]

    def changed(self, address: str) -> dict[str, tuple[Any, Any]]:
        """Return attribute to the values of state and console."""
        return {
            item["attribute"]: (item["state"], item["console"])
            for item in self.of(address)["differences"]
        }

    def addresses(self, bucket: str) -> set[str]:
        return {item["address"] for item in self.findings if item["bucket"] == bucket}

    @property
    def drifted(self) -> set[str]:
        """Addresses in a bucket that is drift, accepted or not; what is shown only is left out."""
        return {
            item["address"]
            for item in self.findings
            if item["bucket"] in ("changed", "missing", "archived", "unmanaged") and item["counted"]
        }

    @property
    def told(self) -> str:
        """Every diagnostic as one text."""
        return "\n".join(
            "\n".join(
                (f"{item['severity']}: {item['summary']}", item["detail"], *item["addresses"])
            )
            for item in self.document["diagnostics"]
        )


def check_drift(
    folder: Path, console: Emulator | None, *words: str, expect: int | None = None
) -> DriftCheck:
    """Check what is in a folder against a console, None: that of the environment.

    `expect` is the exit code, None any.
    """
    file = folder / "drift.json"
    file.unlink(missing_ok=True)
    words = ("drift", "--format", f"json={file}", *words)
    ended = run_command(*words, folder=folder, environment=console and console.environment)
    assert file.exists(), ended.text
    document = json.loads(file.read_text())
    assert document["verdict"]["exit_code"] == ended.code
    assert expect in (None, ended.code), ended.text
    return DriftCheck(ended.code, document)
