"""The tasks of CONTRIBUTING.md: every place that they name is there, and the first one works."""

import json
import os
import re
import shutil
import subprocess
import sys

from engines import ROOT

FOLLOWED = """
import json, os, sys
from pathlib import Path
from opsconsole.cli.main import main
from opsconsole.emulator import serve
from scripts.generate.constructs import construct_files
from scripts.generate.reference import reference_files

with serve("strict") as console:
    os.environ.update(console.environment)
    for rack in ("r1", "r2"):
        host = {"name": "web", "rack": rack}
        program = {"resource": {"opsconsole_host": {"web": host}}}
        Path("main.tf.json").write_text(json.dumps(program))
        assert main(["apply", "-auto-approve"]) == 0
        assert [row["rack"] for row in console.rows("hosts")] == [rack]
    assert main(["drift"]) == 0
    files = construct_files() | reference_files(Path("."))
Path("files.json").write_text(json.dumps(files))
"""
LINES = {
    "provider/opsconsole/resources/host/definition.py": (
        '        optional_computed("knowledge",',
        '        optional_computed("rack", "Where the host stands."),\n',
    ),
    "provider/opsconsole/emulator/document.py": (
        '        "public_ip": str,',
        '        "rack": str,\n',
    ),
}


def test_every_place_that_a_task_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Three tasks")[2]
    named = set(re.findall(r"`((?:provider|tests|docs|examples)/[\w/.]+)`", text))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert LINES.keys() <= named
    assert '`optional_computed("rack", "Where the host stands."),`' in text


def test_an_attribute_is_a_line_of_its_definition_and_one_of_the_emulator(tmp_path):
    for folder in ("provider", "scripts", "examples", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name, (before, line) in LINES.items():
        text = (tmp_path / name).read_text()
        assert text.count(before) == 1
        (tmp_path / name).write_text(text.replace(before, line + before))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'provider'}:{tmp_path}"}

    subprocess.run([sys.executable, "-c", FOLLOWED], cwd=tmp_path, env=environment, check=True)
    files = json.loads((tmp_path / "files.json").read_text())
    [construct] = [text for name, text in files.items() if name.endswith("cdktf/host.py")]
    assert "    rack: str | None" in construct
    assert "Where the host stands." in files["docs/resources/host.md"]
