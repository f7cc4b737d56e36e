"""What the document leaves open is written, refused and explained for what it is."""

from declarations import foresee, held, program

HOST = {"name": "web", "tags": ["retired:", "env:prod"], "mac": "02:00:00:00:00:01"}


def test_a_description_can_be_made_null_and_a_tag_may_have_no_value(project, console_of):
    console = console_of("dropping")
    row = {"id": "blk_format", "no_description": True}
    engine = project(program(host={"web": HOST}, blacklisted_command={"f": row}), console)
    run = engine.apply()
    [kept] = [item for item in run.warnings if "mac" in item["summary"]]
    assert "kept another value for mac" in kept["summary"]
    assert "description" not in (console.row("blacklists", "blk_format") or {})
    [host] = console.rows("hosts")
    assert set(host["tags"]) == {"retired:", "env:prod"}
    assert held(engine)["opsconsole_host.web"]["mac"] == HOST["mac"]
    again = engine.plan_run(expect={0})
    assert not [item for item in again.warnings if "mac" in item["summary"]]

    engine.write(program(blacklisted_command={"f": row | {"description": "formats"}}))
    [error] = engine.plan_run(expect={1}).errors
    assert "no_description = true" in error["summary"]


def test_a_key_that_may_not_write_hosts_learns_what_reading_needs(applied, console):
    engine = applied(program(host={"web": {"name": "web"}}), console)
    console.change("keys", "key_main", write_orgs=["org_lab"], read_orgs=["org_main"])
    run = engine.plan_run(expect={0})
    [told] = [item for item in run.warnings if "was not checked" in item["summary"]]
    assert "takes the right to write" in told["detail"]
    assert "host_get" in told["detail"]


def test_one_refused_empty_update_leaves_the_other_hosts_read(applied, console):
    hosts = {f"h{number}": {"name": f"h{number}", "knowledge": "old"} for number in range(4)}
    engine = applied(program(host=hosts), console)
    for row in console.rows("hosts"):
        console.change("hosts", row["id"], knowledge="changed")
    for skip in (0, 2):
        console.fault(kind="bad_request", operation="host_update", skip=skip)
        plan = foresee(engine)
        warnings = [item for item in plan.run.warnings if "was not checked" in item["summary"]]
        assert len(warnings) == 1
        assert sorted(plan.actions.values()) == [["update"]] * 3
