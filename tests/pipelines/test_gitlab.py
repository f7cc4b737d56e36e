"""The pipeline for GitLab, run job by job: a plan, its deploy, and the check for drift."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from gitlab_runs import GitLab
from opsconsole.emulator.running import Emulator
from pipeline_repository import Repository, plain_program

FILE = Path(__file__).resolve().parents[2] / "examples" / "pipelines" / "gitlab" / ".gitlab-ci.yml"


@pytest.fixture
def gitlab(console: Emulator, machine: dict[str, str], tmp_path: Path) -> GitLab:
    """GitLab, with a program that needs no app to be run."""
    files = {
        "main.tf.json": plain_program(tmp_path / "fleet.tfstate", "web-1"),
        ".gitlab-ci.yml": FILE.read_text(),
    }
    settings = {
        "OPSCONSOLE_BASE_URL": console.base_url,
        "OPSCONSOLE_API_KEY": console.api_key,
        "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
    }
    repository = Repository(tmp_path / "origin", files)
    return GitLab(tmp_path, repository, machine, settings, ("pip install", "terraform"))


def test_the_plan_that_was_shown_is_deployed_and_watched(gitlab: GitLab, console: Emulator) -> None:
    head = gitlab.repository.head
    planned = gitlab.run("plan", head)
    assert planned.code == 0, planned.text
    assert "1 to add, 0 to change, 0 to destroy" in planned.text
    assert (planned.artifacts / "dotenv").read_text().startswith("PLAN_CHECKSUM=")
    assert "web-1" in (planned.artifacts / "files" / "review" / "plan.html").read_text()

    other = planned.artifacts / "dotenv"
    shown = other.read_text()
    other.write_text("PLAN_CHECKSUM=0000000000000000\n")
    refused = gitlab.run("deploy", head, planned)
    assert refused.code == 1
    assert "not 0000000000000000" in refused.text
    other.write_text(shown)
    deployed = gitlab.run("deploy", head, planned)
    assert deployed.code == 0, deployed.text
    assert "web-1" in {row["name"] for row in console.rows("hosts")}
    stale = gitlab.run("deploy", head, planned)
    assert stale.code == 1, "a plan is deployed once"

    again = gitlab.run("plan", head)
    idle = gitlab.run("deploy", head, again)
    assert (again.code, idle.code) == (0, 0)
    assert "The reviewed plan changes nothing." in idle.text


def test_drift_fails_the_job_and_is_in_its_test_report(gitlab: GitLab, console: Emulator) -> None:
    head = gitlab.repository.head
    assert gitlab.run("deploy", head, gitlab.run("plan", head)).code == 0
    healthy = gitlab.run("drift", head)
    assert healthy.code == 0, healthy.text
    [host] = console.rows("hosts")
    console.delete("hosts", host["id"])
    drifted = gitlab.run("drift", head)
    assert drifted.code == 2
    suite = ElementTree.parse(drifted.artifacts / "junit").getroot()
    assert len(list(suite.iter("failure"))) == 1


def test_a_plan_that_fails_hands_nothing_on(gitlab: GitLab, console: Emulator) -> None:
    console.change("keys", "key_main", status="revoked")
    planned = gitlab.run("plan", gitlab.repository.head)
    assert planned.code == 1
    assert "UNAUTHORIZED" in planned.text
    assert not (planned.artifacts / "dotenv").exists()
    assert (planned.artifacts / "files" / "review" / "plan.md").exists()
