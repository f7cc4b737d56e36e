"""Each pipeline under a validator of its own service, and each shell step under bash."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import opsconsole

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "examples" / "pipelines"
BIN = Path(sys.executable).parent
KUBERNETES = PIPELINES / "kubernetes"
CRON_JOB = KUBERNETES / "drift-cronjob.yaml"
SHARDS = KUBERNETES / "drift-shards.yaml"
SYSTEMD = PIPELINES / "systemd"

_SCHEMA = ("check-jsonschema", "--builtin-schema")
GITHUB = (*_SCHEMA, "vendor.github-workflows")
GITLAB = (*_SCHEMA, "vendor.gitlab-ci", "--data-transform", "gitlab-ci")
CHECKED = {
    GITHUB: (
        *(f"github/{name}.yml" for name in ("plan", "deploy", "drift", "shards")),
        "../../.github/workflows/test.yml",
    ),
    GITLAB: ("gitlab/.gitlab-ci.yml",),
    ("pre-commit", "validate-config"): ("pre-commit/.pre-commit-config.yaml",),
    ("pre-commit", "validate-manifest"): ("../../.pre-commit-hooks.yaml",),
}
"""Validator: the places of the files that it judges."""


def verdict(command: tuple[str, ...], files: list[Path]) -> subprocess.CompletedProcess[str]:
    """Run a validator of this environment on files."""
    return subprocess.run(
        [BIN / command[0], *command[1:], *files], capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("validator", CHECKED, ids=lambda words: words[-1])
def test_the_validator_accepts_it(validator: tuple[str, ...], tmp_path: Path) -> None:
    files = [PIPELINES / place for place in CHECKED[validator]]
    seen = verdict(validator, files)
    assert seen.returncode == 0, seen.stdout + seen.stderr

    text = files[0].read_text()
    spoilt = tmp_path / files[0].name
    spoilt.write_text(re.sub(r"^( *(?:- )?)(run|stage|id): .*$", r"\1\2: {}", text, flags=re.M))
    assert verdict(validator, [spoilt]).returncode == 1, "the validator sees nothing"


def cron_jobs() -> list[Any]:
    """Return every CronJob: the check, the check of a share, and the merge of the shares."""
    return [*yaml.safe_load_all(CRON_JOB.read_text()), *yaml.safe_load_all(SHARDS.read_text())]


@pytest.mark.parametrize("cron_job", cron_jobs(), ids=lambda item: item["metadata"]["name"])
def test_kubernetes_accepts_the_cron_job(cron_job: dict[str, Any]) -> None:
    kubernetes_validate.validate(cron_job, kubernetes_validate.latest_version(), strict=True)
    spoilt = copy.deepcopy(cron_job)
    spoilt["spec"]["jobTemplate"]["spec"]["backOffLimit"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(spoilt, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("cron_job", cron_jobs(), ids=lambda item: item["metadata"]["name"])
def test_the_cron_job_has_no_more_rights_than_it_needs(cron_job: dict[str, Any]) -> None:
    pod = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    states = [mount for mount in container["volumeMounts"] if mount["name"] == "states"]
    assert all(mount["readOnly"] is True for mount in states)
    assert bool(states) is (container["name"] == "drift")
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


@pytest.fixture
def units(tmp_path: Path) -> list[Path]:
    """The units, with this environment's command where the installed one would stand."""
    analyzer = shutil.which("systemd-analyze")
    if analyzer is None:
        pytest.skip("systemd-analyze is not on PATH")
    made = []
    for name in ("opsconsole-drift.service", "opsconsole-drift.timer"):
        text = (SYSTEMD / name).read_text()
        made.append(tmp_path / name)
        made[-1].write_text(text.replace("/opt/opsconsole/bin/opsconsole", f"{BIN}/opsconsole"))
    return made


def test_systemd_accepts_the_units(units: list[Path]) -> None:
    seen = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=300
    )
    assert (seen.returncode, seen.stdout + seen.stderr) == (0, "")
    units[0].write_text(units[0].read_text().replace("MemoryMax", "MemoryMaximum"))
    seen = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=300
    )
    assert "MemoryMaximum" in seen.stderr


def test_the_examples_name_this_version() -> None:
    version = opsconsole.__version__
    assert (PIPELINES / "project" / "requirements.txt").read_text() == f"opsconsole=={version}\n"
    for file in (CRON_JOB, SHARDS):
        images = re.findall("image: (.*)", file.read_text())
        assert set(images) == {f"opsconsole:{version}"}
    config = yaml.safe_load((PIPELINES / "pre-commit" / ".pre-commit-config.yaml").read_text())
    assert [repository["rev"] for repository in config["repos"]] == [f"v{version}"]


def scripts() -> Iterator[tuple[str, str]]:
    """Name every shell script of the pipelines, and return its text."""
    for file in sorted((PIPELINES / "github").iterdir()):
        for job in yaml.safe_load(file.read_text())["jobs"].values():
            for step in job["steps"]:
                if "run" in step:
                    yield f"{file.name}: {step['name']}", step["run"]
    pipeline = yaml.safe_load((PIPELINES / "gitlab" / ".gitlab-ci.yml").read_text())
    for name in ("default", "plan", "deploy", "drift"):
        for key in ("before_script", "script"):
            for number, script in enumerate(pipeline[name].get(key, ())):
                yield f"gitlab: {name} {key} {number}", script


@pytest.mark.parametrize("script", [pytest.param(text, id=name) for name, text in scripts()])
def test_bash_reads_the_script(script: str) -> None:
    seen = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert "svc_ak_" not in script
