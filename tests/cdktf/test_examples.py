"""Every example is planned, and the fleet synthesises to what is committed beside this file."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from example_programs import EXAMPLES, ROOT, synthesise
from opsconsole.cli.main import main
from opsconsole.emulator import serve
from opsconsole.emulator.seed import seed_store
from opsconsole.emulator.store import Store
from opsconsole.resources import DATA_SOURCES, RESOURCES

REFERENCE = EXAMPLES / "reference"
PROGRAMS = sorted(REFERENCE.rglob("main.py"))
FLEET = Path(__file__).with_name("fleet.tf.json")


def _run(program: Path, folder: Path) -> dict[str, Any]:
    return json.loads(synthesise(program, folder).read_text("utf-8"))


def test_everything_has_an_example():
    expected = {f"resources/{name}" for name in RESOURCES}
    expected |= {f"data-sources/{name}" for name in DATA_SOURCES} | {"provider"}
    assert {str(program.parent.relative_to(REFERENCE)) for program in PROGRAMS} == expected


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.parent.name))
def test_an_example_declares_what_it_is_about_and_is_planned(program, tmp_path, monkeypatch):
    written = synthesise(program, tmp_path)
    text = written.read_text("utf-8")
    block = {"resources": "resource", "data-sources": "data"}.get(program.parent.parent.name)
    if block is not None:
        assert program.parent.name in json.loads(text)[block]
    hcl = program.with_name("main.tf").read_text("utf-8")
    assert program.parent.name.removeprefix("data-") in hcl
    with serve("extended" if "extra_endpoints" in text else "default", seed="fleet:3") as console:
        text = re.sub(r"https://[a-z]+\.example\.com", console.base_url, text)
        written.write_text(text)
        for host in set(re.findall(r'"(hst_\w+)"', text)):
            console.create("hosts", id=host, name=host)
        for agent in set(re.findall(r'"(agt_\w+)"', text)):
            console.create("agents", id=agent, name=agent, host_id="hst_fleet00001")
        monkeypatch.setenv("OPSCONSOLE_BASE_URL", console.base_url)
        monkeypatch.setenv("OPSCONSOLE_API_KEY", console.api_key)
        monkeypatch.chdir(tmp_path)
        # The program's own state lies where cdktf was first imported: in the checkout.
        state = f"-state={tmp_path / 'terraform.tfstate'}"
        assert main(["plan", "--dir", str(written.parent), state, "-no-color"]) == 0


def test_the_program_in_the_guide_runs(tmp_path):
    guide = (ROOT / "docs" / "guides" / "constructs.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    source = tmp_path / "main.py"
    source.write_text(program, "utf-8")
    resources = _run(source, tmp_path / "out")["resource"]
    assert resources["opsconsole_host"]["web"]["depends_on"] == ["opsconsole_specialty.linux"]


@pytest.mark.terraform
def test_the_examples_in_hcl_are_formatted(terraform):
    terraform({}).run("fmt", "-check", "-recursive", "-diff", str(REFERENCE))


def test_the_fleet_is_synthesised_as_committed(tmp_path):
    """After a change that is meant, run this with OPSCONSOLE_TEST_ACCEPT=1 to commit the new."""
    synthesised = _run(EXAMPLES / "fleet" / "main.py", tmp_path)
    synthesised["terraform"]["backend"]["local"]["path"] = "terraform.fleet.tfstate"
    synthesised["//"]["metadata"].pop("version")
    for resources in synthesised["resource"].values():
        for resource in resources.values():
            place, _, line = resource["//"].pop("stackTrace")[0].rpartition(":")
            assert (place, line.isdigit()) == ("examples/fleet/main.py", True)
    text = json.dumps(synthesised, indent=2, sort_keys=True) + "\n"
    if os.environ.get("OPSCONSOLE_TEST_ACCEPT"):
        FLEET.write_text(text, "utf-8")
    assert text == FLEET.read_text("utf-8")


def test_the_fleet_names_what_the_emulator_starts_with():
    store = Store()
    seed_store(store)
    resources = json.loads(FLEET.read_text("utf-8"))["resource"]
    plugins = {row["id"] for row in store.plugins}
    for agent in resources["opsconsole_agent"].values():
        assert set(agent.get("plugin_ids", [])) <= plugins
    for attachment in resources["opsconsole_agent_plugin"].values():
        assert attachment["plugin_id"] in plugins
    rows = {row["id"] for row in store.blacklists}
    assert {row["id"] for row in resources["opsconsole_blacklisted_command"].values()} <= rows
    keys = {row["key"] for row in store.specialties}
    assert {row["key"] for row in resources["opsconsole_specialty"].values()} <= keys
