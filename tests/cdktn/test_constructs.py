"""The constructs for cdktn: the whole suite of those for cdktf, run on them, and their types."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.cdktn_twin import rename

import opsconsole_cdktf
import opsconsole_cdktn
from type_checking import assert_refused_lines

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.real_client
def test_the_suite_of_the_constructs_passes_on_cdktn():
    """With the names exchanged; types and what is compared with `cdktf get` are left out."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "other_fork", "-p", "no:cacheprovider"),
        *("-m", "not cdktf and not terraform", "--ignore=tests/cdktf/test_types.py"),
        "tests/cdktf",
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT / "tests" / "support")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"[1-9]\d\d passed", done.stdout), done.stdout[-1000:]


def test_both_packages_have_the_same_names():
    assert opsconsole_cdktn.__all__ == opsconsole_cdktf.__all__


@pytest.mark.real_client
def test_they_are_typed_against_their_own_framework(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    source = (ROOT / "tests" / "cdktf" / "typed_program.py").read_text("utf-8")
    program = tmp_path / "typed_program.py"
    program.write_text(rename(source), "utf-8")
    assert_refused_lines(program)


def test_the_fleet_synthesises_to_the_same_program(tmp_path, monkeypatch):
    source = (ROOT / "examples" / "fleet" / "main.py").read_text("utf-8")
    programs = {}
    for name, text in (("cdktf", source), ("cdktn", rename(source))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.py").write_text(text, "utf-8")
        environment = os.environ | {"CDKTF_OUTDIR": str(folder / "out")}
        subprocess.run(
            [sys.executable, folder / "main.py"], cwd=folder, env=environment, check=True
        )
        synthesised = json.loads((folder / "out/stacks/fleet/cdk.tf.json").read_text("utf-8"))
        # The version of the framework is all that differs.
        synthesised["//"]["metadata"].pop("version")
        path = synthesised["terraform"]["backend"]["local"].pop("path")
        assert path.startswith(str(folder)) or "terraform.fleet.tfstate" in path
        programs[name] = synthesised
    assert programs["cdktn"] == programs["cdktf"]
