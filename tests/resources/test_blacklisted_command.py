"""Blacklisted commands: adopted by id, scoped, and left on the console."""

import json
from typing import Any

import pytest

from declarations import attribute_at, held, hosts, program
from engines import Standin
from lifecycle_steps import errors
from opsconsole.diagnostics import Severity
from opsconsole.values import UNKNOWN


def entries(**named: dict[str, Any]) -> dict[str, Any]:
    return program(blacklisted_command=named)


def test_scopes_are_written_only_where_they_are_declared(project, console):
    changes = {"format": {"tenant_wide": True}, "wipe": {"org_id": "org_lab"}}
    changes["shutdown"] = {"pattern": "halt*"}
    declared = {name: {"id": f"blk_{name}", **change} for name, change in changes.items()}
    engine = project(entries(**declared), console, {"org_id": "org_main"})
    plan = engine.plan()
    told = {
        item["address"]: item["detail"]
        for item in plan.run.warnings
        if "Adopting" in item["summary"]
    }
    assert "scope: org org_main → tenant-wide" in told["opsconsole_blacklisted_command.format"]
    assert "scope: tenant-wide → org org_lab" in told["opsconsole_blacklisted_command.wipe"]
    shutdown = told["opsconsole_blacklisted_command.shutdown"]
    assert "'shutdown*' → 'halt*'" in shutdown and "doc_runbook" in shutdown

    console.reset_log()
    engine.apply(plan.saved)
    sent = {
        item["path"].rpartition("/")[2]: item["body"]
        for item in console.requests()
        if item["operation"] == "blacklist_update"
    }
    assert sent == {
        "blk_format": {"org_id": None},
        "blk_wipe": {"org_id": "org_lab"},
        "blk_shutdown": {"pattern": "halt*"},
    }
    state = held(engine)
    wide = {address.rpartition(".")[2]: item["tenant_wide"] for address, item in state.items()}
    assert wide == {"format": True, "wipe": False, "shutdown": False}

    # Omitted: left as it is.
    left = {name: {"id": f"blk_{name}"} for name in ("format", "wipe")}
    plan = engine.plan(program=entries(**left))
    assert plan.actions == {"opsconsole_blacklisted_command.shutdown": ["delete"]}
    assert any("leaves management; the row stays" in item["summary"] for item in plan.run.warnings)
    run = engine.apply(plan.saved)
    assert any("leaves management; the row stays" in item["summary"] for item in run.warnings)
    assert console.row("blacklists", "blk_shutdown")["pattern"] == "halt*"
    engine.plan_run(expect={0})


def test_wrong_scopes_and_patterns_are_refused_by_the_plan(project, console):
    engine = project({}, console)
    # Terraform cannot point at what is not written.
    unnamed = "id" if isinstance(engine, Standin) else ""
    for declared in (
        {
            "long": ({"id": "blk_format", "pattern": "x" * 201}, "pattern"),
            "empty": ({"id": "blk_format", "pattern": ""}, "pattern"),
            "both": ({"id": "blk_format", "org_id": "org_lab", "tenant_wide": True}, "tenant_wide"),
        },
        {
            "nowhere": ({"id": "blk_wipe", "tenant_wide": False}, "tenant_wide"),
            "missing": ({"id": "blk_none"}, "id"),
            "unnamed": ({"pattern": "x"}, unnamed),
        },
    ):
        engine.write(entries(**{name: entry for name, (entry, _) in declared.items()}))
        errors = engine.plan_run(expect={1}).errors
        assert {
            it["address"].rpartition(".")[2]: attribute_at(engine.folder, it) for it in errors
        } == {name: place for name, (_, place) in declared.items()}


@pytest.mark.parametrize(
    ("ignored", "added"), [("org_id", "tenant_wide"), ("description", "no_description")]
)
def test_what_is_ignored_may_contradict_what_is_declared(applied, console, ignored, added):
    row = {"id": "blk_format", "org_id": "org_main", "description": "formats"}
    engine = applied(entries(format=row), console)
    del row[ignored]
    changed = row | {added: True, "lifecycle": {"ignore_changes": [ignored]}}
    [refused] = engine.plan_run(program=entries(format=changed), expect={1}).errors
    assert refused["summary"].startswith(f"Both {ignored} and {added} = true")
    assert "ignore_changes" in refused["detail"]


@pytest.mark.parametrize(
    ("row", "declared", "scopes"),
    [
        ("wipe", {"pattern": "new"}, ("tenant-wide", "tenant-wide")),
        ("wipe", {"org_id": "org_lab"}, ("tenant-wide", "org org_lab")),
        ("format", {"tenant_wide": True}, ("org org_main", "tenant-wide")),
        ("format", {"org_id": "org_lab"}, ("org org_main", "org org_lab")),
    ],
)
async def test_a_scope_that_the_key_may_see_and_not_write(steps_of, console, row, declared, scopes):
    console.create("keys", secret="svc_ak_main", org_id="org_main", write_orgs=["org_main"])
    rows = steps_of("blacklisted_command", api_key="svc_ak_main")
    adopted = await rows.create(id=f"blk_{row}")
    refused = await rows.change(adopted, id=f"blk_{row}", **declared)
    [told] = refused.diagnostics
    said = "The row is {}, the declaration says {}.".format(*scopes)
    needs = " Writing a tenant-wide row takes tenant-level access."
    assert told.detail == said + needs * ("tenant-wide" in scopes)
    assert told.summary.startswith("This key sees the blacklisted command")
    assert "status 403" in told.text and told.path == ("org_id",)
    assert refused.state == adopted.state


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
def test_extra_endpoints_create_and_delete(applied, console):
    engine = applied(
        entries(new={"pattern": "dd *"}, wide={"pattern": "wipefs*", "tenant_wide": True}), console
    )
    engine.plan_run(expect={0})
    state = held(engine)
    new, wide = (state[f"opsconsole_blacklisted_command.{name}"] for name in ("new", "wide"))
    assert (new["org_id"], new["tenant_wide"]) == ("org_main", False)
    assert (wide["org_id"], wide["tenant_wide"]) == (None, True)
    engine.destroy()
    assert console.row("blacklists", new["id"]) is None


async def test_a_scope_that_was_refused_only_at_the_second_try_is_read(steps_of, console):
    rows = steps_of("blacklisted_command", max_retries=1)
    created = await rows.create(id="blk_format")
    console.fault(kind="reset_after", operation="blacklist_update")
    console.fault(kind="forbidden", operation="blacklist_update")

    changed = await rows.change(created, id="blk_format", tenant_wide=True)

    assert not changed.failed and changed.state["org_id"] is None


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (
            {},
            ("leaves the row as it is", "pattern: 'rm -rf', unchanged\nscope: org org_main, unch"),
        ),
        ({"pattern": "rm"}, ("changes a row", "pattern: 'rm -rf' → 'rm'")),
        ({"description": "why"}, ("changes a row", "description: null → 'why'")),
        ({"pattern": UNKNOWN, "org_id": UNKNOWN}, ("changes a row", "→ a scope known after apply")),
    ],
)
async def test_planning_an_adoption_says_what_it_does(steps_of, console, declared, said):
    document = {"document_id": "doc_1", "org_id": "org_main"}
    row = console.create("blacklists", pattern="rm -rf", **document)
    rows = steps_of("blacklisted_command")

    plan = await rows.plan(None, rows.config(id=row["id"], **declared))

    [told] = plan.diagnostics
    assert told.severity is Severity.WARNING
    assert said[0] in told.summary
    assert said[1] in told.detail
    shown = {name: row.get(name) for name in ("pattern", "description", "org_id")}
    assert {name: plan.planned[name] for name in shown} == shown | declared
    assert "doc_1" in told.detail


async def test_a_row_is_adopted_once_in_a_run(steps_of, one_run):
    rows = steps_of("blacklisted_command")
    rows.provider = one_run()
    adopted, refused = [await rows.create(id="blk_format") for _ in range(2)]
    assert adopted.state["id"] == "blk_format"
    said = "Another resource holds the blacklisted command blk_format already"
    assert (errors(refused), refused.state) == ([said], None)


@pytest.mark.parametrize("profile", ["extended"], indirect=True)
@pytest.mark.parametrize(
    ("declared", "org_id", "tenant_wide"),
    [
        ({}, UNKNOWN, UNKNOWN),
        ({"org_id": "org_lab"}, "org_lab", False),
        ({"org_id": UNKNOWN}, UNKNOWN, UNKNOWN),
        ({"tenant_wide": True}, None, True),
    ],
)
async def test_scope_of_a_new_row(steps_of, declared, org_id, tenant_wide):
    rows = steps_of("blacklisted_command")

    plan = await rows.plan(None, rows.config(pattern="rm -rf", **declared))

    assert not plan.failed
    assert (plan.planned["org_id"], plan.planned["tenant_wide"]) == (org_id, tenant_wide)


@pytest.mark.parametrize(
    ("row", "declared", "scope"),
    [
        ("format", {}, ("org_main", False)),
        ("wipe", {}, (None, True)),
        ("format", {"tenant_wide": True}, (None, True)),
        ("wipe", {"org_id": "org_lab"}, ("org_lab", False)),
        ("format", {"tenant_wide": False}, ("org_main", False)),
        ("wipe", {"org_id": UNKNOWN}, (UNKNOWN, UNKNOWN)),
        ("wipe", {"org_id": UNKNOWN, "tenant_wide": False}, (UNKNOWN, False)),
        ("wipe", {"tenant_wide": UNKNOWN}, (UNKNOWN, UNKNOWN)),
        ("wipe", {"org_id": UNKNOWN, "tenant_wide": True}, (UNKNOWN, True)),
        ("wipe", {"org_id": "org_lab", "tenant_wide": UNKNOWN}, ("org_lab", UNKNOWN)),
        # It leaves the tenant for a named org only.
        ("wipe", {"tenant_wide": False}, (None, False)),
    ],
)
async def test_scope_of_an_adopted_row(steps_of, row, declared, scope):
    rows = steps_of("blacklisted_command")

    # The row as it is adopted, and as a later change of the declaration finds it.
    for prior in (None, await rows.create(id=f"blk_{row}")):
        plan = await rows.plan(prior, rows.config(id=f"blk_{row}", **declared))
        refused = [item.path for item in plan.diagnostics if item.severity is Severity.ERROR]
        assert refused == [("tenant_wide",)] * (scope == (None, False))
        assert (plan.planned["org_id"], plan.planned["tenant_wide"]) == scope


@pytest.mark.parametrize(
    ("shown", "lacks"),
    [
        ({"pattern": "shutdown*", "description": None}, "org_id"),
        ({"pattern": None, "description": None, "org_id": None}, "pattern"),
        ({}, "pattern"),
    ],
    ids=str,
)
async def test_a_row_that_is_not_shown_whole_is_neither_read_nor_written(
    steps_of, console, one_run, shown, lacks
):
    rows = steps_of("blacklisted_command")
    created = await rows.create(id="blk_shutdown", org_id="org_main")
    console.fault(path="/blacklists/", text=json.dumps({"id": "blk_shutdown"} | shown), times=None)

    read = await rows.read(created)
    plan = await rows.plan(None, rows.config(id="blk_shutdown"))
    changed = await rows.change(created, id="blk_shutdown", org_id="org_main", pattern="halt")
    run = one_run()
    data = await run.read_data("opsconsole_blacklisted_command", {"id": "blk_shutdown"})

    assert read.state == changed.state == created.state
    for outcome in (read, plan, changed, data):
        assert any(lacks in item.text for item in outcome.diagnostics)
        assert errors(outcome)


async def test_an_update_that_does_not_show_the_scope_keeps_what_was_asked(steps_of, console):
    rows = steps_of("blacklisted_command")
    created = await rows.create(id="blk_shutdown", org_id="org_main")
    text = json.dumps({"id": "blk_shutdown", "pattern": "halt*"})
    console.fault(method="POST", path="/blacklists/", status=200, text=text)

    updated = await rows.change(created, id="blk_shutdown", org_id="org_main", pattern="halt*")

    assert (updated.state["org_id"], updated.state["tenant_wide"]) == ("org_main", False)


def test_a_row_whose_id_is_known_late_is_adopted_with_the_warning(native):
    late = '${opsconsole_host.a.id == "" ? "" : "blk_format"}'
    declared = {"id": late, "pattern": "rm -rf /x", "tenant_wide": True}
    resources = {**hosts("a"), "opsconsole_blacklisted_command": {"late": declared}}
    told = native.apply(resources).text

    assert told.count("Adopting the blacklisted command blk_format changes a row") == 1
    assert "'mkfs*' → 'rm -rf /x'" in told
    assert "org org_main → tenant-wide" in told
    assert native.actions() == {}
