"""The testing kit: assertions that fail with what is there, snapshots, native deployment."""

import sys

import pytest

from engines import run_program
from opsconsole.testing.deployment import DeploymentError
from opsconsole_cdktf import AgentPlugin, DataSpecialty, Host, ManagedHost
from opsconsole_cdktf.testing import assert_host, deploy, snapshot


@pytest.fixture
def fleet(stack):
    """A host with an agent behind a jump host."""
    web = ManagedHost(stack, "web", name="web-north", tags=["a:1", "b:2"], target_port=22)
    web.behind(ManagedHost(stack, "jump"))
    specialty = DataSpecialty(stack, "linux", key="linux-server")
    agent = web.add_agent(specialty=specialty, main_engine="engine-a")
    AgentPlugin(web, "disk", agent_id=agent.id, plugin_id="plg_disk")
    web.add_agent(specialty="spc_database", main_engine="engine-a", plugins=["plg_logs"])
    return stack


def test_assertions_about_a_host(fleet):
    host = assert_host(fleet, "web").has(target_port=22, name="web-north").has_tags("b:2")
    host.is_behind("jump").carries("linux-server", "spc_database")
    host.has_plugins("plg_disk", "plg_logs")
    assert_host(fleet, "web-north").is_behind("jump")
    assert_host(fleet, "jump").is_behind()


@pytest.mark.parametrize(
    ("asserted", "told"),
    [
        (lambda host: host.has(target_port=23), "target_port is 22, not 23"),
        (lambda host: host.has_tags("c:3"), "['c:3'] is not among its tags ['a:1', 'b:2']"),
        (lambda host: host.is_behind(), "is behind ['opsconsole_host.jump'], not behind []"),
        (lambda host: host.is_behind("web"), "not behind ['opsconsole_host.web']"),
        (lambda host: host.carries("network"), "carries ['network']"),
        (lambda host: host.has_plugins("plg_backup"), "['plg_backup'] is not among its plugins"),
    ],
)
def test_an_assertion_that_fails_says_what_is_there(fleet, asserted, told):
    with pytest.raises(AssertionError) as failure:
        asserted(assert_host(fleet, "web"))
    assert told in str(failure.value)


def test_a_host_that_is_not_there(fleet):
    with pytest.raises(AssertionError, match=r"no opsconsole_host 'mail': \['jump', 'web'\]"):
        assert_host(fleet, "mail")
    Host(fleet, "other", name="web-north")
    with pytest.raises(AssertionError, match="several opsconsole_host are called 'web-north'"):
        assert_host(fleet, "web-north")


def test_a_snapshot_is_the_same_each_time(fleet):
    text = snapshot(fleet)
    assert text == snapshot(fleet)
    assert '"name": "web-north"' in text
    assert "test_testing_kit" not in text
    assert '"//"' not in text


def test_a_stack_is_deployed_changed_and_destroyed(fleet, opsconsole_emulator):
    deployment = deploy(fleet, opsconsole_emulator)
    assert {row["name"] for row in opsconsole_emulator.rows("hosts")} == {"web-north", "jump"}
    assert deployment.state["opsconsole_host.web"]["target_port"] == 22
    assert deployment.plan() == {}
    host = opsconsole_emulator.rows("hosts")[0]
    opsconsole_emulator.change("hosts", host["id"], knowledge="changed by hand")
    assert deployment.plan() == {}, "knowledge is not declared"
    opsconsole_emulator.change("hosts", deployment.state["opsconsole_host.web"]["id"], tags=["x:1"])
    assert deployment.plan() == {"opsconsole_host.web": ["update"]}
    deployment.apply().destroy()
    assert opsconsole_emulator.rows("hosts") == []


def test_a_deployment_that_fails_says_why(stack, opsconsole_emulator):
    DataSpecialty(stack, "none", key="nothing-like-it")
    with pytest.raises(DeploymentError, match="nothing-like-it"):
        deploy(stack, opsconsole_emulator)


@pytest.mark.opsconsole_profile("strict")
def test_another_profile(opsconsole_emulator):
    assert opsconsole_emulator.profile.name == "strict"


def test_markers_that_name_no_profile_are_reported(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "class Testing:\n"
        "    def __init__(self): ...\n"
        "@pytest.mark.opsconsole_profile('strikt')\n"
        "def test_a(opsconsole_emulator): ...\n"
        "@pytest.mark.opsconsole_profile\n"
        "def test_b(opsconsole_emulator): ...\n"
    )
    words = ("-q", "-p", "no:cacheprovider", "-p", "no:asyncio")
    done = run_program(sys.executable, "-m", "pytest", *words, folder=tmp_path, expect=None)
    assert "there is no profile 'strikt'. Did you mean \"strict\"?" in done.out
    assert 'opsconsole_profile takes one name: opsconsole_profile("strict")' in done.out
    assert "2 errors" in done.out and "warning" not in done.out
