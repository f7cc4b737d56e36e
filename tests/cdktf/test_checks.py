"""What is wrong with a stack as a whole: all problems in one error, each with path and line."""

import json
import re

import cdktf
import pytest
from constructs import Construct

from opsconsole_cdktf import (
    Agent,
    AgentPlugin,
    BlacklistedCommand,
    Host,
    OpsconsoleProvider,
    Specialty,
)

PLACE = re.compile(r" \(tests/cdktf/test_checks\.py:\d+\)")


def _problems(stack):
    with pytest.raises(RuntimeError) as failure:
        cdktf.Testing.synth(stack, True)
    return re.findall(r"\[stack\] (.*)", str(failure.value))


def test_all_problems_are_reported_at_once(stack):
    north = Construct(stack, "north")
    for name in ("one", "two"):
        Specialty(north, name, key="linux-server")
        BlacklistedCommand(stack, f"{name}-row", id="blk_1")
    host = Host(stack, "plain", name="plain", is_jump_host=False)
    Host(stack, "behind", name="behind", jump_host_ids=[host.id])
    agent = Agent(stack, "agent", host_id=host.id, specialty_id="s", plugin_ids=["plg_disk"])
    for name, plugin in (("first", "plg_logs"), ("second", "plg_logs"), ("third", "plg_disk")):
        AgentPlugin(stack, name, agent_id=agent.id, plugin_id=plugin)
    assert [PLACE.sub("", line) for line in _problems(stack)] == [
        "stack/north/two: the specialty with key 'linux-server' is stack/north/one already",
        "stack/two-row: the blacklisted command with id 'blk_1' is stack/one-row already",
        "stack/second: plg_logs is attached to this agent at stack/first already",
        "stack/third: plg_disk is among the plugin_ids of stack/agent too",
        "stack/behind: jump_host_ids: stack/plain declares is_jump_host false",
    ]


def test_resources_that_would_have_one_address(stack):
    """The framework leaves some characters of an id out, and keeps the last of one address."""
    for name in ("web 1", "web1", "\u00e9"):
        Host(stack, name, name=name)
    BlacklistedCommand(stack, "web  1", id="blk_1")
    Host(stack, "web.1", name="other").override_logical_id("other")
    for name in ("db 1", "db1"):
        Host(Construct(stack, name), "host", name=name)
    assert [PLACE.sub("", line) for line in _problems(stack)] == [
        "stack/web1: opsconsole_host.web1 is the address of stack/web 1 already",
        "stack/\u00e9: its id '\u00e9' holds no letter, digit, '-' or '_' for its address",
    ]


def test_a_problem_names_its_source_line(stack):
    for name in ("one", "two"):
        Specialty(stack, name, id="spc_linux")
    (line,) = _problems(stack)
    assert len(PLACE.findall(line)) == 2


def test_what_is_probably_wrong_is_a_warning(tmp_path):
    app = cdktf.App(outdir=str(tmp_path))
    stack = cdktf.TerraformStack(app, "stack")
    OpsconsoleProvider(stack, "opsconsole")
    Host(stack, "other", name="web", jump_host_ids=[Host(stack, "jump", name="web").id])
    Host(stack, "elsewhere", name="web", org_id="org_2")
    for _ in range(2):
        app.synth()
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    told = manifest["stacks"]["stack"]["annotations"]
    assert [(item["constructPath"], PLACE.sub("", item["message"])) for item in told] == [
        ("stack/other", "stack/jump is a host with the name 'web' too: declare a machine once"),
        ("stack/other", "jump_host_ids: stack/jump does not declare is_jump_host"),
    ]
    assert all(len(PLACE.findall(item["message"])) == 2 for item in told)


def test_what_only_terraform_knows_passes(stack, synth):
    text = cdktf.TerraformVariable(stack, "text", type="string").string_value
    OpsconsoleProvider(stack, "other", alias="other")
    for name in ("one", "two"):
        Specialty(stack, name, key=text)
        AgentPlugin(stack, f"{name}-plugin", agent_id="agt_1", plugin_id=text)
    many = cdktf.TerraformVariable(stack, "many", type="list(string)")
    agent = Agent(stack, "agent", host_id=None, specialty_id=None, plugin_ids=many.list_value)
    AgentPlugin(stack, "attached", agent_id=agent.id, plugin_id="plg_disk")
    assert len(synth(stack)["resource"]["opsconsole_specialty"]) == 2


def test_a_construct_that_was_taken_out_is_not_checked(stack, synth):
    Specialty(stack, "one", key="linux-server")
    stack.node.try_remove_child("one")
    Specialty(stack, "two", key="linux-server")
    assert list(synth(stack)["resource"]["opsconsole_specialty"]) == ["two"]


def test_each_app_is_checked_by_itself(new_stack, synth):
    for _ in range(2):
        stack = new_stack()
        Specialty(stack, "linux", key="linux-server")
        assert list(synth(stack)["resource"]["opsconsole_specialty"]) == ["linux"]
