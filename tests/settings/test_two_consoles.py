"""One program on two consoles: an id says something within its own console only."""

from collections.abc import Iterator
from typing import Any

import pytest

from engines import Run
from native_project import PROVIDER, leave_intents
from opsconsole.emulator import Emulator, serve
from opsconsole.state import Intent

HOST, AGENT, SPECIALTY = "opsconsole_host", "opsconsole_agent", "opsconsole_specialty"


@pytest.fixture
def other(native: Any) -> Iterator[Emulator]:
    """Another console; both have the host `hst_a`."""
    with serve("default") as other:
        for console in (native.console, other):
            console.create("hosts", id="hst_a", name="a")
        yield other


def write(native: Any, resource: dict[str, Any], *imports: Any, **second: Any) -> None:
    """Declare resources under two provider configurations, `opsconsole.other` being the second."""
    shared = native.settings | {"on_existing_host": "adopt"}
    providers = {"opsconsole": [shared, shared | second | {"alias": "other"}]}
    native.write(resource, provider=providers, **{"import": [*imports]})


def apply(native: Any, resource: dict[str, Any], *, expect: int = 0, **second: Any) -> Run:
    """Apply resources that are declared so."""
    write(native, resource, **second)
    return native.run("apply", "-auto-approve", expect=expect)


def elsewhere(**values: Any) -> dict[str, Any]:
    return {"provider": "opsconsole.other", **values}


def test_deletion_on_one_console_ignores_the_same_ids_on_the_other(native, other):
    agent = {"name": "x", "host_id": "hst_a", "specialty_id": "spc_linux"}
    staying = {HOST: {"b": elsewhere(name="a")}}
    staying[AGENT] = {"b": elsewhere(**agent, depends_on=[f"{HOST}.b"])}
    leaving = {HOST: {"a": {"name": "a"}}, SPECIALTY: {"a": {"key": "linux-server"}}}
    leaving[AGENT] = {"a": {**agent, "depends_on": [f"{HOST}.a"]}}
    both = {kind: leaving[kind] | staying.get(kind, {}) for kind in leaving}
    apply(native, both, base_url=other.base_url)
    write(native, staying, base_url=other.base_url)
    assert f"archived by the deletion of {HOST}.a" in native.run("plan", expect=None).out
    native.run("apply", "-auto-approve")
    assert native.addresses() == [f"{AGENT}.b", f"{HOST}.b"]
    assert [row["status"] for row in other.rows("agents")] != ["archived"]
    assert native.run("plan", "-detailed-exitcode").code == 0


@pytest.mark.parametrize(
    "words",
    [
        *(("plan",), ("plan", "-refresh-only"), ("plan", "-refresh=false")),
        *(("apply", "-auto-approve"), ("destroy", "-auto-approve")),
    ],
)
def test_an_object_of_a_provider_that_is_not_declared_is_left_alone(native, other, words):
    apply(native, {HOST: {"b": elsewhere(name="b")}}, base_url=other.base_url)
    native.console.reset_log()
    native.write()
    refused = native.run(*words, expect=1)
    assert "The program has no provider configuration opsconsole.other." in refused.text
    assert "Declare it until no object in state uses it" in refused.text
    assert native.addresses() == [f"{HOST}.b"]
    assert native.console.requests() == []
    assert [row["name"] for row in other.rows("hosts")] == ["a", "b"]
    native.run("state", "rm", f"{HOST}.b")
    native.run("plan", "-detailed-exitcode")


def test_drift_of_a_provider_that_is_not_declared_is_unchecked(native, other):
    apply(native, {HOST: {"a": {"name": "a"}, "b": elsewhere(name="b")}}, base_url=other.base_url)
    native.write({HOST: {"a": {"name": "a"}}})
    found = native.drift(expect=1)
    assert (found.bucket(f"{HOST}.a"), found.bucket(f"{HOST}.b")) == ("in_sync", "unchecked")
    assert "has no provider configuration opsconsole.other" in found.of(f"{HOST}.b")["reason"]


def test_two_providers_of_one_console_are_one(native):
    native.console.create("hosts", id="hst_a", name="a")
    agent = elsewhere(name="x", host_id="hst_a", specialty_id="spc_linux")
    apply(native, {HOST: {"a": {"name": "a"}}, AGENT: {"b": agent}})
    write(native, {AGENT: {"b": agent}})
    refused = native.run("plan", expect=1).text
    assert f"{HOST}.a cannot be deleted" in refused
    assert f"would also archive {AGENT}.b. Remove these too" in refused


def test_an_unchanged_object_gets_another_provider_of_its_console(native):
    apply(native, {HOST: {"a": elsewhere(name="a")}})
    apply(native, {HOST: {"a": {"name": "a"}}})
    native.write({HOST: {"a": {"name": "a"}}})
    native.run("plan", "-detailed-exitcode")


def test_an_unchanged_object_that_is_declared_on_another_console_is_named(native, other):
    apply(native, {HOST: {"a": {"name": "a"}}}, base_url=other.base_url)
    said = apply(native, {HOST: {"a": elsewhere(name="a")}}, base_url=other.base_url).out
    assert f"Warning: {HOST}.a is declared on another console" in said
    assert f"read from {native.console.base_url}, as state says" in said
    native.run("state", "rm", f"{HOST}.a")
    assert "declared on another console" not in native.run("apply", "-auto-approve").text
    assert native.state["resources"][0]["provider"] == f"{PROVIDER}.other"


def test_a_deletion_that_was_cut_off_is_settled_on_its_own_console(native, other):
    hosts = {"a": {"name": "a"}, "b": elsewhere(name="a")}
    apply(native, {HOST: hosts}, base_url=other.base_url)
    details = {"verb": "delete", "id": "hst_a", "provider": PROVIDER}
    call = Intent("1", f"{HOST}.a", "host_delete", details, "2026-01-01")
    leave_intents(native.state_file, [call])
    native.console.delete("hosts", "hst_a")
    write(native, {HOST: {"b": hosts["b"]}}, base_url=other.base_url)
    assert "did not learn the outcome" in native.run("plan", "-detailed-exitcode").out
    assert native.addresses() == [f"{HOST}.b"]


def test_a_lost_creation_is_not_what_another_provider_of_its_console_holds(native_on):
    native = native_on("extended")
    native.console.create("hosts", id="hst_a", name="a")
    agent = {"name": "x", "host_id": "hst_a", "specialty_id": "spc_linux"}
    apply(native, {AGENT: {"a": agent}})
    details = {"verb": "create", "planned": agent, "provider": f"{PROVIDER}.other"}
    leave_intents(native.state_file, [Intent("1", f"{AGENT}.b", "create", details, "2026-01-01")])
    write(native, {AGENT: {"a": agent, "b": elsewhere(**agent)}})
    assert f"{AGENT}.b was not created by the run that was interrupted" in native.run("plan").out
    assert native.addresses() == [f"{AGENT}.a"]


def test_a_failed_update_keeps_nothing_of_the_other_console(native, other):
    jump = {"name": "a", "is_jump_host": True}
    web = {"name": "web", "jump_host_ids": ["hst_a"]}
    hosts = {"j": jump, "web": web, "gone": elsewhere(**jump)}
    apply(native, {HOST: hosts}, base_url=other.base_url)
    native.console.fault(operation="host_update", status=400, holds="jump_host_ids")
    kept = {"j": jump, "web": web | {"jump_host_ids": []}}
    apply(native, {HOST: kept}, base_url=other.base_url, expect=1)
    assert other.rows("hosts") == []
    assert native.addresses() == [f"{HOST}.j", f"{HOST}.web"]


def test_two_providers_of_a_heedless_console_create_one_host(native_on):
    """The console ignores dry runs."""
    native = native_on("heedless")
    apply(native, {HOST: {"a": {"name": "a"}, "b": elsewhere(name="b")}}, expect=1)
    assert len(native.addresses()) == len(native.console.rows("hosts")) == 1


def hosts_of_two_providers() -> dict[str, Any]:
    return {HOST: {"a": {"name": "a"}, "b": {"name": "a", "provider": "opsconsole.other"}}}


def test_adoptions_under_two_providers_of_one_console(native):
    native.console.create("hosts", id="hst_a", name="a")
    result = apply(native, hosts_of_two_providers(), expect=1)
    assert "hst_a would stand for two declarations" in result.text
    assert len(native.addresses()) == 1


def test_two_consoles_may_have_objects_of_one_id(native, other):
    linux = {"key": "linux-server"}
    both = {"a": linux, "b": elsewhere(**linux)}
    resources = hosts_of_two_providers() | {"opsconsole_specialty": both}
    write(native, resources, base_url=other.base_url)
    for target in ("a", "b"):
        targets = [f"-target={name}.{target}" for name in resources]
        native.run("apply", "-auto-approve", *targets)
    assert len(native.addresses()) == 4
    other.create("hosts", id="hst_c", name="c")
    block = {"to": f"{HOST}.c", "id": "hst_c"}
    write(native, {HOST: {"c": elsewhere(name="c")}}, block, base_url=other.base_url)
    assert "will be imported" in native.run("plan", f"-target={HOST}.c").out
