"""Each pipeline under a validator of its own service, and what all of them have to keep to."""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import opsconsole
from engines import ROOT, run_program

PIPELINES = ROOT / "examples" / "pipelines"
BIN = Path(sys.executable).parent
CRON_JOB = PIPELINES / "kubernetes" / "drift-cronjob.yaml"
SYSTEMD = PIPELINES / "systemd"

NAMES = ("cdktf", "native", "drift")
# Without the formats of IRIs, whose module takes a second to import; no schema here has them.
_PROGRAM = """
import sys
sys.modules["rfc3987_syntax"] = None
from check_jsonschema import main
main()
"""
_SCHEMA = (sys.executable, "-c", _PROGRAM, "--builtin-schema")
GITHUB = (*_SCHEMA, "vendor.github-workflows")
GITLAB = (*_SCHEMA, "vendor.gitlab-ci", "--data-transform", "gitlab-ci")
CHECKED = {
    GITHUB: (*(f"github/{name}.yml" for name in NAMES), "../../.github/workflows/test.yml"),
    GITLAB: tuple(f"gitlab/{name}.gitlab-ci.yml" for name in NAMES),
    ("pre-commit", "validate-config"): ("pre-commit/.pre-commit-config.yaml",),
    ("pre-commit", "validate-manifest"): ("../../.pre-commit-hooks.yaml",),
}
"""Validator: the places of the files that it judges."""


@pytest.mark.parametrize("validator", CHECKED, ids=lambda words: words[-1])
def test_the_validator_accepts_it(validator, tmp_path):
    files = [PIPELINES / place for place in CHECKED[validator]]
    text = files[0].read_text()
    spoilt = tmp_path / files[0].name
    spoilt.write_text(re.sub(r"^( *(?:- )?)(run|stage|id): .*$", r"\1\2: {}", text, flags=re.M))
    said = run_program(BIN / validator[0], *validator[1:], *files, spoilt, expect={1}).text
    assert [file for file in (*files, spoilt) if str(file) in said] == [spoilt], said


@pytest.fixture
def cron_job() -> dict[str, Any]:
    """The CronJob."""
    return yaml.safe_load(CRON_JOB.read_text())


def test_kubernetes_accepts_the_cron_job(cron_job):
    # Its import takes longer than most tests, in each process that collects this module.
    import kubernetes_validate

    kubernetes_validate.validate(cron_job, kubernetes_validate.latest_version(), strict=True)
    cron_job["spec"]["jobTemplate"]["spec"]["backOffLimit"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(cron_job, kubernetes_validate.latest_version(), strict=True)


def test_the_cron_job_has_no_more_rights_than_it_needs(cron_job):
    pod = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [mount["name"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["reports"]


def test_the_pod_runs_the_image_and_drift_is_not_tried_again(cron_job):
    job = cron_job["spec"]["jobTemplate"]["spec"]
    [container] = job["template"]["spec"]["containers"]
    assert {"command", "args"}.isdisjoint(container), "the image says what is run"
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/states", "/reports"}
    [rule] = job["podFailurePolicy"]["rules"]
    drift = {"containerName": container["name"], "operator": "In", "values": [2]}
    assert rule["onExitCodes"] == drift
    assert job["template"]["spec"]["restartPolicy"] == "Never", "a failure policy demands it"


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


def test_systemd_accepts_the_units(units):
    assert run_program("systemd-analyze", "verify", *units).text == ""
    units[0].write_text(units[0].read_text().replace("MemoryMax", "MemoryMaximum"))
    assert "MemoryMaximum" in run_program("systemd-analyze", "verify", *units, expect=None).err


def test_the_examples_name_this_version():
    version = opsconsole.__version__
    for file in PIPELINES.glob("*/requirements.txt"):
        assert re.findall(r"^opsconsole.*==(.*)", file.read_text(), re.M) == [version], file
    for file in (CRON_JOB, PIPELINES / "container" / "Dockerfile"):
        assert set(re.findall(r"opsconsole-drift:(\S+)", file.read_text())) == {version}
    config = yaml.safe_load((PIPELINES / "pre-commit" / ".pre-commit-config.yaml").read_text())
    assert [repository["rev"] for repository in config["repos"]] == [f"v{version}"]


def test_nothing_is_installed_but_what_a_lock_names():
    """A name that nobody holds on a public index must not be asked for there."""
    texts = {file: file.read_text() for file in PIPELINES.rglob("*") if file.is_file()}
    texts[PIPELINES] = (ROOT / "docs" / "guides" / "pipelines.md").read_text()
    commands = [line for text in texts.values() for line in re.findall(r"pip install.*", text)]
    assert len(commands) > 7
    assert all("--require-hashes -r requirements.lock" in line for line in commands), commands
    assert not re.search(r"npm (install|i) (?!--package-lock-only)|npx --yes", "".join(commands))


def test_secrets_reach_only_the_steps_that_need_them():
    for name in NAMES:
        workflow = yaml.safe_load((PIPELINES / "github" / f"{name}.yml").read_text())
        jobs = workflow["jobs"].values()
        steps = [step for job in jobs for step in job["steps"]]
        having = {step["name"] for step in steps if "secrets." in str(step)}
        assert (
            having
            == {"cdktf": {"Diff or deploy"}, "native": {"Plan", "Apply"}, "drift": {"Check"}}[name]
        )
        outside = [workflow["env"], *(job.get("env") for job in jobs)]
        assert set(re.findall(r"secrets\.(\w+)", str(outside))) == {"PIP_INDEX_URL"}
        assert workflow["permissions"] == {"contents": "read"}


def test_the_code_of_a_fork_is_not_run():
    own = "github.event.pull_request.head.repo.full_name == github.repository"
    for name, job in (("cdktf", "cdktf"), ("native", "plan")):
        workflow = yaml.safe_load((PIPELINES / "github" / f"{name}.yml").read_text())
        assert workflow["jobs"][job]["if"] == f"github.event_name == 'push' || {own}"


def test_every_variable_is_explained():
    explained = set(re.findall(r"`([A-Z_]+)`", (PIPELINES / "README.md").read_text()))
    for name in NAMES:
        text = (PIPELINES / "github" / f"{name}.yml").read_text()
        assert set(re.findall(r"(?:vars|secrets)\.(\w+)", text)) <= explained
        pipeline = yaml.safe_load((PIPELINES / "gitlab" / f"{name}.gitlab-ci.yml").read_text())
        chosen = {name for name in pipeline["variables"] if not name.startswith("TF_CLI_ARGS")}
        assert chosen <= explained
