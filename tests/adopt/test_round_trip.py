"""Random consoles, adopted: the plan imports everything and changes nothing, in both engines."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opsconsole.cli.main import main
from opsconsole.testing.deployment import Deployment
from sampling import sample
from type_checking import check_types

LISTS = {
    "host_list": "GET /api/v1/hosts",
    "agent_list": "GET /api/v1/agents",
    "agent_get": "GET /api/v1/agents/{id}",
    "blacklist_list": "GET /api/v1/blacklists",
}
ODD = (
    *("web", "Web 1", "cafe\u0301", 'say "hi"', "class", "${var.x}", "%{ if }", "a\\b", "stack"),
    *("${TfToken[TOKEN.0]}", "#{TfToken[TOKEN.1]}"),
)


def populate(console, seed: int, hosts: int = 8) -> None:
    """Fill a console with hosts, chains of jump hosts, agents and plugins."""
    rng = random.Random(seed)
    made: list[str] = []
    for number in range(hosts):
        fields = {
            "private_ip": f"10.0.0.{number}",
            "target_type": rng.choice(["ssh", "winrm"]),
            "target_port": rng.choice([22, 5986]),
            "tags": rng.sample(
                ["site:north", "role:web", "env:live", "a:${b}", "a:#{TfToken[TOKEN.1]}"],
                rng.randrange(3),
            ),
            "is_jump_host": rng.random() < 0.4,
            "knowledge": rng.choice(["", "two\nlines", 'a "quoted" text', "100%"]),
            "jump_host_ids": rng.sample(made, min(len(made), rng.choice([0, 0, 1, 2]))),
            "external_id": f"cmdb-{number}",
            "mac": None,
        }
        given = {name: value for name, value in fields.items() if rng.random() < 0.7}
        name = f"{rng.choice(ODD)} {number}" if rng.random() < 0.8 else f"h{number}"
        made.append(console.create("hosts", name=name, **given)["id"])
    # What a declaration may not hold, and what would change how a program reads.
    console.create("hosts", name="", tags=["none"], target_type="telnet", target_port=0)
    console.create("hosts", name="\u202eright to left", knowledge="\u2028\f")
    # What a row of a fleet would read as an id, or without the white space.
    staffed = console.create("hosts", name="oddly staffed")["id"]
    for number, key in enumerate(("odd ${x}", " odd")):
        odd = console.create("specialties", key=key)["id"]
        console.create("agents", name=f"odd {number}", host_id=staffed, specialty_id=odd)
    for number, host in enumerate(made):
        for place in range(rng.choice([0, 1, 2])):
            agent = console.create(
                "agents",
                host_id=host,
                specialty_id=rng.choice(["spc_linux", "spc_database"]),
                status="idle",
                **({"name": f"agent {number} {place}"} if rng.random() < 0.8 else {}),
                **({"main_engine": "engine-a"} if rng.random() < 0.5 else {}),
            )
            for plugin in rng.sample(["plg_disk", "plg_logs", "plg_metrics"], rng.randrange(3)):
                console.create("attachments", agent_id=agent["id"], plugin_id=plugin)


def adopt(console, folder, monkeypatch, *words: str) -> None:
    """Run the command in a folder, which it writes the program to."""
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.startswith(("OPSCONSOLE_", "TF_"))]:
        monkeypatch.delenv(name)
    for name, value in console.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(LISTS))
    assert main(["adopt", *words]) == 0


def synthesise(program: Path) -> dict:
    """Run a program; return what its one stack synthesises to."""
    environment = dict(os.environ)
    environment["TERRAFORM_BINARY_NAME"] = "no-such-terraform"  # none is needed
    environment["CDKTF_OUTDIR"] = str(program.parent / "cdktf.out")
    subprocess.run([sys.executable, program], cwd=program.parent, env=environment, check=True)
    file = program.parent / "cdktf.out" / "stacks" / "adopted" / "cdk.tf.json"
    return json.loads(file.read_text("utf-8"))


pytestmark = pytest.mark.opsconsole_profile("extended")


@pytest.mark.parametrize(
    ("seed", "words"), sample([(1, []), (2, []), (3, ["--fleet"]), (4, ["--fleet"])], 2), ids=str
)
def test_what_is_adopted_is_imported_and_not_changed(
    seed, words, tmp_path, monkeypatch, opsconsole_emulator
):
    console = opsconsole_emulator
    console.switch(empty_update="accepted")
    populate(console, seed)
    adopt(console, tmp_path, monkeypatch, *words)
    before = {name: console.rows(name) for name in ("hosts", "agents", "blacklists")}
    if words:
        # Everything that a row can say is in rows.
        assert len(json.loads((tmp_path / "adopted.json").read_text("utf-8"))) >= 4
    program = synthesise(tmp_path / "adopted.py")
    deployment = Deployment(program, console, {"OPSCONSOLE_EXTRA_ENDPOINTS": json.dumps(LISTS)})
    planned = deployment.plan()
    assert {tuple(actions) for actions in planned.values()} == {("import",)}, planned
    imports = {entry["id"] for entry in program["import"]}
    assert {row["id"] for rows in before.values() for row in rows} <= imports
    deployment.apply()
    assert deployment.plan() == {}
    assert {name: console.rows(name) for name in before} == before


def populate_alike(console) -> set[tuple[str, str]]:
    """Make names that become one once made valid; return each host with its specialty's id."""
    keys = ("linux-ops", "linux_ops", "Linux-Ops", "linux.ops", "café", "cafè", "linux-")
    carried = set()
    for name, key in zip(
        ("opsconsole", "Backend", "specialty-linux-ops", "app", "annotations", "app-", "class"),
        keys,
        strict=True,
    ):
        specialty = console.create("specialties", key=key, name=key)["id"]
        host = console.create("hosts", name=name)["id"]
        fields = {"host_id": host, "specialty_id": specialty, "status": "idle"}
        console.create("agents", **fields, **({} if name == "app" else {"name": f"on {name}"}))
        carried.add((host, specialty))
    return carried


@pytest.mark.parametrize("form", ["python", "hcl"])
def test_names_that_become_one_stay_apart(form, tmp_path, monkeypatch, opsconsole_emulator):
    carried = populate_alike(opsconsole_emulator)
    adopt(opsconsole_emulator, tmp_path, monkeypatch, *(["--hcl"] if form == "hcl" else []))
    if form == "hcl":
        text = (tmp_path / "adopted.tf").read_text("utf-8")
        addresses = re.findall(r'^(?:data|resource) "(\w+)" "([^"]+)"', text, re.MULTILINE)
        assert len(set(addresses)) == len(addresses)
        assert sum(name == "opsconsole_specialty" for name, _ in addresses) == len(carried)
        return
    program = synthesise(tmp_path / "adopted.py")
    deployment = Deployment(
        program, opsconsole_emulator, {"OPSCONSOLE_EXTRA_ENDPOINTS": json.dumps(LISTS)}
    )
    planned = deployment.plan()
    assert {tuple(actions) for actions in planned.values()} == {("import",)}, planned


@pytest.mark.terraform
@pytest.mark.parametrize("form", ["python", "hcl"])
def test_terraform_imports_it_all_too(form, tmp_path, monkeypatch, opsconsole_emulator, terraform):
    console = opsconsole_emulator
    populate(console, 7)
    adopt(console, tmp_path, monkeypatch, *(["--hcl"] if form == "hcl" else []))
    if form == "hcl":
        engine = terraform({}, console, OPSCONSOLE_EXTRA_ENDPOINTS=json.dumps(LISTS))
        (engine.folder / "main.tf.json").unlink()
        (engine.folder / "main.tf").write_text((tmp_path / "adopted.tf").read_text("utf-8"))
    else:
        program = synthesise(tmp_path / "adopted.py")
        program["terraform"].pop("backend")
        engine = terraform(program, console, OPSCONSOLE_EXTRA_ENDPOINTS=json.dumps(LISTS))
    changes = engine.plan().json["resource_changes"]
    assert {tuple(item["change"]["actions"]) for item in changes} == {("no-op",)}
    assert all("importing" in item["change"] for item in changes)
    engine.apply()
    assert engine.plan().code == 0


@pytest.mark.terraform
def test_terraform_reads_what_is_adopted_beside_a_program(
    tmp_path, monkeypatch, opsconsole_emulator, terraform
):
    console = opsconsole_emulator
    console.switch(empty_update="accepted")
    engine = terraform({}, console, OPSCONSOLE_EXTRA_ENDPOINTS=json.dumps(LISTS))
    (engine.folder / "main.tf.json").unlink()
    for name in ("one", "two"):
        host = console.create("hosts", name="web")["id"]
        agent = console.create("agents", host_id=host, specialty_id="spc_linux", name=name)["id"]
        words = ("--hcl", "--output", f"{name}.tf", host, agent)
        adopt(console, engine.folder, monkeypatch, *words)
    changes = engine.plan().json["resource_changes"]
    assert {item["change"]["importing"]["id"] for item in changes} == {
        row["id"] for rows in ("hosts", "agents") for row in console.rows(rows)
    }


def test_the_program_is_formatted_and_typed(tmp_path, monkeypatch, opsconsole_emulator):
    populate(opsconsole_emulator, 4)
    populate_alike(opsconsole_emulator)
    adopt(opsconsole_emulator, tmp_path, monkeypatch)
    (tmp_path / "cdktf.json").unlink()
    adopt(opsconsole_emulator, tmp_path, monkeypatch, "--fleet", "--output", "with_fleet.py")
    files = [str(tmp_path / name) for name in ("adopted.py", "with_fleet.py")]
    ruff = [sys.executable, "-m", "ruff"]
    for check in (["format", "--isolated", "--check", "--diff"], ["check", "--isolated"]):
        done = subprocess.run([*ruff, *check, *files], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    output, _, status = check_types("--strict", "--config-file=", *files)
    assert status == 0, output
