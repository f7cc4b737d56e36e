"""What is adopted and what is left out, what cannot be read, and what is wrong with the command."""

import asyncio
import json
import re

import pytest

from native_project import PROVIDER
from opsconsole.adopt.declarations import AdoptedObject, ObjectReference
from opsconsole.adopt.fleet_rows import fleet_rows
from opsconsole.adopt.reading import ObjectId, read_objects
from opsconsole.emulator import serve
from opsconsole.state import InstanceObject, State
from patience import PATIENCE


@pytest.fixture
def native(profile, native_on, monkeypatch):
    """A folder of the native engine, which is the working directory."""
    native = native_on(profile)
    monkeypatch.chdir(native.folder)
    return native


@pytest.fixture
def adopt(native):
    """Run the command with these words: stdout has the program, stderr the messages."""
    return lambda *words, expect=0: native.run("adopt", "--output", "-", *words, expect=expect)


def test_ids_under_the_documented_operations(adopt, native):
    jump = native.console.create("hosts", name="jump", is_jump_host=True)["id"]
    web = native.console.create("hosts", name="web", jump_host_ids=[jump])["id"]
    agent = native.console.create(
        "agents", host_id=web, specialty_id="spc_linux", name="seen never"
    )["id"]
    native.console.create("attachments", agent_id=agent, plugin_id="plg_disk")
    native.console.reset_log()
    ran = adopt(web, jump, agent, "blk_wipe")
    assert ").behind(jump)\n" in ran.out
    assert ran.out.index(f'jump.import_from("{jump}")') < ran.out.index(f'import_from("{web}")')
    assert f'import_from("{agent}/plg_disk")' in ran.out
    assert "seen never" not in ran.out
    assert "# Not shown by the console: " in ran.out
    assert 'pattern="rm -rf /"' in ran.out
    assert "Reading 2 hosts by POST /api/v1/hosts/{id}, with an empty body" in ran.err
    assert "2 hosts, 1 agent, 1 plugin attachment, 1 blacklisted command to import." in ran.err
    counts = native.console.request_counts()
    sent = {name: count for name, count in counts.items() if count}
    assert sent == {"host_update": 2, "plugin_list": 1, "blacklist_get": 1}


def test_what_cannot_be_read_is_a_comment(adopt, native):
    host = native.console.create("hosts", name="web")["id"]
    ran = adopt("hst_gone", host)
    [comment] = [line for line in ran.out.splitlines() if "hst_gone" in line]
    # That it is removed from state, and created again, is said of managed objects alone.
    assert comment.endswith("hst_gone is deleted, or not visible to this key")
    assert ran.out.count("import_from") == 1
    assert "1 could not be read." in ran.err


def test_named_attachments_are_looked_up(adopt, native):
    """An object that is named twice is imported once."""
    agent = native.console.create("agents", name="ops", specialty_id="spc_linux")["id"]
    native.console.create("attachments", agent_id=agent, plugin_id="plg_disk")
    ran = adopt(f"{agent}/plg_logs", f"{agent}/plg_disk", agent, "key=linux-server", "spc_linux")
    imported = re.findall(r'import_from\("([^"]+)', ran.out)
    assert imported == ["spc_linux", agent, f"{agent}/plg_disk"]
    assert f"# {agent}/plg_logs could not be read: " in ran.out
    native.apply({"opsconsole_specialty": {"linux": {"key": "linux-server"}}})
    assert "There is nothing to import" in adopt("key=linux-server").err


def test_an_attachment_whose_id_can_be_divided_in_two_ways_is_a_comment(adopt, native):
    native.console.create("agents", id="agt/1", name="ops", specialty_id="spc_linux")
    native.console.create("attachments", agent_id="agt/1", plugin_id="plg_disk")
    ran = adopt("agent=agt/1")
    assert "# agt/1/plg_disk could not be read: " in ran.out
    assert re.findall(r'import_from\("([^"]+)', ran.out) == ["agt/1"]


def test_an_object_of_another_console_is_not_managed_because_of_its_id(adopt, native):
    native.settings["base_url"] = native.console.base_url
    native.console.create("hosts", id="17", name="here")
    native.apply(
        {"opsconsole_host": {"web": {"name": "here"}}},
        **{"import": [{"to": "opsconsole_host.web", "id": "17"}]},
    )
    assert "There is nothing to import" in adopt("host=17").err
    with serve() as other:
        other.create("hosts", id="17", name="there")
        native.monkeypatch.setenv("OPSCONSOLE_BASE_URL", other.base_url)
        assert 'name="there"' in adopt("--environment", "host=17").out


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_plugins_of_several_agents_are_listed_together(one_run, console, monkeypatch):
    ids = [console.create("agents", name=name, specialty_id="spc_linux")["id"] for name in "abc"]
    for agent_id in ids:
        console.create("attachments", agent_id=agent_id, plugin_id="plg_disk")
    provider, together = one_run(), asyncio.Barrier(3)
    list_once = provider.session.list_once

    async def once_all_are_listed(operation, *ids):
        if operation == "plugin_list":
            await together.wait()
        return await list_once(operation, *ids)

    monkeypatch.setattr(provider.session, "list_once", once_all_are_listed)
    # One was named as well.
    named = ObjectId("opsconsole_agent_plugin", f"{ids[1]}/plg_disk")
    async with asyncio.timeout(PATIENCE / 4):
        contents = await read_objects(
            provider, [named, *(ObjectId("opsconsole_agent", agent_id) for agent_id in ids)]
        )
    attached = [item.import_id for item in contents.objects if "/" in item.import_id]
    assert attached == [f"{ids[number]}/plg_disk" for number in (1, 0, 2)]


def test_no_program_is_written_where_nothing_can_be_read(adopt):
    ran = adopt("hst_gone", expect=1)
    assert ran.out == ""
    assert "None of the objects could be read:\n  hst_gone: " in ran.err


def test_what_cannot_be_declared_is_a_comment(adopt, native):
    nameless = native.console.create("hosts", target_port=22)["id"]
    odd = native.console.create("hosts", name="odd", tags=["none"], target_port=0)["id"]
    for form in ((), ("--hcl",)):
        ran = adopt(nameless, odd, *form)
        assert f"# {nameless} could not be read: the console shows no name" in ran.out
        assert "# Not declared: tags cannot be 'none'. A tag is shaped <key>:<value>.\n" in ran.out
        assert "# Not declared: target_port cannot be 0. It must be 1 to 65535.\n" in ran.out
        assert ran.out.count("import_from" if not form else "import {") == 1


def test_ids_from_a_file(adopt, tmp_path, native):
    host = native.console.create("hosts", name="web")["id"]
    (tmp_path / "ids.csv").write_text(f"name,id\nweb,{host}\nnone,\n")
    assert f'import_from("{host}")' in adopt("--ids", "ids.csv").out


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "Cannot read ids.csv: No such file or directory."),
        (b"id\ncaf\xe9\n", "Cannot read ids.csv: it is not UTF-8 text."),
        (b'id\n"a"b\n', "ids.csv:2: this is not CSV: "),
        (b"name\nweb\n", "ids.csv has no column `id`."),
    ],
)
def test_a_file_of_ids_that_is_wrong_is_refused(adopt, tmp_path, data, message) -> None:
    if data is not None:
        (tmp_path / "ids.csv").write_bytes(data)
    assert message in adopt("--ids", "ids.csv", expect=1).err


@pytest.mark.parametrize("text", ["id\n", "name,id\nweb,\n"])
def test_a_file_without_ids_adopts_nothing(adopt, tmp_path, monkeypatch, native, text):
    native.console.create("hosts", name="web")
    lists = {"host_list": "GET /api/v1/hosts"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(lists))
    (tmp_path / "ids.csv").write_text(text)
    ran = adopt("--ids", "ids.csv", expect=1)
    assert ran.out == ""
    assert "ids.csv names no ids." in ran.err
    assert not any(native.console.request_counts().values())


def test_what_the_state_holds_is_left_out(adopt, tmp_path, native):
    hosts = [native.console.create("hosts", name=name)["id"] for name in ("old", "new")]
    state = State.new()
    state.put("opsconsole_host.old", InstanceObject(PROVIDER, {"id": hosts[0], "name": "old"}))
    (tmp_path / "terraform.tfstate").write_bytes(state.to_bytes())
    ran = adopt(*hosts)
    assert hosts[1] in ran.out
    assert hosts[0] not in ran.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("web",), "'web' is not an import id."),
        ((), "No documented operation lists hosts, agents or blacklisted commands."),
        (("hst_1", "--output", "there.py"), "there.py exists already."),
        (("hst_1", "--output", "nowhere/a.py"), "Cannot write nowhere/a.py: there is no directory"),
    ],
)
def test_what_is_wrong_with_the_command(adopt, tmp_path, words, told):
    (tmp_path / "there.py").write_text("")
    ran = adopt(*words, expect=1)
    assert told in ran.err


def test_hosts_of_an_inventory_are_found_by_a_dry_run(adopt, tmp_path, native):
    ids = [native.console.create("hosts", name=name)["id"] for name in ("web", "db")]
    rows = [{"name": name} for name in ("db", "new", "web")]
    (tmp_path / "hosts.json").write_text(json.dumps(rows))
    (tmp_path / "hosts.csv").write_text("name,tags\nweb,a:1\nnew,\ndb,\n")
    for file in ("hosts.json", "hosts.csv"):
        ran = adopt("--inventory", file)
        assert all(f'import_from("{one}")' in ran.out for one in ids)
        assert "Asking which of 3 rows exist, by dry runs of POST /api/v1/hosts/batch" in ran.err
        assert "The console knows no host for row 2 (new)." in ran.err
        assert "# The console knows no host for row 2 (new)." in ran.out
        assert "a:1" not in ran.out
    assert len(native.console.rows("hosts")) == 2


@pytest.mark.parametrize("profile", ["heedless"], indirect=True)
def test_a_console_that_honours_no_dry_run_gets_one_row_at_most(adopt, tmp_path, native):
    (tmp_path / "hosts.csv").write_text("name\nweb\ndb\nmail\n")
    ran = adopt("--inventory", "hosts.csv", expect=1)
    assert ran.out == ""
    assert native.console.rows("hosts")[0]["id"] in ran.err
    assert len(native.console.rows("hosts")) == 1


def test_lists_that_cannot_be_read_are_an_error(adopt, monkeypatch):
    lists = {"host_list": "GET /api/v1/no-hosts"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(lists))
    ran = adopt(expect=1)
    assert ran.out == ""
    assert "None of the lists could be read: host_list was not read" in ran.err
    assert "404" in ran.err


def test_what_to_do_next_is_reported(adopt, tmp_path, native):
    host = native.console.create("hosts", name="web")["id"]
    (tmp_path / "app").mkdir()
    ran = adopt("--output", "app/one.py", host)
    assert (
        "app/one.py declares them, and app/cdktf.json runs it: `opsconsole plan` in app" in ran.err
    )
    app = tmp_path / "app" / "cdktf.json"
    assert json.loads(app.read_text()) == {"language": "python", "app": "python one.py"}
    ran = adopt("--output", "app/two.py", host)
    assert "app/two.py declares them: synthesise it to plan the imports." in ran.err
    assert "one.py" in app.read_text()
    (tmp_path / "hcl").mkdir()
    ran = adopt("--hcl", "--output", "hcl/x.tf", host)
    assert re.search("hcl/x.tf declares them: `(terraform|tofu) plan` in hcl shows", ran.err)


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
    held, words, refused, adopt, tmp_path, native
):
    host = native.console.create("hosts", name="web")["id"]
    (tmp_path / "app" / held).parent.mkdir(parents=True)
    (tmp_path / "app" / held).write_text("{}")
    native.console.reset_log()
    file = "app/adopted.tf" if words else "app/adopted.py"
    ran = adopt("--output", file, *words, host, expect=None)
    assert (ran.code == 1) == refused, ran.err
    assert (f"app/{held}: there is a program" in ran.err) == refused
    assert (tmp_path / file).exists() != refused
    assert (tmp_path / "app/cdktf.json").exists() == (held == "cdktf.json")
    assert bool(native.console.request_counts()) != refused


def test_a_fleet_has_a_file_of_its_own(adopt, tmp_path, native):
    jump = native.console.create("hosts", name="jump", is_jump_host=False)["id"]
    marked = native.console.create("hosts", name="marked", is_jump_host=True)["id"]
    fields = {"jump_host_ids": [jump, marked], "tags": ["a:${b}"]}
    web = native.console.create("hosts", name="web", **fields)["id"]
    odd = native.console.create("hosts", name=" odd")["id"]
    adopt("--fleet", "--output", "adopted.py", jump, marked, web, odd)
    rows = {row["key"]: row for row in json.loads((tmp_path / "adopted.json").read_text("utf-8"))}
    assert list(rows) == ["marked", "web"]
    # What a row would change is a statement: the mark of a jump host, white space in a name.
    assert rows["web"]["jump_hosts"] == [jump, "marked"]
    assert (rows["web"]["import_id"], rows["web"]["tags"]) == (web, ["a:$${b}"])
    program = (tmp_path / "adopted.py").read_text("utf-8")
    assert program.count("ManagedHost(") == 2
    assert ').with_name("adopted.json")' in program
    for words, said in (
        (["--output", "adopted.py"], "adopted.py exists already."),
        (["--output", "rows.py"], "rows.json exists already."),
        (["--hcl", "--output", "x.tf"], "--hcl leaves no place"),
        (["--output", "cdktf.py"], "rows to cdktf.json, and a file of that name is read as a"),
        (["--output", "main.tf.py"], "rows to main.tf.json, and a file of that name is read as a"),
    ):
        (tmp_path / "rows.json").touch()
        assert said in adopt("--fleet", *words, web, expect=1).err


@pytest.mark.parametrize(
    ("words", "language", "suffix"),
    [
        (["--output", "cdktf.json"], "Python", ".py"),
        (["--output", "x.tf"], "Python", ".py"),
        (["--fleet", "--output", "x.json"], "Python", ".py"),
        (["--hcl", "--output", "main.tf.json"], "HCL", ".tf or .tofu"),
        (["--hcl", "--output", "x"], "HCL", ".tf or .tofu"),
    ],
)
def test_a_file_is_named_after_its_language(words, language, suffix, adopt, tmp_path, native):
    host = native.console.create("hosts", name="web")["id"]
    native.console.reset_log()
    ran = adopt(*words, host, expect=1)
    assert f"{words[-1]} would hold {language}, and its name does not end in {suffix}." in ran.err
    assert not list(tmp_path.glob("*.json"))
    assert not native.console.request_counts()


def test_headings_quote_tags_and_names_as_they_are(adopt, native):
    jump = native.console.create("hosts", name="JumpBox", tags=["Role:WEB"])["id"]
    behind = native.console.create("hosts", name="web", jump_host_ids=[jump])["id"]
    for form in ((), ("--hcl",)):
        program = adopt(jump, behind, *form).out
        assert "# Hosts with the tag Role:WEB\n" in program
        assert "# Hosts behind JumpBox\n" in program


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
def test_without_anything_to_import_no_program_is_written(adopt, tmp_path, monkeypatch):
    lists = {"host_list": "GET /api/v1/hosts"}
    monkeypatch.setenv("OPSCONSOLE_EXTRA_ENDPOINTS", json.dumps(lists))
    ran = adopt("--output", "adopted.py")
    assert "There is nothing to import, and no program is written." in ran.err
    assert not (tmp_path / "adopted.py").exists()


def test_ids_without_a_prefix(adopt, tmp_path, native):
    native.console.create("hosts", id="17", name="web")
    native.console.create(
        "agents", id="a-1", host_id="17", specialty_id="17", name="keeper", org_id="org_main"
    )
    (tmp_path / "hosts.json").write_text(json.dumps([{"name": "web"}]))

    by_kind = adopt("host=17", "agent=a-1")

    assert "1 host, 1 agent to import." in by_kind.err
    assert '.import_from("17")' in by_kind.out
    assert '.import_from("a-1")' in by_kind.out
    assert '.import_from("17")' in adopt("--inventory", "hosts.json").out
    ran = adopt("host=17", "agent=17", expect=1)
    assert "'17' is the id of two objects: host and agent." in ran.err


@pytest.mark.parametrize(("org", "is_row"), [("org_lab", True), (" org_lab", False)])
def test_an_agent_whose_texts_a_row_would_change_is_a_statement(org, is_row):
    host = AdoptedObject("opsconsole_host", "hst_1", "web", {"name": "web"})
    ties = {"host_id": ObjectReference(host), "specialty_id": "spc_linux"}
    values = {"org_id": org, "name": "ops", **ties}
    agent = AdoptedObject("opsconsole_agent", "agt_1", "ops", values)
    [row] = fleet_rows([host, agent])
    assert (bool(agent.expression), "agents" in row) == (is_row, is_row)
