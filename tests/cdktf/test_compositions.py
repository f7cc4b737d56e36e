"""Hosts with their agents, jump hosts in chains, policies and tags; and each example deployed."""

import json

import cdktf
import jsii
import pytest
from constructs import Construct

from example_programs import EXAMPLES, synthesise
from opsconsole.testing.deployment import Deployment
from opsconsole_cdktf import (
    BlacklistPolicy,
    BlacklistRule,
    Host,
    ManagedHost,
    OpsconsoleProvider,
    Tags,
)
from opsconsole_cdktf.testing import assert_host

PROGRAMS = sorted((EXAMPLES / "compositions").glob("*/main.py"))


def test_a_host_is_named_by_its_path(stack):
    host = ManagedHost(Construct(Construct(stack, "site"), "north"), "web")
    assert host.name_input == "site-north-web"
    assert host.add_agent(specialty="spc_linux").name_input == "site-north-web-agent"
    assert host.add_agent(specialty="spc_linux").name_input == "site-north-web-agent-2"
    assert host.add_agent("db", specialty="spc_linux", name="mine").name_input == "mine"
    assert list(host.agents) == ["agent", "agent-2", "db"]
    assert ManagedHost(stack, "web", name="other").name_input == "other"


def test_a_chain_of_jump_hosts(stack):
    outer = ManagedHost(stack, "outer")
    inner = ManagedHost(stack, "inner").behind(outer)
    ManagedHost(stack, "web").behind(inner, Host(stack, "plain", name="plain"))
    assert_host(stack, "web").is_behind("inner", "plain")
    assert_host(stack, "inner").is_behind("outer").has(is_jump_host=True)
    assert_host(stack, "plain").has(is_jump_host=True)


def test_jump_hosts_that_cannot_be(stack):
    hosts = [ManagedHost(stack, name) for name in ("a", "b", "c")]
    hosts[0].behind(hosts[1])
    hosts[1].behind(hosts[2])
    with pytest.raises(ValueError, match="stack/c: a host cannot be its own jump host"):
        hosts[2].behind(hosts[2])
    with pytest.raises(
        ValueError, match="the jump hosts form a cycle: stack/c → stack/a → stack/b → stack/c"
    ):
        hosts[2].behind(hosts[0])
    other = Host(stack, "other", name="other", is_jump_host=False)
    with pytest.raises(ValueError, match="stack/other declares is_jump_host=False"):
        hosts[2].behind(other)
    with pytest.raises(TypeError, match="stack/c: behind: expected a Host, got str"):
        hosts[2].behind("hst_1")


def test_what_an_agent_refuses(stack):
    host = ManagedHost(stack, "web")
    with pytest.raises(ValueError, match="stack/web: add_agent: plugin_ids is given twice"):
        host.add_agent(specialty="spc_linux", plugins=["plg_disk"], plugin_ids=["plg_logs"])
    with pytest.raises(TypeError, match="stack/web/agent: plugin_ids: expected a string, got int"):
        host.add_agent(specialty="spc_linux", plugins=["plg_disk", 1])


def test_an_agent_of_what_only_terraform_knows(stack, synth):
    fields = {"name": "any", "one": "any", "plugins": "any"}
    known = {
        name: cdktf.Token.as_any(cdktf.TerraformVariable(stack, name, type=kind).fqn)
        for name, kind in fields.items()
    }
    late = cdktf.Lazy.any_value(_Late("${var.plugins}"))
    host = ManagedHost(stack, "web", name=known["name"])
    host.add_agent(specialty=known["one"], plugins=late)
    host.add_agent(specialty="${var.one}", plugins="${var.plugins}")
    for agent in synth(stack)["resource"]["opsconsole_agent"].values():
        assert agent["specialty_id"] == "${var.one}"
        assert agent["plugin_ids"] == "${var.plugins}"
        assert agent["name"].startswith("${var.name}-agent")


@jsii.implements(cdktf.IAnyProducer)
class _Late:
    def __init__(self, value) -> None:
        self._value = value

    def produce(self, _context):
        return self._value


def test_a_policy_names_what_is_declared_twice(stack):
    rules = {"one": "rm *", "two": "rm *", "three": {"pattern": "dd", "id": "blk_1"}}
    with pytest.raises(ValueError) as failure:
        BlacklistPolicy(stack, "policy", rules=rules)
    assert str(failure.value) == "stack/policy: two: pattern 'rm *' is declared by one too"
    with pytest.raises(ValueError, match="id 'blk_1' is declared by a too"):
        rules = {name: BlacklistRule(pattern=name, id="blk_1") for name in ("a", "b")}
        BlacklistPolicy(stack, "other", rules=rules)
    for name, rule, problem in (
        ("third", 7, "got 7"),
        ("fourth", {"regex": "rm"}, "unexpected keyword argument 'regex'"),
    ):
        with pytest.raises(TypeError, match=f"stack/{name}: it: .*{problem}"):
            BlacklistPolicy(stack, name, rules={"it": rule})


def test_a_pattern_that_another_one_covers_is_a_warning(stack, synth):
    rules = {"wide": "rm *", "narrow": "rm -rf /*", "odd": "ls [a", "ask": "rm?"}
    policy = BlacklistPolicy(stack, "policy", tenant_wide=True, rules=rules)
    told = {name: _messages(row) for name, row in policy.commands.items()}
    covered = ["'rm -rf /*' is covered by 'rm *' (wide)"]
    assert told == {"wide": [], "narrow": covered, "odd": [], "ask": []}
    rows = synth(stack)["resource"]["opsconsole_blacklisted_command"].values()
    assert all(row["tenant_wide"] is True for row in rows)


def _messages(construct):
    return [item.data for item in construct.node.metadata if item.type == "@cdktf/warn"]


def test_tags_for_every_host_under_a_scope(stack, synth):
    north = Construct(stack, "north")
    Host(north, "web", name="web", tags=["role:web", "site:north"])
    Host(stack, "mail", name="mail")
    Tags({"owner": "platform"}).add_to(stack)
    Tags({"site": "north"}).add_to(north)
    for _ in range(2):
        hosts = synth(stack)["resource"]["opsconsole_host"]
        tags = {host["name"]: host["tags"] for host in hosts.values()}
        assert tags["web"] == ["role:web", "site:north", "owner:platform"]
        assert tags["mail"] == ["owner:platform"]


def test_tags_that_only_terraform_knows_are_joined(stack, synth):
    many = cdktf.TerraformVariable(stack, "many", type="list(string)")
    Host(stack, "late", name="late", tags=many.list_value)
    Tags({"owner": "platform"}).add_to(stack)
    for _ in range(2):
        (host,) = synth(stack)["resource"]["opsconsole_host"].values()
        assert host["tags"] == '${concat(var.many, ["owner:platform"])}'


def test_tags_in_conflict_are_named_together(tmp_path):
    app = cdktf.App(outdir=str(tmp_path))
    stack = cdktf.TerraformStack(app, "stack")
    OpsconsoleProvider(stack, "opsconsole")
    for name in ("one", "two"):
        Host(stack, name, name=name, tags=["site:south"])
    Tags({"site": "north"}).add_to(stack)
    with pytest.raises(Exception) as failure:
        app.synth()
    for name in ("one", "two"):
        wanted = f"[stack/{name}] tags: site:south is declared, and site:north is asked"
        assert wanted in str(failure.value)


@pytest.mark.parametrize("tags", [{"a:b": "c"}, {"": "c"}, {"a": ""}])
def test_tags_that_cannot_be(tags):
    with pytest.raises(ValueError, match="tag "):
        Tags(tags)


@pytest.mark.terraform
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.parent.name)
def test_an_example_is_deployed_by_both_engines(program, tmp_path, terraform, opsconsole_emulator):
    synthesised = json.loads(synthesise(program, tmp_path).read_text("utf-8"))
    deployment = Deployment(synthesised, opsconsole_emulator).apply()
    assert deployment.state
    assert deployment.plan() == {}

    opsconsole_emulator.reset()
    synthesised["terraform"].pop("backend")
    engine = terraform(synthesised, opsconsole_emulator)
    engine.apply()
    assert engine.plan().code == 0
