"""Each 4xx of the document becomes a diagnostic: code, message, request id, the right attribute."""

from typing import Any

import pytest

from declarations import agent_on, attribute_at, held, host_with_agent, program
from engines import ON_TERRAFORM, Run, Terraform
from lifecycle_steps import errors, warnings
from opsconsole.emulator import Emulator
from opsconsole.errors import ConfigurationError, UserError
from opsconsole.lifecycle.interface import NOT_PERMITTED, ReadRequest, ReadStatus
from opsconsole.lifecycle.translate import diagnose
from opsconsole.resources.host.lifecycle import HostLifecycle

BOTH = [{"field": it.upper(), "message": f"the {it} is wrong"} for it in ("first", "second")]
REFUSALS: dict[str, dict[str, Any]] = {
    "one": {"status": 400, "code": "VALIDATION_FAILED", "field": "FIRST"},
    "many": {"status": 400, "code": "VALIDATION_FAILED", "errors": BOTH},
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


def test_refused_writes_are_errors_at_their_attributes(applied, console):
    agent = agent_on("base", "base")
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
    row = {"pattern": "new", "description": "why", "org_id": "org_main"}
    attached = {"agent_id": "${opsconsole_agent.base.id}"}
    engine.write(
        program(
            host=hosts("2"),
            agent={"base": agent, **{name: agent | {"name": name} for name in REFUSALS}},
            agent_plugin={n: attached | {"plugin_id": f"plg_{n}"} for n in REFUSALS},
            blacklisted_command={n: row | {"id": f"row_{n}"} for n in REFUSALS},
        )
    )
    run = engine.apply(expect={1})

    for kind in ("host", "agent", "agent_plugin", "blacklisted_command"):
        check(engine, console, run, kind)
    kept = held(engine)
    assert set(kept) == set(ids)
    assert ["v:2"] not in [values.get("tags") for values in kept.values()]


@ON_TERRAFORM
def test_refused_imports_are_errors_at_their_attributes(project, console):
    for name in REFUSALS:
        refuse(console, "host", name, method="POST", path="/hosts/batch", holds=f'"{name}"')
    declared = {name: {"name": name, "tags": ["a:b"], "knowledge": "k"} for name in REFUSALS}
    engine = project(program(host=declared | {"fine": {"name": "fine"}}), console)
    run = engine.apply("-parallelism=1", expect={1})

    check(engine, console, run, "host")
    assert set(held(engine)) == {"opsconsole_host.fine"}


def test_refused_reads_are_errors_or_unchecked(applied, console):
    declared = program(
        host={"base": {"name": "base"}},
        agent={"base": agent_on("base", "a")},
        specialty={"base": {"key": "database"}},
        blacklisted_command={"base": {"id": "blk_format"}},
    )
    engine = applied(declared, console)
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


@pytest.mark.parametrize(
    ("type_name", "import_id"), [("opsconsole_agent", "agt_x"), ("opsconsole_agent_plugin", "a/p")]
)
async def test_unreadable_object_is_not_imported(type_name, import_id, console, one_run):
    console.fault(operation="plugin_list", status=403, code="FORBIDDEN", times=None)
    lifecycle = one_run().lifecycles[type_name]
    taken = await lifecycle.import_state(import_id)

    [read] = await lifecycle.read([ReadRequest(taken.state, taken.private)])

    assert read.failed
    assert read.status is ReadStatus.UNCHECKED


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("FORBIDDEN", "is not allowed to do this"),
        ("ORG_ACCESS_DENIED", "has no access to this org"),
        ("LICENSE_CAP_REACHED", "a cap of its license"),
        ("LICENSE_EXPIRED", "license has expired"),
        ("SOMETHING_ELSE", ""),
    ],
)
async def test_each_documented_403_has_its_own_sentence(steps_of, console, code, said):
    rows = steps_of("blacklisted_command")
    adopted = await rows.create(id="blk_format")
    console.fault(operation="blacklist_update", status=403, code=code, field="pattern")
    console.reset_log()
    refused = await rows.change(adopted, id="blk_format", pattern="other")
    assert console.request_counts() == {"blacklist_update": 1}
    assert (refused.diagnostics[0].path, refused.private) == (("pattern",), adopted.private)
    for status, reason in ((403, NOT_PERMITTED), (400, "")):
        console.fault(operation="blacklist_get", status=status, code=code)
        assert (await rows.read(adopted)).reason == reason
    text = refused.diagnostics[0].summary + refused.diagnostics[0].text
    assert code in text
    assert said in text
    assert ("may not write its scope" in text) is (code in ("FORBIDDEN", "ORG_ACCESS_DENIED"))


PATHS: dict[str, tuple[str | int, ...]] = {
    "name": ("name",),
    "agents[0].name": ("name",),
    "a/0/name": ("name",),
    "name.0.x": ("name",),
    "credential_config": ("credential_config",),
    "credential_config.order": ("credential_config",),
    "credential_config[2]": ("credential_config", 2),
    "credential_config[2].order": ("credential_config", 2, "order"),
    "credential_config[²].order": ("credential_config",),
    "credential_config.2.other": ("credential_config", 2),
    "status": (),
    "other": (),
}


@pytest.mark.parametrize(("field", "path"), PATHS.items())
async def test_an_error_is_shown_at_the_attribute_that_it_names(
    steps_of, one_run, console, field, path
):
    console.fault(operation="agent_create", status=400, code="VALIDATION_FAILED", field=field)
    refused = await steps_of("agent").create(host_id="hst_1", specialty_id="spc_linux")
    assert refused.diagnostics[0].path == path
    # One of a data source is about the whole of it.
    console.fault(operation="blacklist_get", status=400, code="BAD_REQUEST", field=field)
    read = await one_run().read_data("opsconsole_blacklisted_command", {"id": "blk_format"})
    [told] = read.diagnostics
    assert (told.path, told.detail) == ((), field)
    assert told.summary == "Cannot read opsconsole_blacklisted_command"


def test_any_other_problem_is_told_too_and_a_defect_is_logged(caplog):
    problems = ConfigurationError("m", setting="base_url"), UserError("m"), ValueError("odd")
    told = [item for problem in problems for item in diagnose(problem, "do it")]
    assert [item.summary for item in told] == ["Cannot do it"] * 3
    assert [(item.path, item.detail) for item in told[:2]] == [(("base_url",), ""), ((), "")]
    assert "a defect of the provider: ValueError. The log holds its traceback" in told[2].detail
    assert "unexpected error while trying to do it" in caplog.text
    assert "ValueError: odd" in caplog.text


async def test_a_field_beside_a_list_of_fields_is_told_once(steps_of, console):
    refusal = {"code": "VALIDATION_FAILED", "message": "no", "field": "name"}
    for listed, paths, details in (
        (["name"], [("name",)], ["taken"]),
        (["main_engine"], [("name",), ("main_engine",)], ["taken"]),
        (["name", "status"], [("name",), ()], ["taken", "taken (status)"]),
    ):
        entries = [{"field": field, "message": "taken"} for field in listed]
        console.fault(operation="agent_create", status=400, **refusal, errors=entries)
        refused = await steps_of("agent").create(host_id="hst_1", specialty_id="spc_linux")
        assert [item.path for item in refused.diagnostics] == paths
        assert [item.detail for item in refused.diagnostics if item.detail] == details


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
async def test_a_call_that_the_key_may_not_make_is_named(steps_of, console):
    agents, host = steps_of("agent"), console.create("hosts", name="web")
    agent = await agents.create(name="edge", host_id=host["id"], specialty_id="spc_linux")
    console.fault(operation="agent_get", status=403, code="FORBIDDEN")
    read = await agents.read(agent)
    assert "agent_get of extra_endpoints; use a key that may make it" in read.reason


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
@pytest.mark.parametrize(
    ("name", "operation", "fields"),
    [
        ("specialty", "specialty_delete", {"key": "network", "deletion_policy": "delete"}),
        ("blacklisted_command", "blacklist_delete", {"id": "blk_format"}),
        ("agent", "agent_delete", {"name": "a", "specialty_id": "spc_linux"}),
    ],
)
async def test_a_404_for_the_deletion_of_what_is_still_shown_is_explained(
    console, steps_of, name, operation, fields
):
    steps, host = steps_of(name), console.create("hosts", name="web")
    made = await steps.create(**fields | ({"host_id": host["id"]} if name == "agent" else {}))
    console.fault(kind="not_found", operation=operation)
    kept = await steps.delete(made)
    assert kept.failed
    assert kept.state == made.state
    assert "this key may read it, but not delete it" in kept.diagnostics[0].text


def test_an_error_that_names_an_object_in_state_says_its_address(native):
    resources = host_with_agent(name="ops")
    host = resources["opsconsole_host"]["web"]
    native.apply(resources | {"opsconsole_specialty": {"linux": {"key": "linux-server"}}})
    agent_id = native.id_of("opsconsole_agent.a")
    entries = [{"field": field, "message": f"{field} is held"} for field in ("name", "tags")]
    busy = {"status": 409, "code": "BUSY", "details": {"blocked_by": agent_id}, "errors": entries}
    native.console.fault(operation="host_update", holds="knowledge", **busy)
    host["knowledge"] = "new"
    told = " ".join(native.apply(resources, expect=1).text.replace("│", " ").split())
    assert "opsconsole_agent.a" in told
    assert f'"ops" ({agent_id})' in told and "tags is held" in told


@pytest.mark.parametrize(
    ("profile", "accepted", "last"),
    [
        ("default", True, ReadStatus.PRESENT),
        ("default", False, ReadStatus.UNCHECKED),
        ("extended", False, ReadStatus.PRESENT),
    ],
    indirect=["profile"],
)
async def test_refused_empty_updates_count_for_one_host_or_all(
    steps_of, one_run, console, profile, accepted, last
):
    """Two refusals count for every host, unless an empty update was accepted before."""
    hosts = steps_of("host")
    hosts.provider = one_run()
    made = await hosts.create_all(*(hosts.config(name=name) for name in "abc"))
    if not accepted:
        hosts.provider = one_run()
    console.fault(path="/hosts/hst_", status=400, times=2)
    read = [await hosts.read(each) for each in made]
    assert [each.status for each in read] == [ReadStatus.UNCHECKED, ReadStatus.UNCHECKED, last]
    refused = ["Hosts cannot be read" in item for item in warnings(read[1])]
    assert refused == {"default": [not accepted], "extended": []}[profile]
    assert errors(read[1])[:1] == [f'Cannot read the host "b" ({made[1].state["id"]})'] * (
        profile == "extended"
    )


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
@pytest.mark.parametrize(
    ("name", "found", "label"),
    [
        ("specialty", {"key": "identity"}, "prompt"),
        ("blacklisted_command", {"id": "blk_format"}, "pattern"),
    ],
)
async def test_an_update_answers_for_no_value_that_it_did_not_send(
    steps_of, console, name, found, label
):
    rows, table = steps_of(name), {"specialty": "specialties"}.get(name, "blacklists")
    adopted = await rows.create(**found, description="who may")
    console.change(table, adopted.state["id"], **{label: "a stranger's"})
    updated = await rows.change(adopted, **found, description="who may not")
    assert not updated.diagnostics
    assert updated.state["description"] == "who may not"


async def test_a_plan_or_a_read_that_fails_keeps_what_state_holds(steps_of, monkeypatch):
    hosts = steps_of("host")
    made = await hosts.create(name="web")
    for name in ("_plan_change", "_read"):
        monkeypatch.setattr(HostLifecycle, name, lambda *_: 1 / 0)
    plan = await hosts.plan(made, hosts.config(name="other"))
    assert (plan.planned, plan.failed) == (made.state, True)
    read = await hosts.read(made)
    assert (read.state, read.reason) == (made.state, "division by zero")


async def test_hosts_in_the_details_of_an_error_are_named(console, steps_of, one_run):
    hosts = steps_of("host")
    hosts.provider = one_run()
    made = await hosts.create(name="web")
    named = {"code": "CONFLICT", "details": {"host_id": made.state["id"]}}
    console.fault(operation="host_update", status=409, **named)
    [refused] = (await hosts.change(made, knowledge="k")).diagnostics
    assert refused.detail == f'Its details name host "web": {made.state["id"]}.'
