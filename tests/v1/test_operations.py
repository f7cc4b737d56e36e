"""The table of operations: what is said to a user follows from it."""

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

from engines import ROOT, run_program
from opsconsole.emulator import Emulator, profiles
from opsconsole.resources import DATA_SOURCES, RESOURCES
from opsconsole.v1.operations import DOCUMENTED, OPERATIONS

PAGES = """
import json
from pathlib import Path
from scripts.generate.limits import limits_files
from scripts.generate.reference import reference_files
print(json.dumps(limits_files() | reference_files(Path("."))))
"""


def test_definitions_name_operations_of_the_table():
    named = {way.operation for item in RESOURCES.values() for s in item.ways.values() for way in s}
    named |= {name for item in DATA_SOURCES.values() for name in item.operations}
    assert named - {""} == set(OPERATIONS)


def test_a_read_that_comes_to_be_documented_is_said_everywhere(tmp_path, monkeypatch):
    """The first two steps of CONTRIBUTING are taken on a copy."""
    for folder in ("provider", "scripts", "examples", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    package = tmp_path / "provider" / "opsconsole"
    _edit(
        package / "v1" / "operations.py",
        '_nameable("host_get", "{id}"),',
        '_nameable("host_get", "{id}", "GET /api/v1/hosts/{id}"),',
    )
    document = package / "emulator" / "document.py"
    line = '    "host_get": "GET /api/v1/hosts/{id}",\n'
    _edit(document, line, "")
    _edit(document, "DOCUMENTED: dict[str, str] = {\n", f"DOCUMENTED: dict[str, str] = {{\n{line}")
    program = {
        "provider": {"opsconsole": [{}]},
        "resource": {"opsconsole_host": {"web": {"name": "web"}}},
    }
    (tmp_path / "main.tf.json").write_text(json.dumps(program))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'provider'}:{tmp_path}")

    def run(*words: str) -> str:
        return run_program(sys.executable, *words, folder=tmp_path).out

    exported = run("-m", "opsconsole", "emulator", "--background")
    for name, value in re.findall(r"export (\w+)=(\S+)", exported):
        monkeypatch.setenv(name, value)
    try:
        run("-m", "opsconsole", "apply", "--auto-approve")
        drift = run("-m", "opsconsole", "drift", "--read-only")
        steps = json.loads(run("-m", "opsconsole", "capabilities", "--json"))["capabilities"]
        pages = json.loads(run("-c", PAGES))
        url, key = os.environ["OPSCONSOLE_BASE_URL"], os.environ["OPSCONSOLE_API_KEY"]
        calls = Emulator(url, key, profiles()["default"]).request_counts()
    finally:
        os.kill(int(os.environ["OPSCONSOLE_EMULATOR_PID"]), signal.SIGTERM)
    assert "Hosts were read by GET /api/v1/hosts/{id} (host_get)." in drift
    [read] = [
        item for item in steps if (item["type_name"], item["step"]) == ("opsconsole_host", "read")
    ]
    assert (read["reach"], read["operation"]) == ("full", "GET /api/v1/hosts/{id}")
    assert read["documented"] is True
    assert not read["lifted_by"]
    count = len({*(item.name for item in DOCUMENTED), "host_get"})
    assert f"The document shows {count} operations." in pages["docs/limits.md"]
    assert "| `opsconsole_host` | read |" not in pages["docs/limits.md"]
    assert "| read | `GET /api/v1/hosts/{id}` | - |" in pages["docs/resources/host.md"]
    assert "It rests on `GET /api/v1/hosts/{id}`." in pages["docs/data-sources/host.md"]
    assert "`host_get`" not in pages["docs/data-sources/host.md"]
    assert calls["host_get"] >= 2
    assert "host_update" not in calls


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text or (new and new in text), "documented by now, or moved"
    file.write_text(text.replace(old, new), "utf-8")
