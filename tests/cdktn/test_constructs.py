"""The constructs for cdktn: the whole suite of those for cdktf, run on them, and their types."""

import json
import os
import re
import sys

import pytest
from scripts.cdktn_twin import rename

import opsconsole_cdktf
import opsconsole_cdktn
from engines import ROOT, run_program


@pytest.mark.real_client
def test_the_suite_of_the_constructs_passes_on_cdktn():
    """With the names exchanged; types and what is compared with `cdktf get` are left out."""
    left_out = ("-m", "not cdktf and not terraform", "--ignore=tests/cdktf/test_types.py")
    words = ("-q", "-p", "other_fork", "-p", "no:cacheprovider", *left_out, "tests/cdktf")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    environment["PYTHONPATH"] = str(ROOT / "tests" / "support")
    pytests = (sys.executable, "-m", "pytest")
    done = run_program(*pytests, *words, folder=ROOT, environment=environment)
    assert re.search(r"[1-9]\d\d passed", done.out), done.out[-1000:]


def test_both_packages_have_the_same_names():
    assert opsconsole_cdktn.__all__ == opsconsole_cdktf.__all__


def test_the_fleet_synthesises_to_the_same_program(tmp_path, monkeypatch):
    source = (ROOT / "examples" / "fleet" / "main.py").read_text("utf-8")
    programs = {}
    for name, text in (("cdktf", source), ("cdktn", rename(source))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.py").write_text(text, "utf-8")
        out = str(folder / "out")
        run_program(sys.executable, folder / "main.py", folder=folder, CDKTF_OUTDIR=out)
        synthesised = json.loads((folder / "out/stacks/fleet/cdk.tf.json").read_text("utf-8"))
        # The version of the framework is all that differs.
        synthesised["//"]["metadata"].pop("version")
        path = synthesised["terraform"]["backend"]["local"].pop("path")
        assert path.startswith(str(folder)) or "terraform.fleet.tfstate" in path
        programs[name] = synthesised
    assert programs["cdktn"] == programs["cdktf"]
