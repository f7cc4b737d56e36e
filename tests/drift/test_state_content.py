"""What of a state is checked: modules, deposed objects, aliases, sensitive and unseen values."""

import asyncio
import base64
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from opsconsole.drift.check import CheckOptions, check
from opsconsole.drift.model import Bucket, CheckOutcome, judge
from opsconsole.drift.stack import Stack, read_states
from opsconsole.errors import Stopped
from opsconsole.lifecycle.private_state import PrivateState
from opsconsole.reconcile.providers import OpenedProviders
from opsconsole.reports.formats import FORMATS
from opsconsole.state import LocalBackend, open_state

LINUX = "opsconsole_specialty.linux"
ONE = {"opsconsole_specialty": {"linux": {"key": "linux-server"}}}
HOST = {"opsconsole_host": {"web": {"name": "web"}}}


@contextmanager
def edited(native: Any, folder: str = "") -> Iterator[list[dict[str, Any]]]:
    """Change the resources of a state as Terraform might have written them."""
    path = native.folder / folder / "terraform.tfstate"
    document = json.loads(path.read_text())
    yield document["resources"]
    path.write_text(json.dumps(document))


def test_resources_of_other_providers_are_passed_over(native):
    native.apply(ONE)
    provider = {"provider": 'provider["terraform.io/builtin/terraform"]'}
    instances = [{"schema_version": 0, "attributes": {"id": "1"}}]
    foreign = {"mode": "managed", "type": "terraform_data", "name": "x", **provider}
    foreign["instances"] = instances
    with edited(native) as resources:
        resources += [foreign, {**foreign, "mode": "data", "type": "opsconsole_specialty"}]
    found = native.drift("terraform.tfstate", expect=0)
    assert {item["address"] for item in found.findings if item["bucket"] == "in_sync"} == {LINUX}
    assert "not checked: 1 resource of other providers" in found.told


def test_deposed_objects_and_modules_are_checked(native):
    native.apply(HOST)
    native.console.change("hosts", native.id_of("opsconsole_host.web"), knowledge="changed")
    with edited(native) as resources:
        [host] = resources
        [instance] = host["instances"]
        host["instances"] = [instance, {**instance, "deposed": "0badcafe"}]
        resources.append({**host, "module": "module.m", "instances": [instance]})
    assert native.drift("terraform.tfstate").drifted == {
        "opsconsole_host.web",
        "opsconsole_host.web (deposed 0badcafe)",
        "module.m.opsconsole_host.web",
    }


def test_objects_of_a_newer_release_or_another_program_are_unchecked(native):
    native.apply(ONE)
    [held] = native.state["resources"]
    with edited(native) as resources:
        resources.append({**held, "type": "opsconsole_runbook"})
    found = native.drift("terraform.tfstate", expect=1)
    assert "opsconsole_runbook.linux cannot be checked" in found.told
    assert "other providers" not in found.told

    newer = [{**held["instances"][0], "schema_version": 1}]
    for part, said in (
        ({"instances": newer}, "A newer release of opsconsole wrote it"),
        (
            {"provider": held["provider"] + ".west"},
            "opsconsole.west is in a program that was not named",
        ),
        (
            {"provider": "module.m." + held["provider"]},
            f"module.m.{held['provider']} is in a program that was not named",
        ),
    ):
        with edited(native) as resources:
            resources[:] = [held | part]
        found = native.drift("terraform.tfstate", expect=1)
        assert said in found.told + found.of(LINUX)["reason"]
        # It has a bucket like any other, so no coverage claims that all was seen.
        assert found.bucket(LINUX) == "unchecked"
        assert found.document["summary"]["coverage"]["required_percent"] == 0
        assert found.document["calls"] == {}


def test_an_attachment_of_a_newer_schema_is_managed(native, world):
    native.apply(**world())
    with edited(native) as resources:
        for resource in resources:
            if resource["type"] == "opsconsole_agent_plugin":
                resource["instances"][0]["schema_version"] = 1
                resource["instances"][0]["attributes"]["tags"] = {"of": "another shape"}
    found = native.drift("terraform.tfstate", expect=1)
    assert found.bucket("opsconsole_agent_plugin.disk[0]") == "unchecked"
    assert found.bucket("opsconsole_agent_plugin.disk[1]") == "in_sync"
    assert found.drifted == set()


def test_a_state_that_cannot_be_read_hides_no_other(native, world):
    """It is of another version, or an attribute in it is of another shape."""
    (native.folder / "b.tfstate").write_text('{"version": 9}')
    native.at("broken").apply(**world())
    native.at("whole").apply(ONE)
    with edited(native, "broken") as resources:
        [agent, *_] = [item for item in resources if item["type"] == "opsconsole_agent"]
        agent["instances"][0]["attributes"]["credential_config"] = ["x"]
    found = native.drift(".", expect=1)
    assert "b: its state was not read" in found.told
    assert "broken: its state was not read" in found.told
    assert "credential_config" in found.told
    assert found.bucket(LINUX) == "in_sync"


def test_a_create_of_unknown_outcome_is_unchecked(native):
    """An agent too, although no documented operation shows agents."""
    agent = {"name": "ops", "host_id": "${opsconsole_host.web.id}", "specialty_id": "spc_linux"}
    native.apply(HOST | {"opsconsole_agent": {"ops": agent}})
    for number, address in enumerate(("opsconsole_agent.ops", "opsconsole_host.web")):
        with edited(native) as resources:
            own = resources[number]["instances"][0]["attributes"]
            before, own["id"] = own["id"], "outcome-unknown/0123456789abcdef"
        found = native.drift("terraform.tfstate", expect=1)
        assert found.bucket(address) == "unchecked"
        assert "It is not known" in found.of(address)["reason"]
        [told] = [item for item in found.document["diagnostics"] if "state rm" in item["detail"]]
        assert f"`opsconsole state rm '{address}'`" in told["detail"]
        with edited(native) as resources:
            resources[number]["instances"][0]["attributes"]["id"] = before


def test_an_agent_that_was_created_archived_is_told_and_no_drift(native, world):
    native.apply(**world())
    address = "opsconsole_agent.whole"
    native.console.change("agents", native.id_of(address), status="archived")
    with edited(native) as resources:
        [agents] = [item for item in resources if item["name"] == "whole"]
        agents["instances"][0]["private"] = base64.b64encode(b'{"created_archived":true}').decode()
    found = native.drift("terraform.tfstate", expect=0)
    assert found.bucket(address) == "unchecked"
    assert 'warning: The agent "whole"' in found.told and "was created archived" in found.told


@pytest.mark.parametrize("imported", [True, False])
def test_value_seen_for_the_first_time_is_no_drift(native, imported):
    """An imported host holds nulls until it is read, and an older release lacks attributes."""
    native.apply(HOST)
    native.console.change("hosts", native.id_of("opsconsole_host.web"), knowledge="news")
    with edited(native) as [host]:
        [instance] = host["instances"]
        known = {"id": instance["attributes"]["id"], "name": "web"}
        if imported:
            instance["attributes"] = dict.fromkeys(instance["attributes"]) | known
            del instance["private"]
        else:
            del instance["attributes"]["knowledge"]
    found = native.drift("terraform.tfstate", expect=0)
    assert found.bucket("opsconsole_host.web") == "in_sync"
    assert "seen for the first time" in found.of("opsconsole_host.web")["reason"]
    assert "knowledge" in found.of("opsconsole_host.web")["reason"]


def test_unshown_attribute_is_in_sync_unless_state_holds_it(native_on):
    """A console that leaves out what is unset, and a state that an import has just made."""
    native = native_on("sparse")
    native.apply(HOST)
    address = "opsconsole_host.web"
    with edited(native) as [host]:
        private = host["instances"][0].pop("private")
    found = native.drift("terraform.tfstate", expect=0)
    assert found.bucket(address) == "in_sync"
    assert "knowledge" in found.of(address)["unobserved"]

    with edited(native) as [host]:
        [instance] = host["instances"]
        instance["attributes"]["mac"] = "02:00:00:00:00:01"
        private_state = PrivateState.decode(base64.b64decode(private))
        less = private_state._replace(observed=private_state.observed - {"mac", "knowledge"})
        instance["private"] = base64.b64encode(less.encode()).decode()
    found = native.drift("terraform.tfstate", expect=1)
    assert found.bucket(address) == "unchecked"
    assert found.of(address)["reason"] == "the console did not show mac, which state holds"
    assert found.of(address)["unobserved"] == ["mac"]
    native.console.change("hosts", native.id_of(address), knowledge="changed")
    found = native.drift("terraform.tfstate")
    assert found.bucket(address) == "changed"
    assert found.of(address)["unobserved"] == ["mac"]


def test_sensitive_values_stay_hidden(native):
    native.apply({"opsconsole_host": {"web": {"name": "web", "knowledge": "hush"}}})
    with edited(native) as [host]:
        [instance] = host["instances"]
        instance["sensitive_attributes"] = [[{"type": "get_attr", "value": "knowledge"}]]
    native.console.change("hosts", instance["attributes"]["id"], knowledge="hush hush")
    found = native.drift("terraform.tfstate", expect=2)
    assert found.changed("opsconsole_host.web") == {"knowledge": (None, None)}
    assert "hush" not in str(found.document)


def test_a_sensitive_name_is_no_label(native):
    secret = {"variable": {"name": {"default": "hush", "sensitive": True}}}
    host = {"web": {"name": "${var.name}", "knowledge": "told"}}
    command = {"format": {"id": "blk_format", "pattern": "${var.name}"}}
    resources = {"opsconsole_host": host, "opsconsole_blacklisted_command": command}
    native.apply(resources, **secret)
    native.console.change("hosts", native.id_of("opsconsole_host.web"), knowledge="changed")
    native.console.change("blacklists", "blk_format", description="changed")
    for name in FORMATS:
        assert "hush" not in native.run("drift", "--format", name, expect=2).text, name


def test_drift_under_a_lock_may_be_the_work_of_a_run(native):
    """It changes the console first and writes its state then."""
    native.apply(HOST)
    native.console.change("hosts", native.id_of("opsconsole_host.web"), knowledge="changed")
    path = native.folder / "terraform.tfstate"
    with open_state(LocalBackend(path)):
        found = native.drift()
    assert found.code == 2
    assert "its state is locked by" in found.told and "opsconsole apply" in found.told
    assert "locked" not in native.drift().told


@pytest.mark.parametrize(
    ("again", "told"),
    [
        (b'"knowledge": "new"', "its state was written while it was checked"),
        (b'"knowledge": ', "its state was not read again"),
    ],
)
def test_a_state_written_meanwhile_is_no_drift(native, again, told):
    """An apply at work changes the console first and the state after it."""
    native.apply(HOST)

    class Moving(LocalBackend):
        reads = 0

        def read(self) -> bytes:
            self.reads += 1
            data = super().read()
            return data if self.reads == 1 else data.replace(b'"knowledge": null', again)

    native.console.change("hosts", native.id_of("opsconsole_host.web"), knowledge="new")
    stack = Stack("fleet", Moving(native.folder / "terraform.tfstate"))
    states, environ = read_states([stack], all_stacks=True), os.environ | native.console.environment
    report = asyncio.run(check(states, CheckOptions(), environ))
    assert [item.bucket for item in report.drifted_findings] == [Bucket.CHANGED]
    assert judge(report).outcome is CheckOutcome.UNDETERMINED
    assert told in report.diagnostics[0].summary
    assert 0 < report.seconds < time.monotonic()
    with pytest.raises(Stopped):
        asyncio.run(check(states, CheckOptions(), environ, lambda pool: pool.stop()))


def test_a_check_that_is_stopped_sends_no_further_request(native):
    native.apply({"opsconsole_host": {"web": {"count": 3, "name": "web-${count.index}"}}})
    native.console.reset_log()
    stack = Stack("fleet", LocalBackend(native.folder / "terraform.tfstate"))
    environ = {**os.environ, **native.console.environment, "OPSCONSOLE_MAX_CONCURRENCY": "1"}

    async def stop_at_first_request() -> None:
        pools: list[OpenedProviders] = []
        states = read_states([stack], all_stacks=True)
        running = asyncio.create_task(check(states, CheckOptions(), environ, pools.append))
        for _ in range(10_000):
            if native.console.request_counts():
                break
            await asyncio.sleep(0)
        pools[0].stop()
        await running

    with pytest.raises(Stopped):
        asyncio.run(stop_at_first_request())
    assert native.console.request_counts() == {"host_update": 1}
