"""The check on a schedule: its command in the CronJob and in the systemd unit, carried out."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from opsconsole.emulator.running import Emulator, serve
from pipeline_jobs import SECONDS, run_shell
from pipeline_repository import plain_program
from unit_files import command_of, read_environment, service_settings

PIPELINES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"
CRON_JOB = PIPELINES / "kubernetes" / "drift-cronjob.yaml"
SYSTEMD = PIPELINES / "systemd"


@dataclass(frozen=True)
class Deployed:
    """A console, and the folder of the state that was deployed to it."""

    console: Emulator
    states: Path
    settings: dict[str, str]

    def drift_away(self) -> None:
        """Change the host that state holds."""
        [host] = self.console.rows("hosts")
        self.console.change("hosts", host["id"], private_ip="10.9.9.9")


@pytest.fixture
def deployed(machine: dict[str, str], tmp_path: Path) -> Iterator[Deployed]:
    """One host, deployed."""
    program, states = tmp_path / "program", tmp_path / "states"
    program.mkdir()
    states.mkdir()
    state = states / "terraform.fleet.tfstate"
    (program / "main.tf.json").write_text(plain_program(state, "web-1"))
    with serve() as console:
        settings = {
            "OPSCONSOLE_BASE_URL": console.base_url,
            "OPSCONSOLE_API_KEY": console.api_key,
        }
        code, said = run_shell("opsconsole apply -auto-approve", program, machine | settings)
        assert code == 0, said
        yield Deployed(console, states, settings)


def run_command(words: list[str], environment: dict[str, str], folder: Path) -> tuple[int, str]:
    """Run a program without a shell; return its exit code and what it wrote on stdout."""
    done = subprocess.run(
        words, env=environment, cwd=folder, capture_output=True, text=True, timeout=SECONDS
    )
    return done.returncode, done.stdout


def in_kubernetes(deployed: Deployed, machine: dict[str, str], folder: Path) -> tuple[int, str]:
    """Run the container's command, as the kubelet would."""
    [container] = pod_of(yaml.safe_load(CRON_JOB.read_text()))["containers"]
    (folder / "reports").mkdir(exist_ok=True)
    secret = dict(zip(("base-url", "api-key"), deployed.settings.values(), strict=True))
    places = {"STATES": str(deployed.states), "REPORTS": str(folder / "reports")}
    environment = {
        item["name"]: places[item["name"]]
        if "value" in item
        else secret[item["valueFrom"]["secretKeyRef"]["key"]]
        for item in container["env"]
    }
    words = [
        re.sub(r"\$\((\w+)\)", lambda found: environment[found[1]], word)
        for word in (*container["command"], *container["args"])
    ]
    return run_command(words, machine | environment, folder / "reports")


def in_systemd(deployed: Deployed, machine: dict[str, str], folder: Path) -> tuple[int, str]:
    """Run the unit's command, as systemd would."""
    settings = service_settings((SYSTEMD / "opsconsole-drift.service").read_text())
    named = read_environment((SYSTEMD / "drift.env").read_text())
    assert named.keys() == {*deployed.settings, "OPSCONSOLE_STATES"}
    environment = named | deployed.settings | {"OPSCONSOLE_STATES": str(deployed.states)}
    [start] = settings["ExecStart"]
    (folder / settings["StateDirectory"][0]).mkdir(exist_ok=True)
    [program, *words] = command_of(start, environment, {"S": str(folder)})
    assert program == "/opt/opsconsole/bin/opsconsole"
    return run_command(["opsconsole", *words], machine | environment, folder)


def pods_of_shards() -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Return the container of each pod of the shards, with its index, then that of the merge."""
    check, merge = yaml.safe_load_all((PIPELINES / "kubernetes/drift-shards.yaml").read_text())
    job = check["spec"]["jobTemplate"]["spec"]
    assert (job["completionMode"], job["completions"]) == ("Indexed", job["parallelism"])
    [container] = pod_of(check)["containers"]
    environment = {item["name"]: item.get("value") for item in container["env"]}
    assert environment["SHARDS"] == str(job["completions"])
    shares = [
        (container, {"JOB_COMPLETION_INDEX": str(index)}) for index in range(job["completions"])
    ]
    [container] = pod_of(merge)["containers"]
    return [*shares, (container, {})]


def test_the_indexed_job_and_its_merge_tell_drift_from_health(
    deployed: Deployed, machine: dict[str, str], tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    program = tmp_path / "more"
    program.mkdir()
    second = deployed.states / "terraform.other.tfstate"
    (program / "main.tf.json").write_text(plain_program(second, "db-1"))
    assert run_shell("opsconsole apply -auto-approve", program, machine | deployed.settings)[0] == 0
    places = {"STATES": str(deployed.states), "REPORTS": str(reports), "SHARDS": "4"}

    def night() -> list[int]:
        codes = []
        for container, own in pods_of_shards():
            words = [*container["command"], *container["args"]]
            environment = machine | deployed.settings | places | own
            codes.append(run_command(words, environment, reports)[0])
        return codes

    assert night() == [0, 0, 0, 0, 0]
    [host] = (row for row in deployed.console.rows("hosts") if row["name"] == "db-1")
    deployed.console.change("hosts", host["id"], private_ip="10.9.9.9")
    assert night() == [0, 0, 0, 0, 2]
    merged = json.loads((reports / "drift.json").read_text())
    assert merged["verdict"]["outcome"] == "drift"
    assert "10.9.9.9" in (reports / "drift.html").read_text()

    deployed.console.change("keys", "key_main", status="revoked")
    codes = night()
    assert 1 in codes[:4]
    assert codes[4] == 1


def pod_of(cron_job: dict[str, Any]) -> dict[str, Any]:
    """Return what a CronJob says of its pods."""
    found: dict[str, Any] = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize(
    ("run", "reports"),
    [
        (in_kubernetes, ("reports/drift.html", "reports/drift.json")),
        (
            in_systemd,
            tuple(f"opsconsole-drift/{name}" for name in ("drift.html", "drift.json")),
        ),
    ],
)
def test_the_command_tells_drift_from_health(
    run: Callable[..., tuple[int, str]],
    reports: tuple[str, ...],
    deployed: Deployed,
    machine: dict[str, str],
    tmp_path: Path,
) -> None:
    code, said = run(deployed, machine, tmp_path)
    assert code == 0, said
    assert "No drift" in said
    before = (deployed.states / "terraform.fleet.tfstate").read_bytes()
    deployed.drift_away()
    code, said = run(deployed, machine, tmp_path)
    assert code == 2
    assert "10.9.9.9" in said
    assert all((tmp_path / name).stat().st_size for name in reports)
    outcome = json.loads((tmp_path / reports[1]).read_text())["verdict"]["outcome"]
    assert outcome == "drift"
    assert [file.name for file in deployed.states.iterdir()] == ["terraform.fleet.tfstate"]
    assert (deployed.states / "terraform.fleet.tfstate").read_bytes() == before


def test_drift_is_the_only_failure_that_is_not_tried_again() -> None:
    cron_job = yaml.safe_load(CRON_JOB.read_text())
    [rule] = cron_job["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    [container] = pod_of(cron_job)["containers"]
    assert rule["onExitCodes"] == {
        "containerName": container["name"],
        "operator": "In",
        "values": [2],
    }
    assert pod_of(cron_job)["restartPolicy"] == "Never", "a failure policy demands it"
