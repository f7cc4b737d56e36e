"""The workflows for GitHub Actions, run step by step: plan, deploy of what was reviewed, drift."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from github_runs import GitHub, holds
from opsconsole.emulator.running import Emulator
from pipeline_jobs import Ran, run_shell
from pipeline_repository import Pull, Repository, plain_program

WORKFLOWS = Path(__file__).resolve().parents[2] / "examples" / "pipelines" / "github"
NAMES = ("plan", "deploy", "drift", "shards")
BACKEND = "Open the backend of the state"
ADDED = '"web-2": "10.1.0.12", "web-3": "10.1.0.13"'


def open_github(
    files: Mapping[str, str],
    folder: Path,
    environment: Mapping[str, str],
    settings: Mapping[str, str],
    *left_out: str,
) -> GitHub:
    """Put a project and the workflows on GitHub."""
    workflows = {f".github/workflows/{name}.yml": WORKFLOWS / f"{name}.yml" for name in NAMES}
    texts = {place: file.read_text() for place, file in workflows.items()}
    return GitHub(
        folder, Repository(folder / "origin", {**files, **texts}), environment, settings, left_out
    )


@pytest.fixture
def github(
    app: dict[str, str], console: Emulator, machine: dict[str, str], kept: Any, tmp_path: Path
) -> GitHub:
    """GitHub, with the example project on it."""
    settings = dict(kept.settings) | settings_of(console)
    on_disk = {"STATE_FILE": settings["STATE_FILE"]}
    left_out = ("Install",) if settings["TF_HTTP_ADDRESS"] else (BACKEND,)
    return open_github(app, tmp_path, machine | on_disk, settings, *left_out)


@pytest.fixture
def plain(console: Emulator, machine: dict[str, str], tmp_path: Path) -> GitHub:
    """GitHub, with a program that needs no app to be run."""
    files = {"main.tf.json": plain_program(tmp_path / "fleet.tfstate", "web-1")}
    unused = {f"TF_HTTP_{name}": "" for name in ("ADDRESS", "USERNAME", "PASSWORD")}
    settings = settings_of(console) | unused
    return open_github(files, tmp_path, machine, settings, "Install", BACKEND)


def settings_of(console: Emulator) -> dict[str, str]:
    """The variable and the secret that say where the console is."""
    return {"OPSCONSOLE_BASE_URL": console.base_url, "OPSCONSOLE_API_KEY": console.api_key}


def open_pull(github: GitHub) -> tuple[Pull, Ran]:
    """Open a pull request that adds a host, and let it be planned."""
    folder = github.repository.folder
    files = {"main.tf.json": plain_program(github.folder / "fleet.tfstate", "web-1", "web-2")}
    if (folder / "main.py").exists():
        program = (folder / "main.py").read_text()
        files = {"main.py": program.replace('"web-2": "10.1.0.12"', ADDED)}
    pull = github.repository.open_pull("more", files)
    return pull, github.run("plan", "pull_request", pull.preview, head=pull.head)


def merge(github: GitHub, pull: Pull) -> Ran:
    """Merge a pull request; return the run of `deploy`."""
    commit = github.repository.merge(pull)
    github.note_merge(commit, pull.head)
    return github.run("deploy", "push", commit)


def names(console: Emulator) -> set[str]:
    """The names of the hosts that the console has."""
    return {row["name"] for row in console.rows("hosts")}


def test_what_was_reviewed_is_deployed(github: GitHub, console: Emulator) -> None:
    pull, planned = open_pull(github)
    assert planned.code == 0, planned.text
    assert "6 to add, 0 to change, 0 to destroy" in planned.text
    review = planned.artifacts / "plan"
    checksum = (review / "checksum").read_text().strip()
    assert f"Checksum: `{checksum}`" in planned.summary
    assert "web-3" in planned.summary
    assert "web-3" in (review / "plan.html").read_text()
    assert console.api_key.encode() not in (review / "plan.opsconsole").read_bytes()
    assert not names(console)

    deployed = merge(github, pull)
    assert deployed.code == 0, deployed.text
    assert "6 added, 0 changed, 0 destroyed" in deployed.text
    assert names(console) == {"web-1", "web-2", "web-3"}

    if BACKEND in github.left_out:
        return  # The check of a state in a file is tested below, on a quicker program.
    healthy = github.run("drift", "schedule", github.repository.head)
    assert healthy.code == 0, healthy.text
    assert "No drift" in healthy.summary


def test_drift_and_refusals_are_distinguished(plain: GitHub, console: Emulator) -> None:
    pull, _ = open_pull(plain)
    assert merge(plain, pull).code == 0
    healthy = plain.run("drift", "schedule", plain.repository.head)
    assert healthy.code == 0, healthy.text
    assert "No drift" in healthy.summary

    [changed] = (row for row in console.rows("hosts") if row["name"] == "web-2")
    console.change("hosts", changed["id"], private_ip="10.9.9.9")
    drifted = plain.run("drift", "schedule", plain.repository.head)
    assert drifted.code == 2
    assert "::error::The console is not as it was deployed." in drifted.text
    assert "10.9.9.9" in drifted.summary
    kept = {file.name for file in (drifted.artifacts / "drift").iterdir()}
    assert kept == {"drift.md", "drift.html", "drift.json"}

    console.change("keys", "key_main", status="revoked")
    untold = plain.run("drift", "schedule", plain.repository.head)
    assert untold.code == 1
    assert "::error::The check could not tell whether there is drift." in untold.text
    report = json.loads((untold.artifacts / "drift" / "drift.json").read_text())
    assert report["verdict"]["outcome"] == "untold"


def test_a_merge_in_between_stops_the_deploy(plain: GitHub, console: Emulator) -> None:
    pull, planned = open_pull(plain)
    assert planned.code == 0, planned.text
    plain.repository.commit({"README": "Someone else's merge.\n"}, "Another merge")
    ran = merge(plain, pull)
    assert ran.code == 1
    assert ran.steps == ("Fetch the reviewed plan",)
    assert "The plan is of other files" in ran.text
    assert not names(console)

    # The way out: plan by hand on main, and deploy that by its number and checksum.
    planned = plain.run("plan", "workflow_dispatch", plain.repository.head)
    checksum = (planned.artifacts / "plan" / "checksum").read_text().strip()
    number = planned.artifacts.name
    head = plain.repository.head
    refused = plain.run("deploy", "workflow_dispatch", head, run=number, checksum="0" * 16)
    assert refused.code == 1
    assert f"The plan has the checksum {checksum}, not {'0' * 16}." in refused.text
    assert not names(console)
    deployed = plain.run("deploy", "workflow_dispatch", head, run=number, checksum=checksum)
    assert deployed.code == 0, deployed.text
    assert names(console) == {"web-1", "web-2"}

    again = plain.run("plan", "workflow_dispatch", head)
    assert again.code == 0, again.text
    assert "No changes" in again.summary
    number = again.artifacts.name
    idle = plain.run("deploy", "workflow_dispatch", head, run=number)
    assert idle.code == 0
    assert "The reviewed plan changes nothing." in idle.text


def test_nothing_is_deployed_that_was_not_planned(plain: GitHub, console: Emulator) -> None:
    console.change("keys", "key_main", status="revoked")
    pull, planned = open_pull(plain)
    assert planned.code == 1
    assert "Planning failed" in planned.summary
    assert not (planned.artifacts / "plan" / "checksum").exists()
    ran = merge(plain, pull)
    assert ran.code == 1
    assert f"There is no plan of {pull.head}" in ran.text

    pushed = plain.repository.commit({}, "Without a pull request")
    ran = plain.run("deploy", "push", pushed)
    assert ran.code == 1
    assert "came without a pull request" in ran.text


def test_much_goes_only_when_it_is_forced(plain: GitHub, console: Emulator) -> None:
    hosts = [f"web-{number}" for number in range(10)]

    def deploy(*declared: str, **inputs: str) -> Ran:
        text = plain_program(plain.folder / "fleet.tfstate", *declared)
        commit = plain.repository.commit({"main.tf.json": text}, "Hosts")
        planned = plain.run("plan", "workflow_dispatch", commit)
        given = {"run": planned.artifacts.name, **inputs}
        return plain.run("deploy", "workflow_dispatch", commit, **given)

    assert deploy(*hosts).code == 0
    refused = deploy(*hosts[:6], force="false")
    assert refused.code == 1
    assert len(console.rows("hosts")) == 10
    forced = deploy(*hosts[:6], force="true")
    assert forced.code == 0, forced.text
    assert len(console.rows("hosts")) == 6


def test_shards_plan_and_check_what_one_machine_would(
    console: Emulator, machine: dict[str, str], tmp_path: Path
) -> None:
    """Synthesis is done beforehand: the output of an app with five stacks is in the repository."""
    names = ("alpha", "beta", "gamma", "delta", "epsilon")
    files, stacks = {}, {}
    for name in names:
        place = f"stacks/{name}/cdk.tf.json"
        state = tmp_path / f"terraform.{name}.tfstate"
        files[f"cdktf.out/{place}"] = plain_program(state, name)
        stacks[name] = {"name": name, "synthesizedStackPath": place, "annotations": []}
    files["cdktf.out/manifest.json"] = json.dumps({"version": "0.21.0", "stacks": stacks})
    unused = {f"TF_HTTP_{name}": "" for name in ("ADDRESS", "USERNAME", "PASSWORD")}
    github = open_github(files, tmp_path, machine, settings_of(console) | unused, "Install")
    for name in names:
        words = f"opsconsole apply -auto-approve -dir=cdktf.out/stacks/{name}"
        code, said = run_shell(words, github.repository.folder, machine | settings_of(console))
        assert code == 0, said

    *shards, merged = github.run_all("shards", "schedule", github.repository.head)
    assert [ran.code for ran in (*shards, merged)] == [0] * 5, merged.text
    assert "No drift" in merged.summary
    planned = "".join(ran.text for ran in shards)
    assert [planned.count(f"Stack {name}:") for name in names] == [1] * 5
    assert planned.count("No changes.") == 5

    [changed] = (row for row in console.rows("hosts") if row["name"] == "gamma")
    console.change("hosts", changed["id"], private_ip="10.9.9.9")
    *shards, merged = github.run_all("shards", "schedule", github.repository.head)
    assert [ran.code for ran in (*shards, merged)] == [0, 0, 0, 0, 2], merged.text
    assert "10.9.9.9" in merged.summary
    kept = {file.name for file in (merged.artifacts / "drift").iterdir()}
    assert {"drift.md", "drift.html", "drift.json", "plan-gamma.html"} <= kept


@pytest.mark.parametrize("name", NAMES)
def test_secrets_reach_only_the_steps_that_need_them(name: str) -> None:
    workflow = yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    jobs = [job.get("env") for job in workflow["jobs"].values()]
    assert "secrets" not in str([workflow["env"], *jobs])
    having = {step["name"] for step in steps if "secrets.OPSCONSOLE_API_KEY" in str(step)}
    wanted = {"plan": {"Plan"}, "deploy": {"Deploy"}, "drift": {"Check"}}
    assert having == wanted.get(name, {"Plan", "Check"})
    assert all(level == "read" for level in workflow["permissions"].values())
    checkouts = [step for step in steps if "checkout" in step.get("uses", "")]
    assert len(checkouts) == len(workflow["jobs"])
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert workflow["concurrency"]["cancel-in-progress"] is (name == "plan")


@pytest.mark.parametrize(
    ("event", "home", "planned"),
    [
        ("pull_request", "operations/fleet", True),
        ("pull_request", "stranger/fleet", False),
        ("workflow_dispatch", "", True),
    ],
)
def test_the_code_of_a_fork_is_not_planned(event: str, home: str, planned: bool) -> None:
    workflow = yaml.safe_load((WORKFLOWS / "plan.yml").read_text())
    pull = {"head": {"repo": {"full_name": home}}}
    context = {
        "event_name": event,
        "event": {"pull_request": pull},
        "repository": "operations/fleet",
    }
    assert holds(workflow["jobs"]["plan"]["if"], github=context) is planned
