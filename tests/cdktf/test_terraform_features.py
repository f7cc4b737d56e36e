"""What users of cdktf's generated bindings rely on: counts, iterators, imports, moves, aspects."""

import json
from pathlib import Path

import cdktf
import jsii
import pytest
from jsii._kernel.providers.process import _NodeProcess

from opsconsole_cdktf import (
    Agent,
    DataSpecialties,
    DataSpecialty,
    Host,
    MovedBlocks,
    OpsconsoleProvider,
    Specialty,
)


def _hosts(synthesised):
    return synthesised["resource"]["opsconsole_host"]


def test_count_and_iterators(stack, synth):
    count = cdktf.TerraformCount.of(3)
    Host(stack, "counted", name=f"web-{cdktf.Token.as_string(count.index)}", count=count)
    Host(stack, "three", name="web", count=3)
    names = cdktf.TerraformIterator.from_list(["a", "b"])
    each = Host(stack, "each", name=names.value, for_each=names)
    host_id = "${opsconsole_host.each[each.key].id}"
    Agent(stack, "agents", for_each=names, host_id=host_id, specialty_id="s")
    cdktf.TerraformOutput(stack, "ids", value=each.id)
    synthesised = synth(stack)
    assert _hosts(synthesised)["counted"] == {"count": 3, "name": "web-${count.index}"}
    assert _hosts(synthesised)["three"]["count"] == 3
    assert _hosts(synthesised)["each"] == {
        "for_each": '${toset(["a", "b"])}',
        "name": "${each.value}",
    }
    assert synthesised["output"]["ids"]["value"] == "${opsconsole_host.each.*.id}"


def test_a_list_of_objects_can_be_iterated(stack, synth):
    iterator = DataSpecialties(stack, "all").specialties.all_with_map_key("key")
    Agent(stack, "each", for_each=iterator, host_id=None, specialty_id=iterator.get_string("id"))
    agent = synth(stack)["resource"]["opsconsole_agent"]["each"]
    assert agent["specialty_id"] == '${each.value["id"]}' or agent["specialty_id"] == (
        "${each.value.id}"
    )
    assert "data.opsconsole_specialties.all.specialties" in agent["for_each"]


def test_lifecycle_and_dependencies(stack, synth):
    first = Host(stack, "first", name="first")
    data = DataSpecialty(stack, "data", key="k", depends_on=[first])
    lifecycle = cdktf.TerraformResourceLifecycle(
        prevent_destroy=True, ignore_changes=["tags"], replace_triggered_by=[first]
    )
    Host(stack, "second", name="second", depends_on=[first, data], lifecycle=lifecycle)
    Host(stack, "third", name="third", lifecycle={"create_before_destroy": True})
    synthesised = synth(stack)
    needed = ["opsconsole_host.first", "data.opsconsole_specialty.data"]
    lifecycle = {"prevent_destroy": True, "ignore_changes": ["tags"]}
    lifecycle["replace_triggered_by"] = ["opsconsole_host.first"]
    second = {"name": "second", "depends_on": needed, "lifecycle": lifecycle}
    assert _hosts(synthesised)["second"] == second
    assert _hosts(synthesised)["third"]["lifecycle"] == {"create_before_destroy": True}
    assert synthesised["data"]["opsconsole_specialty"]["data"]["depends_on"] == [
        "opsconsole_host.first"
    ]


def test_triggers_are_written_as_terraform_reads_them_in_json(stack, synth):
    first = Host(stack, "first", name="first")
    triggers = [first, "opsconsole_host.first.mac"]
    Host(stack, "second", name="second", lifecycle={"replace_triggered_by": triggers})
    first.override_logical_id("renamed")
    triggers = [first.external_id]
    Host(stack, "third", name="third", lifecycle={"replace_triggered_by": triggers})
    hosts = _hosts(synth(stack))
    assert hosts["second"]["lifecycle"]["replace_triggered_by"] == [
        "opsconsole_host.renamed",
        "opsconsole_host.first.mac",
    ]
    assert hosts["third"]["lifecycle"]["replace_triggered_by"] == [
        "opsconsole_host.renamed.external_id"
    ]
    hcl = " ".join(cdktf.Testing.synth_hcl(stack).split())
    assert 'replace_triggered_by = [ "${opsconsole_host.renamed.external_id}", ]' in hcl


def test_provider_aliases(stack, synth):
    lab = OpsconsoleProvider(stack, "lab", alias="lab", base_url="https://lab.example")
    assert lab.alias == "lab"
    Host(stack, "there", name="there", provider=lab)
    DataSpecialty(stack, "data", key="k", provider=lab)
    Host(stack, "here", name="here")
    lab.alias = "laboratory"
    synthesised = synth(stack)
    assert synthesised["provider"]["opsconsole"] == [
        {},
        {"alias": "laboratory", "base_url": "https://lab.example"},
    ]
    assert lab.alias_input == "laboratory"
    assert _hosts(synthesised)["there"]["provider"] == "opsconsole.laboratory"
    assert "provider" not in _hosts(synthesised)["here"]
    data = synthesised["data"]["opsconsole_specialty"]["data"]
    assert data["provider"] == "opsconsole.laboratory"


def test_an_alias_taken_back(synth):
    stack = cdktf.TerraformStack(cdktf.Testing.app(), "stack")
    provider = OpsconsoleProvider(stack, "it", alias="lab")
    provider.reset_alias()
    Host(stack, "host", name="host", provider=provider)
    synthesised = synth(stack)
    assert synthesised["provider"]["opsconsole"] == [{}]
    assert _hosts(synthesised)["host"]["provider"] == "opsconsole"


def test_a_stack_without_a_provider_is_refused(synth):
    stack = cdktf.TerraformStack(cdktf.Testing.app(), "stack")
    Host(stack, "it", name="it")
    with pytest.raises(RuntimeError, match="without a matching provider construct"):
        synth(stack)


def test_imports_and_moves(stack, synth):
    lab = OpsconsoleProvider(stack, "lab", alias="lab")
    Host(stack, "known", name="known").import_from("hst_1")
    Host(stack, "there", name="there", provider=lab).import_from("hst_2", lab)
    Host.generate_config_for_import(stack, "new", "hst_3")
    Specialty.generate_config_for_import(stack, "adopted", "key=database", lab)
    Host(stack, "target", name="target").add_move_target("somewhere")
    Host(stack, "source", name="target").move_to("somewhere")
    synthesised = synth(stack)
    assert synthesised["import"] == [
        {"id": "hst_1", "to": "opsconsole_host.known"},
        {"id": "hst_2", "to": "opsconsole_host.there", "provider": "opsconsole.lab"},
        {"id": "hst_3", "to": "opsconsole_host.new"},
        {"id": "key=database", "to": "opsconsole_specialty.adopted", "provider": "opsconsole.lab"},
    ]
    assert synthesised["moved"] == [
        {"from": "opsconsole_host.source", "to": "opsconsole_host.target"}
    ]
    assert "source" not in _hosts(synthesised)


def test_moved_blocks_of_a_file(stack, synth, tmp_path):
    path = tmp_path / "moved.json"
    MovedBlocks(stack, "none", tmp_path / "nowhere.json")
    blocks = [{"from": "opsconsole_host.a", "to": 'opsconsole_host.b["c"]'}]
    path.write_text(json.dumps({"moved": blocks}))
    MovedBlocks(stack, "moves", path)
    Host(stack, "gate", name="gate").move_from_id("opsconsole_host.web")
    assert synth(stack)["moved"] == [
        *blocks,
        {"from": "opsconsole_host.web", "to": "opsconsole_host.gate"},
    ]
    assert 'to = opsconsole_host.b["c"]' in cdktf.Testing.synth_hcl(stack)
    for text, problem in (
        ("{", "it is not JSON"),
        ('{"moved": [{"from": "x"}]}', "expected an object"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"moved.json: {problem}"):
            MovedBlocks(stack, "bad", path)


def test_overrides_win(stack, synth):
    host = Host(stack, "it", name="it", tags=["a:1"])
    host.add_override("knowledge", "by hand")
    host.add_override("name", "other")
    host.override_logical_id("chosen")
    assert _hosts(synth(stack)) == {
        "chosen": {"name": "other", "tags": ["a:1"], "knowledge": "by hand"}
    }


@jsii.implements(cdktf.IAspect)
class _Tag:
    def visit(self, node) -> None:
        if isinstance(node, Host):
            node.tags = [*(node.tags_input or []), "team:ops"]


def test_aspects_change_what_is_declared(stack, synth):
    Host(stack, "one", name="one", tags=["a:1"])
    Host(stack, "two", name="two")
    cdktf.Aspects.of(stack).add(_Tag())
    hosts = _hosts(synth(stack))
    assert hosts["one"]["tags"] == ["a:1", "team:ops"]
    assert hosts["two"]["tags"] == ["team:ops"]


def test_a_construct_costs_no_message_to_python_while_it_is_synthesised(stack, synth, monkeypatch):
    sent = []
    send = _NodeProcess.send

    def counted(process, request, response_type):
        sent.append(request)
        return send(process, request, response_type)

    monkeypatch.setattr(_NodeProcess, "send", counted)
    needed = {}
    for count in (10, 20):
        for number in range(count - 10, count):
            Host(stack, f"host{number}", name=f"host-{number}", tags=["a:1"])
        sent.clear()
        assert len(_hosts(synth(stack))) == count
        needed[count] = len(sent)
    assert needed[10] == needed[20] > 0


def test_references_between_stacks():
    app = cdktf.Testing.app()
    first, second = cdktf.TerraformStack(app, "first"), cdktf.TerraformStack(app, "second")
    for stack in (first, second):
        OpsconsoleProvider(stack, "opsconsole")
    Agent(second, "agent", host_id=Host(first, "host", name="host").id, specialty_id="s")
    app.synth()
    read = {
        name: json.loads(Path(app.outdir, "stacks", name, "cdk.tf.json").read_text("utf-8"))
        for name in ("first", "second")
    }
    (output,) = read["first"]["output"].values()
    assert output["value"] == "${opsconsole_host.host.id}"
    assert (
        "terraform_remote_state"
        in read["second"]["resource"]["opsconsole_agent"]["agent"]["host_id"]
    )


def test_hcl_output(stack):
    host = Host(stack, "it", name="it", tags=["a:1"], target_port=22, skip_tls_verify=True)
    Specialty(stack, "s", key="k", timeouts={"delete": "2m"})
    credentials = [{"credential_id": "crd_1", "order": 1}]
    Agent(stack, "a", host_id=host.id, specialty_id="s", credential_config=credentials)
    DataSpecialty(stack, "d", key="k")
    hcl = " ".join(cdktf.Testing.synth_hcl(stack).split())
    for part in (
        'resource "opsconsole_host" "it" {',
        "target_port = 22",
        "skip_tls_verify = true",
        'timeouts = { delete = "2m" }',
        'host_id = "${opsconsole_host.it.id}"',
        'credential_config = [ { credential_id = "crd_1" order = 1 }, ]',
        'data "opsconsole_specialty" "d" {',
    ):
        assert part in hcl
