"""The check on a schedule: the image, the CronJob's pod and the systemd unit, each carried out."""

import json
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from engines import Run, run_program
from pipeline_jobs import PIPELINES, Machine, plain_program, run_shell, write_locks

COMMANDS = Path(__file__).resolve().parent / "commands"
_ASSIGNMENT = re.compile(r"(\w+)=(.*)")


def lock(kind: str, machine: Machine, folder: Path) -> None:
    """Put an example's files and their lock into a folder."""
    shutil.copytree(PIPELINES / kind, folder, dirs_exist_ok=True)
    write_locks(folder, machine)


class Container:
    """The image: its steps are run in folders of the test, as `docker build` and `run` would."""

    def __init__(self, machine: Machine, settings: Mapping[str, str], states: Path) -> None:
        self.machine, self.settings = machine, settings
        self.reports = machine.folder / "reports"
        self.reports.mkdir()
        context = machine.folder / "context"
        lock("container", machine, context)
        self.places = {"/states": str(states), "/reports": str(self.reports)}
        self.python = machine.python_of(context)
        self.facts: dict[str, str] = {}
        text = (context / "Dockerfile").read_text().replace("\\\n", "")
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "RUN":
                self._build(rest, context)
            elif word in ("ENTRYPOINT", "CMD", "USER", "WORKDIR", "COPY"):
                self.facts[word] = rest
        assert self.facts["COPY"] == "requirements.lock ."
        assert self.facts["USER"] == "65532:65532"

    def _build(self, command: str, context: Path) -> None:
        mount, _, script = command.partition(" ")
        assert mount == "--mount=type=secret,id=PIP_INDEX_URL,env=PIP_INDEX_URL"
        environment = self.machine.environment(self.python)
        self.machine.install(context, script, environment)

    def run(self, expect: int) -> Run:
        """Run the container with the image's own arguments."""
        command = json.loads(self.facts["ENTRYPOINT"]) + json.loads(self.facts["CMD"])
        inside = [self._inside(word) for word in command]
        environment = self.machine.environment(self.python) | self.settings
        folder = Path(self._inside(self.facts["WORKDIR"]))
        return run_program(*inside, folder=folder, environment=environment, expect={expect})

    def _inside(self, word: str) -> str:
        for place, folder in self.places.items():
            word = re.sub(rf"(^|=){place}\b", rf"\g<1>{folder}", word)
        return word


def service_settings(text: str) -> dict[str, list[str]]:
    """Return the settings of the section [Service], each with all its values.

    Lines that end with a backslash go on in the next one (systemd.syntax).
    """
    found: dict[str, list[str]] = {}
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif line and line[0] not in "#;" and section == "[Service]":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value.strip())
    return found


def read_environment(text: str) -> dict[str, str]:
    """Return the assignments of an EnvironmentFile."""
    lines = (line.strip() for line in text.splitlines())
    matches = (_ASSIGNMENT.fullmatch(line) for line in lines if line and line[0] not in "#;")
    return {match[1]: match[2].strip('"') for match in matches if match}


def command_of(start: str, environment: Mapping[str, str]) -> list[str]:
    """Return the words of an ExecStart: `$NAME` alone is split into words, `${NAME}` is not."""
    words: list[str] = []
    for word in shlex.split(start):
        if alone := re.fullmatch(r"\$(\w+)", word):
            words += environment[alone[1]].split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word))
    return words


class Unit:
    """The systemd unit, installed as the README of the pipelines says."""

    def __init__(self, machine: Machine, settings: Mapping[str, str], states: Path) -> None:
        self.machine = machine
        self.root = machine.folder / "root"
        self.reports = self.root / "var" / "opsconsole-drift"
        self.reports.mkdir(parents=True)
        folder = machine.folder / "unit"
        lock("systemd", machine, folder)
        text = (PIPELINES / "README.md").read_text()
        [script] = re.findall(r"^```sh\n(python3 -m venv /opt.*?)^```", text, re.M | re.S)
        environment = machine.environment() | {"ROOT": str(self.root)}
        environment["PATH"] = f"{COMMANDS}:{environment['PATH']}"
        (self.root / "etc" / "systemd" / "system").mkdir(parents=True)
        run_shell(
            re.sub(r"(?<= )/(?=opt|etc)|^/(?=opt)", f"{self.root}/", script, flags=re.M),
            folder,
            environment,
        )
        named = read_environment((self.root / "etc/opsconsole/drift.env").read_text())
        assert set(settings) | {"OPSCONSOLE_STATES"} <= set(named)
        self.python = self.root / "opt" / "opsconsole"
        self.named = named | settings | {"OPSCONSOLE_STATES": str(states)}

    def run(self, expect: int) -> Run:
        """Run the unit's command, as systemd would."""
        units = self.root / "etc" / "systemd" / "system"
        found = service_settings((units / "opsconsole-drift.service").read_text())
        assert found["StateDirectory"] == [self.reports.name]
        assert found["WorkingDirectory"] == [f"%S/{self.reports.name}"]
        [start] = found["ExecStart"]
        [program, *words] = command_of(start, self.named)
        environment = self.machine.environment() | self.named
        words = [f"{self.root}{program}", *words]
        return run_program(*words, folder=self.reports, environment=environment, expect={expect})


@pytest.mark.real_client
@pytest.mark.parametrize("kind", [Container, Unit])
def test_the_check_tells_drift_from_health(kind, machine, console, tmp_path):
    states = tmp_path / "states"
    states.mkdir()
    state = states / "terraform.fleet.tfstate"
    job = kind(machine, console.environment, states)
    deploy(job.python, machine, console.environment, state)
    before = state.read_bytes()
    assert "No drift" in job.run(expect=0).text

    [host] = console.rows("hosts")
    console.change("hosts", host["id"], private_ip="10.9.9.9")
    assert "10.9.9.9" in job.run(expect=2).text
    assert json.loads((job.reports / "drift.json").read_text())["verdict"]["outcome"] == "drift"
    assert "10.9.9.9" in (job.reports / "drift.html").read_text()
    assert [file.name for file in states.iterdir()] == [state.name]
    assert state.read_bytes() == before


def deploy(python: Path, machine: Machine, settings: Mapping[str, str], state: Path) -> None:
    """Deploy one host; its state is the given file."""
    program = machine.folder / "program"
    program.mkdir()
    (program / "main.tf.json").write_text(plain_program({"local": {"path": str(state)}}, "web-1"))
    environment = machine.environment(python) | settings
    run_shell("opsconsole apply --auto-approve", program, environment)
