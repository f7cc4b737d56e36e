"""Commands on what state holds: list, show, forget, output, import."""

import json

import pytest

from opsconsole.state.backend import LocalBackend
from opsconsole.state.opening import open_state

HOST = {"opsconsole_host": {"a": {"name": "a"}}}
OUTPUTS = {
    "name": {"value": "${opsconsole_host.a.name}"},
    "list": {"value": ["x", 1, True]},
    "many": {"value": 3},
    "yes": {"value": True},
    "secret": {"value": "hidden", "sensitive": True},
}


def test_list_and_show(native, fleet):
    native.apply(fleet(2))
    assert native.run("state", "list", "opsconsole_host.web").out.split() == [
        "opsconsole_host.web[0]",
        "opsconsole_host.web[1]",
    ]
    shown = native.run("state", "show", "opsconsole_host.web[0]").out
    assert shown.startswith("# opsconsole_host.web[0]:\n")
    assert '    name             = "web-0"\n' in shown
    whole = native.run("show").out
    assert whole.count("\n}\n") == 7
    document = json.loads(native.run("show", "-json").out)
    resources = document["values"]["root_module"]["resources"]
    assert {item["address"] for item in resources} == set(native.addresses())
    for command in ("list", "show"):
        refused = native.run("state", command, "opsconsole_host.none", expect=1)
        assert "state list` prints" in refused.err


def test_an_empty_folder_has_no_state(native):
    refused = native.run("state", "list", expect=1)
    assert "neither a program nor a state" in refused.err
    native.write(HOST)
    assert native.run("state", "list").out == ""
    assert "Nothing is managed yet" in native.run("show").out
    assert "Nothing to add" in native.run("state", "fold").out
    result = native.run("output")
    assert (result.out, "no outputs" in result.err) == ("", True)


@pytest.mark.parametrize("words", [["rm"], ["rm", "-dry-run"]])
def test_rm_forgets_and_the_console_keeps(native, fleet, words):
    native.apply(fleet(3, agents=False))
    dry = "-dry-run" in words
    said = native.run("state", *words, "opsconsole_host.web").out
    assert said.count("\n") == 4
    assert len(native.addresses()) == (3 if dry else 0)
    assert len(native.console.rows("hosts")) == 3
    if not dry:
        assert "names nothing in the state" in native.run("state", *words, "x.y", expect=1).err


def test_an_address_that_is_almost_right_is_answered_with_the_right_one(native):
    native.apply(HOST)
    near = 'Did you mean "opsconsole_host.a"?'
    wrong = "opsconsole_hots.a"
    for words in (
        ("state", "show", wrong),
        ("state", "rm", wrong),
        ("import", wrong, "hst_1"),
        ("plan", f"--target={wrong}"),
    ):
        assert near in native.run(*words, expect=1).err


def test_state_commands_need_no_program_beside_a_state(native):
    native.apply(HOST)
    (native.folder / "cdk.tf.json").unlink()
    assert native.addresses() == ["opsconsole_host.a"]
    native.run("state", "rm", "opsconsole_host.a")
    assert native.addresses() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["name"], '"a"\n'),
        (["name", "-raw"], "a"),
        (["many", "--raw"], "3"),
        (["yes", "-raw"], "true"),
        (["secret"], '"hidden"\n'),
        (["list", "--json"], '["x", 1, true]\n'),
        (["-no-color"], None),
    ],
)
def test_outputs(native, words, said):
    native.apply(HOST, output=OUTPUTS)
    found = native.run("output", *words).out
    if said is not None:
        assert found == said
        return
    assert 'name = "a"' in found
    assert "secret = (sensitive value)" in found
    assert "hidden" not in found
    as_json = json.loads(native.run("output", "-json").out)
    assert as_json["secret"] == {"sensitive": True, "type": "string", "value": "hidden"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none"], 'There is no output "none"'),
        (["list", "-raw"], "neither text, a number nor a boolean"),
        (["-raw"], "takes the name"),
    ],
)
def test_outputs_that_cannot_be_printed(native, words, said):
    native.apply(HOST, output=OUTPUTS)
    assert said in native.run("output", *words, expect=1).err


def test_import_keeps_dependencies(native, fleet):
    native.console.create("hosts", id="hst_0", name="web-0")
    native.console.create("agents", id="agt_0", name="x", host_id="hst_0", specialty_id="spc_linux")
    native.write(fleet(1))
    native.run("import", "opsconsole_host.web[0]", "hst_0")
    native.run("import", "opsconsole_agent.a[0]", "agt_0")
    [agent] = [item for item in native.state["resources"] if item["type"] == "opsconsole_agent"]
    assert agent["instances"][0]["dependencies"] == [
        "opsconsole_host.web",
        "opsconsole_specialty.linux",
    ]


@pytest.mark.parametrize(
    ("address", "wanted", "said"),
    [
        ("opsconsole_host.a", "hst_none", "There is no host hst_none"),
        ("opsconsole_host.other", "hst_1", "declares no resource"),
        ("opsconsole_host.kept", "hst_1", "is in state already"),
        ("opsconsole_host", "hst_1", "is not a resource address"),
        ("opsconsole_host.a", " ", "The import id is empty"),
    ],
)
def test_imports_that_are_refused(native, address, wanted, said):
    native.apply(
        {"opsconsole_host": {"a": {"name": "a"}, "kept": {"name": "kept"}}},
        "-target=opsconsole_host.kept",
    )
    before = native.state
    refused = native.run("import", address, wanted, expect=1)
    assert said in refused.err
    assert refused.err.count("Error:") == 1
    assert native.state == before


def test_mv_gives_a_new_address_and_the_plan_is_empty(native, fleet):
    native.apply(fleet(2, agents=False))
    dry = native.run("state", "mv", "--dry-run", "opsconsole_host.web", "opsconsole_host.gate").out
    assert dry.count("Would move") == 2
    assert native.addresses() == ["opsconsole_host.web[0]", "opsconsole_host.web[1]"]
    said = native.run("state", "mv", "opsconsole_host.web", "opsconsole_host.gate").out
    assert said.endswith("Successfully moved 2 object(s).\n")
    assert native.addresses() == ["opsconsole_host.gate[0]", "opsconsole_host.gate[1]"]
    native.write({"opsconsole_host": {"gate": fleet(2)["opsconsole_host"]["web"]}})
    assert native.actions() == {}


def test_what_mv_refuses(native, fleet):
    native.apply(fleet(2, agents=False))
    for source, target, text in (
        ("opsconsole_host.web", "opsconsole_agent.web", "of different types"),
        ("opsconsole_host.web", "opsconsole_host.one[0]", "names 2 instances"),
        ("opsconsole_host.web[0]", "opsconsole_host.web[1]", "is in the state already"),
        ("opsconsole_host.no", "opsconsole_host.one", "names nothing in the state"),
    ):
        assert text in native.run("state", "mv", source, target, expect=1).err
    assert native.addresses() == ["opsconsole_host.web[0]", "opsconsole_host.web[1]"]


def test_a_state_is_pulled_and_pushed(native):
    native.write(HOST)
    assert native.run("state", "pull").out == ""
    native.run("apply", "--auto-approve")
    pulled = native.run("state", "pull").out
    assert json.loads(pulled) == native.state
    mine = native.folder / "mine"
    mine.write_text(pulled)
    native.run("state", "push", "mine")
    native.run("state", "rm", "opsconsole_host.a")
    assert "replace a newer one" in native.run("state", "push", "mine", expect=1).err
    native.run("state", "push", "--force", "mine")
    assert native.addresses() == ["opsconsole_host.a"]
    mine.write_text(json.dumps(json.loads(pulled) | {"lineage": "another"}))
    assert "lineage" in native.run("state", "push", "mine", expect=1).err
    assert "Check the path" in native.run("state", "push", "none", expect=1).err


@pytest.mark.parametrize(
    "words", [["mv", "opsconsole_host.a", "opsconsole_host.b"], ["push", "mine"]]
)
def test_a_state_that_is_locked_is_neither_moved_nor_pushed(native, words):
    native.apply(HOST)
    (native.folder / "mine").write_bytes(native.state_file.read_bytes())
    with open_state(LocalBackend(native.state_file, "another")):
        assert "lock" in native.run("state", *words, expect=75).err
    native.run("state", *words)


def test_a_program_for_opentofu_or_terraform_alone_is_served_by_its_state(native):
    """Providers with `for_each`, modules, other providers: only the state is needed."""
    native.apply({"opsconsole_host": {"a": {"name": "a"}}})
    state = json.loads(native.state_file.read_text())
    resource = state["resources"][0]
    address = resource.pop("provider")
    resource["instances"][0]["provider"] = f'{address}.by["east"]'
    native.state_file.write_text(json.dumps(state))
    settings = {"alias": "by", "for_each": {"east": native.console.base_url}}
    native.monkeypatch.delenv("OPSCONSOLE_BASE_URL")
    document = {
        "provider": {"opsconsole": {**settings, "base_url": "${each.value}"}},
        "resource": {"opsconsole_host": {"a": {"name": "a", "provider": 'opsconsole.by["east"]'}}},
        "module": {"m": {"source": "./m"}},
    }
    (native.folder / "cdk.tf.json").write_text(json.dumps(document))
    assert native.run("state", "list").out == "opsconsole_host.a\n"
    assert "1 in sync" in native.run("drift").out
    assert "for_each of a provider" in native.run("plan", expect=1).err
    document["terraform"] = {"encryption": {}}
    (native.folder / "cdk.tf.json").write_text(json.dumps(document))
    assert "encryption" in native.run("state", "rm", "opsconsole_host.a", expect=1).err
    (native.folder / "cdk.tf.json").rename(native.folder / "main.tofu")
    assert native.run("state", "list").out == "opsconsole_host.a\n"
