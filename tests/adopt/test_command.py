"""What is adopted and what is left out, what cannot be read, and what is wrong with the command."""

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
    assert ").behind(jump)\n" in program
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
    host = opsconsole_emulator.create("hosts", name="web")["id"]
    code, program, told = adopt("hst_gone", host)
    assert code == 0
    [comment] = [line for line in program.splitlines() if "hst_gone" in line]
    # That it is removed from state, and created again, is said of managed objects alone.
    assert comment.endswith("hst_gone is deleted, or not visible to this key")
    assert program.count("import_from") == 1
    assert "1 could not be read." in told


def test_no_program_is_written_where_nothing_can_be_read(adopt) -> None:
    code, program, told = adopt("hst_gone")
    assert (code, program) == (1, "")
    assert "None of the objects could be read:\n  hst_gone: " in told


def test_what_cannot_be_declared_is_a_comment(adopt, opsconsole_emulator) -> None:
    nameless = opsconsole_emulator.create("hosts", target_port=22)["id"]
    odd = opsconsole_emulator.create("hosts", name="odd", tags=["none"], target_port=0)["id"]
    for form in ((), ("--hcl",)):
        code, program, _ = adopt(nameless, odd, *form)
        assert code == 0
        assert f"# {nameless} could not be read: the console shows no name" in program
        assert "# Not declared: tags cannot be 'none'. A tag is shaped <key>:<value>.\n" in program
        assert "# Not declared: target_port cannot be 0. It must be 1 to 65535.\n" in program
        assert program.count("import_from" if not form else "import {") == 1


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
        (("web",), "'web' is not an import id."),
        ((), "No documented operation lists hosts, agents or blacklisted commands."),
        (("hst_1", "--output", "there.py"), "there.py exists already."),
    ],
)
def test_what_is_wrong_with_the_command(adopt, tmp_path, words, told) -> None:
    (tmp_path / "there.py").write_text("")
    code, _, err = adopt(*words)
    assert code == 1
    assert told in err


def test_hosts_of_an_inventory_are_found_by_a_dry_run(adopt, tmp_path, opsconsole_emulator) -> None:
    ids = [opsconsole_emulator.create("hosts", name=name)["id"] for name in ("web", "db")]
    rows = [{"name": name} for name in ("db", "new", "web")]
    (tmp_path / "hosts.json").write_text(json.dumps(rows))
    (tmp_path / "hosts.csv").write_text("name,tags\nweb,a:1\nnew,\ndb,\n")
    for file in ("hosts.json", "hosts.csv"):
        code, program, told = adopt("--inventory", file)
        assert code == 0
        assert all(f'import_from("{one}")' in program for one in ids)
        assert "Asking which of 3 rows exist, by dry runs of POST /api/v1/hosts/batch" in told
        assert "The console knows no host for row 2 (new)." in told
        assert "# The console knows no host for row 2 (new)." in program
        assert "a:1" not in program
    assert len(opsconsole_emulator.rows("hosts")) == 2


@pytest.mark.opsconsole_profile("heedless")
def test_a_console_that_honours_no_dry_run_gets_one_row_at_most(
    adopt, tmp_path, opsconsole_emulator
) -> None:
    (tmp_path / "hosts.csv").write_text("name\nweb\ndb\nmail\n")
    code, program, told = adopt("--inventory", "hosts.csv")
    assert (code, program) == (1, "")
    assert opsconsole_emulator.rows("hosts")[0]["id"] in told
    assert len(opsconsole_emulator.rows("hosts")) == 1


def test_lists_that_cannot_be_read_are_an_error(adopt, monkeypatch) -> None:
    lists = {"host_list": "GET /api/v1/no-hosts"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(lists))
    code, program, told = adopt()
    assert (code, program) == (1, "")
    assert "None of the lists could be read: host_list was not read" in told
    assert "404" in told


def test_what_to_do_next_is_reported(adopt, tmp_path, opsconsole_emulator) -> None:
    host = opsconsole_emulator.create("hosts", name="web")["id"]
    (tmp_path / "app").mkdir()
    _, _, told = adopt("--output", "app/one.py", host)
    assert "app/one.py declares them, and app/cdktf.json runs it: `opsconsole plan` in app" in told
    app = tmp_path / "app" / "cdktf.json"
    assert json.loads(app.read_text()) == {"language": "python", "app": "python one.py"}
    _, _, told = adopt("--output", "app/two.py", host)
    assert "app/two.py declares them: synthesise it to plan the imports." in told
    assert "one.py" in app.read_text()


@pytest.mark.parametrize(
    ("held", "words", "refused"),
    [
        ("main.tf.json", (), True),
        ("main.tf", (), True),
        ("cdktf.out/manifest.json", (), True),
        ("cdktf.json", (), False),
        ("cdktf.json", ("--hcl",), True),
        ("main.tf", ("--hcl",), False),
    ],
)
def test_a_folder_that_holds_a_program_is_given_no_other(
    held, words, refused, adopt, tmp_path, opsconsole_emulator
) -> None:
    host = opsconsole_emulator.create("hosts", name="web")["id"]
    (tmp_path / "app" / held).parent.mkdir(parents=True)
    (tmp_path / "app" / held).write_text("{}")
    opsconsole_emulator.reset_log()
    code, _, told = adopt("--output", "app/adopted.x", *words, host)
    assert (code == 1) == refused, told
    assert (f"app/{held}: there is a program" in told) == refused
    assert (tmp_path / "app/adopted.x").exists() != refused
    assert (tmp_path / "app/cdktf.json").exists() == (held == "cdktf.json")
    assert bool(opsconsole_emulator.request_counts()) != refused


def test_a_fleet_has_a_file_of_its_own(adopt, tmp_path, opsconsole_emulator) -> None:
    jump = opsconsole_emulator.create("hosts", name="jump", is_jump_host=False)["id"]
    marked = opsconsole_emulator.create("hosts", name="marked", is_jump_host=True)["id"]
    fields = {"jump_host_ids": [jump, marked], "tags": ["a:${b}"]}
    web = opsconsole_emulator.create("hosts", name="web", **fields)["id"]
    odd = opsconsole_emulator.create("hosts", name=" odd")["id"]
    code, _, told = adopt("--fleet", "--output", "adopted.py", jump, marked, web, odd)
    assert code == 0, told
    rows = {row["key"]: row for row in json.loads((tmp_path / "adopted.json").read_text("utf-8"))}
    assert list(rows) == ["marked", "web"]
    # What a row would change is a statement: the mark of a jump host, white space in a name.
    assert rows["web"]["jump_hosts"] == [jump, "marked"]
    assert (rows["web"]["import_id"], rows["web"]["tags"]) == (web, ["a:$${b}"])
    program = (tmp_path / "adopted.py").read_text("utf-8")
    assert program.count("ManagedHost(") == 2
    assert ').with_name("adopted.json")' in program
    assert "adopted.json exists already." in adopt("--fleet", "--output", "adopted.txt", web)[2]
    assert "--hcl leaves no place" in adopt("--fleet", "--hcl", "--output", "x.tf", web)[2]


@pytest.mark.opsconsole_profile("extended")
def test_without_anything_to_import_no_program_is_written(adopt, tmp_path, monkeypatch) -> None:
    lists = {"host_list": "GET /api/v1/hosts"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(lists))
    code, _, told = adopt("--output", "adopted.py")
    assert code == 0
    assert "There is nothing to import, and no program is written." in told
    assert not (tmp_path / "adopted.py").exists()


def test_ids_without_a_prefix(adopt, tmp_path, opsconsole_emulator) -> None:
    opsconsole_emulator.create("hosts", id="17", name="web")
    opsconsole_emulator.create(
        "agents", id="a-1", host_id="17", specialty_id="17", name="keeper", org_id="org_main"
    )
    (tmp_path / "hosts.json").write_text(json.dumps([{"name": "web"}]))

    _, by_kind, told = adopt("host=17", "agent=a-1")
    _, by_inventory, _ = adopt("--inventory", "hosts.json")

    assert "1 host, 1 agent to import." in told
    assert '.import_from("17")' in by_kind
    assert '.import_from("a-1")' in by_kind
    assert '.import_from("17")' in by_inventory
    code, _, told = adopt("host=17", "agent=17")
    assert code == 1
    assert "'17' is the id of two objects: host and agent." in told
