"""Hosts: adopted, missing, abandoned, refused row by row, reached through each other."""

from typing import Any

import pytest

from declarations import foresee, held, program
from engines import ON_TERRAFORM, Run


def warned(run: Run, words: str) -> list[str]:
    return [item["detail"] for item in run.warnings if words in item["summary"]]


def test_a_host_that_is_there_fails_or_is_adopted(project, console):
    there = console.create("hosts", name="there", tags=["env:old"], external_id="ext-1")
    other = console.create("hosts", name="other", external_id="ext-2")
    declared = program(
        host={
            "there": {"name": "there", "tags": ["env:new"], "external_id": "ext-1"},
            "other": {"name": "other", "external_id": "ext-9"},
            "new": {"name": "new"},
        }
    )
    engine = project(declared, console)
    run = engine.apply(expect={1})
    told = {error["address"]: error["detail"] for error in run.errors}
    assert set(told) == {"opsconsole_host.there", "opsconsole_host.other"}
    assert there["id"] in told["opsconsole_host.there"]
    assert 'on_existing_host = "adopt"' in told["opsconsole_host.there"]
    assert "would not create" in str(run.errors)
    assert set(held(engine)) == {"opsconsole_host.new"}

    engine.settings = {"on_existing_host": "adopt"}
    engine.write(declared)
    run = engine.apply(expect={1})
    [error] = run.errors
    assert error["address"] == "opsconsole_host.other"
    assert "'ext-2' on the console and 'ext-9' in the program" in error["detail"]
    [adopted] = warned(run, "existed already and is adopted")
    assert "tags" in adopted
    assert held(engine)["opsconsole_host.there"]["id"] == there["id"]
    assert console.row("hosts", there["id"])["tags"] == ["env:new"]
    assert "tags" not in console.row("hosts", other["id"])

    declared["resource"]["opsconsole_host"]["other"]["external_id"] = "ext-2"
    engine.write(declared)
    engine.apply()
    engine.plan_run(expect={0})
    assert len(console.rows("hosts")) == 3


def test_an_abandoned_host_stays_on_the_console(applied, console):
    kept = {"deletion_policy": "abandon"}
    engine = applied(
        program(host={"web": {"name": "web"} | kept}, specialty={"s": {"key": "database"} | kept}),
        console,
    )
    console.reset_log()
    plan = foresee(engine, "-destroy")
    run = engine.apply(plan.saved)
    for part in (plan.run, run):
        assert len(warned(part, "leaves management; it stays on the console")) == 2
    assert not {"host_delete", "specialty_delete"} & set(console.request_counts())
    assert held(engine) == {}
    assert len(console.rows("hosts")) == 1


def chain() -> dict[str, Any]:
    return program(
        host={
            "gate": {"name": "gate", "is_jump_host": True},
            "inner": {
                "name": "inner",
                "is_jump_host": True,
                "jump_host_ids": ["${opsconsole_host.gate.id}"],
            },
            "web": {
                "name": "web",
                "jump_host_ids": ["${opsconsole_host.inner.id}", "${opsconsole_host.gate.id}"],
            },
        }
    )


@pytest.mark.parametrize("profile", ["strict", "rerouting"])
def test_jump_hosts(profile, applied, console_of):
    console = console_of(profile)
    engine = applied(chain(), console)
    state = held(engine)
    ids = {name: state[f"opsconsole_host.{name}"]["id"] for name in ("gate", "inner", "web")}
    # Not a set: the order of the ways is the user's.
    assert console.row("hosts", ids["web"])["jump_host_ids"] == [ids["inner"], ids["gate"]]

    turned = chain()
    turned["resource"]["opsconsole_host"]["web"]["jump_host_ids"].reverse()
    engine.write(turned)
    plan = foresee(engine)
    assert plan.actions == {"opsconsole_host.web": ["update"]}
    engine.apply(plan.saved)
    assert console.row("hosts", ids["web"])["jump_host_ids"] == [ids["gate"], ids["inner"]]

    engine.destroy()
    order = [
        item["path"].rpartition("/")[2]
        for item in console.requests()
        if item["operation"] == "host_delete"
    ]
    assert order == [ids["web"], ids["inner"], ids["gate"]]


@ON_TERRAFORM
def test_rerouted_hosts_are_named_and_seen_at_the_next_refresh(applied, console_of):
    console = console_of("rerouting")
    engine = applied(chain(), console)
    state = held(engine)
    web = state["opsconsole_host.web"]["id"]
    engine.write(program(host={"web": {"name": "web"}}))

    run = engine.apply()

    assert any(web in told for told in warned(run, "rerouted other hosts"))
    assert console.row("hosts", web)["jump_host_ids"] == []
    assert foresee(engine, "-refresh-only").drift == {"opsconsole_host.web": ["update"]}


def test_what_cannot_be_read_is_left_as_it_is(applied, console_of):
    console = console_of("blind")
    hosts = {name: {"name": name, "knowledge": "k"} for name in ("a", "b", "c")}
    engine = applied(program(host=hosts), console, {"max_concurrency": 1})
    console.reset_log()
    plan = foresee(engine, "-parallelism=1")
    assert plan.run.code == 0
    assert len(warned(plan.run, "Hosts cannot be read")) == 1
    # Two different hosts must refuse: one refusal may be that host's own.
    assert console.request_counts()["host_update"] == 2

    # Never observed is not a difference: one apply, which sends what is declared, and then none.
    hosts["a"]["public_ip"] = "198.51.100.7"
    engine.write(program(host=hosts))
    plan = foresee(engine)
    assert plan.actions == {"opsconsole_host.a": ["update"]}
    assert warned(plan.run, "Not verified: public_ip")
    console.reset_log()
    engine.apply(plan.saved)
    sent = [item["body"] for item in console.requests() if item["operation"] == "host_update"]
    assert {"public_ip": "198.51.100.7"} in sent
    engine.plan_run(expect={0})

    engine.settings = {"host_read": "none"}
    engine.write(program(host=hosts))
    console.reset_log()
    assert not warned(engine.plan_run(expect={0}), "Hosts cannot be read")
    assert console.traffic()["total"] == 0


def test_what_the_console_keeps_otherwise_is_reported(project, console_of):
    console = console_of("tidying")
    declared = program(host={"web": {"name": "web", "knowledge": " spaced ", "mac": "AA:BB"}})
    engine = project(declared, console)
    run = engine.apply()
    assert len(warned(run, "The console kept another value for knowledge")) == 1
    assert len(warned(run, "The console kept another value for mac")) == 1
    assert engine.state()["resources"][0]["instances"][0].get("status") != "tainted"

    plan = foresee(engine)
    assert plan.actions == {"opsconsole_host.web": ["update"]}
    # It is told once: a field that only a creation sets is no difference from then on.
    assert not warned(plan.run, "The console itself changed mac of the host")
    [error] = engine.apply(plan.saved, expect={1}).errors
    assert "The console kept another value for knowledge" in error["summary"]
    assert "' spaced '" in error["detail"] and "'spaced'" in error["detail"]


@ON_TERRAFORM
@pytest.mark.parametrize("policy", ["fail", "adopt"])
def test_a_host_of_one_name_at_another_address_comes_after_the_old_one(policy, applied, console):
    def named(address: str) -> dict[str, Any]:
        agent = {"name": "ops", "specialty_id": "spc_linux"}
        host_id = f"${{opsconsole_host.{address}.id}}"
        return program(
            host={address: {"name": "web"}},
            agent={f"{address}_agent": agent | {"host_id": host_id}},
        )

    engine = applied(named("old"), console, {"on_existing_host": policy})
    engine.write(named("new"))
    [moved] = warned(engine.plan_run(expect={2}), "look like one host that moved")
    assert "declare a moved block" in moved
    engine.apply()
    engine.plan_run(expect={0})
    assert [row["name"] for row in console.rows("hosts")] == ["web"]
    assert "opsconsole_host.new" in held(engine)


def test_a_description_can_be_made_null_and_a_tag_may_have_no_value(project, console_of):
    console = console_of("dropping")
    mac = "02:00:00:00:00:01"
    host = {"name": "web", "tags": ["retired:", "env:prod"], "mac": mac}
    row = {"id": "blk_format", "no_description": True}
    engine = project(program(host={"web": host}, blacklisted_command={"f": row}), console)
    run = engine.apply()
    [kept] = [item for item in run.warnings if "mac" in item["summary"]]
    assert "kept another value for mac" in kept["summary"]
    assert "description" not in (console.row("blacklists", "blk_format") or {})
    [kept] = console.rows("hosts")
    assert set(kept["tags"]) == {"retired:", "env:prod"}
    assert held(engine)["opsconsole_host.web"]["mac"] == mac
    again = engine.plan_run(expect={0})
    assert not [item for item in again.warnings if "mac" in item["summary"]]

    engine.write(program(blacklisted_command={"f": row | {"description": "formats"}}))
    [error] = engine.plan_run(expect={1}).errors
    assert "no_description = true" in error["summary"]
