"""Blacklisted commands: adopted by id, scoped, and left on the console."""

from typing import Any

from declarations import attribute_at, foresee, held, program
from engines import ON_TERRAFORM


def entries(**named: dict[str, Any]) -> dict[str, Any]:
    return program(blacklisted_command=named)


def test_scopes_are_written_only_where_they_are_declared(project, console):
    engine = project(
        entries(
            format={"id": "blk_format", "tenant_wide": True},
            wipe={"id": "blk_wipe", "org_id": "org_lab"},
            shutdown={"id": "blk_shutdown", "pattern": "halt*"},
        ),
        console,
        {"org_id": "org_main"},
    )
    plan = foresee(engine)
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
    engine.write(entries(**{name: {"id": f"blk_{name}"} for name in ("format", "wipe")}))
    plan = foresee(engine)
    assert plan.actions == {"opsconsole_blacklisted_command.shutdown": ["delete"]}
    assert any("leaves management; the row stays" in item["summary"] for item in plan.run.warnings)
    run = engine.apply(plan.saved)
    assert any("leaves management; the row stays" in item["summary"] for item in run.warnings)
    assert console.row("blacklists", "blk_shutdown")["pattern"] == "halt*"
    engine.plan_run(expect={0})


@ON_TERRAFORM
def test_what_is_refused_at_plan_time(project, console):
    engine = project(
        entries(
            long={"id": "blk_format", "pattern": "x" * 201},
            empty={"id": "blk_format", "pattern": ""},
            both={"id": "blk_format", "org_id": "org_lab", "tenant_wide": True},
        ),
        console,
    )
    run = engine.plan_run(expect={1})
    places = {
        error["address"].rpartition(".")[2]: attribute_at(engine.folder, error)
        for error in run.errors
    }
    assert places == {"long": "pattern", "empty": "pattern", "both": "tenant_wide"}

    engine.write(
        entries(
            nowhere={"id": "blk_wipe", "tenant_wide": False},
            missing={"id": "blk_none"},
            unnamed={"pattern": "x"},
        )
    )
    run = engine.plan_run(expect={1})
    places = {
        error["address"].rpartition(".")[2]: attribute_at(engine.folder, error)
        for error in run.errors
    }
    # Terraform cannot point at what is not written.
    assert places == {"nowhere": "tenant_wide", "missing": "id", "unnamed": ""}


@ON_TERRAFORM
def test_a_scope_that_the_key_may_see_and_not_write(project, console):
    console.create("keys", secret="svc_ak_main", org_id="org_main", write_orgs=["org_main"])
    engine = project(
        entries(
            wipe={"id": "blk_wipe", "pattern": "new"},
            format={"id": "blk_format", "org_id": "org_lab"},
        ),
        console,
        OPSCONSOLE_API_KEY="svc_ak_main",
    )
    run = engine.apply(expect={1})
    told = {error["address"].rpartition(".")[2]: error for error in run.errors}
    assert set(told) == {"wipe", "format"}
    for error in told.values():
        assert "sees the blacklisted command" in error["summary"]
        assert "may not write its scope" in error["summary"]
        assert "status 403" in error["detail"] and "request id req_" in error["detail"]
    assert "takes tenant-level access" in told["wipe"]["detail"]
    assert "takes tenant-level access" not in told["format"]["detail"]
    assert attribute_at(engine.folder, told["format"]) == "org_id"
    assert console.row("blacklists", "blk_wipe")["pattern"] == "rm -rf /"


def test_extra_endpoints_create_and_delete(applied, console_of):
    console = console_of("extended")
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
