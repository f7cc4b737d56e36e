"""Fleets from data: every bad row in one error, addresses by key, the same from each format."""

import json

import cdktf
import pytest

from opsconsole_cdktf import BadRows, Fleet
from opsconsole_cdktf.rows import HostRow
from text_groups import read_rows

ROWS = read_rows(__file__)

HOST_ROWS = [
    {"name": "jump", "is_jump_host": True, "groups": ["linux"]},
    {"name": "web", "groups": ["linux"], "jump_hosts": ["jump"], "tags": ["a:1", "b:2"]},
]
GROUPS = {"linux": {"target_port": 22, "target_type": "ssh"}}


def _problems(failure):
    return str(failure.value).splitlines()


def _write(path, text):
    path.write_text(text, "utf-8")
    return path


def _refused(stack, path, text, read=Fleet.from_csv, **options):
    """Return what is wrong with a file of this text, each without the file's name."""
    with pytest.raises(BadRows) as failure:
        read(stack, "fleet", _write(path, text), **options)
    return [line.removeprefix(str(path)) for line in _problems(failure)]


def test_the_same_fleet_from_every_kind_of_file(stack, synth, tmp_path):
    table = "name,is_jump_host,groups,jump_hosts,tags\njump,true,linux,,\nweb,,linux,jump,a:1;b:2\n"
    keyed = {row["name"]: row for row in HOST_ROWS}
    files = {
        "csv": (Fleet.from_csv, table),
        "json": (Fleet.from_json, json.dumps(HOST_ROWS)),
        "object": (Fleet.from_json, json.dumps(keyed)),
        "yaml": (Fleet.from_yaml, "".join(f"- {json.dumps(row)}\n" for row in HOST_ROWS)),
        "mapping": (Fleet.from_yaml, "web: {jump_hosts: [jump], tags: ['a:1', 'b:2'], "
                    "groups: &g [linux]}\njump: {<<: {groups: *g}, is_jump_host: true}\n"),
    }  # fmt: skip
    fleets = {"rows": Fleet(stack, "rows", [HostRow(**row) for row in HOST_ROWS], groups=GROUPS)}
    for kind, (read, text) in files.items():
        fleets[kind] = read(stack, kind, _write(tmp_path / kind, text), groups=GROUPS)
    for fleet in fleets.values():
        web, jump = fleet.hosts["web"], fleet.hosts["jump"]
        assert (web.tags_input, web.target_port_input) == (["a:1", "b:2"], 22)
        assert (jump.target_type_input, jump.is_jump_host_input) == ("ssh", True)
        assert web.jump_host_ids_input == [jump.id]


def test_fifty_bad_rows_among_five_thousand_are_one_error_of_fifty_lines(stack, tmp_path):
    lines = ["name,port"] + [f"h{n},{70_000 + n if n % 100 == 7 else 22}" for n in range(5_000)]
    columns = {"port": "target_port"}
    found = _refused(stack, tmp_path / "hosts.csv", "\n".join(lines), columns=columns)
    assert len(found) == 50
    assert found[0] == ":9: target_port: cannot be 70007: it must be 1 to 65535"


def test_a_reordered_file_changes_nothing(new_stack, synth, tmp_path):
    lines = [f"h{n},10.0.0.{n}" for n in range(40)]
    found = []
    for order in (lines, lines[::-1]):
        stack = new_stack()
        path = _write(tmp_path / "hosts.csv", "\n".join(["name,private_ip", *order]))
        Fleet.from_csv(stack, "fleet", path)
        found.append(synth(stack)["resource"])
    assert json.dumps(found[0]) == json.dumps(found[1])


@pytest.mark.parametrize(*ROWS["test_what_is_wrong_with_a_row"])
def test_what_is_wrong_with_a_row(stack, rows, problems):
    with pytest.raises(BadRows) as failure:
        Fleet(stack, "fleet", rows)
    found = _problems(failure)
    assert len(found) == len(problems)
    assert all(line.startswith(start) for line, start in zip(found, problems, strict=True)), found


ALIASES = "- &a0 [1, 1]\n" + "".join(
    f"- &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 30)
)
"""Each line stands for ten times as many values as the line before."""


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (Fleet.from_csv, "name,mac\na\n", ":2: this row has 1 cell, and the table has 2 columns"),
        (Fleet.from_csv, 'name\n"a\n', ":2: this is not CSV: unexpected end of data"),
        (Fleet.from_csv, "name,tagz\na,1\nb,2\n", ":1: no such column or field: 'tagz'. Did you"),
        (Fleet.from_csv, "name;tags\na;b:1\n", ":1: 'name;tags' is one column: separate"),
        (Fleet.from_csv, "", ":1: it is empty: its first line must name the columns"),
        (Fleet.from_csv, "\n\n", ":1: it is empty: its first line must name the columns"),
        (Fleet.from_yaml, "", ": it is empty: write [] for no rows"),
        (Fleet.from_csv, "name,tags,tags\na,b:1,c:1\n", ":1: duplicate column 'tags'"),
        (Fleet.from_yaml, "a: {}\nb: {}\na: {}\n", ":3: duplicate key 'a', first in line 1"),
        (
            Fleet.from_yaml,
            "- name: a\n  agents:\n    - specialty: b\n      specialty: c\n",
            ":4: duplicate key 'specialty', first in line 3",
        ),
        (Fleet.from_yaml, "- name: a\n  knowledge: 2024-13-45\n", ":2: '2024-13-45': month must"),
        (Fleet.from_yaml, "- name: a\n  target_port: !!int x\n", ":2: 'x': invalid literal"),
        (Fleet.from_json, '{"a": {},\n "a": {}}', ":2: duplicate name 'a'"),
        (
            Fleet.from_json,
            '[{"name": "a"},\n {"name": "b", "name": "c"}]',
            ":2: duplicate name 'name'",
        ),
        (Fleet.from_yaml, "[" * 50_000, ": it is nested too deeply"),
        (Fleet.from_yaml, ALIASES, ":8: more than 5,000,000 values, counting those that aliases"),
        (Fleet.from_yaml, "- name: a\n- name: [\n", ":3: did not find expected node content"),
        (Fleet.from_yaml, "a: b\n", ":1: a row is a mapping of fields, and this is 'b'"),
        (Fleet.from_yaml, "text\n", ": expected a list of rows"),
        (Fleet.from_json, '[{"name": "a"},\n{]', ":2: Expecting property name"),
        (Fleet.from_json, "3", ": expected a list of rows"),
        (Fleet.from_json, '[{"name": "a"},\n\n {"name": 3}]', ":3: name: must be a valid string"),
    ],
)
def test_what_is_wrong_with_a_file(stack, tmp_path, read, text, problem):
    (line,) = _refused(stack, tmp_path / "hosts", text, read)
    assert line.startswith(problem)


def test_a_file_that_cannot_be_read(stack, tmp_path):
    with pytest.raises(BadRows, match=r"nowhere\.csv: it cannot be read: No such file"):
        Fleet.from_csv(stack, "fleet", tmp_path / "nowhere.csv")
    path = tmp_path / "hosts.csv"
    path.write_bytes(b"name\n\xff\n")
    with pytest.raises(BadRows, match="it cannot be read: it is not UTF-8 text"):
        Fleet.from_csv(stack, "other", path)


def test_columns_that_are_named_and_not_there(stack, tmp_path):
    told = {"key": "Hots", "columns": {"Host": "name", "Stiker": None}}
    found = _refused(stack, tmp_path / "hosts.csv", "Host,Sticker\na,1\n", **told)
    unknown, unused, key = [line.removeprefix(":1: ") for line in found]
    assert unknown.startswith("no such column or field: 'Sticker'. There are: name, ")
    assert unknown.endswith(" columns={'Sticker': …} gives it a field, or with None leaves it out.")
    assert unused == "columns names 'Stiker', which is not a column. Did you mean \"Sticker\"?"
    assert key == "key is 'Hots', which is not a column. Did you mean \"Host\"?"


def test_a_column_without_a_name_and_one_for_a_field_that_is_not_there(stack, tmp_path):
    path = _write(tmp_path / "hosts.csv", "Host,\na,\n")
    found = _refused(stack, path, path.read_text(), columns={"Host": "nme"})
    unknown, nameless = [line.removeprefix(":1: ") for line in found]
    assert unknown.startswith("columns gives 'Host' the field 'nme', which does not exist. Did you")
    assert nameless.startswith("a column has no name: ")
    Fleet.from_csv(stack, "fleet", path, columns={"Host": "name", "": None})


def test_two_columns_for_one_field(stack, tmp_path):
    text, columns = "name,Title\na,b\n", {"Title": "name"}
    found = _refused(stack, tmp_path / "hosts.csv", text, columns=columns)
    assert found == [":2: the columns 'name' and 'Title' both give name"]


def test_a_row_of_a_table_ends_at_the_end_of_its_line_only(stack, tmp_path):
    path = _write(tmp_path / "hosts.csv", "name,knowledge\na,one\u2028two\x0cthree\nb,\n")
    [host, _] = Fleet.from_csv(stack, "fleet", path).hosts.values()
    assert host.knowledge_input == "one\u2028two\x0cthree"


def test_an_agent_keeps_its_address_when_others_go(stack):
    agents = ["db", "linux", "linux", {"specialty": "linux", "key": "logs", "name": "logs"}]
    for name, left in (("all", agents), ("one", agents[1:])):
        fleet = Fleet(stack, name, [{"name": "a", "agents": left}])
        found = [one for one in fleet.hosts["a"].agents if one != "db"]
        assert found == ["linux", "linux-2", "logs"]


def test_what_exists_is_imported(stack, synth, tmp_path):
    Fleet.from_csv(
        stack, "table", _write(tmp_path / "a.csv", "name,ID\nweb,hst_1\nnew,\n"),
        columns={"ID": "import_id"},
    )  # fmt: skip
    attachments = ["plg_new", {"plugin_id": "plg_disk", "import_id": "agt_1/plg_disk"}]
    agent = {"specialty": "linux", "import_id": "agt_1", "attachments": attachments}
    Fleet(stack, "rows", [{"name": "db", "import_id": "hst_2", "agents": [agent]}])
    made = synth(stack)
    places = [block["to"].partition(".") for block in made["import"]]
    ids = [block["id"] for block in made["import"]]
    assert ids == ["hst_1", "hst_2", "agt_1", "agt_1/plg_disk"]
    declared = [made["resource"][kind][name] for kind, _, name in places]
    assert [item["name"] for item in declared[:3]] == ["web", "db", "db-linux"]
    assert declared[3]["plugin_id"] == "plg_disk"
    assert len(made["resource"]["opsconsole_agent_plugin"]) == 2


def test_what_only_terraform_knows_stands_in_rows(stack, synth):
    def variable(name, type_name):
        return cdktf.TerraformVariable(stack, name, type=type_name)

    declared = {
        "specialty": variable("specialty", "string").string_value,
        "plugins": variable("plugins", "list(string)").list_value,
    }
    row = {
        "key": "web",
        "name": variable("name", "string").string_value,
        "target_port": variable("port", "number").number_value,
        "is_jump_host": variable("jump", "bool").boolean_value,
        "target_type": "${var.kind}",
        "tags": variable("tags", "list(string)").list_value,
        "additional_names": "${var.names}",
        "eligible_subnets": ["${var.subnet}"],
        "jump_hosts": variable("jumps", "list(string)").list_value,
        "agents": [declared],
    }
    Fleet(stack, "fleet", [row])
    made = synth(stack)["resource"]
    (host,), (agent,) = made["opsconsole_host"].values(), made["opsconsole_agent"].values()
    written = {name: row[name] for name in ("target_type", "additional_names", "eligible_subnets")}
    variables = {"name": "name", "target_port": "port", "is_jump_host": "jump", "tags": "tags"}
    variables["jump_host_ids"] = "jumps"
    assert host == written | {name: f"${{var.{it}}}" for name, it in variables.items()}
    assert agent["specialty_id"] == "${var.specialty}"
    assert (agent["name"], agent["plugin_ids"]) == ("${var.name}-agent", "${var.plugins}")


def test_a_name_that_only_terraform_knows_wants_a_key(stack):
    with pytest.raises(BadRows, match="row 1: key: a key is part of an address, and this name is"):
        Fleet(stack, "fleet", [{"name": "${var.name}"}])
