"""Specialties: found by one search, and deleted once no agent carries them."""

from typing import Any

from declarations import agent_on, attribute_at, foresee, held, program
from engines import ON_TERRAFORM
from opsconsole.emulator import Emulator

ADDRESS = "opsconsole_specialty.linux"


def declared(hosts: int = 2, **facts: Any) -> dict[str, Any]:
    """Declare hosts with an agent each, and their specialty, without host → specialty."""
    return program(
        specialty={"linux": {"key": "linux-server", "deletion_policy": "delete"} | facts},
        host={f"h{n}": {"name": f"h{n}"} for n in range(hosts)},
        agent={
            f"a{n}": agent_on(f"h{n}", f"a{n}", specialty_id=f"${{{ADDRESS}.id}}")
            for n in range(hosts)
        },
    )


def deletes(console: Emulator) -> list[tuple[str, int]]:
    return [
        (item["operation"], item["status"])
        for item in console.requests()
        if item["method"] == "DELETE"
    ]


@ON_TERRAFORM
def test_a_delete_waits_for_the_hosts_of_released_agents(applied, console):
    engine = applied(declared(), console)
    console.fault(method="DELETE", path="/hosts/", delay=5, times=None)

    plan = foresee(engine, "-destroy")
    assert any("cannot be created again" in item["summary"] for item in plan.run.warnings)
    engine.destroy("-refresh=false")

    assert ("specialty_delete", 409) in deletes(console)
    assert deletes(console)[-1] == ("specialty_delete", 200)
    assert held(engine) == {}


@ON_TERRAFORM
def test_a_wait_ends_with_its_timeout(applied, console):
    engine = applied(declared(1, timeouts={"delete": "300ms"}), console)
    agent_id = held(engine)["opsconsole_agent.a0"]["id"]
    console.fault(method="DELETE", path="/hosts/", delay=2)

    [error] = engine.destroy("-refresh=false", expect={1}).errors
    assert 'carries the specialty "linux-server" (spc_linux)' in error["summary"]
    assert agent_id in error["detail"]
    assert "status 409" in error["detail"] and "request id req_" in error["detail"]
    assert set(held(engine)) == {ADDRESS}
    engine.destroy()


def test_an_agent_outside_is_no_reason_to_wait(applied, console):
    console.create("agents", name="theirs", specialty_id="spc_linux", status="idle")
    engine = applied(declared(0), console)
    [error] = engine.destroy(expect={1}).errors
    assert "outside this configuration" in error["detail"]
    assert console.request_counts()["specialty_delete"] == 1
    assert set(held(engine)) == {ADDRESS}


@ON_TERRAFORM
def test_an_agent_that_stays_keeps_its_specialty(applied, console):
    engine = applied(declared(1), console)
    kept = declared(1)
    del kept["resource"]["opsconsole_specialty"]
    kept["resource"]["opsconsole_agent"]["a0"]["specialty_id"] = "spc_linux"
    engine.write(kept)
    [error] = engine.apply(expect={1}).errors
    # Terraform shows a provider nothing of what an apply leaves unchanged.
    assert "unchanged in it" in error["detail"] and "request id req_" in error["detail"]
    assert console.request_counts()["specialty_delete"] == 1
    assert ADDRESS in held(engine)


@ON_TERRAFORM
def test_what_is_adopted_is_called_so_and_stays_unless_its_deletion_is_declared(project, console):
    engine = project(program(specialty={"linux": {"key": "linux-server"}}), console)
    [adopting] = engine.plan_run(expect={2}).warnings
    assert adopting["summary"] == (
        'This takes the specialty "linux-server" (spc_linux) under management; nothing is created'
    )
    engine.apply()
    [leaving] = foresee(engine, "-destroy").run.warnings
    assert "leaves management; it stays on the console" in leaving["summary"]
    engine.destroy()
    assert console.row("specialties", "spc_linux") is not None
    assert deletes(console) == []


@ON_TERRAFORM
def test_what_cannot_be_adopted(project, console):
    console.create("specialties", id="spc_twice", key="linux-server")
    engine = project(
        program(
            specialty={
                "twice": {"key": "linux-server"},
                "none": {"key": "no-such"},
                "renamed": {"key": "database", "name": "Databases"},
                "fine": {"id": "spc_linux"},
            }
        ),
        console,
    )
    run = engine.plan_run(expect={1})
    told = {error["address"].rpartition(".")[2]: error for error in run.errors}
    assert set(told) == {"twice", "none", "renamed"}
    assert attribute_at(engine.folder, told["renamed"]) == "name"
    assert "'Databases'" in told["renamed"]["detail"] and "'Database'" in told["renamed"]["detail"]
    assert "spc_linux" in told["twice"]["detail"] and "spc_twice" in told["twice"]["detail"]
    assert attribute_at(engine.folder, told["none"]) == "key"
    assert console.request_counts()["specialty_search"] == 1


def test_a_list_that_is_cut_short_proves_no_absence(project, console_of):
    console = console_of("truncated")
    specialties = {"seen": {"key": "linux-server"}, "hidden": {"key": "identity"}}
    engine = project(program(specialty=specialties), console)
    [error] = engine.plan_run(expect={1}).errors
    assert error["address"] == "opsconsole_specialty.hidden"
    assert "has_more" in error["detail"] and "cursor_parameter" in error["detail"]
