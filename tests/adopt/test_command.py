"""What is adopted and what is left out, what cannot be read, and what is wrong with the command."""

from __future__ import annotations

import json
import os

import pytest

from opsconsole.cli.main import main


@pytest.fixture
def adopt(tmp_path, monkeypatch, opsconsole_emulator, capsys):
    """Run the command with these words; return its exit code, program and messages."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("OPSCONSOLE_", "TF_"))]:
        monkeypatch.delenv(name)
    for name, value in opsconsole_emulator.environment.items():
        monkeypatch.setenv(name, value)

    def run(*words: str):
        code = main(["adopt", "--output", "-", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_ids_under_the_documented_operations(adopt, opsconsole_emulator) -> None:
    jump = opsconsole_emulator.create("hosts", name="jump", is_jump_host=True)["id"]
    web = opsconsole_emulator.create("hosts", name="web", jump_host_ids=[jump])["id"]
    agent = opsconsole_emulator.create(
        "agents", host_id=web, specialty_id="spc_linux", name="seen never"
    )["id"]
    opsconsole_emulator.create("attachments", agent_id=agent, plugin_id="plg_disk")
    opsconsole_emulator.reset_log()
    code, program, told = adopt(web, jump, agent, "blk_wipe")
    assert code == 0
    assert "jump_host_ids=[jump.id]" in program
    assert program.index(f'jump.import_from("{jump}")') < program.index(f'import_from("{web}")')
    assert f'import_from("{agent}/plg_disk")' in program
    assert "seen never" not in program
    assert "# Not shown by the console: " in program
    assert 'pattern="rm -rf /"' in program
    assert "Reading 2 hosts by POST /api/v1/hosts/{id}, with an empty body" in told
    assert "2 hosts, 1 agent, 1 plugin attachment, 1 blacklisted command to import." in told
    counts = opsconsole_emulator.request_counts()
    assert {name: count for name, count in counts.items() if count} == {
        "host_update": 2,
        "plugin_list": 1,
        "blacklist_get": 1,
    }


def test_what_cannot_be_read_is_a_comment(adopt, opsconsole_emulator) -> None:
    code, program, told = adopt("hst_gone")
    assert code == 0
    assert "# hst_gone could not be read: " in program
    assert "ManagedHost" not in program
    assert "1 could not be read." in told


def test_ids_from_a_file(adopt, tmp_path, opsconsole_emulator) -> None:
    host = opsconsole_emulator.create("hosts", name="web")["id"]
    (tmp_path / "ids.csv").write_text(f"name,id\nweb,{host}\nnone,\n")
    assert f'import_from("{host}")' in adopt("--ids", "ids.csv")[1]
    (tmp_path / "ids.csv").write_text("name\nweb\n")
    assert adopt("--ids", "ids.csv")[0] == 1
    assert adopt("--ids", "nowhere.csv")[0] == 1


@pytest.mark.parametrize("text", ["id\n", "name,id\nweb,\n"])
def test_a_file_without_ids_adopts_nothing(
    adopt, tmp_path, monkeypatch, opsconsole_emulator, text
) -> None:
    opsconsole_emulator.create("hosts", name="web")
    lists = {"host_list": "GET /api/v1/hosts"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(lists))
    (tmp_path / "ids.csv").write_text(text)
    code, program, told = adopt("--ids", "ids.csv")
    assert (code, program) == (1, "")
    assert "ids.csv names no ids." in told
    assert not any(opsconsole_emulator.request_counts().values())


def test_what_the_state_holds_is_left_out(adopt, tmp_path, opsconsole_emulator) -> None:
    hosts = [opsconsole_emulator.create("hosts", name=name)["id"] for name in ("old", "new")]
    instance = {"schema_version": 0, "attributes": {"id": hosts[0], "name": "old"}}
    state = {
        "version": 4,
        "terraform_version": "1.11.4",
        "serial": 1,
        "lineage": "x",
        "outputs": {},
        "resources": [
            {
                "mode": "managed",
                "type": "opsconsole_host",
                "name": "old",
                "provider": 'provider["registry.terraform.io/opsconsole/opsconsole"]',
                "instances": [instance],
            }
        ],
    }
    (tmp_path / "terraform.tfstate").write_text(json.dumps(state))
    _, program, _ = adopt(*hosts)
    assert hosts[1] in program
    assert hosts[0] not in program


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("web",), "'web' is no import id."),
        ((), "No documented operation lists hosts, agents or blacklisted commands."),
        (("hst_1", "--output", "there.py"), "there.py exists already."),
    ],
)
def test_what_is_wrong_with_the_command(adopt, tmp_path, words, told) -> None:
    (tmp_path / "there.py").write_text("")
    code, _, err = adopt(*words)
    assert code == 1
    assert told in err
