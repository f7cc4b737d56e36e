"""With the program: its provider settings, what is pending, and where a resource is declared."""

import json
from pathlib import Path
from typing import Any

import pytest

from declarations import hosts, write_stacks
from opsconsole.language.model import Origin

HOST = hosts(web={})


def test_unapplied_resources_are_pending(native, world):
    native.apply(**world(hosts=2))
    native.write(**world(hosts=3))
    found = native.drift("--program", expect=0)
    assert found.addresses("pending") == {
        "opsconsole_host.web[2]",
        "opsconsole_agent.ops[2]",
        "opsconsole_agent_plugin.disk[2]",
    }
    assert found.document["summary"]["coverage"]["required_percent"] == 100
    assert native.drift().addresses("pending") == set()
    assert native.drift("terraform.tfstate", "--program").addresses("pending") == (
        found.addresses("pending")
    )


def test_moved_resources_are_not_pending(native):
    native.apply(hosts(a={}, b={"count": 1}))
    moved = [
        {"from": f"opsconsole_host.{source}", "to": f"opsconsole_host.{target}"}
        for source, target in ("aw", "wx", "by")
    ]
    native.write(hosts(x={"name": "a"}, y={"name": "b", "count": 2}), moved=moved)
    assert native.drift("--program").addresses("pending") == {"opsconsole_host.y[1]"}
    # As in a plan, a resource that loses `count` keeps its first instance.
    native.write(hosts(a={}, b={"name": "b"}))
    assert native.drift("--program").addresses("pending") == set()
    twice = [{"from": "opsconsole_host.a", "to": f"opsconsole_host.{name}"} for name in "cd"]
    native.write(hosts("a"), moved=[*moved, *twice])
    told = native.drift("--program").told
    assert "pending resources cannot be determined" in told
    assert "Two moved blocks contradict each other" in told


def test_undetermined_resources_of_the_program_are_reported(native):
    native.apply(HOST)
    for_each = "${toset([opsconsole_host.new.id])}"
    native.write(hosts(web={}, new={}, more={"for_each": for_each}))
    found = native.drift("--program", expect=0)
    assert found.addresses("pending") == {"opsconsole_host.new"}
    assert "pending resources of opsconsole_host.more cannot be determined" in found.told


def test_settings_come_from_the_provider_block(native):
    native.apply(HOST)
    key = "svc_ak_other"
    native.console.create(
        "keys", id="key_other", secret=key, status="active", org_id="org_main", tenant_write=True
    )
    native.console.change("keys", "key_main", status="revoked")
    assert native.drift().code == 1
    native.settings["api_key"] = key
    native.write(HOST)
    assert native.drift().code == 0
    assert native.drift("--dir", ".").code == 0
    assert native.drift("terraform.tfstate", "--dir", ".").code == 0
    # A state that is named alone is checked with the environment's settings.
    assert native.drift("terraform.tfstate").code == 1
    assert key not in json.dumps(native.drift().document)


def test_drift_takes_variables(native):
    native.settings["org_id"] = "${var.org}"
    native.write(HOST, variable={"org": {"type": "string"}})
    native.run("apply", "-auto-approve", "-var", "org=org_main")
    assert native.drift("-var", "org=org_main").code == 0
    assert 'variable "org" is not set' in native.run("drift", expect=1).err
    native.write(HOST, terraform={"backend": {"local": {"path": "${var.where}"}}})
    assert "hold an expression: ${var.where}" in native.drift(expect=1).told


def test_settings_that_are_known_only_after_apply(native):
    native.apply(HOST)
    native.settings["org_id"] = "${opsconsole_host.new.org_id}"
    native.write(hosts(web={}, new={}))
    found = native.drift(expect=1)
    assert found.bucket("opsconsole_host.web") == "unchecked"
    assert "known only after apply" in found.told


def test_an_unmanaged_object_of_any_id_is_declared_nowhere(native, world):
    program = world()
    program["moved"] = [{"from": "opsconsole_host.old", "to": "opsconsole_host.jump"}]
    native.apply(**program)
    agent_id = native.id_of("opsconsole_agent.ops[0]")
    native.console.create("plugins", id='plg_"odd"[0]', name="Odd", enabled=True)
    native.console.create("attachments", agent_id=agent_id, plugin_id='plg_"odd"[0]')
    assert native.drift(expect=2).drifted == {f'{agent_id}/plg_"odd"[0]'}


@pytest.mark.parametrize(
    ("trace", "location"),
    [
        (("new Host (/app/main.py:12:5)", "/app/lib.py:3"), "main.py:12"),
        (("/app/stacks/web.py:7",), "stacks/web.py:7"),
        (("main.py:9",), "main.py:9"),
        (("file:///app/main.py:12:5",), "main.py:12"),
        (("/elsewhere/main.py:12:5",), "/elsewhere/main.py:12"),
        (("<anonymous>", "at (/app/main.py:4)"), "main.py:4"),
        (("nothing of use",), ""),
        ((), ""),
    ],
)
def test_declared_location_of_a_resource(trace, location):
    assert Origin("cdk.tf.json", "fleet/web", trace).location(Path("/app")) == location


@pytest.fixture
def stacks(native: Any) -> Any:
    """Two stacks as synthesis writes them, applied; the app of cdktf.json would fail if run."""
    written = {}
    for name in ("north", "south"):
        trace = [f"new Host ({native.folder}/main.py:{len(name)}:1)"]
        note = {"metadata": {"path": f"{name}/web", "uniqueId": "web", "stackTrace": trace}}
        host = {"name": name, "//": note}
        written[name] = {"resource": {"opsconsole_host": {"web": host}}}
    write_stacks(native.folder, written)
    for name in written:
        folder = native.folder / "cdktf.out" / "stacks" / name
        native.run("apply", "-auto-approve", "--dir", str(folder))
    (native.folder / "cdktf.json").write_text(json.dumps({"language": "python", "app": "false"}))
    return native


def test_all_stacks_of_an_app_or_one_are_checked(stacks):
    """The app runs only if it is asked for."""
    found = stacks.drift(expect=0)
    assert {item["stack"] for item in found.findings} == {"north", "south"}
    assert {item["construct_path"] for item in found.findings} == {"north/web", "south/web"}
    assert {item["location"] for item in found.findings} == {"main.py:5"}
    found = stacks.drift("--stack", "south")
    assert [item["stack"] for item in found.findings] == ["south"]
    for words, said in (
        (["--stack", "sooth"], 'There is no stack "sooth"'),
        (["--program"], "The app failed"),
        (["--program", "nowhere"], "There is no directory nowhere"),
    ):
        assert said in stacks.run("drift", *words, expect=1).err


def test_the_check_of_one_stack_calls_no_entry_of_the_baseline_unused(stacks):
    stacks.console.change("hosts", stacks.console.rows("hosts")[0]["id"], tags=["by:hand"])
    stacks.drift("--accept", "--reason", "known", expect=0)
    for words in ([], ["--stack", "north"], ["--stack", "south"]):
        assert stacks.drift(*words, expect=0).document["baseline"] == []


def test_a_state_finds_its_stack(stacks):
    found = stacks.drift("terraform.south.tfstate", "--dir", "cdktf.out/stacks/south")
    assert found.of("opsconsole_host.web")["construct_path"] == "south/web"
    (stacks.folder / "cdktf.json").unlink()
    found = stacks.drift(".", "--program")
    assert {item["construct_path"] for item in found.findings} == {"north/web", "south/web"}
    other = stacks.folder / "other.tfstate"
    other.write_bytes((stacks.folder / "terraform.south.tfstate").read_bytes())
    found = stacks.drift("other.tfstate", "--program", expect=0)
    assert "1 state belongs to no stack of the program" in found.told
