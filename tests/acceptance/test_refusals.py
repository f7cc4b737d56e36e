"""Each 4xx of the document becomes a diagnostic: code, message, request id, the right attribute.

The document: Errors. One run meets every refusal at once, each on a resource of its own.
"""

from typing import Any

from declarations import attribute_at, held, program
from engines import ON_TERRAFORM, Run, Terraform
from opsconsole.emulator import Emulator

REFUSALS: dict[str, dict[str, Any]] = {
    "one": {"status": 400, "code": "VALIDATION_FAILED", "field": "FIRST"},
    "many": {
        "status": 400,
        "code": "VALIDATION_FAILED",
        "errors": [
            {"field": "FIRST", "message": "the first is wrong"},
            {"field": "SECOND", "message": "the second is wrong"},
        ],
    },
    "bad": {"status": 400, "code": "BAD_REQUEST"},
    "forbidden": {"status": 403, "code": "FORBIDDEN"},
    "denied": {"status": 403, "code": "ORG_ACCESS_DENIED"},
    "cap": {"status": 403, "code": "LICENSE_CAP_REACHED"},
    "expired": {"status": 403, "code": "LICENSE_EXPIRED"},
    "missing": {"status": 404, "code": "NOT_FOUND"},
    "conflict": {"status": 409, "code": "CONFLICT"},
}
FIELDS = {
    "host": ("tags", "knowledge"),
    "agent": ("name", "main_engine"),
    "blacklisted_command": ("pattern", "description"),
}
"""Which attributes stand for FIRST and SECOND."""


def refuse(console: Emulator, kind: str, name: str, **which: Any) -> None:
    """Ask for the refusal `name` of the requests that `which` describes."""
    first, second = FIELDS.get(kind, ("plugin_id", "agent_id"))
    members = dict(REFUSALS[name])
    if "field" in members:
        members["field"] = first
    if "errors" in members:
        members["errors"] = [
            item | {"field": field}
            for item, field in zip(members["errors"], (first, second), strict=True)
        ]
    console.fault(message=f"refused: {name}", times=None, **which, **members)


def expected_at(kind: str, name: str) -> set[str]:
    """Return the attributes that the refusal speaks of; empty: the resource as a whole."""
    first, second = FIELDS.get(kind, ("plugin_id", "agent_id"))
    # Only these codes speak of access, and so of the scope; the license has none.
    if kind == "blacklisted_command" and name in ("forbidden", "denied"):
        return {"org_id"}
    return {"one": {first}, "many": {first, second}}.get(name, {""})


def check(engine: Terraform, console: Emulator, run: Run, kind: str, names: Any = REFUSALS) -> None:
    """Check the diagnostics on the resources of one kind, each named by its refusal."""
    ids = {item["request_id"] for item in console.requests() if item["faulty"]}
    for name in names:
        address = f"opsconsole_{kind}.{name}"
        told = [error for error in run.errors if error.get("address") == address]
        places = {attribute_at(engine.folder, error) for error in told}
        assert places == expected_at(kind, name), address
        assert len(told) == len(expected_at(kind, name)), address
        for error in told:
            assert f"refused: {name}" in error["detail"]
            assert f"code {REFUSALS[name]['code']}" in error["detail"]
            assert any(request_id in error["detail"] for request_id in ids)
        if name == "many":
            details = " ".join(error["detail"] for error in told)
            assert "the first is wrong" in details and "the second is wrong" in details


def hosts(version: str) -> dict[str, Any]:
    changed = {"tags": [f"v:{version}"], "knowledge": version}
    return {name: {"name": name, **changed} for name in REFUSALS} | {"base": {"name": "base"}}


@ON_TERRAFORM
def test_refused_writes(applied, console):
    base = {"name": "base", "main_engine": "engine-a", "specialty_id": "spc_linux"}
    agent = base | {"host_id": "${opsconsole_host.base.id}"}
    console.create_many("blacklists", [{"id": f"row_{n}", "pattern": "old"} for n in REFUSALS])
    console.create_many("plugins", [{"id": f"plg_{n}", "name": n} for n in REFUSALS])
    engine = applied(program(host=hosts("1"), agent={"base": agent}), console)
    ids = {address: values["id"] for address, values in held(engine).items()}

    for name in REFUSALS:
        path = f"/hosts/{ids[f'opsconsole_host.{name}']}$"
        refuse(console, "host", name, method="POST", path=path, holds="tags")
        refuse(console, "agent", name, method="POST", path="/agents$", holds=f'"{name}"')
        path = f"/blacklists/row_{name}$"
        refuse(console, "blacklisted_command", name, method="POST", path=path)
        refuse(console, "agent_plugin", name, method="POST", path="/plugins$", holds=f"plg_{name}")
    engine.write(
        program(
            host=hosts("2"),
            agent={"base": agent, **{name: agent | {"name": name} for name in REFUSALS}},
            agent_plugin={
                name: {"agent_id": "${opsconsole_agent.base.id}", "plugin_id": f"plg_{name}"}
                for name in REFUSALS
            },
            blacklisted_command={
                name: {
                    "id": f"row_{name}",
                    "pattern": "new",
                    "description": "why",
                    "org_id": "org_main",
                }
                for name in REFUSALS
            },
        )
    )
    run = engine.apply(expect={1})

    for kind in ("host", "agent", "agent_plugin", "blacklisted_command"):
        check(engine, console, run, kind)
    kept = held(engine)
    assert set(kept) == set(ids)
    assert ["v:2"] not in [values.get("tags") for values in kept.values()]


@ON_TERRAFORM
def test_refused_imports(project, console):
    for name in REFUSALS:
        refuse(console, "host", name, method="POST", path="/hosts/batch", holds=f'"{name}"')
    declared = {name: {"name": name, "tags": ["a:b"], "knowledge": "k"} for name in REFUSALS}
    engine = project(program(host=declared | {"fine": {"name": "fine"}}), console)
    run = engine.apply("-parallelism=1", expect={1})

    check(engine, console, run, "host")
    assert set(held(engine)) == {"opsconsole_host.fine"}


def test_refused_reads(applied, console):
    base = {"main_engine": "engine-a", "specialty_id": "spc_linux"}
    engine = applied(
        program(
            host={"base": {"name": "base"}},
            agent={"base": base | {"name": "a", "host_id": "${opsconsole_host.base.id}"}},
            specialty={"base": {"key": "database"}},
            blacklisted_command={"base": {"id": "blk_format"}},
        ),
        console,
    )
    host_id = held(engine)["opsconsole_host.base"]["id"]
    console.fault(path="/plugins$|/search$|/blacklists/", status=403, code="FORBIDDEN", times=None)
    console.fault(path=f"/hosts/{host_id}$", status=403, code="FORBIDDEN", times=None)

    run = engine.plan_run("-refresh-only", expect={1})

    assert {error["address"] for error in run.errors} == {
        "opsconsole_specialty.base",
        "opsconsole_blacklisted_command.base",
    }
    assert all("code FORBIDDEN, request id req_" in error["detail"] for error in run.errors)
    unchecked = {item["address"]: item for item in run.warnings if "address" in item}
    for address in ("opsconsole_host.base", "opsconsole_agent.base"):
        assert "was not checked" in unchecked[address]["summary"]
        assert "req_" in unchecked[address]["detail"]

    console.clear_faults()
    console.fault(path="/plugins$", status=400, code="INVALID_CURSOR", times=None)
    [error] = engine.plan_run(expect={1}).errors
    assert "code INVALID_CURSOR, request id req_" in error["detail"]


def test_a_key_that_may_not_write_hosts_learns_what_reading_needs(applied, console):
    engine = applied(program(host={"web": {"name": "web"}}), console)
    console.change("keys", "key_main", write_orgs=["org_lab"], read_orgs=["org_main"])
    run = engine.plan_run(expect={0})
    [told] = [item for item in run.warnings if "was not checked" in item["summary"]]
    assert "takes the right to write" in told["detail"]
    assert "host_get" in told["detail"]
